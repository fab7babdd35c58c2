"""What a randomized release says about a count: sums over its view and over every tuple of its domain."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Z = 1.959963984540054


class Estimate(NamedTuple):
    """A count with its score interval, and 0.4 of a jump to each side."""

    estimate: float
    low: float
    high: float


def estimate(
    view: Sequence[tuple[Mapping[str, Any], tuple[float, float, float]]],
    domains: Mapping[str, Sequence[tuple[Any, float | None]]],
    weights: Mapping[int, tuple[float, float, float]],
    holds: Callable[[Mapping[str, Any]], bool | None],
    cross: tuple[float, float] = (0.0, 0.0),
) -> Estimate:
    """Rows with their weights, values with their shares, weights by power, a predicate, and FRAPP's cross terms."""
    sums = [0.0, 0.0, 0.0]
    for row, own in view:
        if holds(row):
            sums = [s + w for s, w in zip(sums, own, strict=True)]
    elements = 0
    for values in itertools.product(*domains.values()):
        if holds({name: value for name, (value, _) in zip(domains, values, strict=True)}):
            elements += 1
            share = math.prod(1.0 if s is None else s for _, s in values)
            for power, of_power in weights.items():
                sums = [s + w * share**power for s, w in zip(sums, of_power, strict=True)]
    e, raw, third = sums
    v = raw + cross[0] * elements * e + cross[1] * elements**2
    b = (third / raw if raw > 0 else 0.0) + cross[0] * elements
    root = math.sqrt((Z * Z * b) ** 2 + 4 * Z * Z * max(v, 0.0))
    largest = max((own[0] for _, own in view), default=0.0)
    jump = 0.4 * largest * math.sqrt(max(v, 0.0) / raw) if raw > 0 else 0.0
    return Estimate(e, e + (Z * Z * b - root) / 2 - jump, e + (Z * Z * b + root) / 2 + jump)
