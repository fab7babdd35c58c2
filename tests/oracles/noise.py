"""Randomized views: parameters, and posteriors by enumerating every instance and every view."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

Instance = frozenset[int]
Prior = Mapping[Instance, Fraction]


def prior_odds(d: float, gamma: float) -> float:
    """R = d(1 - gamma) / (gamma(1 - d))."""
    return d * (1 - gamma) / (gamma * (1 - d))


def alpha_beta_parameters(d: float, gamma: float, adversary: str, choice: str) -> tuple[float, float]:
    """Reference section 4: exclusive p = 1/2, beta = R/(1+R); independent beta = p R with p = 1/2 or 1 - d/gamma."""
    odds = prior_odds(d, gamma)
    if adversary == "exclusive":
        beta = odds / (1 + odds)
        return 0.5 - beta, beta
    kept = 0.5 if choice == "paper" else 1 - d / gamma
    return kept - kept * odds, kept * odds


def alpha_beta_guarantee(d: float, alpha: float, beta: float) -> tuple[float, float, float, float]:
    kept = alpha + beta
    present = d * kept / (d * kept + (1 - d) * beta)
    exclusive = d * kept * (1 - beta) / (d * kept * (1 - beta) + (1 - d) * (1 - kept) * beta)
    absent = d * (1 - kept) / (d * (1 - kept) + (1 - d) * (1 - beta))
    return present, exclusive, absent / d, math.log(max(kept / beta, (1 - beta) / (1 - kept)))


def alpha_beta_error(
    n: float, m: float, alpha: float, beta: float, hits: float, domain_hits: float
) -> tuple[float, float]:
    kept = alpha + beta
    variance = hits * kept * (1 - kept) + (domain_hits - hits) * beta * (1 - beta)
    return n * kept + (m - n) * beta, math.sqrt(variance) / alpha


def frapp_parameters(d: float, gamma: float, m: float) -> tuple[float]:
    return (1 / (1 + prior_odds(d, gamma) * (m - 1)),)


def instances(size: int) -> Iterator[Instance]:
    """Every subset of the domain 0, 1, ..., size - 1."""
    for length in range(size + 1):
        yield from map(frozenset, itertools.combinations(range(size), length))


def view_probability(view: Instance, instance: Instance, size: int, kept: Fraction, noise: Fraction) -> Fraction:
    """Algorithm 1: tuples of the instance are in the view with alpha + beta, all others with beta."""
    chance = Fraction(1)
    for t in range(size):
        rate = kept if t in instance else noise
        chance *= rate if t in view else 1 - rate
    return chance


def worst_posteriors(prior: Prior, size: int, kept: Fraction, noise: Fraction) -> tuple[Fraction, Fraction]:
    """The largest posterior of a tuple with a prior below 1, and the smallest posterior/prior, over all views."""
    highest, lowest = Fraction(0), Fraction(10**9)
    before = [sum((p for i, p in prior.items() if t in i), Fraction(0)) for t in range(size)]
    for view in instances(size):
        weights = {i: p * view_probability(view, i, size, kept, noise) for i, p in prior.items() if p}
        total = sum(weights.values())
        if not total:
            continue
        for t in range(size):
            if 0 < before[t] < 1:
                after = sum((w for i, w in weights.items() if t in i), Fraction(0)) / total
                highest, lowest = max(highest, after), min(lowest, after / before[t])
    return highest, lowest
