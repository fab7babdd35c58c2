"""Arithmetic of sampled k-anonymity: delta, its solvers, amplification, composition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

from scipy.special import betainc

from .counting import INFINITY

ROUNDS = 80


def least_epsilon(beta: float) -> float:
    """The theorem asks for epsilon of at least -ln(1 - beta)."""
    return -math.log1p(-beta)


def _gamma(beta: float, epsilon: float) -> Decimal:
    """gamma = (e^eps - 1 + beta)/e^eps = 1 - (1 - beta)/e^eps, for the current precision."""
    return 1 - (1 - Decimal(beta)) / Decimal(epsilon).exp()


def tail(n: int, j: int, beta: float) -> float:
    """Pr(at least j of n tuples are sampled), never by 1 - cdf."""
    if j > n:
        return 0.0
    return float(betainc(j, n - j + 1, beta)) if j > 0 else 1.0


def sdgs_delta(k: int, beta: float, epsilon: float) -> float:
    """Every n from ceil(k/gamma - 1) on, until the Chernoff bound is below the best."""
    if k < 1 or not 0 < beta < 1 or epsilon < least_epsilon(beta) * (1 - 1e-12):
        raise ValueError("needs k >= 1, 0 < beta < 1, epsilon >= -ln(1 - beta)")
    with localcontext() as context:
        context.prec = 60 + int(epsilon)
        gamma = _gamma(beta, epsilon)
        n = int((k / gamma - 1).to_integral_value(ROUND_CEILING))
        g = float(gamma)
        rate = g * math.log(g / beta) - (g - beta)
        best = 0.0
        while math.exp(-n * rate) > best:
            j = int((gamma * n).to_integral_value(ROUND_FLOOR)) + 1
            best = max(best, tail(n, j, beta))
            n += 1
    return best


def _bisect(bad: float, good: float, holds: Callable[[float], bool]) -> float:
    """Move `good`, where it holds, towards `bad`, where it does not."""
    for _ in range(ROUNDS):
        middle = (bad + good) / 2
        if middle in (bad, good):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def sdgs_epsilon(k: int, beta: float, delta: float) -> float:
    """Smallest epsilon >= -ln(1 - beta) with at most this delta; infinity when there is none."""
    low = least_epsilon(beta)
    if sdgs_delta(k, beta, low) <= delta:
        return low
    if tail(k, k, beta) > delta:
        return INFINITY
    high = 2 * low
    while sdgs_delta(k, beta, high) > delta:
        high *= 2
    return _bisect(low, high, lambda epsilon: sdgs_delta(k, beta, epsilon) <= delta)


def sdgs_k(beta: float, epsilon: float, delta: float) -> int:
    """Smallest k with at most this delta."""
    if delta <= 0:
        raise ValueError("delta must be positive")
    good = 1
    while sdgs_delta(good, beta, epsilon) > delta:
        good *= 2
    bad = good // 2
    while good - bad > 1:
        middle = (bad + good) // 2
        if sdgs_delta(middle, beta, epsilon) <= delta:
            good = middle
        else:
            bad = middle
    return good


def sdgs_beta(k: int, epsilon: float, delta: float) -> float:
    """A largest beta <= 1 - exp(-epsilon) with at most this delta."""
    top = -math.expm1(-epsilon)
    if sdgs_delta(k, top, epsilon) <= delta:
        return top
    low = top / 2
    while sdgs_delta(k, low, epsilon) > delta:
        low /= 2
    return _bisect(2 * low, low, lambda beta: sdgs_delta(k, beta, epsilon) <= delta)


def sdgs_smooth_delta(k: int, beta: float, epsilon: float) -> float:
    """The closed bound of the f-smooth theorem; never below sdgs_delta."""
    with localcontext() as context:
        context.prec = 60 + int(epsilon)
        gamma = _gamma(beta, epsilon)
        share = Decimal(beta)
        return float((-k * ((gamma / share).ln() - (gamma - share) / gamma)).exp())


def amplified_epsilon(epsilon: float, beta: float) -> float:
    """An epsilon-private mechanism on a beta-sample: ln(1 + beta(e^eps - 1))."""
    with localcontext() as context:
        context.prec = 60 + int(epsilon)
        return float((1 + Decimal(beta) * (Decimal(epsilon).exp() - 1)).ln())


def composition(parts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Releases one after the other: epsilons add up, deltas add up."""
    pairs = list(parts)
    return math.fsum(e for e, _ in pairs), math.fsum(d for _, d in pairs)


def smooth_composition(
    samples: Sequence[tuple[int, float]], noisy: Sequence[float], epsilon: float, hair: float = 0.0, steps: int = 200
) -> float:
    """The least sum of deltas over all splits of epsilon in equal steps above the least epsilons, one after the other.

    Deltas are taken at epsilons that are larger by a share of `hair`: they jump, and no double decides where.
    """
    step = (epsilon - math.fsum(noisy) - math.fsum(least_epsilon(beta) for _, beta in samples)) / steps
    curves = [
        [sdgs_delta(k, beta, (least_epsilon(beta) + j * step) * (1 + hair)) for j in range(steps + 1)]
        for k, beta in samples
    ]
    splits = (
        (*some, steps - sum(some))
        for some in itertools.product(range(steps + 1), repeat=max(len(samples) - 1, 0))
        if sum(some) <= steps
    )
    sums = (math.fsum(curve[j] for curve, j in zip(curves, split, strict=False)) for split in splits)
    return min(1.0, *sums)


def sdgs_replaced(epsilon: float, delta: float) -> tuple[float, float]:
    """A row goes, and another comes: the second step's delta counts e^epsilon times after the first."""
    return epsilon + epsilon, min(delta + math.exp(epsilon) * delta, 1.0)


def sdgs_person(epsilon: float, delta: float, rows_each: int) -> tuple[float, float]:
    """Rows go one after the other."""
    spent, slipped = 0.0, 0.0
    for _ in range(rows_each):
        slipped = delta + math.exp(epsilon) * slipped
        spent += epsilon
    return spent, min(slipped, 1.0)


def sdgs_groups(epsilon: float, delta: float, groups: int) -> tuple[float, float]:
    """Each group is a release of its own."""
    spent, slipped = composition([(epsilon, delta)] * groups)
    return spent, min(slipped, 1.0)


def sdgs_shown_rows(rows: int, k: int, beta: float) -> float:
    """The mean of a binomial number, what is below k counted as nothing."""
    return math.fsum(j * math.comb(rows, j) * beta**j * (1 - beta) ** (rows - j) for j in range(k, rows + 1))


def sdgs_sensitivity(k: int, beta: float) -> float:
    """The largest step of sdgs_shown_rows, tried out far beyond where it is."""
    scores = [sdgs_shown_rows(rows, k, beta) for rows in range(math.ceil(3 * k / beta) + 10)]
    return max(after - before for before, after in itertools.pairwise(scores))
