"""By which columns people can be found, and how many of a population are alone in their class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from .counting import Rows, group

NEAR_UNIQUE = Fraction(95, 100)
Found = tuple[list[str], int, float, int, Fraction, int]


def uniqueness(rows: Rows, columns: Sequence[str], most: int, person: str | None = None) -> list[Found]:
    """Every set of up to `most` columns; those with a part that finds nearly everybody are left out."""
    everybody = set().union(*(found.units for found in group(rows, columns, person=person).values()))
    sets = [own for size in range(1, most + 1) for own in combinations(columns, size)]
    alone = {own: _alone(rows, own, person) for own in sets}
    result = []
    for own in sets:
        parts = [part for size in range(1, len(own)) for part in combinations(own, size)]
        if any(Fraction(len(alone[part]), len(everybody)) >= NEAR_UNIQUE for part in parts):
            continue
        sizes = [found.n for found in group(rows, own, person=person).values()]
        entropy = sum(-n / sum(sizes) * math.log2(n / sum(sizes)) for n in sizes)
        special = alone[own] - set().union(*(alone[part] for part in parts))
        share = Fraction(len(alone[own]), len(everybody))
        result.append((list(own), len(sizes), entropy, len(alone[own]), share, len(special)))
    places = {name: place for place, name in enumerate(columns)}
    return sorted(result, key=lambda f: (len(f[0]), -f[3], -round(f[2], 9), [places[name] for name in f[0]]))


def _alone(rows: Rows, columns: Sequence[str], person: str | None) -> set[object]:
    """The rows, or the persons, that some class holds and nobody else."""
    return set().union(*(found.units for found in group(rows, columns, person=person).values() if found.n == 1))


def population_uniques(
    rows: Rows, qis: Sequence[str], fraction: float, person: str | None = None
) -> tuple[int, int, float, float, str]:
    """People of the population, alone in the table, alone in the population, the share of the former, and by what."""
    sizes = [found.n for found in group(rows, qis, person=person).values()]
    n, lone = sum(sizes), sizes.count(1)
    people = round(n / fraction)
    by = "pitman" if fraction <= 0.1 else "zayatz"
    if lone == 0:
        return people, 0, 0.0, 0.0, by
    if lone == n:
        found = float(people)
    elif by == "pitman":
        alpha, theta = likeliest(sizes)
        ratio = math.lgamma(theta + alpha + people - 1) - math.lgamma(theta + people)
        found = people * math.exp(ratio + math.lgamma(theta + 1) - math.lgamma(theta + alpha))
    else:
        drawn = {j: Fraction(j * math.comb(people - j, n - 1), math.comb(people, n)) for j in set(sizes)}
        found = float(lone / Fraction(fraction) * lone * drawn[1] / sum(drawn[j] for j in sizes))
    return people, lone, found, min(found * fraction / lone, 1.0), by


def likelihood(sizes: Sequence[int], alpha: float, theta: float) -> float:
    """Of these classes under Pitman's model, without what does not depend on its parameters: the sums as printed."""
    classes = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    rows = sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return classes - rows + sum(math.lgamma(j - alpha) - math.lgamma(1 - alpha) for j in sizes)


def likeliest(sizes: Sequence[int]) -> tuple[float, float]:
    """The parameters with the largest likelihood, one found inside the other."""
    high = math.log(sum(sizes)) + 14

    def best_theta(alpha: float) -> float:
        log = _peak(lambda y: likelihood(sizes, alpha, math.exp(y) - alpha), -14, high)
        return math.exp(log) - alpha

    def profile(alpha: float) -> float:
        return likelihood(sizes, alpha, best_theta(alpha))

    near = max((0.0005 + 0.0999 * step for step in range(11)), key=profile)
    alpha = _peak(profile, max(0.0005, near - 0.0999), min(0.9995, near + 0.0999))
    return alpha, best_theta(alpha)


def _peak(of: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(40):
        third = (high - low) / 3
        if of(low + third) < of(high - third):
            low += third
        else:
            high -= third
    return (low + high) / 2
