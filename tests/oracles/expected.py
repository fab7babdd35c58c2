"""The error that an estimate will have: by what the coins do to a row of the table and to a tuple of the domain."""

from __future__ import annotations

import math
from fractions import Fraction


def expected_weights(
    weight: float,
    variance: float,
    skew: float,
    domain_weight: float,
    domain_variance: float,
    domain_skew: float,
) -> list[tuple[str, Fraction, Fraction, Fraction]]:
    """The mean of what is summed for a tuple with one row more, and for one without any, from the rows in the view.

    How many rows of the view the coins make of either is what makes the estimate unbiased: 0 for nobody, 1 for one row.
    """
    view = [Fraction(n) for n in (weight, variance, skew)]
    domain = [Fraction(n) for n in (domain_weight, domain_variance, domain_skew)]
    nobody = (0 - domain[0]) / view[0]
    somebody = (1 - domain[0]) / view[0]
    without = [nobody * v + d for v, d in zip(view, domain, strict=True)]
    with_one = [somebody * v + d for v, d in zip(view, domain, strict=True)]
    return [
        ("table", *(b - a for a, b in zip(without, with_one, strict=True))),  # type: ignore[list-item]
        ("domain", *without),  # type: ignore[list-item]
    ]


def expected_source_weights(
    alpha: float, rate: float, slots: int, beta: float
) -> list[tuple[int, float, Fraction, Fraction]]:
    """beta(t) (1 - beta(t)) / alpha^2 for each slot, as a series in the share.

    The skew is that times (1 - alpha - 2 beta(t)) / alpha.
    """
    largest, degree = -math.log1p(-beta), 2
    while (3 * largest) ** degree / math.factorial(degree) > 1e-17 and degree < 60:
        degree += 1
    a, each = Fraction(alpha), Fraction(rate) / slots
    noise = [Fraction(0), *(-((-each) ** j) / math.factorial(j) for j in range(1, degree + 1))]
    none = [(1 if j == 0 else 0) - n for j, n in enumerate(noise)]
    variance = [v / a**2 for v in _times(noise, none)]
    slope = [((1 - a if j == 0 else 0) - 2 * n) / a for j, n in enumerate(noise)]
    skew = _times(slope, variance)
    return [(j, 0.0, slots * variance[j], slots * skew[j]) for j in range(1, degree + 1)]


def _times(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    """The product of two series, as far as they go."""
    return [sum((left[i] * right[j - i] for i in range(j + 1)), start=Fraction(0)) for j in range(len(left))]
