"""Classes of rows as boxes: on every axis the least range, or the least node of the tree, that holds the rows.

What a method that publishes boxes decides is table `classed` alone: the points, each with its class. From it come

    boxes   each class: its rows; on every axis low<a> and high<a>, label<a>, level<a> of a node, width<a>; and `box`,
            the same number for classes that show the same labels, since to a reader these are one class

NULL is in no range. A class whose rows have both NULL and numbers on an ordered axis is * there: anything at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.evaluate import class_columns, judged_ctes
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.sqltext import literal
from sqlpriv.table.hierarchies import TOP

CLASSED = "classed"
_ENDS = (("min", "low"), ("max", "high"))
_BITS = (("and", "all"), ("or", "any"))


@dataclass(frozen=True)
class Boxed:
    """What boxes come to: how many classes a reader sees, the mean width of a cell, and the worst of every measure."""

    classes: int
    loss: float
    worst: tuple[float | None, ...]
    failing: tuple[str, ...]
    """Requirements that some class does not meet."""


def write_boxes(scan: BoxScan, measures: Sequence[ClassMeasure]) -> Boxed:
    """Table boxes, from table classed."""
    con = scan.source.con
    fetch(
        con,
        f"CREATE OR REPLACE TABLE spans AS SELECT class, CAST(sum(n) AS BIGINT) AS rows, {spans(scan)} FROM {CLASSED} "
        "GROUP BY class",
    )
    columns = ["s.class", "s.rows"]
    for axis in scan.axes:
        columns += _ordered_side(axis) if axis.is_ordered else _node_side(axis)
    sides = f"SELECT {', '.join(columns)} FROM spans AS s"
    if scan.trees:
        sides += f" JOIN ({_labels_of_nodes(scan.trees)}) AS n ON s.class = n.class"
    fetch(con, f"CREATE OR REPLACE TABLE sides AS {sides}")
    # Two nodes may be called the same, and then nobody can tell them apart.
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    same = f"SELECT min(class) AS box, unnest(list(class)) AS class FROM sides GROUP BY {labels}"
    fetch(con, f"CREATE OR REPLACE TABLE boxes AS SELECT s.*, b.box FROM sides AS s JOIN ({same}) AS b USING (class)")
    widths = " + ".join(f"width{x.number}" for x in scan.axes)
    loss = inlined(f"_mean_loss(sum(rows * ({widths})), sum(rows), {len(scan.axes)})")
    ((classes, mean),) = fetch(con, f"SELECT count(DISTINCT box), {loss} FROM boxes")
    worst, failing = judge(scan, measures, boxed_rows(scan, measures))
    return Boxed(int(classes), float(mean), worst, failing)


def spans(scan: BoxScan) -> str:
    """What is known of some points together, to be grouped: their ends, how many there are, and the bits they have."""
    # Doubles, since the difference of two whole numbers may be none that their type has.
    return ", ".join([
        "count(*) AS points",
        *(f"CAST({end}(v{x.number}) AS DOUBLE) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"count(v{x.number}) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}(b{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def merged_spans(scan: BoxScan) -> str:
    """The same of several spans together."""
    return ", ".join([
        "CAST(sum(points) AS BIGINT) AS points",
        *(f"{end}({name}{x.number}) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"CAST(sum(there{x.number}) AS BIGINT) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}({name}{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def is_range(axis: Axis) -> str:
    """Whether all points of a span have a number on an ordered axis."""
    return f"there{axis.number} = points" if axis.has_nulls else "true"


def is_empty(axis: Axis) -> str:
    """Whether none has."""
    return f"there{axis.number} = 0" if axis.has_nulls else "false"


def boxed_rows(scan: BoxScan, measures: Sequence[ClassMeasure]) -> str:
    """A query for the rows of all boxes, to be judged."""
    columns = class_columns(scan, measures)
    if columns == ["n"]:
        return "SELECT box AS class, rows AS n FROM boxes"
    read = ", ".join(f"c.{name}" for name in columns)
    return f"SELECT b.box AS class, {read} FROM {CLASSED} AS c JOIN boxes AS b ON c.class = b.class"


def whole_table(scan: BoxScan, measures: Sequence[ClassMeasure]) -> str:
    """A query for all rows as one class, to be judged."""
    return f"SELECT 0 AS class, {', '.join(class_columns(scan, measures))} FROM points"


def judge(
    scan: BoxScan, measures: Sequence[ClassMeasure], rows: str
) -> tuple[tuple[float | None, ...], tuple[str, ...]]:
    """The worst value of every measure over classes, and the requirements that some class fails."""
    asked = ", ".join(f"{m.worst}({m.column}), coalesce(sum(x{m.number}), 0)" for m in measures)
    (found,) = fetch(scan.source.con, f"WITH {judged_ctes(scan, measures, rows)} SELECT {asked} FROM __priv_classes")
    failing = [m.requirement.text for m, rows_failing in zip(measures, found[1::2], strict=True) if rows_failing]
    return tuple(found[::2]), tuple(failing)


def nodes_over(spans: str, columns: str, trees: Sequence[Axis]) -> str:
    """The least nodes m over spans on the axes that are trees: spans s with these columns and axis, one row a tree."""
    listed = {"axis": [str(x.number) for x in trees]}
    for name in ("all", "any"):
        fields = (f"(({name}{x.pack} >> {x.offset}) & {2**x.bits - 1}) << {x.zeros}" for x in trees)
        listed[f"{name}_bits"] = list(fields)
    sides = ", ".join(f"unnest([{', '.join(given)}]) AS {name}" for name, given in listed.items())
    tops = f"SELECT *, {inlined('_top_bit(all_bits, any_bits)')} AS top FROM (SELECT {columns}, {sides} FROM {spans})"
    return f"({tops}) AS s JOIN tree_marks AS m ON s.axis = m.axis AND m.mark = {inlined('_mark(s.all_bits, s.top)')}"


def _ordered_side(axis: Axis) -> list[str]:
    """Its ends in the type of the column; none where some rows are NULL, and others not."""
    a = axis.number
    low, high = (axis.typed(f"s.{side}{a}") for side in ("low", "high"))
    label = inlined(f"_closed_label({low}, {high})")
    width = inlined(f"_normalised_width(s.low{a}, s.high{a}, {axis.first!r}, {axis.last!r})")
    return [
        f"CASE WHEN {is_range(axis)} THEN {low} END AS low{a}",
        f"CASE WHEN {is_range(axis)} THEN {high} END AS high{a}",
        f"CASE WHEN {is_range(axis)} THEN {label} WHEN NOT {is_empty(axis)} THEN {literal(TOP)} END AS label{a}",
        f"NULL AS level{a}",
        f"CASE WHEN {is_range(axis)} THEN {width} WHEN {is_empty(axis)} THEN CAST(0 AS DOUBLE) ELSE CAST(1 AS DOUBLE) "
        f"END AS width{a}",
    ]


def _labels_of_nodes(trees: Sequence[Axis]) -> str:
    """A query for class, and the label, level and width of its nodes; all trees at once, as joins cost time to plan."""
    listed = "".join(
        f", max({name}) FILTER (axis = {x.number}) AS {name}{x.number}"
        for x in trees
        for name in ("label", "level", "width")
    )
    found = f"SELECT s.class, s.axis, m.label, m.level, m.width FROM {nodes_over('spans', 'class', trees)}"
    return f"SELECT class{listed} FROM ({found}) GROUP BY class"


def _node_side(axis: Axis) -> list[str]:
    a = axis.number
    label = f"CASE WHEN n.level{a} = {axis.height} THEN {literal(TOP)} ELSE n.label{a} END"
    return [
        f"NULL AS low{a}",
        f"NULL AS high{a}",
        f"{label} AS label{a}",
        f"n.level{a} AS level{a}",
        f"n.width{a} AS width{a}",
    ]
