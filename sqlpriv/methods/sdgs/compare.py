"""The written release against the private table: no row in it that the table has not at least as often."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.sdgs.classes import SampleCounts
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.release.file import WRITTEN


def compare(plan: SdgsPlan, path: Path) -> None:
    """The rows are those of the samples that were just drawn."""
    con = plan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        for group, sampled in zip(plan.groups, plan.drawn.sampled or (), strict=True):
            _compare_group(plan, group, sampled)


def _compare_group(plan: SdgsPlan, group: Group, sampled: SampleCounts) -> None:
    con, names = plan.source.con, group.columns
    if tuple(r[0] for r in fetch(con, f"DESCRIBE {group.written}")) != names:
        raise ReleaseError("the release does not have the columns it should have; nothing was published")
    listed = ", ".join(f"{quoted(name)} AS c{i}" for i, name in enumerate(names))
    cells = ", ".join(f"c{i}" for i in range(len(names)))
    found = f"SELECT {cells}, count(*) AS seen FROM (SELECT {listed} FROM {group.written}) GROUP BY {cells}"
    wanted = f"SELECT {cells}, seen FROM {sampled.relation} WHERE seen >= {plan.terms.k} AND seen <= rows"
    differ = f"SELECT count(*) FROM (({found} EXCEPT {wanted}) UNION ALL ({wanted} EXCEPT {found}))"
    if fetch(con, differ)[0][0]:
        raise ReleaseError("the rows of the release are not those that were drawn; nothing was published")
