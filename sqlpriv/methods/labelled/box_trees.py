"""The trees of box axes as tables, with the ways from the top to the leaves in bits.

The leaves of a tree are numbered from left to right, so that a node is a range of numbers. Each node has as many bits
as its children need to be told apart, and the way to a leaf is the bits of all nodes above it, first those of the top.
So ways that start alike are below one node, and the least node over some rows is where their ways part: what all of
them have (`AND` of all bits) and what any has (`OR`) are enough to find it, without looking at the rows again.

    tree_steps    the leaves, one row a level: axis, labels, code, level
    tree_nodes    the nodes of all trees: axis, level, the leaves low to high, label, labels above it, leaves, width,
                  and the share of all values that it stands for
    tree_ways     of every leaf and level below the top: the node there, low to high, the parent above it, which child
                  of it the node is, in how many bits (`field`), and from which bit on (`shift`)
    tree_axes     the trees: axis, and where their ways are: `pack`, from which bit on (`skip`), as many ones (`mask`),
                  and the zeros at their ends
    tree_leaves   the leaves: axis, value as text, code, way
    tree_marks    what is found by where ways part: axis, mark, level, label (* at the top), width of the node, how
                  eagerly it is cut, and the bits of its children, `field` from `start` of the pack on
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.axes import WAY, Axis
from sqlpriv.methods.labelled.labels import check_hierarchies, write_paths
from sqlpriv.methods.labelled.scan import FREQUENCIES, Frequencies
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.hierarchies import SCHEMA, TOP, Hierarchy, make_hierarchies


def write_trees(found: Frequencies, axes: Sequence[Axis]) -> tuple[tuple[Axis, ...], tuple[Hierarchy, ...]]:
    """All tables of trees; the axes with their heights, and where their ways are; and the hierarchies of the trees.

    Those that are wrong in themselves are refused. Whether they have every value of the table is not looked at.
    """
    con, trees = found.source.con, [axis for axis in axes if not axis.is_ordered]
    if not trees:
        return tuple(axes), ()
    given = {axis.column: axis.given for axis in trees if axis.given is not None}
    by_column = {h.column: h for h in make_hierarchies(found.source, given, FREQUENCIES)}
    by_column |= {axis.column: _write_halves(found, axis) for axis in trees if axis.given is None}
    hierarchies = tuple(by_column[axis.column] for axis in trees)
    write_paths(found.source, hierarchies, found.with_null)
    _write_nodes(found, trees)
    if not _are_plainly_right(found, len(trees)):
        check_hierarchies(found.source, hierarchies, FREQUENCIES, found.with_null)
    _write_ways(found)
    measured = list(axes)
    for number, bits, field in fetch(con, f"SELECT axis, {WAY} - min(shift), max(field) FROM tree_ways GROUP BY axis"):
        height = by_column[axes[number].column].height
        measured[number] = replace(axes[number], height=height, bits=int(bits), field=int(field))
    if any(axis.bits > WAY for axis in measured):  # is refused; but what is wrong with it first
        check_hierarchies(found.source, hierarchies, FREQUENCIES, found.with_null)
    packed = tuple(_packed(measured))
    _write_axes(found, packed)
    _write_marks(found)
    return packed, hierarchies


def _are_plainly_right(found: Frequencies, trees: int) -> bool:
    """Whether every node has a label that no other node of its level has, and only one of each tree is on its top.

    Then no value is listed twice, all levels nest, and nothing is wrong. Where it is not so, there may be a reason: the
    way of NULL has no labels. That the tops are as many as the trees is enough: a tree without one has no value of the
    table, and is refused for that.
    """
    labels = (
        "SELECT label, count(*) AS nodes, count(*) FILTER (len(above) = 0) AS tops, count(*) FILTER (level = 0 AND "
        "leaves > 1) AS twice FROM tree_nodes GROUP BY axis, level, label"
    )
    asked = f"SELECT sum(nodes), count(label), sum(tops), sum(twice) FROM ({labels})"
    ((nodes, different, tops, twice),) = fetch(found.source.con, asked)
    return bool(nodes == different and tops == trees and not twice)


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


def _write_nodes(found: Frequencies, trees: Sequence[Axis]) -> None:
    con, numbers = found.source.con, ", ".join(f"({i}, {axis.number})" for i, axis in enumerate(trees))
    fetch(
        con,
        "CREATE OR REPLACE TABLE tree_steps AS SELECT *, unnest(range(len(labels))) AS level FROM (SELECT t.axis, "
        "p.labels, row_number() OVER (PARTITION BY p.attribute ORDER BY list_reverse(p.labels)) AS code FROM paths "
        f"AS p JOIN (VALUES {numbers}) AS t(attribute, axis) ON p.attribute = t.attribute)",
    )
    width, share = (inlined(f"{name}(leaves, of_all)") for name in ("_node_width", "_node_share"))
    fetch(
        con,
        f"CREATE OR REPLACE TABLE tree_nodes AS SELECT * EXCLUDE (of_all), {width} AS width, {share} AS share FROM "
        "(SELECT axis, level, min(code) AS low, max(code) AS high, any_value(labels[level + 1]) AS label, "
        "any_value(labels[level + 2 :]) AS above, count(*) AS leaves, max(count(*)) OVER (PARTITION BY axis) AS of_all "
        "FROM tree_steps GROUP BY axis, level, labels[level + 1 :])",
    )
    for axis in trees:
        if axis.given is None:
            wide = inlined(f"_normalised_width(e.low, e.high, {axis.first!r}, {axis.last!r})")
            fetch(
                con,
                f"UPDATE tree_nodes SET width = {wide}, share = {wide} FROM {_halves_table(axis)} AS e WHERE "
                f"tree_nodes.axis = {axis.number} AND tree_nodes.label = e.label",
            )


def _write_ways(found: Frequencies) -> None:
    """Table tree_ways."""
    bits = inlined("_bits_for(len(lows) - 1)")
    families = (
        "SELECT axis, level, list(low ORDER BY low) AS lows, list(high ORDER BY low) AS highs FROM tree_nodes "
        "WHERE len(above) > 0 GROUP BY axis, level, above"
    )
    children = (
        f"SELECT axis, level, lows[1] AS parent, {bits} AS field, unnest(lows) AS low, unnest(highs) AS high, "
        f"unnest(range(len(lows))) AS child FROM ({families})"
    )
    ways = f"SELECT *, unnest(range(low, high + 1)) AS code FROM ({children})"
    used = "sum(field) OVER (PARTITION BY axis, code ORDER BY level DESC)"
    fetch(
        found.source.con,
        f"CREATE OR REPLACE TABLE tree_ways AS SELECT *, CAST({WAY} - {used} AS INTEGER) AS shift FROM ({ways})",
    )


def _write_axes(found: Frequencies, axes: Iterable[Axis]) -> None:
    """Table tree_axes."""
    trees = [axis for axis in axes if not axis.is_ordered]
    listed = ", ".join(f"({x.number}, {x.pack}, {x.offset}, {2**x.bits - 1}, {x.zeros})" for x in trees)
    fetch(
        found.source.con,
        f"CREATE OR REPLACE TABLE tree_axes AS FROM (VALUES {listed}) AS t(axis, pack, skip, mask, zeros)",
    )


def _write_marks(found: Frequencies) -> None:
    """Tables tree_leaves and tree_marks."""
    con = found.source.con
    fetch(
        con,
        "CREATE OR REPLACE TABLE tree_leaves AS SELECT n.axis, n.label AS value, n.low AS code, w.way FROM tree_nodes "
        "AS n JOIN (SELECT axis, code, CAST(sum(child << shift) AS BIGINT) AS way FROM tree_ways GROUP BY axis, code) "
        "AS w ON n.axis = w.axis AND n.low = w.code WHERE n.level = 0",
    )
    forks = (
        "SELECT w.axis, b.way, a.way AS other, w.level + 1 AS level, w.parent AS low, w.shift - t.zeros + t.skip AS "
        "start, w.field FROM tree_ways AS w JOIN tree_axes AS t ON w.axis = t.axis JOIN tree_leaves AS b ON w.axis = "
        "b.axis AND w.low = b.code JOIN tree_leaves AS a ON w.axis = a.axis AND w.low - 1 = a.code WHERE w.child > 0 "
        "AND w.code = w.low"
    )
    alone = "SELECT axis, way, way, 0, code, 0, 0 FROM tree_leaves"
    mark = inlined(f"_mark(m.way, {inlined('_top_bit(m.way, m.other)')})")
    label = f"CASE WHEN len(n.above) = 0 THEN {literal(TOP)} ELSE n.label END"
    eager = inlined("_eagerness(n.share, m.axis)")
    fetch(
        con,
        f"CREATE OR REPLACE TABLE tree_marks AS SELECT m.axis, {mark} AS mark, n.level, {label} AS label, n.width, "
        f"{eager} AS eager, m.start, m.field FROM ({forks} UNION ALL {alone}) AS m JOIN tree_nodes AS n ON m.axis = "
        "n.axis AND m.level = n.level AND m.low = n.low",
    )


def _halves_table(axis: Axis) -> str:
    return f"halves_{axis.number}"


def _write_halves(found: Frequencies, axis: Axis) -> Hierarchy:
    """The hierarchy of a public range by halves, for the values of the table; and the ends of all its nodes."""
    con, name, table = found.source.con, quoted(axis.column), quoted(SCHEMA, axis.column)
    depth = int(axis.last - axis.first).bit_length()
    steps = (
        f"SELECT DISTINCT {name} AS cell, CAST({axis.number_of(name)} AS BIGINT) AS v, CAST({int(axis.first)} AS "
        f"BIGINT) AS first0, CAST({int(axis.last)} AS BIGINT) AS last0 FROM {FREQUENCIES} WHERE {name} IS NOT NULL"
    )
    for i in range(depth):
        middle = inlined(f"_middle(first{i}, last{i})")
        steps = (
            f"SELECT *, CASE WHEN v <= {middle} THEN first{i} ELSE {middle} + 1 END AS first{i + 1}, "
            f"CASE WHEN v <= {middle} THEN {middle} ELSE last{i} END AS last{i + 1} FROM ({steps})"
        )
    fetch(con, f"CREATE OR REPLACE TABLE __halving AS {steps}")

    def label(i: int) -> str:
        return inlined(f"_closed_label({axis.typed(f'first{i}')}, {axis.typed(f'last{i}')})")

    # The last step is the value itself.
    levels = "".join(f", {label(i)} AS level{depth - i}" for i in reversed(range(depth)))
    fetch(
        con,
        f"CREATE OR REPLACE TABLE {table} AS SELECT CAST(cell AS VARCHAR) AS value{levels}, {literal(TOP)} AS "
        f"level{depth + 1} FROM __halving",
    )
    ends = " UNION ".join(
        f"SELECT {label(i)} AS label, first{i} AS low, last{i} AS high FROM __halving" for i in range(depth + 1)
    )
    fetch(con, f"CREATE OR REPLACE TABLE {_halves_table(axis)} AS {ends}")
    return Hierarchy(axis.column, table, depth + 1)
