"""From what the owner asks for to the coins, and back: what they guarantee, cost, and why they may be refused.

The formulas are macros (sql/alpha_beta.sql, sql/frapp.sql); here they are called for a policy and a table. Nothing that
is published depends on the private number of rows: where a size is needed it is n_public, declared or rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.methods.randomized.policy import NoisePolicy
from sqlpriv.sqltext import literal
from sqlpriv.table.source import Source

_FINEST = 2.0**-40


@dataclass(frozen=True)
class Coins:
    """The probabilities of a method. alpha_beta: alpha, beta (with shares: rate, beta at the largest), persist in a
    sequence. frapp: stay, move."""

    alpha: float = 0.0
    beta: float = 0.0
    persist: float | None = None
    rate: float | None = None
    stay: float = 0.0
    move: float = 0.0

    @property
    def keep(self) -> float:
        """With uniform noise, the probability that an element of the table is in the view."""
        return self.alpha + self.beta


@dataclass(frozen=True)
class Plan:
    """What would be published: sizes, the bound asked for, the coins, and what they mean."""

    method: str
    rows: int
    n_public: int
    tuples: int
    slots: int
    d: float
    gamma: float
    adversary: str
    coins: Coins
    expected_rows: float
    """Of the view; with n_public, so that it can be told."""
    half_domain_error: float
    possible: bool
    epsilon: float
    independent_posterior: float | None
    exclusive_posterior: float | None
    views: int = 1
    warnings: tuple[str, ...] = field(default=())
    """What the release may tell, too."""

    @property
    def for_the_owner(self) -> tuple[str, ...]:
        """All warnings: also what the release must not tell, since it depends on the private number of rows."""
        if self.n_public >= self.rows:
            return self.warnings
        return (*self.warnings, "n_public is below the number of rows, so the prior bound of k is lower than it says")

    @property
    def elements(self) -> int:
        """Tuples times slots."""
        return self.tuples * self.slots


def _coin_facts(plan: Plan) -> dict[str, float]:
    """The coins of a plan by name. A record of frapp stays with alpha + beta, and goes elsewhere with beta."""
    coins = plan.coins
    if plan.method == "frapp":
        return {"alpha": coins.stay - coins.move, "beta": coins.move, "stay": coins.stay, "move": coins.move}
    found = {"alpha": coins.alpha, "beta": coins.beta}
    if coins.rate is not None:
        found["rate"] = coins.rate
    if coins.persist is not None:
        found["persist"] = coins.persist
    return found


def plan_facts(plan: Plan) -> dict[str, Any]:
    """The sizes, the bound and the coins of a plan by name, as `plan` and `publish` print them."""
    return {
        "method": plan.method,
        "n": plan.rows,
        "n_public": plan.n_public,
        "m": plan.tuples,
        "slots": plan.slots,
        "d": plan.d,
        "gamma": plan.gamma,
        "adversary": plan.adversary,
        "views": plan.views,
        **_coin_facts(plan),
        "expected_rows": plan.expected_rows,
    }


def public_size(policy: NoisePolicy, rows: int) -> int:
    """The number of rows that the release may tell: as declared, or rounded up to two digits."""
    return rounded_up(rows) if policy.n_public is None else policy.n_public


def rounded_up(rows: int) -> int:
    """The next number with two digits and zeros.

    >>> rounded_up(30162), rounded_up(99), rounded_up(0)
    (31000, 99, 1)
    """
    unit = int(10 ** max(len(str(rows)) - 2, 0))
    return max(-(-rows // unit) * unit, 1)


def make_plan(source: Source, policy: NoisePolicy, rows: int, sizes: Sequence[int], largest: Fraction | None) -> Plan:
    """The plan of a policy for a table of so many rows. `largest`: the largest share of a tuple, if there are."""
    tuples = math.prod(sizes)
    if tuples < 2 or tuples > 10**300:
        raise PolicyError(
            f"the domain has {'one tuple' if tuples < 2 else 'more than 10^300 tuples'}; change the domains"
        )
    n_public = public_size(policy, rows)
    slots = policy.slots if policy.method == "alpha_beta" and policy.duplicates == "slots" else 1
    share = Fraction(1, tuples) if largest is None else largest
    d = policy.d if policy.d is not None else float(Fraction(policy.k or 0) * n_public * share)
    if d >= policy.gamma:
        raise PolicyError(
            f"the prior bound d = {d:.4g} is not below gamma = {policy.gamma:g}, so there is nothing to keep below it; "
            "take a smaller k or d, a larger gamma, or a larger domain"
        )
    if policy.method == "frapp":
        plan = _frapp(source, policy, rows, n_public, tuples, d)
        return _refuse_coins(plan, plan.coins.stay - plan.coins.move)
    plan = _alpha_beta(source, policy, rows, n_public, tuples, slots, d, share)
    return _refuse_coins(plan, plan.coins.keep)


def _refuse_coins(plan: Plan, probability: float) -> Plan:
    """Coins have 52 bits: one that falls on the same side all the time, or nearly so, is none."""
    if not _FINEST <= probability <= 1 - _FINEST:
        raise PolicyError(
            f"rows would be kept with probability {probability:.3g}, which no coin here can toss; "
            + ("every row would be published" if probability > 0.5 else "the view would say nothing")
        )
    return plan


def _alpha_beta(
    source: Source, policy: NoisePolicy, rows: int, n_public: int, tuples: int, slots: int, d: float, share: Fraction
) -> Plan:
    prior = _prior(source, policy, d, slots)
    if policy.has_source:
        alpha, rate = _call(source, "alpha_beta_source_parameters", prior, float(share / slots), policy.gamma)
        coins = Coins(alpha, -math.expm1(-rate * float(share / slots)), rate=rate)
    elif policy.views > 1:
        alpha, beta, persist = _call(source, "sequence_parameters", prior, policy.gamma, policy.views)
        coins = Coins(alpha, beta, persist)
    elif policy.alpha is not None and policy.beta is not None:
        coins = Coins(policy.alpha, policy.beta)
    else:
        coins = Coins(*_call(source, "alpha_beta_parameters", prior, policy.gamma, policy.adversary, policy.choice))
    worth = _call(source, "alpha_beta_guarantee", prior, policy.gamma, coins.alpha, coins.beta)
    if policy.alpha is not None:
        _judge(policy, d, *worth[:4])
    # Noise by shares has this much noise in all; spread evenly it makes the same expected rows and, nearly, errors.
    even = coins.beta if coins.rate is None else -math.expm1(-coins.rate / (tuples * slots))
    expected, _, _, error, possible = _call(
        source, "alpha_beta_error", min(n_public, tuples * slots), float(tuples * slots), coins.alpha, even, 0, 0
    )
    return Plan(
        "alpha_beta", rows, n_public, tuples, slots, d, policy.gamma, policy.adversary, coins, expected, error,
        bool(possible), worth[6], worth[2], worth[3], policy.views, _warnings(policy, n_public),
    )  # fmt: skip


def _prior(source: Source, policy: NoisePolicy, d: float, slots: int) -> float:
    """The prior bound of one element.

    Who knows that each person has one tuple has its prior spread over the slots; to others the slots of a tuple exclude
    each other, which takes a little more noise.
    """
    if policy.adversary == "exclusive" or slots == 1:
        return d / slots
    return float(_call(source, "alpha_beta_slot_prior", d, slots)[0])


def _frapp(source: Source, policy: NoisePolicy, rows: int, n_public: int, tuples: int, d: float) -> Plan:
    stay, move = _call(source, "frapp_parameters", d, policy.gamma, float(tuples))
    _, posterior, epsilon = _call(source, "frapp_guarantee", d, policy.gamma, stay, move)
    _, error, possible = _call(source, "frapp_error", max(rows, 1), float(tuples), stay, 0, 0)
    warnings = (
        "frapp publishes as many rows as the table has, so their number is public",
        *_warnings(policy, rows),
    )
    return Plan(
        "frapp", rows, n_public, tuples, 1, d, policy.gamma, "independent", Coins(stay=stay, move=move), float(rows),
        error, bool(possible), epsilon, posterior, None, 1, warnings,
    )  # fmt: skip


def _judge(policy: NoisePolicy, d: float, independent: bool, exclusive: bool, posterior: float, known: float) -> None:
    """Refuse alpha and beta that do not keep what was asked for (Theorems 4.3 and 6.3)."""
    if policy.adversary == "independent" and not independent:
        raise PolicyError(
            f"alpha = {policy.alpha:g}, beta = {policy.beta:g} are not private: a prior of {d:.4g} can become "
            f"{posterior:.4g} (gamma is {policy.gamma:g}), or fall by more than d/gamma; raise beta or lower alpha"
        )
    if policy.adversary == "exclusive" and not exclusive:
        raise PolicyError(
            f"alpha = {policy.alpha:g}, beta = {policy.beta:g} are not private against an adversary who knows who is "
            f"in the table: a prior of {d:.4g} can become {known:.4g} (gamma is {policy.gamma:g}); raise beta or lower "
            "alpha"
        )


def refuse_useless(plan: Plan) -> None:
    """Refuse a view that says nothing about the table (Theorem 3.3, whose constant is not known)."""
    if not plan.possible:
        raise PolicyError(
            f"the view would say nothing: a count over half the domain would be off by {plan.half_domain_error:,.0f}, "
            f"more than the {plan.n_public:,} rows there are; ask for less privacy, or force it"
        )


def _warnings(policy: NoisePolicy, n_public: int) -> tuple[str, ...]:
    found = []
    active = [repr(c.name) for c in policy.published if c.domain == "active"]
    if active:
        found.append(
            f"the domains of {', '.join(active)} are what occurs in the table: the release tells that these values "
            "occur, and that no others do"
        )
    if policy.n_public is None and policy.k is not None and policy.method != "frapp":
        found.append(f"n_public is not declared; the number of rows rounded up, {n_public:,}, becomes public")
    return tuple(found)


def _call(source: Source, name: str, *arguments: float | str) -> tuple[Any, ...]:
    listed = ", ".join(literal(a) for a in arguments)
    return tuple(fetch(source.con, f"FROM {source.need(name)}({listed})")[0])
