"""The coins of an alpha-beta release, what they guarantee, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.randomized.attackers import list_attackers
from sqlpriv.methods.randomized.terms import SCOPE, Asked, Terms, refuse_coins
from sqlpriv.methods.randomized.warned import active_domains, told_size
from sqlpriv.table.source import Source


def keep(coins: Mapping[str, float]) -> str:
    """With uniform noise, the probability that an element of the table is in the view: a formula of helpers."""
    return f"_keeps({coins['alpha']!r}, {coins['beta']!r})"


def make_terms(source: Source, policy: AlphaBetaPolicy, asked: Asked) -> Terms:
    """The terms of a policy: coins chosen, or given and judged (Theorems 4.3 and 6.3)."""
    slots = policy.slots
    prior = prior_of_element(source.calls, policy.adversary, asked.d, slots)
    coins = _coins(source, policy, prior, asked.share / slots)
    worth = source.calls.row("alpha_beta_guarantee", prior, policy.gamma, coins["alpha"], coins["beta"])
    if policy.alpha is not None:
        _judge(policy, asked.d, *worth[:4])
    refuse_coins(float(source.calls.value(keep(coins))))
    elements = asked.tuples * slots
    # Noise by shares has this much noise in all; spread evenly it makes the same expected rows and, nearly, errors.
    even = coins["beta"]
    if "rate" in coins:
        even = source.calls.row("alpha_beta_source_noise", coins["rate"], 1 / elements)[0]
    calls, n = source.calls, min(asked.n_public, elements)
    hits, domain_hits = calls.row("small_count", n, float(elements))
    expected, error, _, half, possible = calls.row(
        "alpha_beta_error", n, float(elements), coins["alpha"], even, hits, domain_hits
    )
    least = coins["beta"]
    if "rate" in coins:
        least = calls.row("alpha_beta_source_noise", coins["rate"], float(asked.least_share / slots))[0]
    factor = linking_factor(calls, coins, least, policy.views)
    promised = Promised(
        asked.d, prior, policy.gamma, policy.adversary, slots, policy.views, policy.has_source, worth[3], worth[4]
    )
    return Terms(
        rows=asked.rows,
        n_public=asked.n_public,
        tuples=asked.tuples,
        d=asked.d,
        gamma=policy.gamma,
        adversary=policy.adversary,
        coins=coins,
        kept=float(calls.value(keep(coins))),
        noise=coins["beta"],
        expected_rows=expected,
        half_domain_error=half,
        small_error=float(calls.value(f"_relative_error({error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=worth[6],
        promise=promise(promised),
        details=details(promised),
        factor=factor,
        replaced_epsilon=float(calls.value(f"ln({factor!r})")) if math.isfinite(factor) else math.inf,
        attackers=list_attackers(calls, asked.known, policy.gamma, factor),
        independent_posterior=worth[2],
        exclusive_posterior=worth[3],
        slots=slots,
        views=policy.views,
        warnings=(*active_domains(policy), *told_size(policy, asked.n_public)),
    )


def linking_factor(calls: Calls, coins: Mapping[str, float], least_noise: float, views: int) -> float:
    """By how much the view may change odds for one who knows everybody else; the rarest tuple has the least noise."""
    persist = coins.get("persist", 0.5)
    return float(calls.row("linking_factor", coins["alpha"], least_noise, coins["beta"], persist, views)[0])


def prior_of_element(calls: Calls, adversary: str, d: float, slots: int) -> float:
    """The prior bound of one element.

    Who knows that each person has one tuple has its prior spread over the slots; to others the slots of a tuple exclude
    each other, which takes a little more noise.
    """
    return d if slots == 1 else float(calls.row("alpha_beta_slot_prior", d, slots, adversary)[0])


def _coins(source: Source, policy: AlphaBetaPolicy, prior: float, share: Fraction) -> dict[str, float]:
    """alpha and beta; with shares also the rate, and beta is that of the largest; in a sequence also persist."""
    if policy.has_source:
        alpha, rate = source.calls.row("alpha_beta_source_parameters", prior, float(share), policy.gamma)
        beta = source.calls.row("alpha_beta_source_noise", rate, float(share))[0]
        return {"alpha": alpha, "beta": beta, "rate": rate}
    if policy.views > 1:
        alpha, beta, persist = source.calls.row("sequence_parameters", prior, policy.gamma, policy.views)
        return {"alpha": alpha, "beta": beta, "persist": persist}
    if policy.alpha is not None and policy.beta is not None:
        return {"alpha": policy.alpha, "beta": policy.beta}
    alpha, beta = source.calls.row("alpha_beta_parameters", prior, policy.gamma, policy.adversary, policy.choice)
    return {"alpha": alpha, "beta": beta}


def _judge(
    policy: AlphaBetaPolicy, d: float, independent: bool, exclusive: bool, posterior: float, known: float
) -> None:
    """Refuse alpha and beta that do not keep what was asked for."""
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


@dataclass(frozen=True)
class Promised:
    """What the words of a guarantee depend on."""

    d: float
    prior: float
    """That of an element: a tuple in a slot."""
    gamma: float
    adversary: str
    slots: int
    views: int
    has_source: bool
    exclusive_posterior: float
    retained: float
    """What is left of a belief at the least, where the tuples are independent, after one view."""


def promise(given: Promised) -> str:
    """The guarantee: two sentences to say aloud."""
    element = "a certain tuple is in the table" if given.slots == 1 else "a certain slot of a tuple is taken"
    who = f"Whoever believes with at most {given.prior:.4g} that {element}"
    if given.has_source:
        who = (
            "An adversary whose beliefs in the tuples are independent and proportional to the shares stated in the "
            f"domains, at most {given.prior:.4g} for the likeliest {'tuple' if given.slots == 1 else 'slot of a tuple'}"
        )
    elif given.adversary == "exclusive":
        who += ", even when they know who is in the table and that each person has one tuple"
    else:
        who += ", the tuples being independent to them"
    after = "this release" if given.views == 1 else f"all {given.views} views of the sequence"
    return f"{who}, believes so with at most {given.gamma:g} after seeing {after}. {_second(given)}"


def _second(given: Promised) -> str:
    if given.slots > 1:
        return (
            f"That a tuple occurs at all, or is a certain person's, may be believed more: the view shows how many of "
            f"its {given.slots} slots seem taken."
        )
    if given.adversary == "exclusive":
        return "How far a belief may fall is not bounded."
    return f"A belief does not fall below {_left(given):.4g} of what it was."


def _left(given: Promised) -> float:
    """In a sequence it is the bound that its coins are chosen by."""
    return given.retained if given.views == 1 else given.prior / given.gamma


def details(given: Promised) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    lines = []
    if given.slots > 1:
        lines.append(
            f"Equal rows are told apart by {given.slots} slots; a belief of {given.d:.4g} in a tuple spreads over them."
        )
    if given.has_source:
        lines.append("One who knows better than the shares is not covered.")
    if given.views > 1:
        lines.append("Rows may come and go between the views as they will.")
    if given.adversary == "independent":
        known = given.exclusive_posterior
        may_reach = f"may reach {known:.3g} by one view" if known and given.views == 1 else "is not covered"
        lines.append(f"One who knows who is in the table {may_reach}.")
        if given.slots > 1:
            lines.append(f"A belief in a slot does not fall below {_left(given):.3g} of what it was.")
    return (*lines, *SCOPE)
