"""Checks against a population, and the risk of being recognised."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .counting import (
    Class,
    Number,
    PerClass,
    Rows,
    group,
    largest,
    per_group,
    smallest,
    total,
)


def _sizes(rows: Rows, qis: Sequence[str], person: str | None) -> dict[Class, int]:
    return {key: found.n for key, found in group(rows, qis, person=person).items()}


def k_map_per_class(rows: Rows, population: Rows, qis: Sequence[str], person: str | None = None) -> PerClass:
    people = _sizes(population, qis, person)
    return {key: (n, people.get(key, 0)) for key, n in _sizes(rows, qis, person).items()}


def k_map(rows: Rows, population: Rows, qis: Sequence[str], person: str | None = None) -> int:
    return int(smallest(k_map_per_class(rows, population, qis, person)))


class DeltaPresence(NamedTuple):
    delta_min: Number
    delta_max: Number


def delta_presence_per_class(rows: Rows, population: Rows, qis: Sequence[str], person: str | None = None) -> PerClass:
    """n(q) / population count; a table that is not part of the population is refused."""
    own, people = _sizes(rows, qis, person), _sizes(population, qis, person)
    if any(count > people.get(key, 0) for key, count in own.items()):
        raise ValueError("the table is not part of the population")
    return {key: (own.get(key, 0), Fraction(own.get(key, 0), count)) for key, count in people.items()}


def delta_presence(rows: Rows, population: Rows, qis: Sequence[str], person: str | None = None) -> DeltaPresence:
    per_class = delta_presence_per_class(rows, population, qis, person)
    return DeltaPresence(smallest(per_class), largest(per_class))


def risk_per_class(rows: Rows, qis: Sequence[str], person: str | None = None) -> PerClass:
    return per_group(group(rows, qis, person=person), lambda found: Fraction(1, found.n))


def risk(rows: Rows, qis: Sequence[str], person: str | None = None) -> dict[str, Number]:
    groups = group(rows, qis, person=person)
    uniques = sum(1 for found in groups.values() if found.n == 1)
    return {
        "prosecutor": largest(risk_per_class(rows, qis, person)),
        "marketer": Fraction(len(groups), total(groups)),
        "uniques": uniques,
        "unique_share": Fraction(uniques, total(groups)),
    }


def population_risk(rows: Rows, population: Rows, qis: Sequence[str], person: str | None = None) -> dict[str, Number]:
    """Risks against the population; a class that the population lacks is no place to hide."""
    own, people = _sizes(rows, qis, person), _sizes(population, qis, person)
    risks = {key: Fraction(1, people.get(key, 1)) for key in own}
    hits = sum((own[key] * risk for key, risk in risks.items()), Fraction(0))
    return {"journalist": max(risks.values()), "marketer": hits / sum(own.values())}


def class_sizes(rows: Rows, qis: Sequence[str], person: str | None = None) -> dict[int, int]:
    """How many classes there are of each size."""
    sizes = list(_sizes(rows, qis, person).values())
    return {size: sizes.count(size) for size in sorted(set(sizes))}
