"""The points of a table in their order on a Hilbert curve, and how large boxes are on every axis.

Rows with equal quasi-identifiers are one point, and so always in one class: which of them is which reveals nothing. An
axis is scaled to the cells of the curve by its ends. The leaves of a tree are in order from left to right, two
neighbours as far apart as the least node over both is wide. NULL on an ordered axis is after all values, and in no
range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import duckdb

from sqlpriv.core.engine import fetch, interruptible, translate
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.points import BoxScan

if TYPE_CHECKING:
    from sqlpriv.udfs.line import Extents, Line, Sizes, Values


BATCH = 4096
"""So many points are fetched at a time."""
_TABLE_OF_WIDTHS = 1000
"""Up to so many leaves the widths of all boxes of a tree are held in a table."""


@dataclass(frozen=True)
class TableDimension:
    """The columns of the least and the greatest value of a point in one dimension, and how large boxes are."""

    low: str
    high: str
    extents: Extents


@dataclass(frozen=True)
class TableLine:
    """A line whose points stay in a table, place, n, and the columns of its dimensions; parts of it are fetched."""

    table: Relation
    scratch: Scratch
    columns: tuple[TableDimension, ...]
    k: int

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the whole line."""
        from sqlpriv.udfs.line import Sizes

        found = fetch(self.table.con, f"SELECT min(n), max(n), CAST(sum(n) AS BIGINT) FROM {self.table.name}")
        return Sizes(self.k, *found[0])

    def __len__(self) -> int:
        return self.table.written or 0

    def part(self, first: int, last: int) -> Line:
        """The points from one place to before another."""
        import numpy as np

        from sqlpriv.udfs.line import Dimension, Line

        batches = [self._fetched(place, min(place + BATCH, last)) for place in range(first, last, BATCH)]
        found = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
        dimensions = [Dimension(found[c.low], found[c.high], c.extents) for c in self.columns]
        return Line(dimensions, found["n"], self.k, self.sizes)

    def _fetched(self, first: int, last: int) -> dict[str, Values]:
        listed = ", ".join(dict.fromkeys(["n", *(name for c in self.columns for name in (c.low, c.high))]))
        rows = f"SELECT {listed} FROM {self.table.name} WHERE place >= {first} AND place < {last} ORDER BY place"
        try:
            with interruptible():
                return self.table.con.execute(rows).fetchnumpy()  # type: ignore[no-any-return, unused-ignore]
        except duckdb.Error as error:
            raise translate(error) from None

    def bundled(self, size: int) -> TableLine:
        """The line with so many neighbours as one point."""
        ends = "".join(f", min({c.low}) AS low{i}, max({c.high}) AS high{i}" for i, c in enumerate(self.columns))
        number = f"least(place // {size}, {max(0, len(self) // size - 1)})"
        rows = f"SELECT {number} AS place, CAST(sum(n) AS BIGINT) AS n{ends} FROM {self.table.name} GROUP BY 1"
        columns = tuple(TableDimension(f"low{i}", f"high{i}", c.extents) for i, c in enumerate(self.columns))
        return TableLine(self.scratch.table(f"{rows} ORDER BY place", "bundles"), self.scratch, columns, self.k)


def line_of(scan: BoxScan, scratch: Scratch, k: int) -> tuple[TableLine, Relation]:
    """The line of all points, and the place of each: row, place, and on every axis that is a tree the number of its
    leaf, code<a>."""
    trees = {axis.number: _tree_extents(scan, axis) for axis in scan.trees}
    placed = _places(scan, scratch, _leaf_shares(scan, scratch, trees))
    # A share of the length of an ordered axis, NULL beyond all; or the number of a leaf.
    beyond = "CAST('Infinity' AS DOUBLE)"
    on_axes = [_share(axis, beyond) if axis.is_ordered else f"code{axis.number} - 1" for axis in scan.axes]
    scaled = "".join(f", any_value({place}) AS v{axis.number}" for axis, place in zip(scan.axes, on_axes, strict=True))
    points = f"{scan.points.name} JOIN {placed.name} USING (row)"
    rows = f"SELECT place, CAST(sum(n) AS BIGINT) AS n{scaled} FROM {points} GROUP BY place ORDER BY place"
    columns = tuple(
        TableDimension(f"v{x.number}", f"v{x.number}", trees.get(x.number) or _range_extents(x)) for x in scan.axes
    )
    return TableLine(scratch.table(rows, "line"), scratch, columns, k), placed


def _leaf_shares(scan: BoxScan, scratch: Scratch, trees: Mapping[int, Extents]) -> Relation:
    """The ways to all leaves, and how far along its axis each stands: axis, code, way, share."""
    import numpy as np

    parts = ["SELECT CAST(0 AS INTEGER) AS axis, 0::BIGINT AS code, 0::BIGINT AS way, 0e0::DOUBLE AS share WHERE false"]
    for axis in scan.trees:
        leaves = np.arange(_leaves(scan, axis))
        ways = np.cumsum(np.append(0.0, trees[axis.number](leaves[:-1], leaves[1:])))
        shares = (ways / (ways[-1] or 1.0)).tolist()
        parts.append(
            f"SELECT axis, code, way, CAST('{shares}' AS DOUBLE[])[code] FROM {scan.forest.leaves} "
            f"WHERE axis = {axis.number}"
        )
    return scratch.table(" UNION ALL ".join(parts), "leaf_shares")


def _places(scan: BoxScan, scratch: Scratch, leaf_shares: Relation) -> Relation:
    """The place of every point on the line."""
    from sqlpriv.udfs.hilbert import HILBERT, KEY_BITS, bits_for, register

    register(scan.source.con)
    on_curve = scan.axes[:KEY_BITS]  # more have no bit in the key
    bits = bits_for(len(on_curve))
    # How far along its axis a point is; NULL is with the greatest value.
    along = [_share(axis, "1") if axis.is_ordered else f"l{axis.number}.share" for axis in on_curve]
    cells = ", ".join(f"CAST(round(({share}) * {2**bits - 1}) AS BIGINT)" for share in along)
    joins = "".join(
        f" LEFT JOIN {leaf_shares.name} AS l{x.number} ON l{x.number}.axis = {x.number} AND l{x.number}.way = "
        f"((p.b{x.pack} >> {x.offset}) & {2**x.bits - 1}) << {x.zeros}"
        for x in scan.trees
    )
    codes = [f"code{x.number}" for x in scan.trees]
    listed = "".join(f", l{x.number}.code AS code{x.number}" for x in scan.trees)
    order = ", ".join(f"v{x.number} NULLS LAST" if x.is_ordered else f"code{x.number}" for x in scan.axes)
    keyed = f"SELECT p.*{listed}, {HILBERT}([{cells}], {bits}) AS key FROM {scan.points.name} AS p{joins}"
    return scratch.table(
        f"SELECT {', '.join(['row', *codes])}, dense_rank() OVER (ORDER BY key, {order}) - 1 AS place FROM ({keyed})",
        "placed",
    )


def _share(axis: Axis, of_null: str) -> str:
    """How far along an ordered axis a point is; NULL is where `of_null` says."""
    share = inlined(f"_normalised_width({axis.first!r}, v{axis.number}, {axis.first!r}, {axis.last!r})")
    return f"CASE WHEN v{axis.number} IS NULL THEN {of_null} ELSE {share} END"


def _leaves(scan: BoxScan, axis: Axis) -> int:
    return int(fetch(scan.source.con, f"SELECT max(code) FROM {scan.forest.leaves} WHERE axis = {axis.number}")[0][0])


def _range_extents(axis: Axis) -> Extents:
    """The distance of two values, as shares of their axis."""
    import numpy as np

    if not axis.has_nulls:
        return lambda low, high: high - low

    def with_null(low: Values, high: Values) -> Values:
        """NULL is one value, and with others the whole axis."""
        return np.subtract(high, low, out=np.where(np.isinf(low), 0.0, 1.0), where=np.isfinite(high))

    return with_null


def _tree_extents(scan: BoxScan, axis: Axis) -> Extents:
    """The width of the least node over two leaves."""
    import numpy as np

    count = _leaves(scan, axis)
    nodes = fetch(
        scan.source.con,
        f"SELECT level, low - 1, high, width FROM {scan.forest.nodes} WHERE axis = {axis.number} ORDER BY level DESC",
    )
    levels = sorted({int(level) for level, *_ in nodes}, reverse=True)
    ends, widths = np.zeros((len(levels), count), dtype=np.int64), np.zeros((len(levels), count))
    for level, low, high, width in nodes:
        place = levels.index(int(level))
        ends[place, low:high], widths[place, low:high] = high, width

    def extents(low: Values, high: Values) -> Values:
        found = widths[0][low]
        for end, width in zip(ends[1:], widths[1:], strict=True):
            found = np.where(high < end[low], width[low], found)
        return found

    if count > _TABLE_OF_WIDTHS:
        return extents
    leaves = np.arange(count)
    table = extents(np.repeat(leaves, count), np.tile(leaves, count))
    return lambda low, high: table[low * count + high]
