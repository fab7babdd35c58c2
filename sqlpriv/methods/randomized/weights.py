"""The weights of a release: what a row of the view and a tuple of the domain count for in an estimate.

A weight makes sums unbiased, a variance gives their squared error, and a skew how that error grows with the true sum
(for score intervals). Those of uniform noise and sequences are macros; frapp's cross terms and the power series of
noise by shares are here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.methods.randomized.parameters import Plan
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Weights:
    """Weight, variance and skew."""

    weight: float
    variance: float
    skew: float


@dataclass(frozen=True)
class AllWeights:
    """By kind of row in the view, and by power of the share for a tuple of the domain; frapp also has cross terms."""

    view: dict[str, Weights]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0


def make_weights(source: Source, plan: Plan, view: int) -> AllWeights:
    """The weights of a plan; all slots of a tuple count together for the domain."""
    if plan.method == "frapp":
        return _frapp(source, plan)
    coins = plan.coins
    if coins.rate is not None:
        return AllWeights({}, _series(coins.alpha, coins.rate, plan))
    if view > 1:
        call = f"{source.need('sequence_weights')}({coins.alpha!r}, {coins.beta!r}, {coins.persist!r})"
    else:
        call = f"{source.need('alpha_beta_weights')}({coins.alpha!r}, {coins.beta!r})"
    found = _by_name(source, call)
    domain = found.pop("domain")
    times = plan.slots
    return AllWeights(found, {0: Weights(domain.weight * times, domain.variance * times, domain.skew * times)})


def _frapp(source: Source, plan: Plan) -> AllWeights:
    """Records land somewhere, so the counts of two tuples are not independent: the cross terms say how."""
    coins = f"({plan.coins.stay!r}, {plan.coins.move!r}, {plan.rows})"
    found = _by_name(source, f"{source.need('frapp_weights')}{coins}")
    cross_estimate, cross_square = fetch(source.con, f"FROM {source.need('frapp_cross_terms')}{coins}")[0]
    return AllWeights({"view": found["view"]}, {0: found["domain"]}, cross_estimate, cross_square)


def _by_name(source: Source, call: str) -> dict[str, Weights]:
    return {name: Weights(*weights) for name, *weights in fetch(source.con, f"FROM {call}")}


def _series(alpha: float, rate: float, plan: Plan) -> dict[int, Weights]:
    """Noise by shares: beta(t) = 1 - exp(-rate s(t)) as a power series of the share s(t), so that sums factorise.

    With slots each of them has the rate divided by their number. The series ends where its largest term counts no more.
    """
    each = rate / plan.slots
    largest = -math.log1p(-plan.coins.beta)
    degree = 2
    while (3 * largest) ** degree / math.factorial(degree) > 1e-17 and degree < 60:
        degree += 1
    # exp(-i lambda) for i = 1, 2, 3, whose combinations are the powers of beta.
    exps = [[(-i) ** j / math.factorial(j) for j in range(degree + 1)] for i in range(4)]
    beta = [exps[0][j] - exps[1][j] for j in range(degree + 1)]
    square = [exps[0][j] - 2 * exps[1][j] + exps[2][j] for j in range(degree + 1)]
    cube = [exps[0][j] - 3 * exps[1][j] + 3 * exps[2][j] - exps[3][j] for j in range(degree + 1)]
    found = {}
    for j in range(1, degree + 1):
        scale = plan.slots * each**j
        variance = (alpha * beta[j] + square[j]) / alpha**2
        # kappa v with kappa = (1 - alpha - 2 beta) / alpha and v = (alpha beta + beta^2) / alpha^2
        skew = ((1 - alpha) * (alpha * beta[j] + square[j]) - 2 * (alpha * square[j] + cube[j])) / alpha**3
        found[j] = Weights(-scale * beta[j] / alpha, scale * variance, scale * skew)
    return found
