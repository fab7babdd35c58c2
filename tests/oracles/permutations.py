"""All ways to hand out the values of a group, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import prod, sqrt


def match_chances(odds: Sequence[Sequence[float]]) -> tuple[list[list[float]], float]:
    """The chance that person i has value j, and the sum over all ways."""
    size = len(odds)
    chances = [[0.0] * size for _ in odds]
    total = 0.0
    for way in permutations(range(size)):
        weight = prod(odds[i][way[i]] for i in range(size))
        total += weight
        for i in range(size):
            chances[i][way[i]] += weight
    return [[c / total for c in row] for row in chances], total


def wilson_low(right: int, people: int, z: float) -> float:
    """The smallest share p with (right / people - p)^2 <= z^2 p (1 - p) / people, by bisection."""
    share, low, high = right / people, 0.0, right / people
    for _ in range(200):
        middle = (low + high) / 2
        if (share - middle) > z * sqrt(middle * (1 - middle) / people):
            low = middle
        else:
            high = middle
    return high
