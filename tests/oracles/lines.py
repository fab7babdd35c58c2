"""The best grouping of a line of points by trying every grouping: slow, and obvious.

A point is its values, one a dimension, and its number of rows. In every dimension there is a function that says how
large a box is that holds a set of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

Point = tuple[tuple[int, ...], int]
Extent = Callable[[Sequence[int]], float]


def cost(points: Sequence[Point], extents: Sequence[Extent]) -> float:
    """The rows of a group times the extents of its box."""
    rows = sum(rows for _, rows in points)
    return rows * sum(extent([values[d] for values, _ in points]) for d, extent in enumerate(extents))


def groupings(count: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut `count` points that follow each other into groups, by the first of each and the one after it."""
    if count == 0:
        yield []
    for first in range(count):
        for before in groupings(first):
            yield [*before, (first, count)]


def least_of_all(points: Sequence[Point], extents: Sequence[Extent], k: int) -> float:
    """The least cost of all groupings in which every group has k rows."""
    return min(
        sum(cost(points[a:b], extents) for a, b in cuts)
        for cuts in groupings(len(points))
        if all(sum(rows for _, rows in points[a:b]) >= k for a, b in cuts)
    )


def least(points: Sequence[Point], extents: Sequence[Extent], k: int) -> float:
    """The same for longer lines, by every last group of any size after the best grouping of what is before it."""
    found = [0.0]
    for last in range(1, len(points) + 1):
        best = float("inf")
        for first in range(last):
            if sum(rows for _, rows in points[first:last]) >= k:
                best = min(best, found[first] + cost(points[first:last], extents))
        found.append(best)
    return found[-1]
