"""Groups of people and as many values, of which nobody knows who has which: all ways to hand the values out.

`odds[g, i, j]` says how well value j of group g fits person i. A way to hand out all values of a group is as likely as
the product of its odds; `match_chances` sums over all ways. Up to `EXACT` people that is exact (a permanent, by the
sets of values that are already taken). For larger groups rows and columns are scaled to sum 1 instead (Sinkhorn): the
order of the chances is right, and the chances are closer to each other than they should be.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
EXACT = 10
"""The largest group whose ways are all counted."""
_ROUNDS = 25
"""Sinkhorn's scaling has converged by then for all practical purposes."""


def match_chances(odds: Numbers, exact: int = EXACT) -> Numbers:
    """The chance that person i of a group has its value j, for groups of one size: [group, person, value]."""
    if odds.shape[1] > exact:
        return _scaled(odds)
    size, odds = odds.shape[1], _with_largest_1(odds)[0]
    before = _taken(odds)
    after = _taken(odds[:, ::-1])[::-1]
    chances = np.empty_like(odds)
    for i in range(size):
        for j in range(size):
            free, rest = _steps(size, i, j)[0], _complements(size, i, j)
            chances[:, i, j] = odds[:, i, j] * np.einsum("gs,gs->g", before[i][:, free], after[i + 1][:, rest])
    return np.asarray(chances / before[size][:, :, None])


def work(size: int) -> int:
    """About how much counting all ways of a group of so many people takes."""
    return size**2 << size


def log_ways(odds: Numbers) -> Numbers:
    """The logarithm of the sum over all ways, by group. Only for groups of at most `EXACT` people."""
    odds, scale = _with_largest_1(odds)
    return np.asarray(np.log(_taken(odds)[-1][:, 0]) + scale)


def _with_largest_1(odds: Numbers) -> tuple[Numbers, Numbers]:
    """The odds with 1 as the largest of every person, and the logarithm of what they were divided by, by group."""
    largest = odds.max(axis=2, keepdims=True)
    return odds / largest, np.log(largest).sum(axis=(1, 2))


def _taken(odds: Numbers) -> list[Numbers]:
    """For each number of people who have their value: the sum of the ways, by the set of values that are taken."""
    groups, size = odds.shape[:2]
    sums = [np.ones((groups, 1))]
    for i in range(size):
        following = np.zeros((groups, len(_sets(size, i + 1))))
        for j in range(size):
            free, then = _steps(size, i, j)
            following[:, then] += sums[-1][:, free] * odds[:, i, j, None]
        sums.append(following)
    return sums


@cache
def _sets(size: int, taken: int) -> dict[int, int]:
    """The sets of so many values, as bits, and their places."""
    return {s: place for place, s in enumerate(s for s in range(1 << size) if s.bit_count() == taken)}


@cache
def _steps(size: int, taken: int, value: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of the sets of so many values without this one, and of the same sets with it."""
    there, then = _sets(size, taken), _sets(size, taken + 1)
    without = [s for s in there if not s >> value & 1]
    return np.array([there[s] for s in without]), np.array([then[s | 1 << value] for s in without])


@cache
def _complements(size: int, taken: int, value: int) -> npt.NDArray[np.int64]:
    """The places of what is left for the people after: neither in the set without this value, nor the value."""
    there, left = _sets(size, taken), _sets(size, size - taken - 1)
    everything = (1 << size) - 1
    return np.array([left[everything ^ s ^ 1 << value] for s in there if not s >> value & 1])


def _scaled(odds: Numbers) -> Numbers:
    chances = odds / odds.sum(axis=2, keepdims=True)
    for _ in range(_ROUNDS):
        chances = chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
        chances = chances / np.maximum(chances.sum(axis=2, keepdims=True), 1e-300)
    return np.asarray(chances)
