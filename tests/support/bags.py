"""Exact beliefs about a person's rows in a bag: every count of every tuple, up to where the rest weighs nothing.

The persons are known but for one. Of a tuple only matters how many rows it has: a table of Pr(seen | rows). The tuples
have coins of their own, so what is seen of all of them is an outer product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations, product

import numpy as np

from support.beliefs import HAIR, Matrix

REST = 1e-12
MOST_ROWS = 6


def bag(p: float, q: float) -> Matrix:
    """Pr(seen | rows) of a tuple, a row for 0, 1, ... rows, a column for each count that is seen."""
    seen = [(1 - q) * q ** np.arange(_most(q) + MOST_ROWS + 1.0)]
    for _ in range(MOST_ROWS):
        seen.append((1 - p) * seen[-1] + p * np.append(0, seen[-1][:-1]))
    return np.array(seen)


def signed_bag(a: float) -> Matrix:
    """The same of a signed bag; the first column is the lowest count."""
    counts = signed_counts(a)
    seen = [(1 - a) / (1 + a) * a ** np.abs(counts - rows) for rows in range(MOST_ROWS + 1)]
    return np.array(seen)


def signed_counts(a: float) -> Matrix:
    """The counts that the columns of a signed bag stand for."""
    return np.arange(-_most(a), _most(a) + MOST_ROWS + 1.0)


def _most(ratio: float) -> int:
    """Where the rest of a geometric number weighs nothing, also beside three others."""
    return 1 if ratio == 0 else math.ceil(math.log(REST / 100) / math.log(ratio))


def likelihoods(tuples: Sequence[Matrix], known: Sequence[int], places: Sequence[Sequence[int]]) -> Matrix:
    """Pr(all counts | where the person's rows are), a row for each of `places`, by the rows known to be there."""
    found = []
    for own in places:
        rows = [others + own.count(place) for place, others in enumerate(known)]
        found.append(reduce(np.multiply.outer, [seen[n] for seen, n in zip(tuples, rows, strict=True)]).ravel())
    return np.array(found)


def one_row(tuples: int) -> list[tuple[int, ...]]:
    """Where the one row of a person may be."""
    return [(place,) for place in range(tuples)]


def priors(places: int, steps: int) -> Iterator[Matrix]:
    """Every belief about so many places in so many equal parts, but for certainty."""
    for parts in product(range(steps + 1), repeat=places):
        if sum(parts) == steps and max(parts) < steps:
            yield np.array(parts) / steps


def posteriors(likely: Matrix, prior: Matrix, event: Sequence[int]) -> Matrix:
    """Pr(the person is at one of these | seen) for everything that can be seen."""
    joint = prior[:, None] * likely
    return joint[list(event)].sum(axis=0) / joint.sum(axis=0)


def assert_within(likely: Matrix, prior: Matrix, factor: float) -> float:
    """The odds of every statement about the person change by at most the factor, up or down; gives the largest change.

    What was enumerated must be all that there is but for almost nothing.
    """
    assert (1 - likely.sum(axis=1) < REST).all()
    worst = 0.0
    joint = prior[:, None] * likely
    possible = np.flatnonzero(prior).tolist()
    for size in range(1, len(possible)):
        for event in combinations(possible, size):
            contrary = [place for place in possible if place not in event]
            before = prior[list(event)].sum() / prior[contrary].sum()
            changes = joint[list(event)].sum(axis=0) / joint[contrary].sum(axis=0) / before
            worst = max(worst, changes.max(), 1 / changes.min())
    assert worst <= factor * (1 + HAIR), (worst, factor)
    return float(worst)
