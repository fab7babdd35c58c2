"""The weights of a release: what a row of the view and a tuple of the domain count for in an estimate.

A weight makes sums unbiased, a variance gives their squared error, and a skew how that error grows with the true sum
(for score intervals). The formulas are macros (sql/alpha_beta.sql, sql/alpha_beta_source.sql, sql/frapp.sql).
"""

from __future__ import annotations

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
        return AllWeights({}, _by_power(source, plan))
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


def _by_power(source: Source, plan: Plan) -> dict[int, Weights]:
    """Noise by shares: the weights of a tuple of the domain as a power series of its share, so that sums factorise."""
    coins = plan.coins
    call = f"{source.need('alpha_beta_source_weights')}({coins.alpha!r}, {coins.rate!r}, {plan.slots}, {coins.beta!r})"
    return {int(power): Weights(*weights) for power, *weights in fetch(source.con, f"FROM {call}")}
