"""A release that somebody changed and stamped again: what verify then finds is found by another check."""

from __future__ import annotations

import json

import duckdb

from sqlpriv.table.digest import rows_digest

_PUBLISHED = "sqlpriv_release.published"


def stamp_again(con: duckdb.DuckDBPyConnection) -> None:
    """The digests of the rows, of the domains and of the public tables as they are now."""
    beside = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name IN ('domain', 'public') ORDER BY ALL"
    ).fetchall()
    digests = {f"{schema}.{table}": rows_digest(con, f'"{schema}"."{table}"') for schema, table in beside}
    told = [json.dumps(digests)]
    con.execute("UPDATE sqlpriv_release.about SET value = ? WHERE name = 'tables'", told).fetchall()
    if con.execute(
        "FROM duckdb_tables() WHERE schema_name = 'sqlpriv_release' AND table_name = 'published'"
    ).fetchall():
        said = [rows_digest(con, _PUBLISHED)]
        con.execute("UPDATE sqlpriv_release.about SET value = ? WHERE name = 'digest'", said).fetchall()
