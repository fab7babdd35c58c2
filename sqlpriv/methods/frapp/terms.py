"""The coins of a FRAPP release, what they guarantee, and what they cost."""

from __future__ import annotations

from sqlpriv.methods.frapp.policy import FrappPolicy
from sqlpriv.methods.randomized.terms import SCOPE, Asked, Terms, active_domains, refuse_coins
from sqlpriv.table.source import Source


def make_terms(source: Source, policy: FrappPolicy, asked: Asked) -> Terms:
    """The terms of a policy. A record stays with alpha + beta, and goes elsewhere with beta."""
    stay, move = source.calls.row("frapp_parameters", asked.d, policy.gamma, float(asked.tuples))
    _, posterior, epsilon = source.calls.row("frapp_guarantee", asked.d, policy.gamma, stay, move)
    _, error, possible = source.calls.row("frapp_error", max(asked.rows, 1), float(asked.tuples), stay, 0, 0)
    kept = float(source.calls.value(f"_gap({stay!r}, {move!r})"))
    refuse_coins(kept)
    return Terms(
        asked.rows,
        asked.n_public,
        asked.tuples,
        asked.d,
        policy.gamma,
        "independent",
        {"alpha": kept, "beta": move, "stay": stay, "move": move},
        float(asked.rows),
        error,
        bool(possible),
        epsilon,
        promise(asked.d, policy.gamma, asked.rows),
        posterior,
        warnings=(
            "frapp publishes as many rows as the table has, so their number is public",
            *active_domains(policy),
        ),
    )


def promise(d: float, gamma: float, rows: int) -> str:
    """The guarantee, in sentences."""
    return (
        f"Whoever believes of a record, with at most {d:.4g}, that it is a certain tuple, believes so with at "
        f"most {gamma:g} after seeing the release. The number of rows, {rows:,}, is published." + SCOPE
    )
