"""Calibrate noisy counts: from (d, gamma) to a factor on the odds, and from it to the mechanism with the smaller error.

Where p is given, the mechanism is one-sided, and judged by what noise it needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import Attacker, list_attackers
from sqlpriv.methods.noisy.calibration import Bound, Calibration, refuse_noise, refuse_probability
from sqlpriv.methods.noisy.mechanism import NoiseByValue
from sqlpriv.methods.noisy.noisy_counts import wording
from sqlpriv.methods.noisy.noisy_counts.mechanism import (
    Guarantee,
    NoisyCountsMechanism,
    OneSided,
    OneSidedByShares,
    Shares,
    Signed,
    choose_p,
    noise_of,
    read_shares,
)
from sqlpriv.methods.noisy.noisy_counts.policy import NoisyCountsPolicy
from sqlpriv.methods.noisy.wording import warnings_of_policy
from sqlpriv.table.source import Source

ADVERSARY = "informed"
"""An attacker who knows every other row of the table, and that this person has one."""


@dataclass(frozen=True)
class Cost:
    """What a release will be like, by the macros: of a small count, its error."""

    expected_rows: float
    small_error: float
    half_domain_error: float
    possible: bool


def calibrate(source: Source, policy: NoisyCountsPolicy, bound: Bound) -> Calibration:
    """The mechanism of a policy and its numbers, chosen, or given and judged."""
    if bound.background.shared is not None:
        return _by_shares(source, policy, bound)
    calls, n, m, each = source.calls, bound.n_public, float(bound.tuples), policy.rows_each
    factor = calls.row("odds_factor", bound.d, policy.gamma)[0]
    of_row = calls.row("row_factor", factor, each)[0]
    hits, domain_hits = calls.row("small_count", n, m)
    mechanism: NoisyCountsMechanism
    if policy.p is not None or is_one_sided_better(calls, n, m, of_row):
        p = policy.p if policy.p is not None else calls.row("bag_choice", n, m, of_row)[0]
        mechanism = OneSided(p, calls.row("bag_noise", p, factor, each)[0])
        refuse_probability(p)
        refuse_noise(mechanism.q)
        cost = Cost(*calls.row("bag_error", n, m, p, mechanism.q, hits, domain_hits))
    else:
        mechanism = Signed(calls.row("signed_bag_noise", factor, each)[0])
        refuse_probability(mechanism.a)
        cost = Cost(*calls.row("signed_bag_error", n, m, mechanism.a, domain_hits))
    given = mechanism.guarantee(calls, bound.d, policy.gamma, each)
    if not given.private:
        raise PolicyError(f"this noise is not private: a belief of {bound.d:.4g} can become {given.posterior:.4g}")
    attackers = list_attackers(calls, bound.background, policy.gamma, given.factor)
    promise = wording.promise(bound.d, policy.gamma, given, each, reveals_size=policy.reveals_size)
    details = wording.details(calls, given, each, reveals_size=policy.reveals_size)
    return _calibration(source, policy, bound, mechanism, cost, given, attackers, (promise, details))


def _by_shares(source: Source, policy: NoisyCountsPolicy, bound: Bound) -> Calibration:
    """The same where noise follows public shares; rows of all persons count, each has one."""
    calls, n, m = source.calls, bound.n_public, float(bound.tuples)
    shares = read_shares(calls, bound.background, policy.gamma)
    p = policy.p if policy.p is not None else choose_p(calls, n, m, shares)
    noise = noise_of(calls, shares, p)
    refuse_probability(p)
    refuse_noise(min(noise.ratios))
    cost = Cost(*calls.row("bag_share_error", n, m, p, noise.ratios, *calls.row("small_count", n, m)))
    given = guarantee_by_shares(calls, policy.gamma, shares, p, noise)
    attackers = list_attackers(calls, bound.background, policy.gamma, given.factor, noise.factors)
    promise = wording.promise_by_shares(shares, policy.gamma, given, reveals_size=policy.reveals_size)
    details = wording.details_by_shares(calls, shares, reveals_size=policy.reveals_size)
    mechanism = OneSidedByShares(p, max(noise.ratios), noise)
    return _calibration(source, policy, bound, mechanism, cost, given, attackers, (promise, details))


def _calibration(
    source: Source,
    policy: NoisyCountsPolicy,
    bound: Bound,
    mechanism: NoisyCountsMechanism,
    cost: Cost,
    given: Guarantee,
    attackers: tuple[Attacker, ...],
    words: tuple[str, tuple[str, ...]],
) -> Calibration:
    calls = source.calls
    hits = calls.row("small_count", bound.n_public, float(bound.tuples))[0]
    return Calibration(
        **vars(bound),
        gamma=policy.gamma,
        adversary=ADVERSARY,
        mechanism=mechanism,
        kept=mechanism.p if isinstance(mechanism, OneSided) else 1.0,
        noise=mechanism.q if isinstance(mechanism, OneSided) else mechanism.a,
        expected_rows=cost.expected_rows,
        half_domain_error=cost.half_domain_error,
        small_error=float(calls.value(f"_relative_error({cost.small_error!r}, {hits!r})")),
        possible=bool(cost.possible),
        epsilon=given.replaced,
        promise=words[0],
        details=words[1],
        factor=given.factor,
        replaced_epsilon=given.replaced,
        attackers=attackers,
        independent_posterior=given.posterior,
        exclusive_posterior=given.posterior,
        added_epsilon=None if policy.reveals_size else given.added,
        rows_each=policy.rows_each,
        warnings=warnings_of_policy(policy, bound.n_public),
    )


def guarantee_by_shares(calls: Calls, gamma: float, shares: Shares, p: float, noise: NoiseByValue) -> Guarantee:
    """What noise by public shares keeps: the rarest value has least, and the largest belief is the commonest's."""
    private, factor, replaced, added, _ = calls.row("bag_guarantee", min(shares.priors), gamma, p, min(noise.ratios), 1)
    least = min(noise.factors)
    return Guarantee(private, factor, replaced, added, calls.row("posterior_bound", shares.largest_prior, least)[0])


def is_one_sided_better(calls: Calls, n_public: int, tuples: float, factor: float) -> bool:
    """Whether one-sided noise makes the smaller error; else signed noise does."""
    return bool(calls.row("bag_kind", n_public, tuples, factor)[0] == "bag")
