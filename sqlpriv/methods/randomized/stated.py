"""What the file of a randomized release says of itself, for those who judge it."""

from __future__ import annotations

from sqlpriv.release.file import ReleaseFile


def is_sequence(file: ReleaseFile) -> bool:
    """Whether the release is a view of several."""
    return file.parameters["views"] > 1


def shared_columns(file: ReleaseFile) -> list[str]:
    """The columns whose public shares the noise of a bag follows: their domains state the noise of each value."""
    names = [str(r["name"]) for r in file.rows("attributes")]
    return [name for name in names if "noise" in file.columns("domain", name)]


def public_names(file: ReleaseFile) -> set[str]:
    """The public tables that the file says it has."""
    return {str(r["name"]) for r in file.rows("public_tables")}


def combination_names(file: ReleaseFile) -> list[str]:
    """Those of them that say what columns can have together."""
    return sorted(str(r["name"]) for r in file.rows("public_tables") if r["is_combination"])
