"""What the file of a randomized release says of itself, for those who judge it."""

from __future__ import annotations

import json
import math

from sqlpriv.release.file import ReleaseFile

CLOSE = 1e-9


def is_sequence(file: ReleaseFile) -> bool:
    """Whether the release is a view of several."""
    return file.parameters.get("views", 1) > 1


def shared_columns(file: ReleaseFile) -> list[str]:
    """The columns whose public shares the noise of a bag follows: their domains state the noise of each value."""
    names = [str(r["name"]) for r in file.rows("attributes")]
    return [name for name in names if "noise" in file.columns("domain", name)]


def stated_public(file: ReleaseFile) -> set[str]:
    """The public tables that the file says it has."""
    try:
        return set(map(str, json.loads(file.about.get("public", "[]"))))
    except (ValueError, TypeError):
        return set()


def stated_combinations(file: ReleaseFile) -> list[str]:
    """The public tables of what columns can have together."""
    found = json.loads(file.about.get("combinations", "[]"))
    if not isinstance(found, list):
        raise TypeError
    return list(map(str, found))


def is_close(found: float | None, wanted: float) -> bool:
    """The same number, but for the last digits; also where numbers are tiny, since domains are large."""
    return found is not None and math.isclose(found, wanted, rel_tol=CLOSE)
