"""Randomized views: the coins found by search on Bayes' rule, the errors and weights from first principles.

Nothing here knows the closed formulas of `alpha_beta.sql` and `frapp.sql`. A belief is Bayes' rule, the right
noise is found by bisection, a variance is the sum over independent coins, and the weights solve the equations that
say "unbiased", in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from .counting import INFINITY

ROUNDS = 200
Weights = list[tuple[str, Fraction, Fraction, Fraction]]


class AlphaBetaGuarantee(NamedTuple):
    """What given coins are worth."""

    independent: bool
    exclusive: bool
    independent_posterior: float
    exclusive_posterior: float
    retained: float
    independent_gamma: float
    epsilon: float


class AlphaBetaError(NamedTuple):
    """What a view will be like."""

    expected_rows: float
    standard_error: float
    bound: float | None
    half_domain_error: float
    possible: bool


def belief(prior: float, likelihood: float, otherwise: float) -> float:
    """Bayes: the posterior of what had this prior, after something this likely with it and without it."""
    return prior * likelihood / (prior * likelihood + (1 - prior) * otherwise)


def independent_posterior(prior: float, p: float, beta: float) -> float:
    """The belief in an element that is seen in the view."""
    return belief(prior, p, beta)


def exclusive_posterior(prior: float, p: float, beta: float) -> float:
    """The belief that a person is the element that is seen, when no other element he could be is there.

    Two elements are enough: a third would be absent from the view whichever of the two the person is.
    """
    return belief(prior, p * (1 - beta), (1 - p) * beta)


def least_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest number from where on it holds."""
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def alpha_beta_parameters(d: float, gamma: float, adversary: str, choice: str) -> tuple[float, float]:
    """Of the p that the choice names, the least noise that keeps the worst posterior at gamma."""
    p = 1 - d / gamma if choice == "tight" else 0.5
    posterior = exclusive_posterior if adversary == "exclusive" else independent_posterior
    beta = least_where(lambda noise: posterior(d, p, noise) <= gamma, 0.0, p)
    return p - beta, beta


def alpha_beta_slot_prior(d: float, slots: int, adversary: str = "independent") -> float:
    """The prior whose odds are those of "in this slot" against "in none"; "in another slot" only helps to hide.

    Who knows that everybody has a tuple compares with another tuple instead: a slot has its part of the prior.
    """
    if adversary == "exclusive":
        return float(Fraction(d) / slots)
    odds = Fraction(d) / slots / (1 - Fraction(d))
    return float(odds / (1 + odds))


def alpha_beta_guarantee(d: float, gamma: float, alpha: float, beta: float) -> AlphaBetaGuarantee:
    """By Bayes' rule; the smallest gamma from both inequalities of Definition 2.3."""
    p = min(alpha + beta, 1.0)
    seen, alone = independent_posterior(d, p, beta), exclusive_posterior(d, p, beta)
    least = max(seen, INFINITY if p == 1 else d / (1 - p))
    ratios = [(p, beta), (1 - beta, 1 - p)]
    epsilon = max(INFINITY if low == 0 else math.log(high / low) for high, low in ratios)
    retained = belief(1e-13, 1 - p, 1 - beta) / 1e-13  # a prior of almost 0 loses most
    return AlphaBetaGuarantee(least <= gamma, alone <= gamma, seen, alone, retained, least, epsilon)


def alpha_beta_error(
    rows: int, domain: int, alpha: float, beta: float, hits: int, domain_hits: int, failure: float = 0.05
) -> AlphaBetaError:
    """Sums over the coins of the elements, which are independent."""
    p = min(alpha + beta, 1.0)

    def deviation(kept: float, added: float) -> float:
        return math.sqrt(math.fsum([kept * p * (1 - p), added * beta * (1 - beta)])) / alpha

    r = beta / alpha**2 * domain / rows
    bound = math.sqrt(2 * (r + 1) * math.log(2 / failure)) * math.sqrt(rows)
    holds = p >= 0.5 - 1e-12 and (failure >= 0.05 or math.log(2 / failure) ** 3 <= 4 * alpha**2 * (r + 1) * rows)
    half = deviation(rows / 2, (domain - rows) / 2)
    expected = rows * p + (domain - rows) * beta
    return AlphaBetaError(expected, deviation(hits, domain_hits - hits), bound if holds else None, half, half <= rows)


def _stratum(p: Fraction, beta: Fraction) -> tuple[Fraction, ...]:
    """Weight, variance and skew of a row of the view, then of the domain, of one kind of elements.

    x for the view and y for the domain are to give p x + y for an element of the table and beta x + y for another:
    1 and 0 make the sum unbiased, and the variances of the weighted coins make the variance so. Slope: by how much an
    element that joins the table changes the variance.
    """

    def solve(inside: Fraction, outside: Fraction) -> tuple[Fraction, Fraction]:
        x = (inside - outside) / (p - beta)
        return x, outside - beta * x

    weight, domain_weight = solve(Fraction(1), Fraction(0))
    inside, outside = (chance * (1 - chance) * weight**2 for chance in (p, beta))
    variance, domain_variance = solve(inside, outside)
    slope = inside - outside
    return weight, variance, slope * variance, domain_weight, domain_variance, slope * domain_variance


def alpha_beta_weights(alpha: float, beta: float) -> Weights:
    """One kind of elements."""
    found = _stratum(Fraction(alpha) + Fraction(beta), Fraction(beta))
    return [("view", *found[:3]), ("domain", *found[3:])]


def sequence_weights(alpha: float, beta: float, persist: float) -> Weights:
    """Two kinds: the elements of earlier views are taken out of the domain, and are a domain of their own."""
    p = Fraction(alpha) + Fraction(beta)
    new, old = _stratum(p, Fraction(beta)), _stratum(p, p * Fraction(persist))
    both = (old[i] + old[3 + i] - new[3 + i] for i in range(3))
    earlier = (old[3 + i] - new[3 + i] for i in range(3))
    return [("both", *both), ("earlier", *earlier), ("view", *new[:3]), ("domain", *new[3:])]


def alpha_beta_source_parameters(d_max: float, share_max: float, gamma: float) -> tuple[float, float]:
    """Fitted where the share is largest.

    That is enough. In the share s, the odds that the prior may have grow as x / (1 - x) with x proportional to s: a
    convex function. The noise among what is seen is beta / (alpha + beta) with beta = 1 - exp(-rate s): concave, for
    beta is, and b / (alpha + b) is and rises. Both are 0 at s = 0. So if the first is not above the second at the
    largest share, then below it the first lies under its chord and the chord under the second. And alpha + beta rises
    with s while 1 - prior / gamma falls, so that the other inequality, too, is hardest at the largest share.
    """
    alpha, beta = alpha_beta_parameters(d_max, gamma, "independent", "paper")
    return alpha, -math.log1p(-beta) / share_max


def alpha_beta_source_noise(rate: float, share: float) -> float:
    """The chance that a Poisson number of mean rate * share is not 0."""
    return -math.expm1(-rate * share)


def _times(left: Sequence[Fraction], right: Sequence[Fraction]) -> list[Fraction]:
    """The product of two power series, as long as they are."""
    return [sum((left[i] * right[j - i] for i in range(j + 1)), Fraction(0)) for j in range(len(left))]


def alpha_beta_source_weights(
    alpha: float, rate: float, slots: int, beta: float
) -> list[tuple[int, Fraction, Fraction, Fraction]]:
    """What _stratum says of p = alpha + beta(t), in series instead of numbers; in a slot beta(t) has rate / slots."""
    largest, degree = -math.log1p(-beta), 2
    while (3 * largest) ** degree / math.factorial(degree) > 1e-17 and degree < 60:
        degree += 1
    a, each = Fraction(alpha), Fraction(rate) / slots
    noise = [Fraction(0), *(-((-each) ** j) / math.factorial(j) for j in range(1, degree + 1))]
    keep = [a + noise[0], *noise[1:]]
    variance = [v / a**2 for v in _times(keep, noise)]
    slope = [((1 if j == 0 else 0) - keep[j] - noise[j]) / a for j in range(degree + 1)]
    skew = _times(slope, variance)
    return [(j, -slots * noise[j] / a, slots * variance[j], slots * skew[j]) for j in range(1, degree + 1)]


def sequence_parameters(d: float, gamma: float, views: int) -> tuple[float, float, float]:
    """p so small that an element absent from all views keeps d / gamma; then the noise that hides the worst history.

    The worst is an element seen in the last view alone, or first in one and then in all to come, as often as
    it pays: (1 / beta) against exp(1 / views) for each view after.
    """
    p = 1 - least_where(lambda absent: absent**views >= d / gamma, 0.5, 1.0)
    persist = math.exp(-1 / views)
    worst = lambda noise: p / noise * (p / (p * persist)) ** (views - 1)  # noqa: E731
    beta = least_where(lambda noise: noise > 0 and belief(d, worst(noise), 1.0) <= gamma, 0.0, 1.0)
    return p - beta, beta, persist


def frapp_parameters(d: float, gamma: float, domain: int) -> tuple[float, float]:
    """How many times likelier than any other tuple its own may be, up to where the belief is above gamma."""
    times = least_where(lambda likelier: belief(d, likelier, 1.0) > gamma, 1.0, 1e15)
    return times / (times + domain - 1), 1 / (times + domain - 1)


def frapp_comparison(d: float, gamma: float, domain: int, rows: int) -> tuple[float, float]:
    """The level of the paper's experiment, which is not private."""
    odds = Fraction(d) * (1 - Fraction(gamma)) / (Fraction(gamma) * (1 - Fraction(d)))
    stay = 1 / (1 + odds * domain / (rows * (1 - odds)))
    return float(stay), float((1 - stay) / (domain - 1))


def frapp_guarantee(d: float, gamma: float, stay: float, move: float) -> tuple[bool, float, float]:
    """By Bayes' rule for one record."""
    posterior = belief(d, stay, move)
    return posterior <= gamma, posterior, math.log(stay / move) if move else INFINITY


def frapp_deviation(rows: Fraction, domain: int, stay: float, hits: Fraction, domain_hits: Fraction) -> float:
    """Each record satisfies the query afterwards by a coin of its own, of two kinds."""
    g = Fraction(stay)
    q = (1 - g) / (domain - 1)
    chances = [(hits, g + (domain_hits - 1) * q), (rows - hits, domain_hits * q)]
    return math.sqrt(sum(count * chance * (1 - chance) for count, chance in chances)) / float(g - q)


def frapp_error(rows: int, domain: int, stay: float, hits: int, domain_hits: int) -> tuple[float, float, bool]:
    """The count that is asked for, and the one over half of everything."""
    half = frapp_deviation(Fraction(rows), domain, stay, Fraction(rows, 2), Fraction(domain, 2))
    return frapp_deviation(Fraction(rows), domain, stay, Fraction(hits), Fraction(domain_hits)), half, half <= rows


def _one_record(stay: Fraction, move: Fraction, own: int, total: int, squares: int) -> Fraction:
    """The variance that one record brings: f is `own` at its tuple; over the domain f and f^2 add up to the others."""
    gap = stay - move
    mean, mean_square = gap * own + move * total, gap * own**2 + move * squares
    return (mean_square - mean**2) / gap**2


def frapp_weights(stay: float, move: float, rows: int) -> Weights:
    """Of a tuple with h records h g + (rows - h) q are expected, so x of that and y make any a h + b: h for the weight.

    For the variance a is what the records of the tuple bring to it, b what all bring because they may land there.
    """
    g, q = Fraction(stay), Fraction(move)
    slope = _one_record(g, q, 1, 0, 0)

    def solve(a: Fraction, b: Fraction) -> tuple[Fraction, Fraction]:
        return a / (g - q), b - rows * q * a / (g - q)

    weight, domain_weight = solve(Fraction(1), Fraction(0))
    variance, domain_variance = solve(slope, rows * _one_record(g, q, 0, 0, 1))
    return [
        ("view", weight, variance, slope * variance),
        ("domain", domain_weight, domain_variance, slope * domain_variance),
    ]


def frapp_cross_terms(stay: float, move: float, rows: int) -> tuple[Fraction, Fraction]:
    """What the variance has of the product of the two sums, and of the square of the domain's."""
    g, q = Fraction(stay), Fraction(move)
    square = _one_record(g, q, 0, 1, 0)
    return _one_record(g, q, 1, 1, 0) - _one_record(g, q, 1, 0, 0) - square, rows * square


def public_size(rows: int) -> float:
    """Count up to a number that is two digits and zeros."""
    digits = str(max(rows, 1))
    while digits[2:].strip("0"):
        digits = str(int(digits) + 1)
    return float(digits)


def prior_of_multiple(k: float, rows: int, tuples: float) -> float:
    """k times the chance that one of the rows would be this tuple, by the expected number."""
    return float(Fraction(k) * rows / Fraction(tuples))


def alpha_beta_draws(domain: int, beta: float) -> float:
    """The mean at which an element is missed by all draws with probability 1 - beta."""
    return domain * -math.log1p(-beta)


def sequence_rows(alpha: float, beta: float, persist: float, rows: int, gone: int, domain: int) -> tuple[float, float]:
    """The sum of the probabilities of all elements, and that of the variances of their coins."""
    p = Fraction(alpha) + Fraction(beta)
    tossed = [(rows, p), (gone, p * Fraction(persist)), (domain - rows - gone, Fraction(beta))]
    return float(sum(n * q for n, q in tossed)), float(sum(n * q * (1 - q) for n, q in tossed))
