"""Policies as `sqlpriv init` proposes them, for small tables."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sqlpriv.methods import METHODS
from sqlpriv.policy.propose_policy import ProposedPolicy, propose_policy, write_policy


def drafted(folder: Path, select: str, method: str | None = None) -> ProposedPolicy:
    """What is proposed for the table of a database."""
    file = folder / "d.duckdb"
    if not file.exists():
        with duckdb.connect(str(file)) as con:
            con.execute(f"CREATE TABLE t AS {select}").fetchall()
    return propose_policy("t", file, folder, METHODS, method)


def written(folder: Path, proposed: ProposedPolicy) -> Path:
    """The file of a proposed policy."""
    write_policy(proposed, folder / "policy.toml")
    return folder / "policy.toml"
