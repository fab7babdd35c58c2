"""What the file of a randomized release declares, for those who verify it or put it in words."""

from __future__ import annotations

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.noisy.attackers import Background, Wanted
from sqlpriv.release.file import ReleaseFile


def is_sequence(file: ReleaseFile) -> bool:
    """Whether the release is a view of several."""
    return file.parameters["views"] > 1


def shared_columns(file: ReleaseFile) -> list[str]:
    """The columns whose public shares noisy counts follow: their domains give the noise of each value."""
    names = [str(r["name"]) for r in file.rows("attributes")]
    return [name for name in names if "noise" in file.columns("domain", name)]


def public_names(file: ReleaseFile) -> set[str]:
    """The public tables that the file says it has."""
    return {str(r["name"]) for r in file.rows("public_tables")}


def combination_names(file: ReleaseFile) -> list[str]:
    """Those of them that say what columns can have together."""
    return sorted(str(r["name"]) for r in file.rows("public_tables") if r["is_combination"])


def wanted_role(file: ReleaseFile) -> str:
    """The role of the columns that attackers want."""
    return "sensitive" if any(r["role"] == "sensitive" for r in file.attributes) else "published"


def background_of(file: ReleaseFile) -> Background:
    """What attackers know, as the file declares it."""
    rows, wanted, shared = file.attributes, wanted_role(file), shared_columns(file)
    tuples = 1
    for row in rows:
        tuples *= int(row["size"])
    return Background(
        tuple(
            Wanted(str(r["name"]), int(r["choices"]), _shares(file, str(r["name"])) if r["name"] in shared else ())
            for r in rows
            if r["role"] == wanted
        ),
        tuple(str(r["name"]) for r in rows if r["role"] == "quasi-identifier"),
        tuples,
        file.parameters["times"],
        int(file.parameters["rows_each"]),
    )


def _shares(file: ReleaseFile, column: str) -> tuple[float, ...]:
    domain = quoted(file.catalog, "domain", column)
    return tuple(float(r[0]) for r in fetch(file.con, f"SELECT share FROM {domain} ORDER BY rowid"))
