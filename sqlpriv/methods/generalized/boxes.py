"""Classes of rows as boxes: on every axis the least range, or the least node of the tree, that holds the rows.

What a method that publishes boxes decides is the class of every point alone.

NULL is in no range. A class whose rows have both NULL and numbers on an ordered axis is * there: anything at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.axes import Axis, BoxScan
from sqlpriv.methods.generalized.evaluate import class_columns, judged_ctes
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.table.hierarchies import TOP

_ENDS = (("min", "low"), ("max", "high"))
_BITS = (("and", "all"), ("or", "any"))


@dataclass(frozen=True)
class Boxes:
    """Rows in boxes."""

    classed: Relation
    """The points, each with its class."""
    relation: Relation
    """Each class: its rows; on every axis label<a>, and low<a> and high<a> of a range; `width`, of all axes together;
    and `box`, the same number for classes that show the same labels, since to a reader these are one."""


@dataclass(frozen=True)
class Boxed(Boxes):
    """What boxes come to: how many classes a reader sees, the mean width of a cell, and the worst of every measure."""

    classes: int
    loss: float
    worst: tuple[float | None, ...]
    failing: tuple[str, ...]
    """Requirements that some class does not meet."""


def make_boxes(scan: BoxScan, classed: Relation, scratch: Scratch | None = None) -> Boxes:
    """The boxes of classes; in the scope of the table, where none is given."""
    # Two nodes may be called the same, and then nobody can tell them apart.
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    same = f"SELECT min(class) AS box, unnest(list(class)) AS class FROM sides GROUP BY {labels}"
    boxes = (
        f"WITH spans AS MATERIALIZED ({_grouped(scan, classed)}), sides AS MATERIALIZED "
        f"({_sides(scan)}) SELECT s.*, b.box FROM sides AS s JOIN ({same}) AS b USING (class)"
    )
    return Boxes(classed, (scratch or scan.source.scratch).table(boxes, "boxes"))


def judge_boxes(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes) -> Boxed:
    """What boxes come to."""
    loss = inlined(f"_mean_loss(sum(rows * width), sum(rows), {len(scan.axes)})")
    # The number of a box is that of one of its classes.
    found = fetch(scan.source.con, f"SELECT count(*) FILTER (class = box), {loss} FROM {boxes.relation}")
    ((classes, mean),) = found
    worst, failing = judge(scan, measures, boxed_rows(scan, measures, boxes))
    return Boxed(boxes.classed, boxes.relation, int(classes), float(mean), worst, failing)


def _grouped(scan: BoxScan, classed: Relation) -> str:
    """A query for the spans of classes."""
    return f"SELECT class, CAST(sum(n) AS BIGINT) AS rows, {spans(scan)} FROM {classed} GROUP BY class"


def shown_nodes(scan: BoxScan, classed: Relation) -> str:
    """A query for the nodes that are shown: axis, label and level."""
    found = f"SELECT DISTINCT s.axis, m.label, m.level FROM {nodes_over(scan, 'spans', 'class')}"
    return f"WITH spans AS ({_grouped(scan, classed)}) {found}"


def box_rows(scan: BoxScan, boxes: Boxes) -> list[Row]:
    """Every box as a reader sees it, in the order of its labels: these, and how many rows have them."""
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    counted = f"SELECT {labels}, CAST(sum(rows) AS BIGINT) FROM {boxes.relation} GROUP BY ALL ORDER BY ALL"
    return fetch(scan.source.con, counted)


def spans(scan: BoxScan) -> str:
    """What is known of some points together, to be grouped: their ends, how many there are, and the bits they have."""
    # Doubles, since the difference of two whole numbers may be none that their type has.
    return ", ".join([
        *(["count(*) AS points"] if _has_nulls(scan) else []),
        *(f"CAST({end}(v{x.number}) AS DOUBLE) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"count(v{x.number}) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}(b{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def merged_spans(scan: BoxScan) -> str:
    """The same of several spans together."""
    return ", ".join([
        *(["CAST(sum(points) AS BIGINT) AS points"] if _has_nulls(scan) else []),
        *(f"{end}({name}{x.number}) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"CAST(sum(there{x.number}) AS BIGINT) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}({name}{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def _has_nulls(scan: BoxScan) -> bool:
    """Whether some points have no number on an ordered axis."""
    return any(axis.has_nulls for axis in scan.ordered)


def is_range(axis: Axis) -> str:
    """Whether all points of a span have a number on an ordered axis."""
    return f"there{axis.number} = points" if axis.has_nulls else "true"


def is_empty(axis: Axis) -> str:
    """Whether none has."""
    return f"there{axis.number} = 0" if axis.has_nulls else "false"


def of_numbers(axis: Axis, numbers: str, empty: str = "NULL", mixed: str = "NULL") -> str:
    """What there is of a span whose points have numbers on an ordered axis; or where none, or only some, has one."""
    if not axis.has_nulls:
        return numbers
    return f"CASE WHEN {is_range(axis)} THEN {numbers} WHEN {is_empty(axis)} THEN {empty} ELSE {mixed} END"


def boxed_rows(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes) -> str:
    """A query for the rows of all boxes, to be judged."""
    columns = class_columns(scan, measures)
    if columns == ["n"]:
        return f"SELECT box AS class, rows AS n FROM {boxes.relation}"
    read = ", ".join(f"c.{name}" for name in columns)
    return f"SELECT b.box AS class, {read} FROM {boxes.classed} AS c JOIN {boxes.relation} AS b ON c.class = b.class"


def whole_table(scan: BoxScan, measures: Sequence[ClassMeasure]) -> str:
    """A query for all rows as one class, to be judged."""
    return f"SELECT 0 AS class, {', '.join(class_columns(scan, measures))} FROM {scan.points}"


def judge(
    scan: BoxScan, measures: Sequence[ClassMeasure], rows: str
) -> tuple[tuple[float | None, ...], tuple[str, ...]]:
    """The worst value of every measure over classes, and the requirements that some class fails."""
    asked = ", ".join(f"{m.worst}({m.column}), coalesce(sum(x{m.number}), 0)" for m in measures)
    (found,) = fetch(scan.source.con, f"WITH {judged_ctes(scan, measures, rows)} SELECT {asked} FROM __priv_classes")
    failing = [m.requirement.text for m, rows_failing in zip(measures, found[1::2], strict=True) if rows_failing]
    return tuple(found[::2]), tuple(failing)


def nodes_over(scan: BoxScan, spans: str, columns: str) -> str:
    """The least nodes m over spans on the axes that are trees: spans s with these columns and axis, one row a tree."""
    assert scan.forest is not None
    sides = ", ".join(
        f"(({_packed(scan, name)} >> a.skip) & a.mask) << a.zeros AS {name}_bits" for name in ("all", "any")
    )
    cut_out = f"SELECT {columns}, a.axis, {sides} FROM {spans}, {scan.forest.axes} AS a"
    marked = f"SELECT *, {inlined('_top_bit(all_bits, any_bits)')} AS top FROM ({cut_out})"
    mark = inlined("_mark(s.all_bits, s.top)")
    return f"({marked}) AS s JOIN {scan.forest.marks} AS m ON s.axis = m.axis AND m.mark = {mark}"


def _packed(scan: BoxScan, name: str) -> str:
    """The bits of the pack of a tree."""
    if len(scan.packs) == 1:
        return f"{name}0"
    return f"CASE a.pack {' '.join(f'WHEN {p} THEN {name}{p}' for p in scan.packs)} END"


def _sides(scan: BoxScan) -> str:
    """A query for what is shown of every class, from their spans."""
    columns = [column for axis in scan.ordered for column in _ordered_side(axis)]
    widths = [_width(axis) for axis in scan.ordered]
    if not scan.trees:
        return f"SELECT class, rows, {', '.join(columns)}, {' + '.join(widths)} AS width FROM spans AS s"
    columns += ["n.* EXCLUDE (class, width)", f"{' + '.join(['n.width', *widths])} AS width"]
    nodes = f"({_labels_of_nodes(scan)}) AS n"
    return f"SELECT s.class, s.rows, {', '.join(columns)} FROM spans AS s JOIN {nodes} ON s.class = n.class"


def _width(axis: Axis) -> str:
    """How wide a class is on an ordered axis."""
    width = inlined(f"_normalised_width(s.low{axis.number}, s.high{axis.number}, {axis.first!r}, {axis.last!r})")
    return of_numbers(axis, width, "0", "1")


def _ordered_side(axis: Axis) -> list[str]:
    """Its ends in the type of the column; none where some rows are NULL, and others not."""
    a = axis.number
    low, high = (axis.typed(f"s.{side}{a}") for side in ("low", "high"))
    label = inlined(f"_closed_label({low}, {high})")
    return [
        f"{of_numbers(axis, low)} AS low{a}",
        f"{of_numbers(axis, high)} AS high{a}",
        f"{of_numbers(axis, label, mixed=literal(TOP))} AS label{a}",
    ]


def _labels_of_nodes(scan: BoxScan) -> str:
    """A query for class, the labels of its nodes, and their width; all trees at once: joins take time to plan."""
    listed = "".join(f", max(label) FILTER (axis = {x.number}) AS label{x.number}" for x in scan.trees)
    found = f"SELECT s.class, s.axis, m.label, m.width FROM {nodes_over(scan, 'spans', 'class')}"
    return f"SELECT class{listed}, sum(width) AS width FROM ({found}) GROUP BY class"
