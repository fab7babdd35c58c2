"""What a release of boxes tells of its labels, as tables of the file that is written: no more than is public, or shown.

hierarchy_<c>  of a column with a hierarchy: the labels that occur, the level of each, and the labels above it
ends_<c>       of ranges of numbers or dates: label, low, high. Of * they are the least and the greatest value of all
               rows, which no row shows; where there is *, NULL may be, too
domain.<c>     the public domain, if the policy states one: value, share
leaves_<c>     with a domain and a hierarchy: which values of the domain are below each label. A value may be below
               several, since labels are of many levels
"""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.boxes import Boxes
from sqlpriv.methods.labelled.kinds import BOXES, VALUES, has_ends, label_ends
from sqlpriv.methods.labelled.leaves import ShownColumn
from sqlpriv.methods.labelled.scan import published_columns
from sqlpriv.relation import Relation
from sqlpriv.release.file import SCHEMA, WRITTEN
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.hierarchies import TOP, wide_rows


def describe_boxes(scan: BoxScan) -> list[ShownColumn]:
    """The published columns of boxes."""
    axes = {axis.column: axis for axis in scan.axes}
    found = []
    for name in published_columns(scan):
        original, domain = scan.known.types[name], scan.known.domains.get(name)
        labels = axes[name].labels if name in axes else VALUES
        found.append(ShownColumn(name, original, labels, domain, has_ends(labels, original)))
    return found


def write_box_leaves(scan: BoxScan, boxes: Boxes, columns: list[ShownColumn], nodes: str) -> None:
    """All tables of labels. `nodes`: a query for the nodes that are shown: axis, label, level."""
    con, axes = scan.source.con, {axis.column: axis for axis in scan.axes}
    shown = scan.source.scratch.table(nodes, "shown_nodes") if scan.trees else None
    for column in columns:
        axis = axes.get(column.name)
        if axis is not None:
            if axis.labels != BOXES and shown is not None:
                _write_hierarchy(scan, axis, shown)
            if column.has_ends:
                rows = (
                    box_ends(scan, boxes, axis)
                    if axis.labels == BOXES
                    else node_ends(axis, _own(f"hierarchy_{axis.column}"))
                )
                fetch(con, f"CREATE TABLE {_own(f'ends_{axis.column}')} AS {rows} ORDER BY low, high, label")
        if column.domain is not None:
            target = quoted(WRITTEN, "domain", column.name)
            if axis is None:
                fetch(con, f"CREATE TABLE {target} AS {_value_rows(column)} ORDER BY value NULLS LAST")
                continue
            fetch(con, f"CREATE TABLE {target} AS SELECT value, share FROM {column.domain} ORDER BY value NULLS LAST")
            if axis.labels != BOXES and shown is not None:
                leaves = _leaves(scan, boxes, axis, column, shown)
                fetch(con, f"CREATE TABLE {_own(f'leaves_{axis.column}')} AS {leaves} ORDER BY ALL")


def _own(table: str) -> str:
    return quoted(WRITTEN, SCHEMA, table)


def _value_rows(column: ShownColumn) -> str:
    """The domain of a column that shows its values, as other labelled releases have it."""
    shared = "coalesce(share, CAST(1 AS DOUBLE))"
    listed = f"value, CAST(value AS VARCHAR) AS label, share, CAST(1 AS BIGINT) AS leaves, {shared} AS total"
    return f"SELECT {listed} FROM {column.domain}"


def _write_hierarchy(scan: BoxScan, axis: Axis, shown: Relation) -> None:
    assert scan.forest is not None
    a, top = axis.number, literal(TOP)
    above = f"CASE WHEN len(n.above) > 0 THEN list_append(n.above[: len(n.above) - 1], {top}) ELSE n.above END"
    fetch(
        scan.source.con,
        f"CREATE TABLE {_own(f'hierarchy_{axis.column}')} AS SELECT DISTINCT s.label AS value, "
        f"CAST(n.level AS INTEGER) AS level, {above} AS above FROM {shown} AS s JOIN {scan.forest.nodes} AS n "
        f"ON n.axis = s.axis AND n.level = s.level AND (n.label = s.label OR n.level = {axis.height}) "
        f"WHERE s.axis = {a} AND s.label IS NOT NULL ORDER BY ALL",
    )


def box_ends(scan: BoxScan, boxes: Boxes, axis: Axis) -> str:
    """A query for the ends of closed ranges; those of * hold whatever a row may have."""
    a = axis.number
    if axis.is_ordered:
        low, high = axis.typed(repr(axis.first)), axis.typed(repr(axis.last))
        shown = f"SELECT DISTINCT label{a} AS label, low{a} AS low, high{a} AS high FROM {boxes.relation}"
        shown += f" WHERE label{a} <> {literal(TOP)}"
    else:
        assert scan.forest is not None
        low, high = axis.typed(repr(int(axis.first))), axis.typed(repr(int(axis.last)))
        shown = (
            f"SELECT DISTINCT label, {axis.typed('low')} AS low, {axis.typed('high')} AS high "
            f"FROM {scan.forest.halves[a]} WHERE label IN (SELECT label{a} FROM {boxes.relation})"
        )
    star = f"SELECT {literal(TOP)}, {low}, {high} WHERE EXISTS (FROM {boxes.relation} WHERE label{a} = {literal(TOP)})"
    return f"SELECT * FROM ({shown} UNION ALL {star})"


def node_ends(axis: Axis, hierarchy: str) -> str:
    """A query for the ends that the labels of a typed hierarchy name: a value is both of its own, and * has none."""
    return ends_of_nodes(axis.labels, axis.original, hierarchy)


def ends_of_nodes(labels: str, original: str, hierarchy: str) -> str:
    """The same from what a file says."""
    value = f"TRY_CAST(value AS {original})"
    leaves = f"SELECT value AS label, {value} AS low, {value} AS high FROM {hierarchy} WHERE level = 0"
    inner = f"(SELECT value FROM {hierarchy} WHERE level > 0 AND len(above) > 0)"
    top = f"SELECT value, NULL, NULL FROM {hierarchy} WHERE level > 0 AND len(above) = 0"
    named = label_ends(labels, original, inner)
    return f"SELECT DISTINCT label, low, high FROM ({leaves} UNION ALL {named} UNION ALL {top})"


def _leaves(scan: BoxScan, boxes: Boxes, axis: Axis, column: ShownColumn, nodes: Relation) -> str:
    """A query for labels and the values of the domain below them, which the hierarchy labels as those of the table."""
    con, a, given = scan.source.con, axis.number, axis.given
    assert given is not None
    assert scan.forest is not None
    base = scan.source.scratch.table(f"SELECT value AS {quoted(axis.column)} FROM {column.domain}", "domain")
    listed = f"SELECT list_value(*COLUMNS(*)) AS labels FROM ({wide_rows(scan.source, given, axis.column, base.name)})"
    # As the table has it: NULL is a value of its own, unless the hierarchy says more of it.
    null = f"SELECT list_resize(CAST([] AS VARCHAR[]), {axis.height}) || [{literal(TOP)}]"
    wide = scan.source.scratch.table(listed, "domain_labels")
    fetch(con, f"INSERT INTO {wide} {null} WHERE NOT EXISTS (FROM {wide} WHERE labels[1] IS NULL)")
    labelled = (
        f"FROM {column.domain} AS d LEFT JOIN {wide} AS w ON CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.labels[1]"
    )
    bare = fetch(
        con,
        f"SELECT count(*) {labelled} WHERE d.value IS NOT NULL AND (w.labels IS NULL OR "
        "len(list_filter(w.labels, lambda label: label IS NULL)) > 0)",
    )[0][0]
    if bare:
        raise PolicyError(f"domain of {column.name!r}: {bare:,} of its values have no label in the hierarchy")
    unlike = fetch(
        con,
        f"SELECT count(*) FROM (SELECT DISTINCT labels FROM {scan.forest.steps} WHERE axis = {a}) AS s "
        f"JOIN {wide} AS w ON s.labels[1] IS NOT DISTINCT FROM w.labels[1] WHERE s.labels IS DISTINCT FROM w.labels",
    )[0][0]
    if unlike:
        raise PolicyError(
            f"domain of {column.name!r}: its hierarchy labels {unlike:,} values of the domain otherwise than those of "
            "the table; write labels that depend on the value alone"
        )
    star = literal(TOP)
    shown = f"SELECT label, level FROM {nodes} WHERE axis = {a} AND label IS DISTINCT FROM {star}"
    everything = f"SELECT {star}, value FROM {column.domain} WHERE {star} IN (SELECT label{a} FROM {boxes.relation})"
    return (
        f"SELECT s.label, d.value FROM ({shown}) AS s JOIN {wide} AS w ON "
        f"s.label IS NOT DISTINCT FROM w.labels[s.level + 1] JOIN {column.domain} AS d ON "
        f"CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.labels[1] UNION {everything}"
    )
