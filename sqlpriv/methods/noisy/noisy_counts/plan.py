"""Calibrate noisy counts: from (d, gamma) to a factor on the odds, and from it to the mechanism with the smaller error.

Where p is given, the mechanism is one-sided, and judged by what noise it needs. The p that is best for the owner's own
questions is found by the errors that their answers will have. The private table gives these before any noise is drawn
(noisy/questions.py), so that no p looks better by luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.calibration import Bound, Calibration, refuse_unreachable
from sqlpriv.methods.noisy.noisy_counts.mechanism import NoisyCountsMechanism, OneSided, OneSidedByShares, Signed
from sqlpriv.methods.noisy.noisy_counts.policy import NoisyCountsPolicy
from sqlpriv.methods.noisy.noisy_counts.wording import meaning_of
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.questions import ask
from sqlpriv.methods.noisy.wording import warnings_of_policy
from sqlpriv.table.source import Source

ADVERSARY = "informed"
"""An attacker who knows every other row of the table, and that this person has one."""
_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_COARSE = _TRIED[1::2]


def calibrate(source: Source, policy: NoisyCountsPolicy, bound: Bound) -> Calibration:
    """The mechanism of a policy and its numbers, chosen, or given and judged."""
    calls, n, m, each = source.calls, bound.n_public, float(bound.tuples), policy.rows_each
    mechanism: NoisyCountsMechanism
    if bound.background.shared is not None:
        mechanism = OneSidedByShares.of(calls, bound.background, policy.gamma, policy.p, n)
    else:
        factor = calls.row("odds_factor", bound.d, policy.gamma)[0]
        of_row = calls.row("row_factor", factor, each)[0]
        if policy.p is not None or is_one_sided_better(calls, n, m, of_row):
            p = policy.p if policy.p is not None else calls.row("bag_choice", n, m, of_row)[0]
            mechanism = OneSided(p, calls.row("bag_noise", p, factor, each)[0])
        else:
            mechanism = Signed(calls.row("signed_bag_noise", factor, each)[0])
    if isinstance(mechanism, OneSided):
        refuse_unreachable(mechanism.p, mechanism.least_noise)
    else:
        refuse_unreachable(mechanism.a)
    hits, domain_hits = calls.row("small_count", n, m)
    expected_rows, small_error, half_domain_error, possible = mechanism.cost(calls, n, m, hits, domain_hits)
    given = mechanism.guarantee(calls, bound.d, policy.gamma, each)
    if not given.private:
        raise PolicyError(f"this noise is not private: a belief of {bound.d:.4g} can become {given.posterior:.4g}")
    meaning = meaning_of(calls, mechanism, given, bound.d, policy.gamma, each, reveals_size=policy.reveals_size)
    return Calibration(
        **vars(bound),
        gamma=policy.gamma,
        adversary=ADVERSARY,
        mechanism=mechanism,
        kept=mechanism.p if isinstance(mechanism, OneSided) else 1.0,
        noise=mechanism.q if isinstance(mechanism, OneSided) else mechanism.a,
        expected_rows=expected_rows,
        half_domain_error=half_domain_error,
        small_error=float(calls.value(f"_relative_error({small_error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=given.replaced,
        meaning=meaning,
        replaced_epsilon=given.replaced,
        attackers=meaning.attackers(calls, bound.background, policy.gamma),
        independent_posterior=given.posterior,
        exclusive_posterior=given.posterior,
        added_epsilon=None if policy.reveals_size else given.added,
        warnings=warnings_of_policy(policy, bound.n_public),
    )


def is_one_sided_better(calls: Calls, n_public: int, tuples: float, factor: float) -> bool:
    """Whether one-sided noise makes the smaller error; else signed noise does."""
    return bool(calls.row("bag_kind", n_public, tuples, factor)[0] == "bag")


def best_p(plan: RandomizedPlan, queries: Sequence[str]) -> float | None:
    """The share of rows to keep; None where the one that sqlpriv chooses is best, or the policy leaves no choice."""
    mechanism = plan.calibration.mechanism
    if plan.policy.release["p"] is not None or isinstance(mechanism, OneSidedByShares):
        return None
    best, least = None, _error(plan, queries)
    if isinstance(mechanism, OneSided):
        chosen = mechanism.p
    else:
        errors = {p: _tried(plan, p, queries) for p in _COARSE}
        chosen = min(_COARSE, key=lambda p: errors[p])
        if errors[chosen] >= least:
            return None
        best, least = chosen, errors[chosen]
    # From there on, downwards and upwards, as long as it gets better: rows that are left out make errors larger on
    # the one side, and noise on the other.
    for way in ([p for p in reversed(_TRIED) if p < chosen], [p for p in _TRIED if p > chosen]):
        for p in way:
            error = _tried(plan, p, queries)
            if error >= least:
                break
            best, least = p, error
    return best


def _tried(plan: RandomizedPlan, p: float, queries: Sequence[str]) -> float:
    """The error with another p; infinite where none with it keeps the bound."""
    try:
        tried = plan.with_release({**plan.policy.release, "p": p})
    except SqlprivError:
        return math.inf
    return math.inf if tried.refusals() else _error(tried, queries)


def _error(plan: RandomizedPlan, queries: Sequence[str]) -> float:
    """The median over the questions of the standard error of an answer; in groups, of their mean."""
    found = []
    for asked in ask(plan, queries).content:
        errors = asked["standard_errors"] if "standard_errors" in asked else asked["median"]
        known = [error for error in errors if error is not None]
        found += [fmean(known)] if known else []
    return median(found) if found else 0.0
