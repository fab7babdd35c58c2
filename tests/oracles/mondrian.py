"""Cuts of a set of rows, one by one: the oracle of Mondrian, and the helpers of sql/operators/boxes.sql.

Numbers and dates are cut at points of a grid that no data decides (oracles/grids.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oracles.grids import grid_floor, grid_next

Row = Sequence[Any]
Paths = Mapping[Any, Sequence[Any]]
"""Of a tree: the labels of every value, from itself to the top."""
Parts = list[list[Row]]
Cell = Mapping[int, tuple[Any, Any]]
"""By axis of numbers, the points that a part is between; None where it is not cut."""


def _normalised_width(low: float, high: float, first: float, last: float) -> float:
    return (high - low) / (last - first) if last > first else 0.0


def _node_width(leaves: int, domain: int) -> float:
    return (leaves - 1) / (domain - 1) if domain > 1 else 0.0


def _node_share(leaves: int, domain: int) -> float:
    return leaves / domain


def _middle(low: int, high: int) -> int:
    return low + (high - low) // 2


def _bits_for(last: int) -> int:
    return last.bit_length()


def _top_bit(all_bits: int, any_bits: int) -> int:
    found = 1
    while found * 2 <= (all_bits ^ any_bits) * 2 + 1:
        found *= 2
    return found


def _mark(way: int, top_bit: int) -> int:
    """Twice the way down to the highest bit that differs, that bit set, and nothing below it."""
    kept = list(f"{way * 2:b}".rjust(70, "0"))
    place = len(kept) - top_bit.bit_length()
    return int("".join([*kept[:place], "1", *("0" for _ in kept[place + 1 :])]), 2)


def _eagerness(width: float, axis: int) -> float:
    return width * (1 - axis * 1e-14)


def number_cuts(rows: Sequence[Row], axis: int) -> Iterator[Parts]:
    """NULL from all others; else below or above the rows at the point of the median."""
    for _, parts in points_and_cuts(rows, axis):
        yield parts


def points_and_cuts(rows: Sequence[Row], axis: int) -> Iterator[tuple[Any, Parts]]:
    """The same, each with the point of the cut; NULL is parted at none."""
    empty = [r for r in rows if r[axis] is None]
    if empty:
        if len(empty) < len(rows):
            yield None, [empty, [r for r in rows if r[axis] is not None]]
        return
    values = sorted(grid_floor(r[axis]) for r in rows)
    median = values[(len(values) - 1) // 2]
    for point in (grid_next(median), median):
        left = [r for r in rows if r[axis] < point]
        right = [r for r in rows if r not in left]
        if left and right:
            yield point, [left, right]


def tree_cuts(rows: Sequence[Row], axis: int, paths: Paths) -> Iterator[Parts]:
    """A node into its children: the least node that holds all rows."""
    upwards = [tuple(paths[r[axis]]) for r in rows]
    levels = range(len(upwards[0]))
    level = next(i for i in levels if len({path[i:] for path in upwards}) == 1)
    if level == 0:
        return
    children: dict[Any, list[Row]] = {}
    for row, path in zip(rows, upwards, strict=True):
        children.setdefault(path[level - 1 :], []).append(row)
    yield list(children.values())


def cuts_left(
    rows: Sequence[Row], trees: Sequence[Paths | None], allowed: Callable[[Sequence[Row]], bool]
) -> list[tuple[int, Parts]]:
    """The cuts of a class that would be allowed: the axis and the parts. Rows must not be equal: number them."""
    found = []
    for axis, paths in enumerate(trees):
        cuts = number_cuts(rows, axis) if paths is None else tree_cuts(rows, axis, paths)
        found += [(axis, parts) for parts in cuts if all(allowed(part) for part in parts)]
    return found


def classes(
    rows: Sequence[Row], trees: Sequence[Paths | None], allowed: Callable[[Sequence[Row]], bool]
) -> list[tuple[Sequence[Row], Cell]]:
    """The rows cut again and again: on the axis they are widest on, on the next where no cut is allowed. Every class
    has its cell."""
    spans = [_span(rows, axis) if paths is None else (0, 0) for axis, paths in enumerate(trees)]

    def eagerness(part: Sequence[Row], axis: int) -> float:
        paths = trees[axis]
        if paths is not None:
            upwards = [tuple(paths[r[axis]]) for r in part]
            level = next(i for i in range(len(upwards[0])) if len({path[i:] for path in upwards}) == 1)
            below = [path for path in paths.values() if tuple(path)[level:] == upwards[0][level:]]
            return _eagerness(_node_share(len(below), len(paths)), axis)
        if any(r[axis] is None for r in part):
            return _eagerness(1.0, axis)
        return _eagerness(_normalised_width(*_span(part, axis), *spans[axis]), axis)

    def cut(part: Sequence[Row], cell: Cell) -> list[tuple[Sequence[Row], Cell]]:
        for axis in sorted(range(len(trees)), key=lambda a: -eagerness(part, a)):
            paths = trees[axis]
            if paths is None:  # the more even one of two first; it is the one above the median where both are
                found = sorted(points_and_cuts(part, axis), key=lambda each: -min(map(len, each[1])))
            else:
                found = [(None, parts) for parts in tree_cuts(part, axis, paths)]
            for point, parts in found:
                if all(allowed(each) for each in parts):
                    cells = [cell] * len(parts)
                    if point is not None:
                        low, high = cell[axis]
                        cells = [{**cell, axis: (low, point)}, {**cell, axis: (point, high)}]
                    return [done for each, own in zip(parts, cells, strict=True) for done in cut(each, own)]
        return [(part, cell)]

    return cut(rows, {axis: (None, None) for axis, paths in enumerate(trees) if paths is None})


def _span(rows: Sequence[Row], axis: int) -> tuple[float, float]:
    numbers = [_number(grid_floor(r[axis])) for r in rows if r[axis] is not None]
    return (min(numbers), max(numbers)) if numbers else (0, 0)


def _number(value: Any) -> float:
    return value.toordinal() if hasattr(value, "toordinal") else value
