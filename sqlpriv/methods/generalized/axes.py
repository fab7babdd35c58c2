"""The quasi-identifiers as axes on which rows are points and boxes have sides; and the trees of their hierarchies.

An axis is ordered, where its numbers or dates may be cut at every point of a grid (grid.py): a row stands at the last
point that is not above its number. Or it is a tree, where a hierarchy, or halving a public range again and again, says
how values go together. The leaves of a tree are numbered from left to right, so that a node is a range of numbers. Each
node has as many bits as are needed to distinguish its children, and the way to a leaf is the bits of all nodes above
it, first those of the top. So ways that start alike are below one node, and the least node over some rows is where
their ways part. The bits that all of them have (`AND`) and the bits that any has (`OR`) are enough to find it, without
looking at the rows again. The bits of several trees are side by side in one number, a pack, so that a row is not much
longer for many trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.layout import WHOLE
from sqlpriv.methods.generalized.scan import ScannedTable, check_hierarchies, paths_of
from sqlpriv.table.hierarchies import TOP, Given, Hierarchy, make_hierarchies

DIGITS, CONSECUTIVE, LISTED = "digits", "consecutive", "listed"
"""Where an ordered axis may be cut: at points of a grid that no data decides; at all whole numbers or days of a public
range; at the values that a public domain lists."""
WAY = 61
"""The bits of a way; those that a tree does not need are zeros at the end. Of its mark there is one more."""


_LABEL = f"CASE WHEN len(n.above) = 0 THEN {literal(TOP)} ELSE n.label END"
"""What a node is published as."""


@dataclass(frozen=True)
class Axis:
    """A quasi-identifier: its column as the table spells it, the type of its values, and what its labels are."""

    number: int
    column: str
    original: str
    labels: str
    given: Given | None = None
    """The hierarchy; None where the axis is ordered, or halves of a public range."""
    height: int | None = None
    """The level of the top; None where the axis is ordered."""
    first: float = 0.0
    last: float = 0.0
    """The least and the greatest point of an ordered axis; the public ends of one of halves."""
    grid: str = DIGITS
    """Where an ordered axis may be cut."""
    outer: tuple[float, float] | None = None
    """The public ends of an ordered axis, where it has a domain."""
    has_nulls: bool = False
    """Of an ordered axis, whether some row has no value on it."""
    bits: int = 0
    """How long the way to a leaf of a tree is."""
    field: int = 0
    """The most bits that the children of one node take."""
    pack: int = 0
    offset: int = 0
    """In which pack the ways to the leaves are, and from which bit on; without the zeros at their ends."""

    @property
    def is_ordered(self) -> bool:
        """Whether it may be cut at any point of a grid."""
        return self.height is None

    @property
    def has_points(self) -> bool:
        """Whether a public domain says where it may be cut."""
        return self.grid != DIGITS

    @property
    def zeros(self) -> int:
        """How many zeros are at the end of every way."""
        return WAY - self.bits

    @property
    def shortest(self) -> str:
        """The shortest type that holds the numbers of an ordered axis as they are."""
        is_whole = WHOLE.fullmatch(self.original) or self.original == "DATE"
        if is_whole and self.first >= -(2**31) and self.last < 2**31:
            return "INTEGER"
        return "DOUBLE"

    def typed(self, number: str) -> str:
        """A number of the axis as the value that it stands for, in SQL."""
        if self.original == "DATE":
            return f"(DATE '1970-01-01' + CAST({number} AS INTEGER))"
        if self.original == "TIMESTAMP":
            return f"make_timestamp(CAST({number} AS BIGINT))"
        return f"CAST({number} AS {self.original})"

    def number_of(self, value: str) -> str:
        """A value as a number, in SQL."""
        if self.original == "DATE":
            return f"CAST({value} - DATE '1970-01-01' AS DOUBLE)"
        if self.original == "TIMESTAMP":
            return f"CAST(epoch_us({value}) AS DOUBLE)"
        if self.original == "FLOAT":  # the number that people read
            return f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
        return f"CAST({value} AS DOUBLE)"


@dataclass(frozen=True)
class Trees:
    """The trees of all axes that have one."""

    steps: Relation
    """The leaves, one row a level: axis, labels, code, level."""
    nodes: Relation
    """axis, level, the leaves low to high, label, labels above it, leaves, width, the share of all values below it."""
    axes: Relation
    """axis, and where its ways are: `pack`, from which bit on (`skip`), as many ones (`mask`), the zeros at the end."""
    leaves: Relation
    """axis, value as text, code, way."""
    marks: Relation
    """Nodes by where ways part: axis, mark, level, its first leaf, label (* at the top), width of the node, and how
    eagerly it is cut. Then the bits of its children, `field` from `start` of the pack on."""
    over: Relation
    """The nodes over the leaves: axis, level, code, label (* at the top), width."""
    halves: Mapping[int, Relation]
    """Of each axis that is a public range: the ends of all nodes, label, low, high."""


def write_trees(
    found: ScannedTable, axes: Sequence[Axis]
) -> tuple[tuple[Axis, ...], Trees | None, tuple[Hierarchy, ...]]:
    """The axes with their heights, and where their ways are; the trees; and their hierarchies.

    Those that are wrong in themselves are refused. Whether they have every value of the table is not looked at.
    """
    trees = [axis for axis in axes if not axis.is_ordered]
    if not trees:
        return tuple(axes), None, ()
    frequencies, scratch = found.frequencies, found.source.scratch
    given = {axis.column: axis.given for axis in trees if axis.given is not None}
    by_column = {h.column: h for h in make_hierarchies(found.source, given, frequencies.relation.name)}
    halves = {}
    for axis in trees:
        if axis.given is None:
            by_column[axis.column], halves[axis.number] = _write_halves(found, axis)
    hierarchies = tuple(by_column[axis.column] for axis in trees)
    steps, nodes = _nodes(scratch, paths_of(frequencies, hierarchies), trees, halves)
    if not _are_plainly_right(nodes, len(trees)):
        check_hierarchies(frequencies, hierarchies)
    ways = _ways(scratch, nodes)
    measured = list(axes)
    lengths = f"SELECT axis, {WAY} - min(shift), max(field) FROM {ways.name} GROUP BY axis"
    for number, bits, field in fetch(found.source.con, lengths):
        height = by_column[axes[number].column].height
        measured[number] = replace(axes[number], height=height, bits=int(bits), field=int(field))
    if any(axis.bits > WAY for axis in measured):  # is refused below; but a fault of the hierarchy comes first
        check_hierarchies(frequencies, hierarchies)
    packed = tuple(_packed(measured))
    listed = ", ".join(
        f"({x.number}, {x.pack}, {x.offset}, {2**x.bits - 1}, {x.zeros})" for x in packed if not x.is_ordered
    )
    placed = scratch.table(f"FROM (VALUES {listed}) AS t(axis, pack, skip, mask, zeros)", "tree_axes")
    leaves = scratch.table(
        f"SELECT n.axis, n.label AS value, n.low AS code, w.way FROM {nodes.name} AS n "
        f"JOIN (SELECT axis, code, CAST(sum(child << shift) AS BIGINT) AS way FROM {ways.name} GROUP BY axis, code) "
        "AS w ON n.axis = w.axis AND n.low = w.code WHERE n.level = 0",
        "tree_leaves",
    )
    marks = _marks(scratch, nodes, ways, placed, leaves)
    over = scratch.table(
        f"SELECT s.axis, s.level, s.code, {_LABEL} AS label, n.width FROM {steps.name} AS s JOIN {nodes.name} AS n "
        "ON s.axis = n.axis AND s.level = n.level AND s.labels[s.level + 1 :] = list_prepend(n.label, n.above)",
        "tree_over",
    )
    return packed, Trees(steps, nodes, placed, leaves, marks, over, halves), hierarchies


def _are_plainly_right(nodes: Relation, trees: int) -> bool:
    """Whether every node has a label that no other node of its level has, and only one of each tree is on its top.

    Then no value is listed twice, all levels nest, and nothing is wrong. Where it is not so, there may be a reason: the
    way of NULL has no labels. That the tops are as many as the trees is enough: a tree without one has no value of the
    table, and is refused for that.
    """
    labels = (
        "SELECT label, count(*) AS nodes, count(*) FILTER (len(above) = 0) AS tops, count(*) FILTER (level = 0 AND "
        f"leaves > 1) AS twice FROM {nodes.name} GROUP BY axis, level, label"
    )
    query = f"SELECT sum(nodes), count(label), sum(tops), sum(twice) FROM ({labels})"
    ((labelled, different, tops, twice),) = fetch(nodes.con, query)
    return bool(labelled == different and tops == trees and not twice)


def _packed(axes: Iterable[Axis]) -> Iterator[Axis]:
    """The axes with the places of their ways, side by side."""
    pack, used = 0, 0
    for axis in axes:
        if axis.is_ordered:
            yield axis
            continue
        if axis.bits > WAY:
            raise PolicyError(
                f"the hierarchy of {axis.column!r} has too many labels below labels, on too many levels; leave out "
                "some of its levels"
            )
        if used + axis.bits > WAY:
            pack, used = pack + 1, 0
        yield replace(axis, pack=pack, offset=used)
        used += axis.bits


def _nodes(
    scratch: Scratch, paths: Relation, trees: Sequence[Axis], halves: Mapping[int, Relation]
) -> tuple[Relation, Relation]:
    """The leaves, one row a level, and the nodes."""
    numbers = ", ".join(f"({i}, {axis.number})" for i, axis in enumerate(trees))
    steps = scratch.table(
        "SELECT *, unnest(range(len(labels))) AS level FROM (SELECT t.axis, "
        "p.labels, row_number() OVER (PARTITION BY p.attribute ORDER BY list_reverse(p.labels)) AS code FROM "
        f"{paths.name} AS p JOIN (VALUES {numbers}) AS t(attribute, axis) ON p.attribute = t.attribute)",
        "tree_steps",
    )
    width, share = (inlined(f"{name}(leaves, of_all)") for name in ("_node_width", "_node_share"))
    nodes = scratch.table(
        f"SELECT * EXCLUDE (of_all), {width} AS width, {share} AS share FROM "
        "(SELECT axis, level, min(code) AS low, max(code) AS high, any_value(labels[level + 1]) AS label, "
        "any_value(labels[level + 2 :]) AS above, count(*) AS leaves, max(count(*)) OVER (PARTITION BY axis) AS of_all "
        f"FROM {steps.name} GROUP BY axis, level, labels[level + 1 :])",
        "tree_nodes",
    )
    for axis in trees:
        if axis.given is None:
            wide = inlined(f"_normalised_width(e.low, e.high, {axis.first!r}, {axis.last!r})")
            fetch(
                scratch.con,
                f"UPDATE {nodes.name} SET width = {wide}, share = {wide} FROM {halves[axis.number].name} AS e WHERE "
                f"{nodes.name}.axis = {axis.number} AND {nodes.name}.label = e.label",
            )
    return steps, nodes


def _ways(scratch: Scratch, nodes: Relation) -> Relation:
    """Of every leaf and level below the top: the node there, low to high, and the parent above it. Then which child of
    it the node is, in how many bits (`field`), and from which bit on (`shift`)."""
    bits = inlined("_bits_for(len(lows) - 1)")
    families = (
        "SELECT axis, level, list(low ORDER BY low) AS lows, list(high ORDER BY low) AS highs "
        f"FROM {nodes.name} WHERE len(above) > 0 GROUP BY axis, level, above"
    )
    children = (
        f"SELECT axis, level, lows[1] AS parent, {bits} AS field, unnest(lows) AS low, unnest(highs) AS high, "
        f"unnest(range(len(lows))) AS child FROM ({families})"
    )
    ways = f"SELECT *, unnest(range(low, high + 1)) AS code FROM ({children})"
    used = "sum(field) OVER (PARTITION BY axis, code ORDER BY level DESC)"
    return scratch.table(f"SELECT *, CAST({WAY} - {used} AS INTEGER) AS shift FROM ({ways})", "tree_ways")


def _marks(scratch: Scratch, nodes: Relation, ways: Relation, axes: Relation, leaves: Relation) -> Relation:
    """The nodes by where ways part."""
    forks = (
        "SELECT w.axis, b.way, a.way AS other, w.level + 1 AS level, w.parent AS low, w.shift - t.zeros + t.skip AS "
        f"start, w.field FROM {ways.name} AS w JOIN {axes.name} AS t ON w.axis = t.axis "
        f"JOIN {leaves.name} AS b ON w.axis = b.axis AND w.low = b.code "
        f"JOIN {leaves.name} AS a ON w.axis = a.axis AND w.low - 1 = a.code WHERE w.child > 0 AND w.code = w.low"
    )
    alone = f"SELECT axis, way, way, 0, code, 0, 0 FROM {leaves.name}"
    mark = inlined(f"_mark(m.way, {inlined('_top_bit(m.way, m.other)')})")
    eager = inlined("_eagerness(n.share, m.axis)")
    return scratch.table(
        f"SELECT m.axis, {mark} AS mark, n.level, n.low AS code, {_LABEL} AS label, n.width, "
        f"{eager} AS eager, m.start, m.field FROM ({forks} UNION ALL {alone}) AS m JOIN {nodes.name} AS n ON m.axis = "
        "n.axis AND m.level = n.level AND m.low = n.low",
        "tree_marks",
    )


def _write_halves(found: ScannedTable, axis: Axis) -> tuple[Hierarchy, Relation]:
    """The hierarchy of a public range by halves, for the values of the table; and the ends of all its nodes."""
    name, scratch = quoted(axis.column), found.source.scratch
    depth = int(axis.last - axis.first).bit_length()
    steps = (
        f"SELECT DISTINCT {name} AS cell, CAST({axis.number_of(name)} AS BIGINT) AS v, CAST({int(axis.first)} AS "
        f"BIGINT) AS first0, CAST({int(axis.last)} AS BIGINT) AS last0 FROM {found.frequencies.relation.name} "
        f"WHERE {name} IS NOT NULL"
    )
    for i in range(depth):
        middle = inlined(f"_middle(first{i}, last{i})")
        steps = (
            f"SELECT *, CASE WHEN v <= {middle} THEN first{i} ELSE {middle} + 1 END AS first{i + 1}, "
            f"CASE WHEN v <= {middle} THEN {middle} ELSE last{i} END AS last{i + 1} FROM ({steps})"
        )
    halving = scratch.table(steps, "halving")

    def label(i: int) -> str:
        return inlined(f"_closed_label({axis.typed(f'first{i}')}, {axis.typed(f'last{i}')})")

    # The last step is the value itself.
    levels = "".join(f", {label(i)} AS level{depth - i}" for i in reversed(range(depth)))
    wide = scratch.table(
        f"SELECT CAST(cell AS VARCHAR) AS value{levels}, {literal(TOP)} AS level{depth + 1} FROM {halving.name}",
        "hierarchy",
    )
    ends = " UNION ".join(
        f"SELECT {label(i)} AS label, first{i} AS low, last{i} AS high FROM {halving.name}" for i in range(depth + 1)
    )
    return Hierarchy(axis.column, wide.name, depth + 1), scratch.table(ends, "halves")
