"""The labels of a node, in which every column stands on one level, and what a file tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.generalized.kinds import BINS, NEVER_SHOWN, named_ends
from sqlpriv.methods.generalized.labels import NodeLabels
from sqlpriv.methods.generalized.layout import has_leaves
from sqlpriv.methods.generalized.leaves import ShownColumn
from sqlpriv.methods.generalized.scan import Scan, number_rows
from sqlpriv.methods.generalized.write import ROWS, ColumnLabels, labelled_otherwise
from sqlpriv.methods.lattice import Node
from sqlpriv.release.file import SCHEMA, WRITTEN
from sqlpriv.table.hierarchies import TOP, wide_rows


def write_node_labels(
    scan: Scan,
    node: Node,
    scratch: Scratch | None = None,
    paths: Relation | None = None,
    suppressed: Relation | None = None,
) -> NodeLabels:
    """What a node shows; `paths` are the labels of each value, where they are not those of the hierarchies."""
    listed = ", ".join(f"({a}, {level}, {h})" for a, (level, h) in enumerate(zip(node, scan.heights, strict=True)))
    leaves, paths = scan.labels.leaves, paths or scan.labels.paths
    shown = (
        f"SELECT l.attribute, l.value, l.numbers[level + 1] AS number, "
        f"CASE WHEN level = height THEN {literal(TOP)} ELSE p.labels[level + 1] END AS label, "
        f"p.labels[level + 2 : height] || CASE WHEN level < height THEN [{literal(TOP)}] ELSE [] END AS above "
        f"FROM {leaves} AS l JOIN (VALUES {listed}) AS n(attribute, level, height) ON l.attribute = n.attribute "
        f"JOIN {paths} AS p ON l.attribute = p.attribute AND l.value IS NOT DISTINCT FROM p.labels[1]"
    )
    return NodeLabels(node, (scratch or scan.source.scratch).table(shown, "shown"), suppressed)


def node_labels(
    scan: Scan, shown: NodeLabels, columns: Sequence[ShownColumn], rows_of: Mapping[str, str] | None = None
) -> dict[str, ColumnLabels]:
    """What the file that is written tells of the labels of each quasi-identifier.

    `rows_of`: the table of the file that has a column, where not all are in one.
    """
    place = {folded(q): a for a, q in enumerate(scan.policy.qis)}
    found = {}
    for column in columns:
        a = place.get(folded(column.name))
        if a is None:
            continue
        rows = ROWS if rows_of is None else rows_of[column.name]
        leaves = None
        if has_leaves(column.labels, column.domain is not None):
            leaves = leaf_rows(scan, shown, a, column, quoted(WRITTEN, SCHEMA, f"labels_{column.name}"))
        labels = label_rows(scan, shown, a, column, rows)
        found[column.name] = ColumnLabels(shown.node[a], scan.heights[a], labels, leaves)
    return found


def label_rows(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn, published: str) -> str:
    """A query for the labels that are published: label, level, above, and low and high where they are ranges.

    Ends are read from labels that words of the policy make; bins are named by published rows, and so are their ends.
    """
    labels = (
        f"SELECT DISTINCT label, CAST({shown.node[attribute]} AS INTEGER) AS level, CAST(above AS VARCHAR[]) AS above "
        f"FROM {shown.labels} WHERE attribute = {attribute} AND label IN "
        f"(SELECT CAST({quoted(column.name)} AS VARCHAR) FROM {published})"
    )
    if not column.has_ends:
        return labels
    if column.labels == BINS:
        ends = _bin_ends(scan, shown, attribute, column)
        return f"SELECT l.*, e.low, e.high FROM ({labels}) AS l LEFT JOIN ({ends}) AS e ON l.label = e.label"
    low, high = named_ends(column.labels, column.original)
    return f"SELECT *, {low} AS low, {high} AS high FROM ({labels})"


def _bin_ends(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn) -> str:
    """The smallest and the largest published value of each bin."""
    number = " + ".join(f"l{a}.number" for a in range(len(shown.node)))
    cells = f"l{attribute}.label AS label, t.{quoted(column.name)} AS cell"
    rows = number_rows(scan.policy, scan.frequencies.relation, cells, shown.labels)
    rows += f" WHERE NOT ({shown.is_hidden(number)})"
    return f"SELECT label, min(cell) AS low, max(cell) AS high FROM ({rows}) WHERE label IS NOT NULL GROUP BY label"


def leaf_rows(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn, labels: str) -> str:
    """A query for the values of a public domain with their labels under the node: label, value, share.

    `labels`: the table of the labels that are published, for bins.
    """
    if shown.node[attribute] == scan.heights[attribute]:
        return f"SELECT {literal(TOP)} AS label, value, share FROM {column.domain}"
    if column.labels != BINS:
        return _by_hierarchy(scan, shown, attribute, column)
    # Values between bins, or of bins that are not shown, have a label that no row has.
    within = f"LEFT JOIN {labels} AS e ON d.value BETWEEN e.low AND e.high"
    label = f"CASE WHEN d.value IS NOT NULL THEN coalesce(e.label, {literal(NEVER_SHOWN)}) END"
    return f"SELECT {label} AS label, d.value, d.share FROM {column.domain} AS d {within}"


def _by_hierarchy(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn) -> str:
    """The same by the hierarchy, which gives labels to values of the table, too."""
    con, source, level = scan.source.con, scan.source, shown.node[attribute]
    given = scan.policy.hierarchies[scan.policy.qis[attribute]]
    base = source.scratch.table(f"SELECT value AS {quoted(column.name)} FROM {column.domain}", "domain")
    wide = source.scratch.table(wide_rows(source, given, column.name, base.name), "domain_labels")
    names = list(wide.columns)
    labelled = (
        f"SELECT w.{quoted(names[level])} AS label, d.value, d.share FROM {column.domain} AS d LEFT JOIN {wide} AS w "
        f"ON CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.{quoted(names[0])}"
    )
    bare = fetch(con, f"SELECT count(*) FROM ({labelled}) WHERE label IS NULL AND value IS NOT NULL")[0][0]
    if bare:
        raise PolicyError(f"domain of {column.name!r}: {bare:,} of its values have no label in the hierarchy")
    unlike = fetch(
        con,
        f"SELECT count(*) FROM {shown.labels} AS s JOIN ({labelled}) AS d ON s.value IS NOT DISTINCT FROM "
        f"CAST(d.value AS VARCHAR) WHERE s.attribute = {attribute} AND s.label IS DISTINCT FROM d.label",
    )[0][0]
    if unlike:
        raise labelled_otherwise(column.name, unlike)
    return labelled
