"""Calibrate an alpha-beta release: alpha and beta for a bound, what they guarantee, and what they cost."""

from __future__ import annotations

import math
from fractions import Fraction

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.alpha_beta.wording import meaning_of, prior_of_element
from sqlpriv.methods.noisy.calibration import Bound, Calibration, refuse_unreachable
from sqlpriv.methods.noisy.wording import warnings_of_policy
from sqlpriv.table.source import Source


def calibrate(source: Source, policy: AlphaBetaPolicy, bound: Bound) -> Calibration:
    """The noise of a policy: alpha and beta chosen, or given and judged (Theorems 4.3 and 6.3)."""
    calls, slots = source.calls, policy.slots
    prior = prior_of_element(calls, policy.adversary, bound.d, slots)
    mechanism = _mechanism(source, policy, prior, bound.share / slots)
    worth = calls.row("alpha_beta_guarantee", prior, policy.gamma, mechanism.alpha, mechanism.beta)
    if policy.alpha is not None:
        _judge(policy, bound.d, *worth[:4])
    kept = float(calls.value(mechanism.keep))
    refuse_unreachable(kept)
    elements = bound.tuples * slots
    # Noise by shares has this much noise in all; spread evenly it makes the same expected rows and, nearly, errors.
    even = least = mechanism.beta
    if isinstance(mechanism, ByShares):
        even = calls.row("alpha_beta_source_noise", mechanism.rate, 1 / elements)[0]
        least = calls.row("alpha_beta_source_noise", mechanism.rate, float(bound.least_share / slots))[0]
    n = min(bound.n_public, elements)
    hits, domain_hits = calls.row("small_count", n, float(elements))
    expected, error, _, half, possible = calls.row(
        "alpha_beta_error", n, float(elements), mechanism.alpha, even, hits, domain_hits
    )
    meaning = meaning_of(calls, mechanism, least, bound.d, policy.gamma, policy.adversary, policy.views)
    factor = meaning.factor
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
        meaning=meaning,
        replaced_epsilon=float(calls.value(f"ln({factor!r})")) if math.isfinite(factor) else math.inf,
        attackers=meaning.attackers(calls, bound.background, policy.gamma),
        independent_posterior=worth[2],
        exclusive_posterior=worth[3],
        warnings=warnings_of_policy(policy, bound.n_public),
    )


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
