"""Write a disclosure as a release, and compare it with the private table once more.

The file is like that of boxes (generalized/boxes.py): every cell has a label of its own level. Its parameters are
c, and the risk and utility of the release. Risks are rounded up to two digits: they are computed from the dictionary,
which may be the private table.
"""

from __future__ import annotations

import math
from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import PERSON, RECORDS
from sqlpriv.methods.disclose.losses import risk_of_rows
from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.methods.disclose.policy import UTILITY
from sqlpriv.methods.generalized.boxes import compare_boxes, write_boxes_file
from sqlpriv.methods.method import Made
from sqlpriv.release.file import SCHEMA, WRITTEN

_WRITTEN_ROWS = "disclose_written"


def write_release(plan: DisclosePlan, path: Path) -> Made:
    """Write the labels that were chosen into a file."""
    numbers = [axis.number for axis in plan.scan.axes]
    nodes = (f"SELECT {a} AS axis, label{a} AS label, level{a} AS level FROM {plan.boxes.relation}" for a in numbers)
    shown = " UNION ".join(nodes)
    return write_boxes_file(plan.scan, plan.boxes, plan.columns, shown, None, _about(plan), _numbers(plan), path)


def _about(plan: DisclosePlan) -> dict[str, str]:
    terms = plan.terms
    return {
        "suppressed_rows": "0",
        "counts": "rows",
        "goal": terms.goal,
        "average": "yes" if terms.is_average else "no",
        "form": terms.form,
        "dictionary": terms.dictionary,
        "psi_of_cells": "yes" if terms.psi_of_cells else "no",
        "personal": "yes" if terms.personal else "no",
    }


def _numbers(plan: DisclosePlan) -> dict[str, float]:
    chosen, con = plan.chosen, plan.source.con
    rounded = ", ".join(inlined(f"_rounded_up(CAST({n!r} AS DOUBLE))") for n in (chosen.risk, chosen.worst))
    ((risk, worst),) = fetch(con, f"SELECT {rounded}")
    c = plan.policy.c
    if plan.policy.goal == UTILITY:  # where c is the bound, nothing above it need be said
        risk = min(risk, c)
        worst = worst if plan.policy.is_average else min(worst, c)
    return {"c": c, "psi": plan.policy.psi, "risk": float(risk), "worst": float(worst), "utility": chosen.utility}


def compare(plan: DisclosePlan, path: Path) -> None:
    """Refuse a file with other rows, or whose rows, priced by themselves, do not come to what was planned."""
    compare_boxes(plan.scan, plan.boxes, path)
    source, con = plan.source, plan.source.con
    if plan.policy.personal is None:
        _read_written(plan, path)
    else:  # whose row it is, the file does not tell; that its rows are these was just seen
        labels = "".join(f", label{a.axis.number} AS a{a.axis.number}" for a in plan.attributes)
        rows = f"SELECT r.{PERSON}{labels}, unnest(range(b.rows)) AS copy "
        rows += f"FROM {plan.boxes.relation} AS b JOIN {RECORDS} AS r"
        fetch(con, f"CREATE OR REPLACE TABLE {_WRITTEN_ROWS} AS {rows} ON b.class = r.number")
    found, planned = (
        risk_of_rows(source, plan.policy, plan.attributes, _WRITTEN_ROWS),
        (plan.chosen.risk, plan.chosen.worst),
    )
    if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(found, planned, strict=True)):
        raise ReleaseError("the rows that were written have another risk than those that were planned; run it again")


def _read_written(plan: DisclosePlan, path: Path) -> None:
    con = plan.source.con
    listed = "".join(f", CAST({quoted(a.axis.column)} AS VARCHAR) AS a{a.axis.number}" for a in plan.attributes)
    with attached(con, path, WRITTEN, error=ReleaseError):
        rows = f"SELECT 1 AS one{listed} FROM {quoted(WRITTEN, SCHEMA, 'published')}"
        fetch(con, f"CREATE OR REPLACE TABLE {_WRITTEN_ROWS} AS {rows}")
