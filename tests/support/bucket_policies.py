"""Small policies whose columns are published apart, and what their releases hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.publishing import Published, publish
from support.policies import IN_DATABASE, accepted, role, toml_text, write_policy

QI, SENSITIVE = role("quasi-identifier"), role("sensitive")


def bucket_policy_text(
    columns: Mapping[str, str], require: str, release: str = 'method = "anatomy"', table: str = IN_DATABASE
) -> str:
    """A policy with these columns."""
    listed = "\n".join(f"{toml_text(name)} = {given}" for name, given in columns.items())
    return (
        f"[table]\n{table}\n[columns]\n{listed}\n[require]\n{require}\n"
        f'[release]\noutput = "people-release.duckdb"\n{accepted(release)}\n'
    )


def publish_apart(
    folder: Path,
    columns: Mapping[str, str],
    sql: str,
    require: str = "distinct_l = 3",
    release: str = 'method = "anatomy"',
    key: bytes = b"a secret of my own, long enough",
) -> Published:
    """Publish a table of a new folder."""
    folder.mkdir(exist_ok=True)
    path = write_policy(folder, bucket_policy_text(columns, require, release), sql)
    (folder / "key").write_bytes(key)
    return publish(path, key_file=folder / "key", ledger_file=folder / "ledger")


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The sides of a release, in the order of their rows."""
    with duckdb.connect(str(path), read_only=True) as con:
        names = [
            r[0]
            for r in con.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'sqlpriv_release' "
                "AND (table_name = 'published' OR starts_with(table_name, 'side_')) ORDER BY ALL"
            ).fetchall()
        ]
        return {n: con.execute(f"FROM sqlpriv_release.{n}").fetchall() for n in names}


def change(path: Path, *statements: str) -> None:
    """Tamper with a file."""
    with duckdb.connect(str(path)) as con:
        for sql in statements:
            con.execute(sql).fetchall()
