"""Write a generalized release into a file that is open for writing, in the layout of layout.py.

`write_generalized` is given rows and, for each column, queries for its labels and leaves (ColumnLabels). For a node, in
which every column is on one level, `node_labels` makes these queries; boxes have their own (boxes.py). The file never
holds an identifier, a count, a path, or a value that no published row has, but for the ends of ranges and the domains
that the policy declares. Rows are sorted by their cells, so their order reveals nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.generalized.columns import ShownColumn
from sqlpriv.methods.generalized.grid import named_ends
from sqlpriv.methods.generalized.layout import (
    ATTRIBUTES,
    BINS,
    NEVER_SHOWN,
    counted_leaves,
    has_leaves,
    view_of_rows,
)
from sqlpriv.methods.generalized.scan import Scan, ScannedTable
from sqlpriv.methods.lattice import Node
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import COPIES, SCHEMA, WRITTEN, ReleaseFile
from sqlpriv.release.write import write_description, write_in_order
from sqlpriv.table.hierarchies import TOP, Given, wide_rows
from sqlpriv.table.source import Source

ROWS = f"{WRITTEN}.{SCHEMA}.published"
"""The published rows of the file that is written."""
COUNTED_FROM = 100_000
"""Fewer rows are written one by one, so that anybody can read a small file without counting."""


@dataclass(frozen=True)
class PublishedTable:
    """A table of published rows: its name in the file, a query for the rows, and the view that people read."""

    table: str
    query: str
    view: str
    may_count: bool = False
    """Whether each kind of row may be written once, with its number."""


def may_be_counted(scan: ScannedTable) -> bool:
    """Whether a release of a table may say how often a row is there; a pseudonym makes rows of their own."""
    return scan.rows >= COUNTED_FROM and scan.policy.pseudonym is None


def file_written(con: duckdb.DuckDBPyConnection) -> ReleaseFile:
    """The file that is attached to be compared with the private table."""
    return ReleaseFile(con, WRITTEN, "the release")


@dataclass(frozen=True)
class ColumnLabels:
    """The labels of a column in a file. The queries are run when the rows are written."""

    level: int | None
    """The level of the column; None where its labels are on many."""
    levels: int | None
    """That of the top; None without a hierarchy."""
    labels: str
    """A query for label, level, above, and low and high where labels are ranges."""
    leaves: str | None
    """A query for label, value and share of the leaves, where they are stored."""


def write_generalized(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    tables: Sequence[PublishedTable],
    columns: Sequence[ShownColumn],
    labels: Mapping[str, ColumnLabels],
    about: Mapping[str, str],
    numbers: Mapping[str, float] | None = None,
    requirements: Sequence[Requirement] | None = None,
) -> int:
    """Write all tables but those that a method alone has; `labels` by columns. How many rows there are."""
    count = 0
    kinds: dict[str, str] = {}
    for rows in tables:
        target = quoted(WRITTEN, SCHEMA, rows.table)
        count += write_in_order(con, target, rows.query, may_count=rows.may_count)
        own = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE {target}")}
        kinds |= own
        shown = [(c.name, c.has_ends) for c in columns if c.name in own]
        _write_column_tables(con, [c for c in columns if c.name in own], labels)
        fetch(con, view_of_rows(quoted(WRITTEN, "main", rows.view), shown, rows.table, is_counted=COPIES in own))
    about = {"method": policy.method, "table": policy.table.name, **about}
    attributes = ATTRIBUTES, _attributes(policy, columns, labels, kinds)
    write_description(con, about, policy.reasons, numbers or {}, attributes, requirements)
    return count


def _write_column_tables(
    con: duckdb.DuckDBPyConnection, columns: Sequence[ShownColumn], labels: Mapping[str, ColumnLabels]
) -> None:
    """Tables labels_<c>, domain.<c> and leaves_<c>."""
    for column in columns:
        own = labels.get(column.name)
        if own is not None:
            target = quoted(WRITTEN, SCHEMA, f"labels_{column.name}")
            fetch(con, f"CREATE TABLE {target} AS FROM ({own.labels}) ORDER BY level, label")
        if column.domain is not None:
            target = quoted(WRITTEN, "domain", column.name)
            fetch(con, f"CREATE TABLE {target} AS SELECT value, share FROM {column.domain} ORDER BY value NULLS LAST")
        if own is not None and own.leaves is not None:
            target, leaves = quoted(WRITTEN, SCHEMA, f"leaves_{column.name}"), counted_leaves(own.leaves)
            fetch(con, f"CREATE TABLE {target} AS {leaves} ORDER BY value NULLS LAST, label NULLS LAST")


def _attributes(
    policy: Policy, columns: Sequence[ShownColumn], labels: Mapping[str, ColumnLabels], kinds: Mapping[str, str]
) -> Iterator[tuple[object, ...]]:
    """The rows of table attributes; `kinds` are the types in which columns are published."""
    roles = {c.name: c.role for c in policy.columns}
    for position, column in enumerate(columns):
        own = labels.get(column.name)
        levels = (None, None) if own is None else (own.level, own.levels)
        name = column.name
        yield (
            position,
            name,
            kinds[name],
            roles[name],
            *levels,
            column.original,
            column.labels,
            column.domain is not None,
        )


@dataclass(frozen=True)
class NodeLabels:
    """The labels that a node shows, and the classes that it suppresses."""

    node: Node
    labels: Relation
    """Each value's label and number under the node, and the labels above it: attribute, value, number, label, above."""
    suppressed: Relation | None = None
    """The numbers of the classes that fail (class); None where it is known that there are none."""

    def is_hidden(self, number: str = "") -> str:
        """Whether the class of a number is suppressed, as SQL; without one that of a row joined with l0, l1, ..."""
        number = number or " + ".join(f"l{a}.number" for a in range(len(self.node)))
        return "false" if self.suppressed is None else f"({number}) IN (FROM {self.suppressed.name})"


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
        f"FROM {leaves.name} AS l JOIN (VALUES {listed}) AS n(attribute, level, height) ON l.attribute = n.attribute "
        f"JOIN {paths.name} AS p ON l.attribute = p.attribute AND l.value IS NOT DISTINCT FROM p.labels[1]"
    )
    return NodeLabels(node, (scratch or scan.source.scratch).table(shown, "shown"), suppressed)


def node_labels(
    scan: Scan, shown: NodeLabels, columns: Sequence[ShownColumn], rows_of: Mapping[str, str] | None = None
) -> dict[str, ColumnLabels]:
    """The labels of each quasi-identifier, for the file that is written.

    `rows_of`: the table of the file that has a column, where not all are in one.
    """
    found = {}
    for column in columns:
        a = scan.places.get(column.name)
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
    """A query for the labels that are published: label, level, above, and low and high where they are ranges."""
    labels = (
        f"SELECT DISTINCT label, CAST({shown.node[attribute]} AS INTEGER) AS level, CAST(above AS VARCHAR[]) AS above "
        f"FROM {shown.labels.name} WHERE attribute = {attribute} AND label IN "
        f"(SELECT CAST({quoted(column.name)} AS VARCHAR) FROM {published})"
    )
    if not column.has_ends:
        return labels
    low, high = named_ends(column.labels, column.original)
    return f"SELECT *, {low} AS low, {high} AS high FROM ({labels})"


def leaf_rows(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn, labels: str) -> str:
    """A query for the values of a public domain with their labels under the node: label, value, share.

    `labels`: the table of the labels that are published, for bins, of which their ends say what is below them.
    """
    if shown.node[attribute] == scan.heights[attribute]:
        return f"SELECT {literal(TOP)} AS label, value, share FROM {column.domain}"
    if column.labels != BINS:
        given = scan.policy.hierarchies[scan.policy.qis[attribute]]
        wide = label_domain(scan.source, given, column)
        labelled = (
            f"SELECT w.labels[{shown.node[attribute] + 1}] AS label, d.value, d.share FROM {column.domain} AS d "
            f"LEFT JOIN {wide.name} AS w ON CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.labels[1]"
        )
        refuse_labels(
            scan.source,
            column,
            f"SELECT count(*) FROM ({labelled}) WHERE label IS NULL AND value IS NOT NULL",
            f"SELECT count(*) FROM {shown.labels.name} AS s JOIN ({labelled}) AS d ON s.value IS NOT DISTINCT FROM "
            f"CAST(d.value AS VARCHAR) WHERE s.attribute = {attribute} AND s.label IS DISTINCT FROM d.label",
        )
        return labelled
    # Values of bins that are not shown have a label that no row has.
    within = f"LEFT JOIN {labels} AS e ON d.value BETWEEN coalesce(e.low, d.value) AND coalesce(e.high, d.value)"
    label = f"CASE WHEN d.value IS NOT NULL THEN coalesce(e.label, {literal(NEVER_SHOWN)}) END"
    return f"SELECT {label} AS label, d.value, d.share FROM {column.domain} AS d {within}"


def label_domain(source: Source, given: Given, column: ShownColumn) -> Relation:
    """The labels that a hierarchy gives to the values of a public domain, from level 0 to the top: labels, a list."""
    base = source.scratch.table(f"SELECT value AS {quoted(column.name)} FROM {column.domain}", "domain")
    wide = wide_rows(source, given, column.name, base.name)
    return source.scratch.table(f"SELECT list_value(*COLUMNS(*)) AS labels FROM ({wide})", "domain_labels")


def refuse_labels(source: Source, column: ShownColumn, bare: str, unlike: str) -> None:
    """Refuse a domain by two queries for a number of its values: those without a label, and those that the hierarchy
    labels otherwise than the same values of the table."""
    ((values,),) = fetch(source.con, bare)
    if values:
        raise PolicyError(f"domain of {column.name!r}: {values:,} of its values have no label in the hierarchy")
    ((values,),) = fetch(source.con, unlike)
    if values:
        raise PolicyError(
            f"domain of {column.name!r}: its hierarchy labels {values:,} values of the domain otherwise than those of "
            "the table; write labels that depend on the value alone"
        )
