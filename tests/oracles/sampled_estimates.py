"""What a table by sampled k-anonymity says about counts and sums: class by class, limits by trying numbers of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from .counting import canon
from .view_estimates import Row, Value
from .views import written


class Sampled(NamedTuple):
    """A count or a sum with its limits; None where nothing bounds it."""

    estimate: float
    low: float | None
    high: float | None


Leaf = tuple[Row, Row]
"""A tuple that rows could be, and the labels that it is published under."""


def sdgs_estimate(
    view: Sequence[Row],
    domain: Sequence[Leaf] | None,
    value: Value,
    k: int,
    beta: float,
    confidence: float = 0.95,
    counts: bool = True,
) -> Sampled:
    """A label shares its copies among the tuples below it; a class that is not shown had up to k - 1 sampled rows."""
    shown = Counter(map(_text, view))
    leaves = [(row, row) for row in {_text(row): row for row in view}.values()] if domain is None else domain
    below: dict[str, list[float | None]] = {}
    for leaf, label in leaves:
        below.setdefault(_text(label), []).append(value(leaf))
    if not shown.keys() <= below.keys():
        raise ValueError("not in the domain")
    if any(shown[c] < k for c, own in below.items() if c in shown and any(x is not None for x in own)):
        raise ValueError("fewer than k times")
    total = sum(n * sum(x or 0.0 for x in below[c]) / len(below[c]) for c, n in shown.items())
    sides = [[[max(sign * (x or 0.0), 0.0) for x in own] for own in below.values()] for sign in (1, -1)]
    copies = [(shown[c], shown[c] if c in shown else k - 1) for c in below]
    largest = [max((x for own in side for x in own), default=0.0) for side in sides]
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / (2 if largest[1] > 0 else 1))
    ends = []
    for side, most in zip(sides, largest, strict=True):
        seen = [sum(n * min(own) for own, (n, _) in zip(side, copies, strict=True)),
                sum(n * max(own) for own, (_, n) in zip(side, copies, strict=True))]  # fmt: skip
        ends.append([most * f(s / most, beta, z) if most else 0.0 for f, s in zip((_fewest, _most), seen, strict=True)])
    if counts and not largest[0]:  # of nothing at all there may still have been rows
        ends[0] = [0.0, _most(0.0, beta, z)]
    low, high = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    if domain is None:
        return Sampled(total / beta, low if counts else None, math.inf if counts else None)
    return Sampled(total / beta, low, high)


def sdgs_estimates(
    view: Sequence[Row],
    domain: Sequence[Leaf],
    groups: Sequence[str],
    value: Value,
    k: int,
    beta: float,
    confidence: float = 0.95,
    counts: bool = True,
) -> dict[str, Sampled]:
    """By the cells of the groups, as text: those of which the domain has a tuple under the condition."""

    def key(row: Row) -> str:
        return repr([canon(row[name]) for name in groups])

    def alone(group: str) -> Value:
        return lambda row: value(row) if key(row) == group else None

    found = dict.fromkeys(key(leaf) for leaf, _ in domain if value(leaf) is not None)
    return {group: sdgs_estimate(view, domain, alone(group), k, beta, confidence, counts) for group in found}


def _text(row: Row) -> str:
    return written(tuple(row.values()))


def _room(z: float) -> float:
    """For what is skew about a binomial number."""
    return max((z * z + 2) / 6, 1.0)


def _fewest(seen: float, beta: float, z: float) -> float:
    """The smallest n for which `seen`, less the room, is no more than z deviations above n beta; never below `seen`."""
    return max(seen, _rising(lambda n: n * beta + z * math.sqrt(n * beta * (1 - beta)), seen - _room(z)))


def _most(seen: float, beta: float, z: float) -> float:
    """The largest n for which `seen`, and the room, is no more than z deviations below n beta."""
    turn = z * z * (1 - beta) / beta  # up to here n beta is itself within z deviations of nothing
    return turn + _rising(lambda n: (n + turn) * beta - z * math.sqrt((n + turn) * beta * (1 - beta)), seen + _room(z))


def _rising(number: Callable[[float], float], wanted: float) -> float:
    """Where a number that rises comes to the one that is wanted, by halving."""
    low, high = 0.0, 1.0
    if wanted <= number(low):
        return 0.0
    while number(high) < wanted:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if number(middle) < wanted else (low, middle)
    return high
