"""Write a node as a release, in the layout of generalized releases (generalized/layout.py).

Of what only suppressed rows have, the file tells their number alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.methods.generalized.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalized.generalize.shown import shown_rows
from sqlpriv.methods.generalized.node_labels import node_labels
from sqlpriv.methods.generalized.scan import published_columns
from sqlpriv.methods.generalized.write import Rows, write_labelled
from sqlpriv.methods.method import Made
from sqlpriv.release.file import written


def write(plan: GeneralizePlan, path: Path) -> Made:
    """Write the node into a file; the private table is read again here."""
    scan, best, con, policy = plan.scan, plan.best, plan.source.con, plan.policy
    shown, stars = plan.shown, plan.stars
    query = shown_rows(scan, shown, published_columns(scan), policy.keep_suppressed, stars)
    labels = node_labels(scan, shown, plan.columns)
    required = [m.requirement for m in plan.measures]
    with written(con, path):
        rows = Rows("published", query, policy.table.name)
        count = write_labelled(con, policy, [rows], plan.columns, labels, _about(plan), requirements=required)
    return Made(count, float(scan.rows - (0 if stars else best.outcome.suppressed)))


def _about(plan: GeneralizePlan) -> dict[str, str]:
    return {
        "objective": plan.objective.name,
        "node": json.dumps(plan.node),
        "suppressed_rows": str(plan.best.outcome.suppressed),
        "kept_suppressed": "yes" if plan.stars else "no",
        "optimal": "yes" if plan.optimal else "no",
        "counts": "persons" if plan.policy.person is not None else "rows",
    }
