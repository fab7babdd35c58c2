"""The coins of an alpha-beta release, what they guarantee, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.randomized.terms import SCOPE, Asked, Terms, active_domains, refuse_coins
from sqlpriv.table.source import Source

_SLOTS = (
    " Equal rows are told apart by {slots} slots, and the belief is about one of them: that a tuple occurs at all may "
    "be believed more where the view has it several times."
)


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
    expected, _, _, error, possible = source.calls.row(
        "alpha_beta_error", min(asked.n_public, elements), float(elements), coins["alpha"], even, 0, 0
    )
    return Terms(
        asked.rows,
        asked.n_public,
        asked.tuples,
        asked.d,
        policy.gamma,
        policy.adversary,
        coins,
        expected,
        error,
        bool(possible),
        worth[6],
        promise(
            Promised(asked.d, policy.gamma, policy.adversary, slots, policy.views, policy.has_source, worth[3]),
        ),
        worth[2],
        worth[3],
        slots,
        policy.views,
        (*active_domains(policy), *_told_size(policy, asked.n_public)),
    )


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


def _told_size(policy: AlphaBetaPolicy, n_public: int) -> tuple[str, ...]:
    if not policy.told_size:
        return ()
    return (f"n_public is not declared; the number of rows rounded up, {n_public:,}, becomes public",)


@dataclass(frozen=True)
class Promised:
    """What the words of a guarantee depend on."""

    d: float
    gamma: float
    adversary: str
    slots: int
    views: int
    has_source: bool
    exclusive_posterior: float


def promise(given: Promised) -> str:
    """The guarantee, in sentences."""
    return _believed(given) + (_SLOTS.format(slots=given.slots) if given.slots > 1 else "") + SCOPE


def _believed(given: Promised) -> str:
    d, gamma = f"{given.d:.4g}", f"{given.gamma:g}"
    believes = f"Whoever believes with at most {d} that a certain tuple is in the table"
    both = (
        f"believes so with at most {gamma} after seeing the release, and not with less than "
        f"{given.d / given.gamma:.4g} times the belief before"
    )
    if given.has_source:
        return (
            f"An adversary whose beliefs in the tuples are independent and proportional to the shares stated in the "
            f"domains, at most {d} for the likeliest tuple, {both}. One who knows better than these shares is not "
            "covered."
        )
    if given.views > 1:
        return (
            f"{believes}, the tuples being independent to them, {both}: after all {given.views} views of the sequence "
            "together, whatever rows came and went between them. One who knows who is in the table is not covered."
        )
    if given.adversary == "exclusive":
        return (
            f"{believes}, even when they know who is in the table and that each person has one tuple, believes so with "
            f"at most {gamma} after seeing the release. How far a belief may fall is not bounded."
        )
    known = given.exclusive_posterior
    may_reach = f" One who knows who is in the table may reach {known:.3g}." if known else ""
    return f"{believes}, the tuples being independent to them, {both}.{may_reach}"
