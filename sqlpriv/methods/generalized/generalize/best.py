"""The node that is best for the owner's own questions, whatever the policy minimises: read off the private table."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.generalized.generalize.plan import GeneralizePlan, make_plan
from sqlpriv.methods.generalized.generalize.policy import WORKLOAD
from sqlpriv.methods.method import Request
from sqlpriv.table.private_table import open_table


def best_node(plan: GeneralizePlan, queries: Sequence[str], request: Request) -> dict[str, int] | None:
    """The node that meets the policy with the smallest mean error, as `objective = "workload:..."` finds it.

    None where it is the plan's own, where the policy says what it wants, and where the questions are none that nodes
    can be judged by.
    """
    policy = plan.policy
    if policy.node is not None or policy.objective.startswith(WORKLOAD):
        return None
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        file = Path(folder) / "queries.sql"
        file.write_text(";\n".join(queries), encoding="utf-8")
        by_workload = replace(policy, release={**policy.release, "objective": f"{WORKLOAD}{file}"})
        # A source of its own: the tables of the plan's are not to be written over.
        with open_table(policy.table, policy.by_text) as source:
            try:
                found = make_plan(source, by_workload, request)
            except PolicyError:
                return None
    return None if found.node == plan.node else found.node
