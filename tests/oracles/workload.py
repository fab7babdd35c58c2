"""The mean error of queries on a release, from what every row of the table may be by what is published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .hard_bounds import Added, Choice, Key, Tuple

Sums = tuple[Fraction, ...]


def group_sums(rows: Sequence[Choice], adds: Callable[[Tuple], Added], size: int) -> dict[Key, list[Fraction]]:
    """What the rows add to the sums of each group on average, each by the shares of what it may be."""
    found: dict[Key, list[Fraction]] = {}
    for row in rows:
        for leaf, share in zip(row.tuples, row.shares, strict=True):
            for key, added in adds(leaf).items():
                sums = found.setdefault(key, [Fraction(0)] * size)
                for i, number in enumerate(added):
                    sums[i] += share * number
    return found


def mean_error(estimates: Mapping[Key, Fraction | None], truth: Mapping[Key, Fraction | None]) -> Fraction:
    """The mean over the groups that have a number in truth of |estimate - truth|; no estimate counts as 0."""
    errors = [abs((estimates.get(key) or 0) - number) for key, number in truth.items() if number is not None]
    return sum(errors, Fraction(0)) / len(errors)
