"""k-anonymity, (alpha,k)-anonymity and the four l-diversities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from .counting import (
    INFINITY,
    Group,
    Number,
    PerClass,
    Rows,
    group,
    largest,
    per_group,
    smallest,
)


def k_anonymity_per_class(rows: Rows, qis: Sequence[str], person: str | None = None) -> PerClass:
    return per_group(group(rows, qis, person=person), lambda found: found.n)


def k_anonymity(rows: Rows, qis: Sequence[str], person: str | None = None) -> int:
    return int(smallest(k_anonymity_per_class(rows, qis, person)))


class AlphaK(NamedTuple):
    alpha: Number
    k: int


def _alpha(found: Group) -> Fraction:
    return max(Fraction(found.n_value(value), found.n) for value in found.by_value)


def alpha_k_anonymity_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    return per_group(group(rows, qis, sensitive, person), _alpha)


def alpha_k_anonymity(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> AlphaK:
    alpha = largest(alpha_k_anonymity_per_class(rows, qis, sensitive, person))
    return AlphaK(alpha, k_anonymity(rows, qis, person))


class LDiversity(NamedTuple):
    distinct_l: int
    entropy_l: float


def _entropy_l(found: Group) -> float:
    shares = [count / found.n for count in found.histogram()]
    return math.exp(-math.fsum(share * math.log(share) for share in shares))


def l_diversity_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    """The distinct_l of every class."""
    groups = group(rows, qis, sensitive, person)
    return per_group(groups, lambda found: len(found.histogram()))


def entropy_diversity_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    """The entropy_l of every class."""
    return per_group(group(rows, qis, sensitive, person), _entropy_l)


def l_diversity(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> LDiversity:
    distinct = smallest(l_diversity_per_class(rows, qis, sensitive, person))
    entropy = smallest(entropy_diversity_per_class(rows, qis, sensitive, person))
    return LDiversity(int(distinct), float(entropy))


def _recursive_c(found: Group, l: int) -> Number:  # noqa: E741
    r = found.histogram()
    tail = sum(r[l - 1 :])
    return Fraction(r[0], tail) if tail else INFINITY


def recursive_diversity_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    l: int,  # noqa: E741
    person: str | None = None,
) -> PerClass:
    if l < 1:
        raise ValueError("recursive diversity needs l >= 1")
    return per_group(group(rows, qis, sensitive, person), lambda found: _recursive_c(found, l))


def recursive_diversity(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    l: int,  # noqa: E741
    person: str | None = None,
) -> Number:
    return largest(recursive_diversity_per_class(rows, qis, sensitive, l, person))


def _posterior(found: Group, l: int) -> Fraction:  # noqa: E741
    r = found.histogram()
    return Fraction(r[0], r[0] + sum(r[l - 1 :]))


def negation_diversity_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    l: int,  # noqa: E741
    person: str | None = None,
) -> PerClass:
    if l < 2:
        raise ValueError("negation diversity needs l >= 2")
    return per_group(group(rows, qis, sensitive, person), lambda found: _posterior(found, l))


def negation_diversity(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    l: int,  # noqa: E741
    person: str | None = None,
) -> Number:
    return largest(negation_diversity_per_class(rows, qis, sensitive, l, person))


def _posterior_by_search(found: Group, l: int) -> Fraction:  # noqa: E741
    """Try every s and every set of at most l-2 values that the person is known not to have."""
    best = Fraction(0)
    for size in range(l - 1):
        for negated in combinations(found.by_value, size):
            out = set().union(*(found.by_value[value] for value in negated))
            left = found.units - out
            for units in found.by_value.values():
                if left:
                    best = max(best, Fraction(len(units & left), len(left)))
    return best


def negation_diversity_by_search(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    l: int,  # noqa: E741
    person: str | None = None,
) -> Number:
    """The lecture's definition, with no closed form in between."""
    groups = group(rows, qis, sensitive, person)
    return largest(per_group(groups, lambda found: _posterior_by_search(found, l)))
