"""The best grouping of points on a line: neighbours together, at least k rows a group, the least loss of all groupings.

A group costs its rows times the extents of its box, summed over the dimensions. A group never needs 2k points: cut in
two, it has no larger boxes. So the best grouping up to a place is one of 2k - 1 last groups after the best grouping
before it: dynamic programming, exact. Its steps follow each other, and numpy is quick only with many things at once,
so the line is cut into pieces that are grouped side by side. It is cut only where a cut is proven harmless:

    Of any 2k - 1 places that follow each other, every such grouping cuts at one. Take the first 2k - 1 places of a
    stretch, and its last 2k - 1. Where the best groupings from each of the first to each of the last all cut at p,
    there is a best grouping of the whole line that cuts at p. What it has between the two places at which it cuts may
    be replaced by the best grouping between these, which costs no more and cuts at p.

Stretches do not overlap, so this holds for all their cuts at once. Where no such p is found, there is no cut.

Only where points times k are too many for all that, neighbours are bundled first, and cuts are between bundles alone.

The points of a long line need not be held at once: it is read in parts (AnyLine), of a bounded number of points each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Losses = npt.NDArray[np.float64]
Values = npt.NDArray[Any]
Extents = Callable[[Values, Values], Losses]
"""How large boxes are from their smallest to their largest value, 0 to 1. A box in another is never the larger one."""

_STRETCH = 48
"""How many times k points a stretch has in which a harmless cut is looked for: random points nearly always have one."""
_APART = 12
"""How many times as long it is from one stretch to the next."""
_WIDEST = 128
"""Where groups may be wider, the losses of one place are many enough at once, and cuts dear to find: there are none."""
_ROOM = 4_000_000
"""How many losses are held at once."""
_WORK = 1_000_000_000
"""How many losses are looked at, at most."""
_PART = 250_000
"""About how many points are read at once."""


@dataclass(frozen=True)
class Dimension:
    """The least and the greatest value of every point, or bundle of points, in one dimension; how large boxes are."""

    low: Values
    high: Values
    extents: Extents


@dataclass(frozen=True)
class Sizes:
    """How many rows a group of a line needs, the fewest and the most of a point of it, and those of all together."""

    k: int
    fewest: int
    most: int
    total: int

    @property
    def widest(self) -> int:
        """The most points that a group needs to have: with more it is two, of which each has k rows."""
        return 2 * -(-self.k // self.fewest) - 1

    @property
    def narrowest(self) -> int:
        """The least points that a group can have."""
        return -(-self.k // self.most)


class AnyLine(Protocol):
    """Points in their order, read in parts."""

    @property
    def sizes(self) -> Sizes:
        """The sizes of the whole line."""

    def __len__(self) -> int:
        """How many points it has."""

    def part(self, first: int, last: int) -> Line:
        """The points from one place to before another, with the sizes of the whole."""

    def bundled(self, size: int) -> AnyLine:
        """The line with so many neighbours as one point; the last has the rest, too."""


@dataclass(frozen=True)
class Line:
    """Points in their order, each with the number of its rows, and how many rows a group needs."""

    dimensions: Sequence[Dimension]
    rows: Numbers
    k: int
    of: Sizes | None = None
    """Those of the line that this is a part of."""

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the whole line."""
        return self.of or Sizes(self.k, int(self.rows.min()), int(self.rows.max()), int(self.rows.sum()))

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, first: int, last: int) -> Line:
        """The points from one place to before another."""
        own = slice(first, last)
        dimensions = []
        for d in self.dimensions:
            low = d.low[own]
            dimensions.append(Dimension(low, low if d.high is d.low else d.high[own], d.extents))
        return Line(dimensions, self.rows[own], self.k, self.sizes)

    def bundled(self, size: int) -> Line:
        """The line with so many neighbours as one point."""
        return self.boxed(np.flatnonzero(np.diff(bundle_numbers(len(self), size), prepend=-1)))

    def boxed(self, starts: Numbers) -> Line:
        """The points from each of these places to the next one as one point."""
        dimensions = [
            Dimension(np.minimum.reduceat(d.low, starts), np.maximum.reduceat(d.high, starts), d.extents)
            for d in self.dimensions
        ]
        return Line(dimensions, np.add.reduceat(self.rows, starts), self.k)


@dataclass(frozen=True)
class Grouping:
    """The group of every point, numbered along the line, the loss of all, and how many points were bundled first."""

    groups: Numbers
    loss: float
    bundle: int

    @property
    def is_best(self) -> bool:
        """Whether no grouping of the line loses less."""
        return self.bundle == 1


def group_line(line: AnyLine) -> Grouping:
    """The best grouping of a line, or the best between bundles where it is very long and k is large."""
    if line.sizes.total < line.sizes.k:
        raise ValueError("the line has fewer rows than a group needs")
    bundle = 1
    while len(line) // bundle * line.sizes.widest // bundle > _WORK:
        bundle *= 2
    groups, loss = _group(line.bundled(bundle) if bundle > 1 else line)
    return Grouping(groups[bundle_numbers(len(line), bundle)] if bundle > 1 else groups, loss, bundle)


def bundle_numbers(count: int, size: int) -> Numbers:
    """The bundle of each of so many points.

    >>> bundle_numbers(7, 3).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return np.minimum(np.arange(count) // size, max(0, count // size - 1))


def _group(line: AnyLine) -> tuple[Numbers, float]:
    cuts = _harmless_cuts(line)
    starts, ends = np.insert(cuts, 0, 0), np.append(cuts, len(line))
    is_last = np.zeros(len(line), dtype=np.int64)
    loss = 0.0
    for near in np.split(np.arange(len(starts)), np.flatnonzero(np.diff(starts // _PART)) + 1):
        first, last = int(starts[near[0]]), int(ends[near[-1]])
        # A piece that is long by itself is read as it is grouped.
        own, offset = (line, 0) if len(near) == 1 else (line.part(first, last), first)
        for batch in _of_like_length(ends[near] - starts[near]):
            found, cost = _group_pieces(own, starts[near][batch] - offset, ends[near][batch] - offset)
            is_last[found + offset - 1] = 1
            loss += cost
    return np.cumsum(is_last) - is_last, loss


def _of_like_length(lengths: Numbers) -> Iterator[Numbers]:
    """The numbers of pieces to be grouped side by side: what is held of each has room for the longest."""
    doublings = np.ceil(np.log2(lengths)).astype(np.int64)
    for doubling in np.unique(doublings):
        alike = np.flatnonzero(doublings == doubling)
        together = max(1, 2 * _ROOM // 2 ** int(doubling))
        yield from np.split(alike, range(together, len(alike), together))


def _group_pieces(line: AnyLine, starts: Numbers, ends: Numbers) -> tuple[Numbers, float]:
    """The cuts of the best groupings of pieces side by side, their ends included, and what they cost together."""
    lengths, pieces = ends - starts, np.arange(len(starts))
    best, widths = _steps(line, starts, int(lengths.max()), 1)
    cost = float(best[lengths, 0, pieces].sum())
    found, place = [], lengths
    while len(pieces):
        found.append(starts[pieces] + place)
        place = place - widths[place, 0, pieces]
        pieces, place = pieces[place > 0], place[place > 0]
    return np.concatenate(found), cost


def _steps(line: AnyLine, starts: Numbers, length: int, entries: int) -> tuple[Losses, Numbers]:
    """The least cost up to each place of the pieces, from each of their first places; and the width of the last group.

    By place, entry and piece. Infinite: it cannot be reached.
    """
    widest, narrowest = line.sizes.widest, line.sizes.narrowest
    # The first `widest` stand for places before the pieces, which nothing reaches.
    best = np.full((widest + length + 1, entries, len(starts)), np.inf)
    widths = np.zeros((length + 1, entries, len(starts)), dtype=np.int64)
    best[widest, 0] = 0
    step = max(1, _ROOM // (len(starts) * (widest - narrowest + 1)))
    for first in range(0, length, step):
        costs = _costs(line, starts, first, min(first + step, length))
        for place, cost in enumerate(costs, first + 1):
            here = widest + place
            before = best[here - widest : here - narrowest + 1][::-1]
            total = before + cost[:, None, :]
            best[here] = total.min(axis=0)
            widths[place] = total.argmin(axis=0) + narrowest
            if place < entries:
                best[here, place] = 0
    return best[widest:], widths


def _costs(whole: AnyLine, starts: Numbers, first: int, last: int) -> Losses:
    """The costs of groups that end at the places first + 1 to last of pieces, by place, width and piece."""
    count, widest, narrowest = last - first, whole.sizes.widest, whole.sizes.narrowest
    costs = np.empty((count, widest - narrowest + 1, len(starts)))
    # Places before a piece are never reached, and those after it never asked for: what stands there does not matter.
    reach = widest - 1
    places = np.clip(starts + np.arange(first - reach, last)[:, None], 0, len(whole) - 1)
    nearest = int(places.min())
    line, within = whole.part(nearest, int(places.max()) + 1), places - nearest
    rows = line.rows[within]
    lows = [d.low[within] for d in line.dimensions]
    highs = [v if d.high is d.low else d.high[within] for v, d in zip(lows, line.dimensions, strict=True)]
    size, low, high = rows[reach:], [v[reach:] for v in lows], [v[reach:] for v in highs]
    for width in range(1, widest + 1):
        if width > 1:  # a point more on the left
            left = slice(reach - width + 1, reach - width + 1 + count)
            size = size + rows[left]
            low = [np.minimum(a, v[left]) for a, v in zip(low, lows, strict=True)]
            high = [np.maximum(a, v[left]) for a, v in zip(high, highs, strict=True)]
        if width >= narrowest:
            extent = np.zeros(size.shape)
            for dimension, a, b in zip(line.dimensions, low, high, strict=True):
                extent += dimension.extents(a, b)
            extent *= size
            extent[size < whole.sizes.k] = np.inf
            costs[:, width - narrowest] = extent
    return costs


def _harmless_cuts(line: AnyLine) -> Numbers:
    """Places at which a best grouping of the whole line cuts: one a stretch, at most."""
    widest = line.sizes.widest
    length = _STRETCH * (widest + 1) // 2
    if widest > _WIDEST:
        return np.zeros(0, dtype=np.int64)
    starts = np.arange(length, len(line) - length, _APART * length)
    room = max(1, min(_ROOM // (length * widest), _PART // (_APART * length)))
    found = []
    for near in (starts[i : i + room] for i in range(0, len(starts), room)):
        first = int(near[0])
        found.append(first + _cuts_of(line.part(first, int(near[-1]) + length), near - first, length))
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _cuts_of(line: Line, starts: Numbers, length: int) -> Numbers:
    """Of stretches that have one, a place at which the best groupings between their first and last places all cut."""
    entries = line.sizes.widest
    best, widths = _steps(line, starts, length, entries)
    through = np.zeros(best.shape, dtype=np.int64)
    through[-entries:] = np.isfinite(best[-entries:])
    last = through.sum(axis=0)
    entry, piece = np.indices(last.shape)
    for place in range(length, entries - 1, -1):
        # A place is not its own way, and one that is not reached is on no way.
        through[place - widths[place], entry, piece] += through[place]
    is_common = (through == last).all(axis=1)
    is_common[:entries], is_common[-entries:] = False, False
    has_one = is_common.any(axis=0)
    cuts: Numbers = starts[has_one] + is_common.argmax(axis=0)[has_one]
    return cuts
