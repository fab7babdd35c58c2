"""Write a disclosure as a release, and compare it with the private table once more.

The file is like that of boxes (generalized/boxes.py): every cell has a label of its own level. Its parameters are
c, and the risk and utility of the release. Risks are rounded up to two digits: they are computed from the dictionary,
which may be the private table.
"""

from __future__ import annotations

import math
from pathlib import Path

from sqlpriv.core.engine import attached
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.methods.disclose.risk_tables import PERSON
from sqlpriv.methods.generalized.box_files import compare_boxes, write_boxes_file
from sqlpriv.methods.method import Made
from sqlpriv.release.file import SCHEMA, WRITTEN


def write_release(plan: DisclosePlan, path: Path) -> Made:
    """Write the labels that were chosen into a file."""
    numbers, terms = [axis.number for axis in plan.scan.axes], plan.terms
    box = plan.boxes.relation.name
    shown = " UNION ".join(f"SELECT {a} AS axis, label{a} AS label, level{a} AS level FROM {box}" for a in numbers)
    about = {
        "suppressed_rows": "0",
        "counts": "rows",
        "goal": terms.goal,
        "average": "yes" if terms.is_average else "no",
        "form": terms.form,
        "dictionary": terms.dictionary,
        "psi_of_cells": "yes" if terms.psi_of_cells else "no",
        "personal": "yes" if terms.personal else "no",
    }
    return write_boxes_file(plan.scan, plan.boxes, plan.columns, shown, None, about, plan.numbers, path)


def compare(plan: DisclosePlan, path: Path) -> None:
    """Refuse a file with other rows, or whose losses, computed again, do not come to what was planned."""
    compare_boxes(plan.scan, plan.boxes, path)
    axes = plan.scan.axes
    with plan.source.scratch.nested() as scratch:
        if plan.policy.personal is None:
            listed = "".join(f", CAST({quoted(x.column)} AS VARCHAR) AS a{x.number}" for x in axes)
            with attached(plan.source.con, path, WRITTEN, error=ReleaseError):
                published = quoted(WRITTEN, SCHEMA, "published")
                rows = scratch.table(f"SELECT 1 AS one{listed} FROM {published}", "written")
        else:  # the file does not show whose row it is; that its rows are these was just compared
            labels = "".join(f", label{x.number} AS a{x.number}" for x in axes)
            rows = scratch.table(
                f"SELECT r.{PERSON}{labels}, unnest(range(b.rows)) AS copy FROM {plan.boxes.relation.name} AS b "
                f"JOIN {plan.records.relation.name} AS r ON b.class = r.number",
                "written",
            )
        found, planned = plan.records.tables.risk_of(rows), (plan.chosen.risk, plan.chosen.worst)
    if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(found, planned, strict=True)):
        raise ReleaseError("the rows that were written have another risk than those that were planned; run it again")
