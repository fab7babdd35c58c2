"""The coins of a FRAPP release, what they guarantee, and what they cost."""

from __future__ import annotations

from sqlpriv.methods.frapp.policy import FrappPolicy
from sqlpriv.methods.randomized.attackers import list_attackers
from sqlpriv.methods.randomized.terms import SCOPE, Asked, Terms, refuse_coins
from sqlpriv.methods.randomized.warned import ROWS_ARE_PUBLIC, active_domains
from sqlpriv.table.source import Source


def make_terms(source: Source, policy: FrappPolicy, asked: Asked) -> Terms:
    """The terms of a policy. A record stays with alpha + beta, and goes elsewhere with beta."""
    calls, m, n = source.calls, float(asked.tuples), max(asked.rows, 1)
    stay, move = calls.row("frapp_parameters", asked.d, policy.gamma, m)
    _, posterior, epsilon = calls.row("frapp_guarantee", asked.d, policy.gamma, stay, move)
    hits, domain_hits = calls.row("small_count", n, m)
    error, half, possible = calls.row("frapp_error", n, m, stay, hits, domain_hits)
    kept = float(calls.value(f"_gap({stay!r}, {move!r})"))
    refuse_coins(kept)
    factor = float(calls.value(f"exp({epsilon!r})"))
    return Terms(
        rows=asked.rows,
        n_public=asked.n_public,
        tuples=asked.tuples,
        d=asked.d,
        gamma=policy.gamma,
        adversary="independent",
        coins={"alpha": kept, "beta": move, "stay": stay, "move": move},
        kept=stay,
        noise=move,
        expected_rows=float(asked.rows),
        half_domain_error=half,
        small_error=float(calls.value(f"_relative_error({error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=epsilon,
        promise=promise(asked.d, policy.gamma, epsilon),
        details=details(asked.rows),
        factor=factor,
        replaced_epsilon=epsilon,
        attackers=list_attackers(calls, asked.known, policy.gamma, factor),
        independent_posterior=posterior,
        warnings=(
            ROWS_ARE_PUBLIC,
            *active_domains(policy),
        ),
    )


def promise(d: float, gamma: float, epsilon: float) -> str:
    """The guarantee: two sentences to say aloud."""
    return (
        f"Whoever believes of a record, with at most {d:.4g}, that it is a certain tuple, believes so with at "
        f"most {gamma:g} after seeing this release, even when they know every other record. It is differential privacy "
        f"with epsilon {epsilon:.3g} when a record is replaced by another."
    )


def details(rows: int) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    return (f"The number of rows, {rows:,}, is published: who is in the table at all is not hidden.", *SCOPE)
