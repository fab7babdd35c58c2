"""Calibrate an alpha-beta release: alpha and beta for a bound, what they guarantee, and what they cost."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.alpha_beta.wording import Promised, details, promise
from sqlpriv.methods.noisy.attackers import list_attackers
from sqlpriv.methods.noisy.calibration import Bound, Calibration, refuse_probability
from sqlpriv.methods.noisy.wording import warnings_of_policy
from sqlpriv.table.source import Source


def calibrate(source: Source, policy: AlphaBetaPolicy, bound: Bound) -> Calibration:
    """The noise of a policy: alpha and beta chosen, or given and judged (Theorems 4.3 and 6.3)."""
    slots = policy.slots
    prior = prior_of_element(source.calls, policy.adversary, bound.d, slots)
    mechanism = _mechanism(source, policy, prior, bound.share / slots)
    worth = source.calls.row("alpha_beta_guarantee", prior, policy.gamma, mechanism.alpha, mechanism.beta)
    if policy.alpha is not None:
        _judge(policy, bound.d, *worth[:4])
    kept = float(source.calls.value(mechanism.keep))
    refuse_probability(kept)
    elements = bound.tuples * slots
    # Noise by shares has this much noise in all; spread evenly it makes the same expected rows and, nearly, errors.
    even = least = mechanism.beta
    if isinstance(mechanism, ByShares):
        even = source.calls.row("alpha_beta_source_noise", mechanism.rate, 1 / elements)[0]
        least = source.calls.row("alpha_beta_source_noise", mechanism.rate, float(bound.least_share / slots))[0]
    calls, n = source.calls, min(bound.n_public, elements)
    hits, domain_hits = calls.row("small_count", n, float(elements))
    expected, error, _, half, possible = calls.row(
        "alpha_beta_error", n, float(elements), mechanism.alpha, even, hits, domain_hits
    )
    factor = linking_factor(calls, mechanism, least, policy.views)
    promised = Promised(
        bound.d, prior, policy.gamma, policy.adversary, slots, policy.views, policy.has_source, worth[3], worth[4]
    )
    return Calibration(
        **vars(bound),
        gamma=policy.gamma,
        adversary=policy.adversary,
        mechanism=mechanism,
        kept=kept,
        noise=mechanism.beta,
        expected_rows=expected,
        half_domain_error=half,
        small_error=float(calls.value(f"_relative_error({error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=worth[6],
        promise=promise(promised),
        details=details(promised),
        factor=factor,
        replaced_epsilon=float(calls.value(f"ln({factor!r})")) if math.isfinite(factor) else math.inf,
        attackers=list_attackers(calls, bound.background, policy.gamma, factor),
        independent_posterior=worth[2],
        exclusive_posterior=worth[3],
        slots=slots,
        views=policy.views,
        warnings=warnings_of_policy(policy, bound.n_public),
    )


def linking_factor(calls: Calls, mechanism: Uniform, least_noise: float, views: int) -> float:
    """By how much the view may change odds for one who knows everybody else; the rarest tuple has the least noise."""
    numbers = (mechanism.alpha, least_noise, mechanism.beta, persist_of(mechanism), views)
    return float(calls.row("linking_factor", *numbers)[0])


def persist_of(mechanism: Uniform) -> float:
    """With which probability what was in an earlier view stays; any where there is none."""
    return mechanism.persist if isinstance(mechanism, Sequence) else 0.5


def prior_of_element(calls: Calls, adversary: str, d: float, slots: int) -> float:
    """The prior bound of one element.

    An attacker who knows that each person has one tuple has its prior spread over the slots; to others the slots of a
    tuple exclude each other, which takes a little more noise.
    """
    return d if slots == 1 else float(calls.row("alpha_beta_slot_prior", d, slots, adversary)[0])


def _mechanism(source: Source, policy: AlphaBetaPolicy, prior: float, share: Fraction) -> Uniform:
    """Of one view or a sequence, uniform or by shares."""
    if policy.has_source:
        alpha, rate = source.calls.row("alpha_beta_source_parameters", prior, float(share), policy.gamma)
        beta = source.calls.row("alpha_beta_source_noise", rate, float(share))[0]
        return ByShares(alpha, beta, policy.slots, 1, rate)
    if policy.views > 1:
        alpha, beta, persist = source.calls.row("sequence_parameters", prior, policy.gamma, policy.views)
        return Sequence(alpha, beta, policy.slots, 1, persist)
    if policy.alpha is not None and policy.beta is not None:
        return Uniform(policy.alpha, policy.beta, policy.slots, 1)
    alpha, beta = source.calls.row("alpha_beta_parameters", prior, policy.gamma, policy.adversary, policy.choice)
    return Uniform(alpha, beta, policy.slots, 1)


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
