"""What plain tables of randomized rows say about counts and sums: by the formulas of the papers, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from .estimates import Estimate

Row = Mapping[str, Any]
Value = Callable[[Row], float | None]
"""What a row adds; None where it does not meet the condition."""
Weights = tuple[float, float, float]


def alpha_beta_estimate(
    view: Sequence[Row], domain: Sequence[Row], value: Value, alpha: float, beta: float, confidence: float = 0.95
) -> Estimate:
    kept = alpha + beta
    slope = (1 - kept - beta) / alpha
    ours, theirs = (1 - kept - beta) / alpha**2, beta * kept / alpha**2
    weights = (1 / alpha, ours, slope * ours), (-beta / alpha, theirs, slope * theirs)
    return _independent(view, domain, value, weights, confidence)


def noisy_counts_estimate(
    view: Sequence[Row], domain: Sequence[Row], value: Value, p: float, q: float, confidence: float = 0.95
) -> Estimate:
    mu = q / (1 - q)
    ours, theirs = (1 - p) / p**2, mu * (mu + p) / p**2
    weights = (1 / p, ours, ours * (1 - p) / p), (-mu / p, theirs, theirs * (1 - p) / p)
    return _independent(view, domain, value, weights, confidence)


def signed_noisy_counts_estimate(
    view: Sequence[Row], domain: Sequence[Row], value: Value, a: float, confidence: float = 0.95
) -> Estimate:
    weights = (1.0, 0.0, 0.0), (0.0, 2 * a / (1 - a) ** 2, 0.0)
    return _independent(view, domain, value, weights, confidence)


def frapp_estimate(
    view: Sequence[Row], domain: Sequence[Row], value: Value, stay: float, confidence: float = 0.95
) -> Estimate:
    n, move = len(view), (1 - stay) / (len(domain) - 1)
    gap = stay - move
    rise = (1 - gap) / gap
    own, everywhere = _added(view, value), _added(domain, value)
    total = sum(own) / gap - n * move / gap * sum(everywhere)
    raw, third = (
        rise * sum(x**power for x in own) / gap + n * move / gap * sum(x**power for x in everywhere) for power in (2, 3)
    )
    counted = rise * len(own) / gap + n * move / gap * len(everywhere)
    cross = -2 * move / gap * sum(everywhere)
    variance = raw + cross * total - n * (move / gap * sum(everywhere)) ** 2
    slope = (rise * third / raw if raw > 0 else 0.0) + cross
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    jump = 0.4 / gap * math.sqrt(max(variance, 0) / counted) if counted > 0 and view else 0.0
    half = math.sqrt((z * z * slope / 2) ** 2 + z * z * max(variance, 0)) + jump
    centre = total + z * z * slope / 2
    return Estimate(total, centre - half, centre + half)


def _added(rows: Sequence[Row], value: Value) -> list[float]:
    return [x for x in map(value, rows) if x is not None]


def _independent(
    view: Sequence[Row], domain: Sequence[Row], value: Value, weights: tuple[Weights, Weights], confidence: float
) -> Estimate:
    """Values above 0 and below are two sums whose difference is wanted; each has the score interval."""
    (w, v, s), (dw, dv, ds) = weights
    signs = [row.get("__weight", 1.0) for row in view if value(row) is not None]
    own, everywhere = _added(view, value), _added(domain, value)
    total = w * sum(sign * x for sign, x in zip(signs, own, strict=True)) + dw * sum(everywhere)
    counted = v * len(own) + dv * len(everywhere)
    largest = w * max((row.get("__weight", 1.0) for row in view), default=0.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    ends = []
    for side in (1, -1):
        mine, all_of = ([max(side * x, 0.0) for x in found] for found in (own, everywhere))
        variance = v * sum(x**2 for x in mine) + dv * sum(x**2 for x in all_of)
        third = s * sum(x**3 for x in mine) + ds * sum(x**3 for x in all_of)
        slope = third / variance if variance > 0 else 0.0
        jump = 0.4 * largest * math.sqrt(max(variance, 0) / counted) if counted > 0 else 0.0
        half = math.sqrt(z * z * (z * z * slope * slope / 4 + max(variance, 0))) + jump
        ends.append((half - z * z * slope / 2, half + z * z * slope / 2))
    (down, up), (other_down, other_up) = ends
    return Estimate(total, total - math.hypot(down, other_up), total + math.hypot(up, other_down))
