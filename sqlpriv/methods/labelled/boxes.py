"""Classes of rows as boxes: on every axis the least range, or the least node of the tree, that holds the rows.

What a method that publishes boxes decides is table `classed` alone: row (of the points) and class. From it come

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
    spans = "".join(
        f", min(p.v{x.number}) AS low{x.number}, max(p.v{x.number}) AS high{x.number}, "
        f"count(p.v{x.number}) AS there{x.number}"
        for x in scan.axes
    )
    fetch(
        con,
        f"CREATE OR REPLACE TABLE spans AS SELECT c.class, CAST(sum(p.n) AS BIGINT) AS rows, count(*) AS points{spans} "
        f"FROM {CLASSED} AS c JOIN points AS p ON c.row = p.row GROUP BY c.class",
    )
    columns = ["s.class", "s.rows"]
    for axis in scan.axes:
        columns += _ordered_side(axis) if axis.is_ordered else _node_side(axis)
    sides = f"SELECT {', '.join(columns)} FROM spans AS s"
    if scan.trees:
        sides += f" JOIN ({_labels_of_nodes(scan.trees)}) AS n ON s.class = n.class"
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    # Two nodes may be called the same, and then nobody can tell them apart.
    fetch(
        con, f"CREATE OR REPLACE TABLE boxes AS SELECT *, min(class) OVER (PARTITION BY {labels}) AS box FROM ({sides})"
    )
    widths = " + ".join(f"width{x.number}" for x in scan.axes)
    loss = inlined(f"_mean_loss(sum(rows * ({widths})), sum(rows), {len(scan.axes)})")
    ((classes, mean),) = fetch(con, f"SELECT count(DISTINCT box), {loss} FROM boxes")
    worst, failing = judge(scan, measures, boxed_rows(scan, measures))
    return Boxed(int(classes), float(mean), worst, failing)


def boxed_rows(scan: BoxScan, measures: Sequence[ClassMeasure]) -> str:
    """A query for the rows of all boxes, to be judged."""
    read = ", ".join(f"p.{name}" for name in class_columns(scan, measures))
    return (
        f"SELECT b.box AS class, {read} FROM points AS p JOIN {CLASSED} AS c ON p.row = c.row "
        "JOIN boxes AS b ON c.class = b.class"
    )


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


def _ordered_side(axis: Axis) -> list[str]:
    """Its ends in the type of the column; none where some rows are NULL, and others not."""
    a = axis.number
    low, high = (axis.typed(f"s.{side}{a}") for side in ("low", "high"))
    is_range = f"s.there{a} = s.points"
    label = inlined(f"_closed_label({low}, {high})")
    width = inlined(f"_normalised_width(s.low{a}, s.high{a}, {axis.first!r}, {axis.last!r})")
    return [
        f"CASE WHEN {is_range} THEN {low} END AS low{a}",
        f"CASE WHEN {is_range} THEN {high} END AS high{a}",
        f"CASE WHEN {is_range} THEN {label} WHEN s.there{a} > 0 THEN {literal(TOP)} END AS label{a}",
        f"NULL AS level{a}",
        f"CASE WHEN {is_range} THEN {width} WHEN s.there{a} > 0 THEN CAST(1 AS DOUBLE) ELSE CAST(0 AS DOUBLE) END "
        f"AS width{a}",
    ]


def least_nodes(sides: str) -> str:
    """The least node n of a tree over each side s: a query for axis, and the leaves low to high of it."""
    level = "list_position(list_transform(f.lows, lambda low, i: low = t.lows[i]), true)"
    return (
        f"({sides}) AS s JOIN tree_leaves AS f ON s.axis = f.axis AND s.low = f.code "
        f"JOIN tree_leaves AS t ON s.axis = t.axis AND s.high = t.code "
        f"JOIN tree_nodes AS n ON s.axis = n.axis AND n.level = {level} - 1 AND n.low = f.lows[{level}]"
    )


def tree_sides(columns: str, trees: Sequence[Axis]) -> str:
    """A query for the sides of all spans on the axes that are trees: these columns, axis, low and high."""
    sides = {"axis": "{}", "low": "low{}", "high": "high{}"}
    listed = ", ".join(
        f"unnest([{', '.join(side.format(x.number) for x in trees)}]) AS {name}" for name, side in sides.items()
    )
    return f"SELECT {columns}, {listed} FROM spans"


def _labels_of_nodes(trees: Sequence[Axis]) -> str:
    """A query for class, and the label, level and width of its nodes; all trees at once, as joins cost time to plan."""
    sides = tree_sides("class", trees)
    listed = "".join(
        f", max({name}) FILTER (axis = {x.number}) AS {name}{x.number}"
        for x in trees
        for name in ("label", "level", "width")
    )
    found = f"SELECT s.class, s.axis, n.label, n.level, n.width FROM {least_nodes(sides)}"
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
