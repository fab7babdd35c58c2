"""What privacy costs: the plan of a policy for a range of gammas, to choose from before anything is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlpriv.errors import SqlprivError
from sqlpriv.methods.randomized.parameters import Plan
from sqlpriv.methods.randomized.publish import Prepared, plan_of

GAMMAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)


def privacy_curve(prepared: Prepared, gammas: Sequence[float] = GAMMAS) -> list[Plan]:
    """The plans for other gammas, and for the policy's own; those that cannot be are left out."""
    plans = []
    for gamma in sorted({*gammas, prepared.policy.gamma}):
        policy = replace(prepared.policy, gamma=gamma, alpha=None, beta=None)
        try:
            plans.append(plan_of(prepared.source, policy, prepared.plan.rows, prepared.attributes, prepared.aliases))
        except SqlprivError:
            continue
    return plans
