"""Bags whose noise follows public shares: value by value, each with the oracles of a bag of one noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from scipy.optimize import minimize_scalar

from .bags import BagError, bag_noise, bag_variance, bag_weights, linking_prior_of_share, odds_factor
from .counting import INFINITY
from .randomized import belief


class ShareChoice(NamedTuple):
    """The best p, and what the bag is like."""

    p: float
    expected_rows: float
    noise_rows: float
    standard_error: float
    half_domain_error: float


def bag_share_factors(
    shares: Sequence[float], times: float, gamma: float, most_factor: float = INFINITY
) -> list[tuple[int, float, float | None, bool]]:
    """What takes each value to gamma, if anything does, and no more than other columns allow."""
    priors = [linking_prior_of_share(share, times) for share in shares]
    own = {i: min(odds_factor(d, gamma)[0], most_factor) for i, d in enumerate(priors) if d < gamma}
    least = min([*own.values(), most_factor])
    bare = None if math.isinf(least) else least
    return [(i + 1, d, own.get(i, bare), i in own) for i, d in enumerate(priors)]


def bag_share_noise(p: float, factors: Sequence[float]) -> list[tuple[int, float, float]] | None:
    """Each as if it were alone; none at all if one cannot be."""
    found = [bag_noise(p, factor) for factor in factors]
    if None in found:
        return None
    return [(i, q, float(Fraction(q) / (1 - Fraction(q)))) for i, q in enumerate(found, 1) if q is not None]


def bag_share_choice(n_public: int, domain: int, factors: Sequence[float]) -> ShareChoice:
    """By search, over the logarithm of what is left between p and its largest value."""
    each = Fraction(domain, len(factors))

    def coins(log_rest: float) -> tuple[Fraction, list[Fraction]]:
        p = (1 - 1 / Fraction(min(factors))) * (1 - Fraction(math.exp(log_rest)))
        return p, [p / ((1 - p) * (Fraction(factor) - 1)) for factor in factors]

    def square(log_rest: float) -> float:
        p, ratios = coins(log_rest)
        return float(bag_variance(n_public, 0, p, Fraction(0)) + sum(bag_variance(0, each, p, q) for q in ratios))

    found = minimize_scalar(square, bounds=(-25.0, -1e-9), method="bounded", options={"xatol": 1e-11})
    p, ratios = coins(float(found.x))
    noise = float(each * sum(q / (1 - q) for q in ratios))
    error = math.sqrt(square(float(found.x)))
    return ShareChoice(float(p), float(n_public * p) + noise, noise, error, error / math.sqrt(2))


def bag_share_weights(p: float) -> list[tuple[str, int, Fraction, Fraction, Fraction]]:
    """What the weights of tuples with one and with three copies of noise in the mean have in common."""
    (_, *view), (_, *one) = bag_weights(p, 0.5)
    _, (_, *three) = bag_weights(p, 0.75)
    # c + d = one, 3 c + 9 d = three
    second = [(b - 3 * a) / 6 for a, b in zip(one, three, strict=True)]
    first = [a - d for a, d in zip(one, second, strict=True)]
    rows = (("view", 0, view), ("domain", 1, first), ("domain", 2, second))
    return [(source, power, numbers[0], numbers[1], numbers[2]) for source, power, numbers in rows]


def bag_share_error(rows: int, domain: int, p: float, ratios: Sequence[float], hits: int, domain_hits: int) -> BagError:
    """Sums over independent coins, the tuples dealt out evenly to the values."""

    def error(of_rows: Fraction, of_tuples: Fraction) -> float:
        each = of_tuples / len(ratios)
        noise = sum(bag_variance(0, each, Fraction(p), Fraction(q)) for q in ratios)
        return math.sqrt(bag_variance(of_rows, 0, Fraction(p), Fraction(0)) + noise)

    half = error(Fraction(rows, 2), Fraction(domain, 2))
    asked = error(Fraction(hits), Fraction(domain_hits))
    return BagError(bag_share_rows(rows, domain, p, ratios)[0], asked, half, half <= rows)


def bag_share_rows(rows: int, domain: int, p: float, ratios: Sequence[float]) -> tuple[float, float]:
    """A binomial number, and a geometric one for each tuple."""
    each, keep = Fraction(domain, len(ratios)), Fraction(p)
    mean = sum(Fraction(q) / (1 - Fraction(q)) for q in ratios)
    square = sum(Fraction(q) / (1 - Fraction(q)) ** 2 for q in ratios)
    return float(rows * keep + each * mean), float(rows * keep * (1 - keep) + each * square)


def bag_share_beliefs(
    shares: Sequence[float], factors: Sequence[float], times: float, others: int
) -> list[tuple[int, float, float]]:
    """Bayes' rule, value by value."""
    found = []
    for i, (share, factor) in enumerate(zip(shares, factors, strict=True), 1):
        prior = linking_prior_of_share(float(Fraction(share) / others), times)
        found.append((i, prior, belief(prior, factor, 1)))
    return found
