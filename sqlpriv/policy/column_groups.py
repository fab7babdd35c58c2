"""Columns that are published together and apart from others: what a policy calls groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlpriv.policy.keys import Fail, Kind
from sqlpriv.sqltext import folded


def _read(value: Any) -> list[list[str]] | None:
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(group, list) and group for group in value):
        return None
    names = [name for group in value for name in group]
    return value if all(isinstance(name, str) and name.strip() for name in names) else None


GROUPS = Kind('two lists of columns or more, as in [["age", "zip"], ["diagnosis"]]', _read, _read)


def check_groups(groups: Sequence[Sequence[str]], published: Sequence[str], fail: Fail) -> None:
    """Every column that is published is in one group, and nothing else is in any."""
    named = [folded(name) for group in groups for name in group]
    wanted = {folded(name): name for name in published}
    strange = [name for group in groups for name in group if folded(name) not in wanted]
    if strange:
        raise fail(f"groups names {strange[0]!r}, which is no column that is published", "release", "groups")
    missing = [name for key, name in wanted.items() if named.count(key) != 1]
    if missing:
        raise fail(f"{missing[0]!r} must be in one of the groups, and in one only", "release", "groups")
