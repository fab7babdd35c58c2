"""The written release against the private table: each side has the cells of its rows, and no others."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.split.layout import side_table
from sqlpriv.methods.split.plan import BucketPlan
from sqlpriv.release.file import SCHEMA, WRITTEN


def compare(plan: BucketPlan, path: Path) -> None:
    """Refuse a file whose sides are not those of the table, as often as they occur there."""
    con = plan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        for i, side in enumerate(plan.layout.sides):
            cells = ", ".join(f"CAST({quoted(c)} AS VARCHAR)" for c in side)
            there = f"SELECT {cells} FROM {quoted(WRITTEN, SCHEMA, side_table(i))}"
            private = f"SELECT {cells} FROM {plan.source.table}"
            for one, other in ((there, private), (private, there)):
                if fetch(con, f"SELECT count(*) FROM ({one} EXCEPT ALL {other})")[0][0]:
                    raise ReleaseError(
                        "the table changed while it was being published, so nothing was published; run it again"
                    )
