"""Policies as `sqlpriv init` proposes them, for small tables."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sqlpriv.methods import METHODS
from sqlpriv.policy import draft
from sqlpriv.policy.draft import Draft


def drafted(folder: Path, select: str, method: str | None = None) -> Draft:
    """What is proposed for the table of a database."""
    file = folder / "d.duckdb"
    if not file.exists():
        with duckdb.connect(str(file)) as con:
            con.execute(f"CREATE TABLE t AS {select}").fetchall()
    return draft.draft("t", file, folder, METHODS, method)


def written(folder: Path, proposed: Draft) -> Path:
    """The file of a proposed policy."""
    draft.write(proposed, folder / "policy.toml")
    return folder / "policy.toml"
