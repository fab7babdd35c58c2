"""Calibrate a FRAPP release: how likely a record stays for a bound, what that guarantees, and what it costs."""

from __future__ import annotations

from sqlpriv.methods.frapp.mechanism import replacement
from sqlpriv.methods.frapp.policy import FrappPolicy
from sqlpriv.methods.frapp.wording import ROWS_ARE_PUBLIC, details, promise
from sqlpriv.methods.randomized.attackers import list_attackers
from sqlpriv.methods.randomized.calibration import Bound, Calibration, refuse_probability
from sqlpriv.methods.randomized.wording import warnings_of_policy
from sqlpriv.table.source import Source


def calibrate(source: Source, policy: FrappPolicy, bound: Bound) -> Calibration:
    """The noise of a policy. A record stays with alpha + beta, and goes elsewhere with beta."""
    calls, m, n = source.calls, float(bound.tuples), max(bound.rows, 1)
    stay, move = calls.row("frapp_parameters", bound.d, policy.gamma, m)
    _, posterior, epsilon = calls.row("frapp_guarantee", bound.d, policy.gamma, stay, move)
    hits, domain_hits = calls.row("small_count", n, m)
    error, half, possible = calls.row("frapp_error", n, m, stay, hits, domain_hits)
    mechanism = replacement(calls, stay, move)
    refuse_probability(mechanism.kept)
    factor = float(calls.value(f"exp({epsilon!r})"))
    return Calibration(
        bound=bound,
        gamma=policy.gamma,
        adversary="independent",
        mechanism=mechanism,
        kept=stay,
        noise=move,
        expected_rows=float(bound.rows),
        half_domain_error=half,
        small_error=float(calls.value(f"_relative_error({error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=epsilon,
        promise=promise(bound.d, policy.gamma, epsilon),
        details=details(bound.rows),
        factor=factor,
        replaced_epsilon=epsilon,
        attackers=list_attackers(calls, bound.background, policy.gamma, factor),
        independent_posterior=posterior,
        warnings=(ROWS_ARE_PUBLIC, *warnings_of_policy(policy, bound.n_public)),
    )
