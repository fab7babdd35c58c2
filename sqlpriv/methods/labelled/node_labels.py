"""The labels of a node, and the tables of a file that say which columns are published on which levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlpriv.engine import fetch
from sqlpriv.methods.labelled.labels import NodeLabels
from sqlpriv.methods.labelled.layout import ATTRIBUTES
from sqlpriv.methods.labelled.leaves import ShownColumn
from sqlpriv.methods.labelled.scan import Scan
from sqlpriv.methods.lattice import Node
from sqlpriv.relation import Relation, Scratch
from sqlpriv.release.file import SCHEMA, WRITTEN, write_values
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP

ROWS = f"{WRITTEN}.{SCHEMA}.published"


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


def write_attributes(
    scan: Scan, node: Node, columns: Sequence[ShownColumn], rows_of: Mapping[str, str] | None = None
) -> None:
    """Table attributes of the file that is written: each published column, its role, level and labels.

    `rows_of`, here and below: the table of the file that has a column, where not all are in one.
    """
    con = scan.source.con
    roles = {folded(c.name): c.role for c in scan.policy.columns}
    place = {folded(qi): a for a, qi in enumerate(scan.policy.qis)}
    tables = dict.fromkeys([ROWS] if rows_of is None else rows_of.values())
    kinds = {r[0]: r[1] for table in tables for r in fetch(con, f"DESCRIBE {table}")}
    listed = []
    for position, shown in enumerate(columns):
        a = place.get(folded(shown.name))
        levels = ("NULL", "NULL") if a is None else (str(node[a]), str(scan.heights[a]))
        told = literal(shown.original), literal(shown.labels), literal(shown.domain is not None)
        own = str(position), literal(shown.name), literal(kinds[shown.name]), literal(roles[folded(shown.name)])
        listed.append((*own, *levels, *told))
    write_values(con, "attributes", ", ".join(ATTRIBUTES), listed)


def write_hierarchies(scan: Scan, shown: NodeLabels, rows_of: Mapping[str, str] | None = None) -> None:
    """Tables hierarchy_<c> of the file that is written: the labels that occur in it, with those above them."""
    node, spelt = shown.node, {folded(c): c for c in scan.source.columns}
    for a, qi in enumerate(spelt[folded(q)] for q in scan.policy.qis):
        above = "".join(f", above[{i}] AS level{node[a] + i}" for i in range(1, scan.heights[a] - node[a] + 1))
        rows = ROWS if rows_of is None else rows_of[qi]
        fetch(
            scan.source.con,
            f"CREATE TABLE {quoted(WRITTEN, SCHEMA, f'hierarchy_{qi}')} AS SELECT DISTINCT label AS value{above} "
            f"FROM {shown.labels} WHERE attribute = {a} AND label IN (SELECT CAST({quoted(qi)} AS VARCHAR) FROM {rows})"
            " ORDER BY ALL",
        )
