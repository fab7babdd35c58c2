"""Write a node as a release, in the layout of releases with labels (labelled/layout.py).

It never holds an identifier, a value that no published row has (but those of domains that the policy declares), a count
beside the number of suppressed rows, or a path. Rows are sorted by what they show, so their order says nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.engine import fetch
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.shown import shown_rows
from sqlpriv.methods.labelled.leaves import write_leaves
from sqlpriv.methods.labelled.node_labels import ROWS, write_attributes, write_hierarchies
from sqlpriv.methods.labelled.scan import published_columns
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.methods.method import Made
from sqlpriv.release.file import WRITTEN, write_about, write_numbers, write_reasons, written
from sqlpriv.release.order import write_in_order
from sqlpriv.release.requirements import write_requirements
from sqlpriv.sqltext import quoted


def write(plan: GeneralizePlan, path: Path) -> Made:
    """Write the node into a file; the private table is read again here."""
    scan, best, con = plan.scan, plan.best, plan.source.con
    shown, stars = plan.shown, plan.stars
    with written(con, path):
        rows = shown_rows(scan, shown, published_columns(scan), plan.policy.keep_suppressed, stars)
        write_in_order(con, ROWS, rows)
        _write_tables(plan)
        write_leaves(scan, shown, plan.columns)
        columns = [(c.name, c.ends if c.has_ends else None) for c in plan.columns]
        fetch(con, view_of_rows(quoted(WRITTEN, "main", plan.policy.table.name), columns))
        written_rows = int(fetch(con, f"SELECT count(*) FROM {ROWS}")[0][0])
    return Made(written_rows, float(scan.rows - (0 if stars else best.outcome.suppressed)))


def _write_tables(plan: GeneralizePlan) -> None:
    con = plan.source.con
    write_about(con, _about(plan))
    write_reasons(con, plan.policy.reasons)
    write_numbers(con, {})
    write_attributes(plan.scan, plan.best.node, plan.columns)
    write_requirements(con, [m.requirement for m in plan.measures])
    write_hierarchies(plan.scan, plan.shown)


def _about(plan: GeneralizePlan) -> dict[str, str]:
    policy, suppressed = plan.policy, plan.best.outcome.suppressed
    return {
        "method": policy.method,
        "table": policy.table.name,
        "objective": plan.objective.name,
        "node": json.dumps(plan.node),
        "suppressed_rows": str(suppressed),
        "kept_suppressed": "yes" if plan.stars else "no",
        "optimal": "yes" if plan.optimal else "no",
        "counts": "persons" if policy.person is not None else "rows",
    }
