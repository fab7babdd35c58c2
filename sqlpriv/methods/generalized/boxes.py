"""Classes of rows as boxes: on every axis a cell between two points of its grid, or a node of its tree.

A method that publishes boxes decides the class of every point, and where the cells of classes end (Cells). Here its
classes become boxes and are judged; box_files.py makes a release of them.

NULL is in no range. A class whose rows have both NULL and numbers on an ordered axis is * there: anything at all. Of *
in ranges the file has the ends of the domain, and none without one; where there is *, NULL may be, too. A range that
ends nowhere is * as well. A value may be below several labels, since these are of many levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlpriv.checks.measures import TOGETHER
from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.axes import LISTED, Axis
from sqlpriv.methods.generalized.evaluate import class_columns, judged_ctes, together_ctes
from sqlpriv.methods.generalized.grid import before_cut, cell_label
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.table.hierarchies import TOP

_ENDS = (("min", "low"), ("max", "high"))
_BITS = (("and", "all"), ("or", "any"))


@dataclass(frozen=True)
class Cells:
    """Where the cells of classes end, as SQL over their spans s."""

    lower: Mapping[int, str]
    upper: Mapping[int, str]
    """Of every ordered axis: the point at which a cell starts, and the one before which it stops. NULL where the axis
    does."""
    levels: Mapping[int, str] = field(default_factory=dict)
    """Of trees whose cells are nodes of cuts: the level of the node, NULL at the top. Else the least node over the rows
    is taken."""
    joins: str = ""
    """What is joined to the spans s for it."""

    @classmethod
    def of(cls, scan: BoxScan, relation: Relation) -> Cells:
        """Cells as a relation has them: lo<a> and hi<a>, and level<a> of trees whose nodes are those of cuts."""
        lower, upper = ({x.number: f"c.{side}{x.number}" for x in scan.ordered} for side in ("lo", "hi"))
        levels = {x.number: f"c.level{x.number}" for x in scan.trees if f"level{x.number}" in relation.columns}
        return cls(lower, upper, levels, f" JOIN {relation.name} AS c ON s.class = c.class")


@dataclass(frozen=True)
class Boxes:
    """Rows in boxes."""

    classed: Relation
    """The points, each with its class."""
    relation: Relation
    """Each class: its rows; on every axis label<a>, and low<a> and high<a> of a range; `width`, of all axes together.
    `box` is the same number for classes that show the same labels, since to a reader these are one."""


@dataclass(frozen=True)
class Boxed(Boxes):
    """Boxes that were judged: how many classes a reader sees, the mean width of a cell, the worst of every measure."""

    classes: int
    loss: float
    worst: tuple[float | None, ...]
    failing: tuple[str, ...]
    """Requirements that some class does not meet."""


def make_boxes(scan: BoxScan, classed: Relation, cells: Cells, scratch: Scratch | None = None) -> Boxes:
    """The boxes of classes; in the scope of the table, where none is given."""
    # Two nodes may have the same label, and then nobody can distinguish them.
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    same = f"SELECT min(class) AS box, unnest(list(class)) AS class FROM sides GROUP BY {labels}"
    boxes = (
        f"WITH spans AS MATERIALIZED ({_grouped(scan, classed)}), sides AS MATERIALIZED "
        f"({_sides(scan, cells)}) SELECT s.*, b.box FROM sides AS s JOIN ({same}) AS b USING (class)"
    )
    return Boxes(classed, (scratch or scan.source.scratch).table(boxes, "boxes"))


def judge_boxes(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes) -> Boxed:
    """Judge boxes as a reader sees them."""
    loss = inlined(f"_mean_loss(sum(rows * width), sum(rows), {len(scan.axes)})")
    # The number of a box is that of one of its classes.
    found = fetch(scan.source.con, f"SELECT count(*) FILTER (class = box), {loss} FROM {boxes.relation.name}")
    ((classes, mean),) = found
    worst, failing = judge(scan, measures, boxed_rows(scan, measures, boxes))
    return Boxed(boxes.classed, boxes.relation, int(classes), float(mean), worst, failing)


def _grouped(scan: BoxScan, classed: Relation) -> str:
    """A query for the spans of classes."""
    return f"SELECT class, CAST(sum(n) AS BIGINT) AS rows, {spans(scan)} FROM {classed.name} GROUP BY class"


def shown_nodes(scan: BoxScan, classed: Relation, cells: Cells) -> str:
    """A query for the nodes that are shown: axis, label and level."""
    found = f"SELECT DISTINCT axis, label, level FROM ({_nodes(scan, cells)})"
    return f"WITH spans AS ({_grouped(scan, classed)}) {found}"


def _nodes(scan: BoxScan, cells: Cells) -> str:
    """A query for the nodes of classes on the axes that are trees: class, axis, label, level, width."""
    least = f"SELECT s.class, s.axis, m.label, m.level, m.width, m.code FROM {nodes_over(scan, 'spans', 'class')}"
    if not cells.levels:
        return least
    heights = {x.number: x.height for x in scan.trees}
    level = " ".join(f"WHEN {a} THEN coalesce({text}, {heights[a]})" for a, text in cells.levels.items())
    placed = f"SELECT s.class, s.axis, s.code, CASE s.axis {level} END AS level FROM ({least}) AS s{cells.joins}"
    return (
        f"SELECT s.class, s.axis, o.label, o.level, o.width FROM ({placed}) AS s JOIN {scan.forest.over.name} AS o "
        "ON s.axis = o.axis AND s.code = o.code AND s.level = o.level"
    )


def box_rows(scan: BoxScan, boxes: Boxes) -> list[Row]:
    """Every box as a reader sees it, in the order of its labels: these, and how many rows have them."""
    labels = ", ".join(f"label{x.number}" for x in scan.axes)
    counted = f"SELECT {labels}, CAST(sum(rows) AS BIGINT) FROM {boxes.relation.name} GROUP BY ALL ORDER BY ALL"
    return fetch(scan.source.con, counted)


def spans(scan: BoxScan) -> str:
    """Aggregates over points: their ends, how many they are, and the bits that all and any of them have."""
    # Doubles, since the difference of two whole numbers may be none that their type has.
    return ", ".join([
        *(["count(*) AS points"] if any(x.has_nulls for x in scan.ordered) else []),
        *(f"CAST({end}(v{x.number}) AS DOUBLE) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"count(v{x.number}) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}(b{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def merged_spans(scan: BoxScan) -> str:
    """The same aggregates over several spans."""
    return ", ".join([
        *(["CAST(sum(points) AS BIGINT) AS points"] if any(x.has_nulls for x in scan.ordered) else []),
        *(f"{end}({name}{x.number}) AS {name}{x.number}" for x in scan.ordered for end, name in _ENDS),
        *(f"CAST(sum(there{x.number}) AS BIGINT) AS there{x.number}" for x in scan.ordered if x.has_nulls),
        *(f"bit_{what}({name}{p}) AS {name}{p}" for p in scan.packs for what, name in _BITS),
    ])  # fmt: skip


def is_range(axis: Axis) -> str:
    """Whether all points of a span have a number on an ordered axis."""
    return f"there{axis.number} = points" if axis.has_nulls else "true"


def is_empty(axis: Axis) -> str:
    """Whether no point of a span has a number on an ordered axis."""
    return f"there{axis.number} = 0" if axis.has_nulls else "false"


def of_numbers(axis: Axis, numbers: str, empty: str = "NULL", mixed: str = "NULL") -> str:
    """SQL for a span whose points all have numbers on an ordered axis; or where none, or only some, has one."""
    if not axis.has_nulls:
        return numbers
    return f"CASE WHEN {is_range(axis)} THEN {numbers} WHEN {is_empty(axis)} THEN {empty} ELSE {mixed} END"


def boxed_rows(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes) -> str:
    """A query for the rows of all boxes, to be judged."""
    columns = class_columns(scan, measures)
    if columns == ["n"]:
        return f"SELECT box AS class, rows AS n FROM {boxes.relation.name}"
    read = ", ".join(f"c.{name}" for name in columns)
    return (
        f"SELECT b.box AS class, {read} FROM {boxes.classed.name} AS c "
        f"JOIN {boxes.relation.name} AS b ON c.class = b.class"
    )


def whole_table(scan: BoxScan, measures: Sequence[ClassMeasure]) -> str:
    """A query for all rows as one class, to be judged."""
    return f"SELECT 0 AS class, {', '.join(class_columns(scan, measures))} FROM {scan.points.name}"


def judge(
    scan: BoxScan, measures: Sequence[ClassMeasure], rows: str
) -> tuple[tuple[float | None, ...], tuple[str, ...]]:
    """The worst value of every measure over classes, and the requirements that some class fails."""
    asked, ctes = [], [judged_ctes(scan, measures, rows)]
    for m in measures:
        if m.kind == TOGETHER:
            ctes.append(together_ctes(m, f"SELECT * EXCLUDE (value), 0 AS part FROM __priv_together_{m.number}"))
            asked.append(f"SELECT value, CAST({m.fails_by('value')} AS INTEGER) FROM __priv_joint_{m.number}")
        else:
            asked.append(f"SELECT {m.worst}({m.column}), coalesce(sum(x{m.number}), 0) FROM __priv_classes")
    each = ", ".join(f"({one}) AS j{i}(value{i}, failing{i})" for i, one in enumerate(asked))
    (found,) = fetch(scan.source.con, f"WITH {', '.join(ctes)} SELECT * FROM {each}")
    failing = [m.requirement.text for m, rows_failing in zip(measures, found[1::2], strict=True) if rows_failing]
    return tuple(found[::2]), tuple(failing)


def by_bounds(scan: BoxScan, measures: Sequence[ClassMeasure]) -> tuple[ClassMeasure, ...]:
    """The measures for one class at a time: of a value of all classes together, a bound by each class alone.

    Where every class meets it, all do together, because the constant in it is the same for all.
    """
    ctes, found = judged_ctes(scan, measures, whole_table(scan, measures)), []
    for measure in measures:
        joint, of_class = measure.requirement.measure.joint, measure.of_class
        if joint is not None:
            constant = inlined(joint.constant.format(c=repr(measure.requirement.threshold)))
            query = f"WITH {ctes} SELECT {constant} FROM __priv_together_{measure.number}"
            of_class = inlined(joint.bound.format(constant=repr(float(fetch(scan.source.con, query)[0][0]))))
        found.append(replace(measure, of_class=of_class))
    return tuple(found)


def nodes_over(scan: BoxScan, spans: str, columns: str) -> str:
    """The least nodes m over spans on the axes that are trees: spans s with these columns and axis, one row a tree."""
    sides = []
    for name in ("all", "any"):
        packed = f"CASE a.pack {' '.join(f'WHEN {p} THEN {name}{p}' for p in scan.packs)} END"
        bits = f"{name}0" if len(scan.packs) == 1 else packed
        sides.append(f"(({bits} >> a.skip) & a.mask) << a.zeros AS {name}_bits")
    cut_out = f"SELECT {columns}, a.axis, {', '.join(sides)} FROM {spans}, {scan.forest.axes.name} AS a"
    marked = f"SELECT *, {inlined('_top_bit(all_bits, any_bits)')} AS top FROM ({cut_out})"
    mark = inlined("_mark(s.all_bits, s.top)")
    return f"({marked}) AS s JOIN {scan.forest.marks.name} AS m ON s.axis = m.axis AND m.mark = {mark}"


def _sides(scan: BoxScan, cells: Cells) -> str:
    """A query for the labels and ends of every class, and its width, from the spans of its points."""
    columns, widths = [], []
    for axis in scan.ordered:
        a, low, high = axis.number, f"s.low{axis.number}", f"s.high{axis.number}"
        label = cell_label(axis.original, low, high, f"s.cut{a}", axis.has_points)
        # There are no ends where some rows are NULL, and others not.
        columns += [
            f"{of_numbers(axis, low)} AS low{a}",
            f"{of_numbers(axis, high)} AS high{a}",
            f"{of_numbers(axis, label, mixed=literal(TOP))} AS label{a}",
        ]
        ends = (f"greatest({axis.number_of(low)}, {axis.first!r})", f"least({axis.number_of(high)}, {axis.last!r})")
        width = inlined(f"_normalised_width({', '.join(ends)}, {axis.first!r}, {axis.last!r})")
        widths.append(of_numbers(axis, width, "0", "1"))
    source = f"({_ends(scan, cells)})" if scan.ordered else "spans"
    if not scan.trees:
        return f"SELECT class, rows, {', '.join(columns)}, {' + '.join(widths)} AS width FROM {source} AS s"
    # The labels of all trees at once: joins take time to plan.
    listed = "".join(f", max(label) FILTER (axis = {x.number}) AS label{x.number}" for x in scan.trees)
    nodes = f"(SELECT class{listed}, sum(width) AS width FROM ({_nodes(scan, cells)}) GROUP BY class) AS n"
    columns += ["n.* EXCLUDE (class, width)", f"{' + '.join(['n.width', *widths])} AS width"]
    return f"SELECT s.class, s.rows, {', '.join(columns)} FROM {source} AS s JOIN {nodes} ON s.class = n.class"


def _ends(scan: BoxScan, cells: Cells) -> str:
    """A query for spans with the ends of cells in place of their own: low<a>, high<a>, and cut<a> after it."""
    points = "".join(
        f", {cells.lower[x.number]} AS lo{x.number}, {cells.upper[x.number]} AS hi{x.number}" for x in scan.ordered
    )
    ends, cuts, joins = [], [], []
    for axis in scan.ordered:
        a, cut = axis.number, axis.typed(f"hi{axis.number}")
        first, last = map(axis.typed, map(repr, axis.outer)) if axis.outer else ("NULL", "NULL")
        before = before_cut(axis.original, cut)
        if axis.grid == LISTED:
            assert scan.after is not None
            joins.append(f" LEFT JOIN {scan.after.name} AS p{a} ON p{a}.axis = {a} AND p{a}.after = hi{a}")
            before = axis.typed(f"p{a}.value")
        ends.append(f"coalesce({axis.typed(f'lo{a}')}, {first}) AS low{a}")
        ends.append(f"CASE WHEN hi{a} IS NULL THEN {last} ELSE {before} END AS high{a}")
        cuts.append(f", {cut} AS cut{a}")
    placed = f"SELECT s.*{points} FROM spans AS s{cells.joins}"
    return f"SELECT q.* REPLACE ({', '.join(ends)}){''.join(cuts)} FROM ({placed}) AS q{''.join(joins)}"
