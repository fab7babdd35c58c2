"""A release of boxes: the labels and leaves of its file, the rows with the labels of their box, and the comparison.

Given are boxes (boxes.py), of whichever method, and what a reader may know of the columns. Once the file is written,
its rows are compared with the private table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.boxes import Boxes
from sqlpriv.methods.generalized.columns import ShownColumn, describe_columns
from sqlpriv.methods.generalized.grid import named_ends
from sqlpriv.methods.generalized.layout import BOX_LEVELS, BOXES, has_ends, without_values
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.methods.generalized.pseudonyms import pseudonym
from sqlpriv.methods.generalized.scan import published_columns
from sqlpriv.methods.generalized.write import (
    ROWS,
    ColumnLabels,
    PublishedTable,
    file_written,
    label_domain,
    refuse_labels,
    write_generalized,
)
from sqlpriv.methods.method import Made
from sqlpriv.release.digest import table_digest
from sqlpriv.release.file import COPIES, SCHEMA, WRITTEN, written
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.engines.types import reads_apart
from sqlpriv.table.hierarchies import TOP


def describe_boxes(scan: BoxScan) -> list[ShownColumn]:
    """The published columns of boxes."""
    return describe_columns(published_columns(scan), scan.known, {axis.column: axis.labels for axis in scan.axes})


def write_boxes_file(
    scan: BoxScan,
    boxes: Boxes,
    columns: Sequence[ShownColumn],
    nodes: str,
    requirements: Sequence[Requirement] | None,
    about: Mapping[str, str],
    numbers: Mapping[str, float],
    path: Path,
    *,
    may_count: bool = False,
) -> Made:
    """Write rows with the labels of their boxes into a file; the private table is read again here.

    `nodes` is a query for the nodes that are shown: axis, label and level. With `may_count` rows may be counted.
    """
    con, policy = scan.source.con, scan.policy
    shown = scan.source.scratch.table(nodes, "shown_nodes") if scan.trees else None
    described = {column.name: column for column in columns}
    labels = {}
    for axis in scan.axes:
        column = described[axis.column]
        if axis.labels == BOXES:
            labels[axis.column] = ColumnLabels(None, None, _range_labels(scan, boxes, axis), None)
            continue
        assert shown is not None
        leaves = None if column.domain is None else _leaves(scan, boxes, shown, axis, column)
        labels[axis.column] = ColumnLabels(None, axis.height, _node_labels(scan, shown, axis), leaves)
    rows = PublishedTable("published", published_rows(scan, boxes), policy.table.name, may_count)
    with written(con, path):
        count = write_generalized(con, policy, [rows], columns, labels, about, numbers, requirements)
    return Made(count, float(scan.rows))


def _range_labels(scan: BoxScan, boxes: Boxes, axis: Axis) -> str:
    """A query for ranges and their ends; those of * are public, and hold whatever a row may have."""
    a, star = axis.number, literal(TOP)
    if axis.is_ordered:
        low, high = map(axis.typed, map(repr, axis.outer) if axis.outer else ("NULL", "NULL"))
        ranges = (
            f"SELECT DISTINCT label{a} AS label, low{a} AS low, high{a} AS high FROM {boxes.relation.name} "
            f"WHERE label{a} <> {star}"
        )
    else:
        low, high = axis.typed(repr(int(axis.first))), axis.typed(repr(int(axis.last)))
        ranges = (
            f"SELECT DISTINCT label, {axis.typed('low')} AS low, {axis.typed('high')} AS high "
            f"FROM {scan.forest.halves[a].name} WHERE label IN (SELECT label{a} FROM {boxes.relation.name})"
        )
    everything = f"SELECT {star}, {low}, {high} WHERE EXISTS (FROM {boxes.relation.name} WHERE label{a} = {star})"
    level = f"CAST(CASE WHEN label = {star} THEN {BOX_LEVELS} ELSE {BOX_LEVELS - 1} END AS INTEGER)"
    above = f"CAST(CASE WHEN label = {star} THEN [] ELSE [{star}] END AS VARCHAR[])"
    return f"SELECT label, {level} AS level, {above} AS above, low, high FROM ({ranges} UNION ALL {everything})"


def _node_labels(scan: BoxScan, shown: Relation, axis: Axis) -> str:
    """A query for the nodes of a tree that are shown."""
    above = f"CASE WHEN len(n.above) > 0 THEN list_append(n.above[: len(n.above) - 1], {literal(TOP)}) ELSE n.above END"
    labels = (
        f"SELECT DISTINCT s.label, CAST(n.level AS INTEGER) AS level, CAST({above} AS VARCHAR[]) AS above "
        f"FROM {shown.name} AS s JOIN {scan.forest.nodes.name} AS n ON n.axis = s.axis AND n.level = s.level AND "
        f"(n.label = s.label OR n.level = {axis.height}) WHERE s.axis = {axis.number} AND s.label IS NOT NULL"
    )
    if not has_ends(axis.labels, axis.original):
        return labels
    low, high = named_ends(axis.labels, axis.original)
    return f"SELECT *, {low} AS low, {high} AS high FROM ({labels})"


def _leaves(scan: BoxScan, boxes: Boxes, nodes: Relation, axis: Axis, column: ShownColumn) -> str:
    """A query for labels and the values of the domain below them, which the hierarchy labels as those of the table."""
    a, given = axis.number, axis.given
    assert given is not None
    wide = label_domain(scan.source, given, column).name
    # As the table has it: NULL is a value of its own, unless the hierarchy says more of it.
    null = f"SELECT list_resize(CAST([] AS VARCHAR[]), {axis.height}) || [{literal(TOP)}]"
    fetch(scan.source.con, f"INSERT INTO {wide} {null} WHERE NOT EXISTS (FROM {wide} WHERE labels[1] IS NULL)")
    refuse_labels(
        scan.source,
        column,
        f"SELECT count(*) FROM {column.domain} AS d LEFT JOIN {wide} AS w ON CAST(d.value AS VARCHAR) IS NOT DISTINCT "
        "FROM w.labels[1] WHERE d.value IS NOT NULL AND (w.labels IS NULL OR "
        "len(list_filter(w.labels, lambda label: label IS NULL)) > 0)",
        f"SELECT count(*) FROM (SELECT DISTINCT labels FROM {scan.forest.steps.name} WHERE axis = {a}) AS s "
        f"JOIN {wide} AS w ON s.labels[1] IS NOT DISTINCT FROM w.labels[1] WHERE s.labels IS DISTINCT FROM w.labels",
    )
    star = literal(TOP)
    shown = f"SELECT label, level FROM {nodes.name} WHERE axis = {a} AND label IS DISTINCT FROM {star}"
    has_star = f"{star} IN (SELECT label{a} FROM {boxes.relation.name})"
    everything = f"SELECT {star}, value, share FROM {column.domain} WHERE {has_star}"
    return (
        f"SELECT s.label, d.value, d.share FROM ({shown}) AS s JOIN {wide} AS w ON "
        f"s.label IS NOT DISTINCT FROM w.labels[s.level + 1] JOIN {column.domain} AS d ON "
        f"CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.labels[1] UNION {everything}"
    )


def published_rows(scan: BoxScan, boxes: Boxes) -> str:
    """The rows of the table, each with the labels of its box."""
    policy, source = scan.policy, scan.source
    place = {axis.column: axis.number for axis in scan.axes}
    kinds = source.private.columns
    shown = []
    for column in published_columns(scan):
        a = place.get(column)
        cell = without_values(f"t.{quoted(column)}", kinds[column]) if a is None else f"b.label{a}"
        if column == policy.pseudonym:
            cell = pseudonym(column)
        shown.append(f"{cell} AS {quoted(column)}")
    texts = {name for name, kind in kinds.items() if reads_apart(kind)}
    same = []
    for column in dict.fromkeys([*policy.qis, *policy.sensitive, *filter(None, [policy.person])]):
        same.append(f"t.{quoted(column)} IS NOT DISTINCT FROM f.{quoted(column)}")
        if column in policy.qis and column in texts:
            same.append(f"CAST(t.{quoted(column)} AS VARCHAR) IS NOT DISTINCT FROM CAST(f.{quoted(column)} AS VARCHAR)")
    (table, copies), found = scan.frequencies.rows_by(published_columns(scan)), scan.frequencies.relation
    is_same = table.name == found.name
    joined = "" if is_same else f" JOIN {found.name} AS f ON {' AND '.join(same)}"
    return (
        f"SELECT {', '.join(shown)}{copies} FROM {table.name} AS t{joined} JOIN {boxes.classed.name} AS c "
        f"ON c.row = {'t' if is_same else 'f'}.rowid JOIN {boxes.relation.name} AS b ON b.class = c.class"
    )


def compare_boxes(scan: BoxScan, boxes: Boxes, path: Path) -> None:
    """Refuse a file whose rows are not those of the table in their boxes, or whose boxes do not hold their rows."""
    con = scan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        file = file_written(con)
        names = [c for c in file.columns(SCHEMA, "published") if c != COPIES]
        if names != published_columns(scan):
            raise ReleaseError("the release does not have the columns it should have; nothing was published")
        rows = f"({published_rows(scan, boxes)})"
        meant = table_digest(con, rows, COUNT if COUNT in Relation(con, rows).columns else None)
        if table_digest(con, ROWS, file.copies) != meant or not scan.frequencies.are_current():
            raise ReleaseError(
                "the table changed while it was being anonymized, so nothing was published; run it again"
            )
        for axis in scan.axes:
            if axis.is_ordered and _are_outside(scan, boxes, axis):
                raise ReleaseError(f"some rows are outside their ranges of {axis.column!r}; nothing was published")


def _are_outside(scan: BoxScan, boxes: Boxes, axis: Axis) -> bool:
    """Whether a row is not between the ends that the file gives for its label."""
    a, labels = axis.number, quoted(WRITTEN, SCHEMA, f"labels_{axis.column}")
    cell = f"f.{quoted(axis.column)}"
    # A label that is not there holds no row; * holds NULL, too, and NULL is no range.
    held = (
        f"CASE WHEN {cell} IS NULL THEN b.label{a} IS NULL OR b.label{a} = '*' ELSE "
        f"e.label IS NOT NULL AND {cell} >= coalesce(e.low, {cell}) AND {cell} <= coalesce(e.high, {cell}) END"
    )
    outside = (
        f"SELECT count(*) FROM {scan.frequencies.relation.name} AS f JOIN {boxes.classed.name} AS c ON c.row = f.rowid "
        f"JOIN {boxes.relation.name} AS b ON b.class = c.class LEFT JOIN {labels} AS e "
        f"ON e.label = b.label{a} WHERE ({held}) IS NOT TRUE"
    )
    return bool(fetch(scan.source.con, outside)[0][0])
