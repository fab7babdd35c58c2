"""A release that somebody changed and stamped again: what verify then finds is found by another check."""

from __future__ import annotations

import duckdb

from sqlpriv.release.digest import table_digest

_PUBLISHED = "sqlpriv_release.published"


def stamp_again(con: duckdb.DuckDBPyConnection) -> None:
    """The digests of the rows, of other rows, of the domains and of the public tables as they are now."""
    there = {
        f"{schema}.{table}": f'"{schema}"."{table}"'
        for schema, table in con.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    }
    if "sqlpriv_release.digests" in there:
        listed = {name for (name,) in con.execute("SELECT name FROM sqlpriv_release.digests").fetchall()}
        con.execute("DELETE FROM sqlpriv_release.digests").fetchall()
        for name, table in there.items():
            if name in listed or name.partition(".")[0] in {"domain", "public"}:
                digest = table_digest(con, table)
                con.execute("INSERT INTO sqlpriv_release.digests VALUES (?, ?)", [name, digest]).fetchall()
    if _PUBLISHED in there:
        said = [table_digest(con, _PUBLISHED)]
        con.execute("UPDATE sqlpriv_release.about SET value = ? WHERE name = 'digest'", said).fetchall()
