"""Bags: the noise found by search on likelihoods that are written down, errors and weights from moments.

Nothing here knows the closed formulas of `bag.sql` and `signed_bag.sql`. A person's rows are moved from one
tuple to another, the likelihood of every count is a convolution, and the factor is the largest ratio that comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from .counting import INFINITY
from .randomized import Weights, belief, least_where


class BagGuarantee(NamedTuple):
    """What given coins are worth."""

    private: bool
    factor: float
    epsilon_replace_one: float
    epsilon_add_remove: float
    posterior: float


class BagChoice(NamedTuple):
    """The best p, and what the bag is like."""

    p: float
    q: float
    expected_rows: float
    noise_rows: float
    standard_error: float
    half_domain_error: float


class BagError(NamedTuple):
    """What a bag will be like."""

    expected_rows: float
    standard_error: float
    half_domain_error: float
    possible: bool


def odds_factor(d: float, gamma: float) -> tuple[float, float]:
    """Odds by odds, in fractions."""
    before, after = (Fraction(x) / (1 - Fraction(x)) for x in (d, gamma))
    return float(after / before), math.log(after / before)


def posterior_bound(prior: float, factor: float) -> tuple[float, float]:
    """Bayes' rule on what is that much likelier with it than without, and the other way round."""
    return belief(prior, factor, 1), belief(prior, 1, factor)


def linking_prior(choices: int, times: float) -> float:
    """One value weighs `times`, the others 1."""
    return float(Fraction(times) / (Fraction(times) + choices - 1))


def linking_prior_of_share(public_share: float, times: float) -> float:
    """So many times the odds of the share."""
    odds = Fraction(times) * Fraction(public_share) / (1 - Fraction(public_share))
    return float(odds / (1 + odds))


def person_prior(d: float, rows_each: int) -> float:
    """Not all of the rows are without it."""
    return float(1 - (1 - Fraction(d)) ** rows_each)


def row_factor(factor: float, rows_each: int) -> float:
    """What gives the factor when multiplied by itself."""
    return least_where(lambda one: one**rows_each >= factor, 1.0, factor)


def linking_factor(alpha: float, least_beta: float, most_beta: float, persist: float, views: int) -> float:
    """The largest change of the odds between two tuples over everything that can be seen of both in all views."""

    def ratios(beta: float) -> list[float]:
        """Pr(seen so | it is the person's) / Pr(seen so | it is nobody's), for every way to be seen or not."""
        keep = alpha + beta
        found = []
        for pattern in product([False, True], repeat=views):
            own = other = 1.0
            before = False
            for is_seen in pattern:
                noise = keep * persist if before else beta
                own *= keep if is_seen else 1 - keep
                other *= noise if is_seen else 1 - noise
                before = before or is_seen
            found.append(own / other)
        return found

    return max(ratios(least_beta)) / min(ratios(most_beta))


def small_count(rows: int, domain: int) -> tuple[float, float]:
    """A twentieth of both, rounded up."""
    return float(-(-rows // 20)), float(-(-domain // 20))


def counts(copies: int, p: Fraction, q: Fraction, most: int) -> list[Fraction]:
    """Pr(0), ..., Pr(most) of how often a tuple is seen that has so many rows."""
    seen = [(1 - q) * q**j for j in range(most + 1)]
    for _ in range(copies):
        seen = [(1 - p) * now + p * before for before, now in zip([Fraction(0), *seen], seen, strict=False)]
    return seen


def likelier(p: float, q: float, rows_each: int) -> tuple[float, float]:
    """How many times likelier some count can become, and how many times less likely, with a person's rows there."""
    most = rows_each + 2
    without, there = (counts(copies, Fraction(p), Fraction(q), most) for copies in (0, rows_each))
    ratios = [INFINITY if a == 0 else float(b / a) for a, b in zip(without, there, strict=True) if a or b]
    return max(ratios), INFINITY if min(ratios) == 0 else 1 / min(ratios)


def bag_factor(p: float, q: float, rows_each: int = 1) -> float:
    """The rows leave one tuple and come to another."""
    more, less = likelier(p, q, rows_each)
    return more * less


def bag_noise(p: float, factor: float, rows_each: int = 1) -> float | None:
    """The least noise that keeps to the factor, none if noise of nearly 1 does not."""
    largest = 1 - 1e-9
    if bag_factor(p, largest, rows_each) > factor:
        return None
    return least_where(lambda q: bag_factor(p, q, rows_each) <= factor, 0.0, largest)


def bag_variance(rows: float | Fraction, domain: float | Fraction, p: Fraction, q: Fraction) -> Fraction:
    """Of a count that so many rows and tuples satisfy: the kept rows are coins, the noise geometric."""
    return (Fraction(rows) * p * (1 - p) + Fraction(domain) * q / (1 - q) ** 2) / p**2


def bag_choice(n_public: int, domain: int, factor: float, most_rows: float = INFINITY) -> BagChoice:
    """By search, over the logarithm of what is left between p and its largest value."""

    def coins(log_rest: float) -> tuple[Fraction, Fraction]:
        p = (1 - 1 / Fraction(factor)) * (1 - Fraction(math.exp(log_rest)))
        return p, p / ((1 - p) * (Fraction(factor) - 1))

    def noise_rows(log_rest: float) -> float:
        _, q = coins(log_rest)
        return float(domain * q / (1 - q))

    def square(log_rest: float) -> float:
        return float(bag_variance(n_public, domain, *coins(log_rest)))

    least = least_where(lambda x: noise_rows(x) <= most_rows, -30.0, -1e-9)
    found = minimize_scalar(square, bounds=(least, -1e-9), method="bounded", options={"xatol": 1e-11})
    best = min((least, float(found.x)), key=square)
    p, q = coins(best)
    added, deviation = noise_rows(best), math.sqrt(square(best))
    return BagChoice(float(p), float(q), n_public * float(p) + added, added, deviation, deviation / math.sqrt(2))


def _judge(d: float, gamma: float, more: float, less: float) -> BagGuarantee:
    factor = more * less
    posterior = 1.0 if math.isinf(factor) else belief(d, factor, 1)
    epsilon = math.log(factor) if factor < INFINITY else INFINITY
    return BagGuarantee(posterior <= gamma, factor, epsilon, math.log(max(more, less)), posterior)


def bag_guarantee(d: float, gamma: float, p: float, q: float, rows_each: int = 1) -> BagGuarantee:
    """By Bayes' rule."""
    return _judge(d, gamma, *likelier(p, q, rows_each))


def bag_weights(p: float, q: float) -> Weights:
    """What solves "unbiased" for a tuple without a row and with one; more rows are more of the same coins."""
    keep, noise = Fraction(p), Fraction(q)
    means = [copies * keep + noise / (1 - noise) for copies in (0, 1)]
    squares = [copies * keep * (1 - keep) + noise / (1 - noise) ** 2 for copies in (0, 1)]

    def solve(nobody: Fraction, somebody: Fraction) -> tuple[Fraction, Fraction]:
        view = (somebody - nobody) / (means[1] - means[0])
        return view, nobody - view * means[0]

    weight = solve(Fraction(0), Fraction(1))
    variance = solve(*(weight[0] ** 2 * square for square in squares))
    skew = solve(*(weight[0] * variance[0] * square for square in squares))
    return [(name, weight[i], variance[i], skew[i]) for i, name in enumerate(("view", "domain"))]


def bag_error(rows: int, domain: int, p: float, q: float, hits: int, domain_hits: int) -> BagError:
    """Sums over independent coins."""
    keep, noise = Fraction(p), Fraction(q)
    asked = math.sqrt(bag_variance(hits, domain_hits, keep, noise))
    half = math.sqrt(bag_variance(rows / 2, domain / 2, keep, noise))
    return BagError(float(rows * keep + domain * noise / (1 - noise)), asked, half, half <= rows)


def bag_rows(rows: int, domain: int, p: float, q: float) -> tuple[float, float]:
    """The mean and the variance of a binomial number and of a geometric one for each tuple of the domain."""
    keep, noise = Fraction(p), Fraction(q)
    mean = rows * keep + domain * noise / (1 - noise)
    return float(mean), float(rows * keep * (1 - keep) + domain * noise / (1 - noise) ** 2)


def bag_kind(n_public: int, domain: int, factor: float, most_rows: float = INFINITY) -> tuple[str, float, float]:
    """Both, and the smaller one that is not too large."""
    bag = bag_choice(n_public, domain, factor, most_rows).standard_error
    noise = two_sided(signed_bag_noise(factor))
    signed = math.sqrt(domain * moment(noise, lambda z: z * z))
    fits = domain * moment(noise, abs) <= most_rows
    return ("signed bag" if signed < bag and fits else "bag"), bag, signed


# --- Signed bags --------------------------------------------------------------------------------


def two_sided(a: float) -> dict[int, float]:
    """Pr(noise) of a tuple, up to where nothing is left: the difference of two geometric numbers."""
    most = 1 if a == 0 else math.ceil(-60 / math.log(a)) + 1
    one = (1 - a) * a ** np.arange(most, dtype=float)
    return dict(zip(range(1 - most, most), map(float, np.correlate(one, one, "full")), strict=True))


def moment(noise: dict[int, float], of: Callable[[int], float]) -> float:
    """The mean of something of the noise."""
    return math.fsum(chance * of(z) for z, chance in noise.items())


def signed_likelier(a: float, rows_each: int) -> tuple[float, float]:
    """As `likelier`: a count is as likely as the noise that makes it."""
    if a == 0:
        return INFINITY, INFINITY
    chances = {z: a ** abs(z) for z in range(-rows_each - 2, 2 * rows_each + 3)}
    ratios = [chances[z - rows_each] / chances[z] for z in range(-2, 2 * rows_each + 3)]
    return max(ratios), 1 / min(ratios)


def signed_bag_noise(factor: float, rows_each: int = 1) -> float:
    """The least noise that keeps to the factor."""
    return least_where(lambda a: math.prod(signed_likelier(a, rows_each)) <= factor, 0.0, 1.0)


def signed_bag_guarantee(d: float, gamma: float, a: float, rows_each: int = 1) -> BagGuarantee:
    """By Bayes' rule."""
    return _judge(d, gamma, *signed_likelier(a, rows_each))


def signed_bag_weights(a: float) -> list[tuple[str, float, float, float]]:
    """Counts are true but for noise of mean 0, the same for every tuple."""
    square = moment(two_sided(a), lambda z: z * z)
    return [("view", 1.0, 0.0, 0.0), ("negative", -1.0, 0.0, 0.0), ("domain", 0.0, square, 0.0)]


def signed_bag_error(rows: int, domain: int, a: float, domain_hits: int) -> BagError:
    """All rows in one tuple, the others empty."""
    noise = two_sided(a)
    square = moment(noise, lambda z: z * z)
    expected = moment(noise, lambda z: abs(rows + z)) + (domain - 1) * moment(noise, abs)
    half = math.sqrt(domain / 2 * square)
    return BagError(expected, math.sqrt(domain_hits * square), half, half <= rows)
