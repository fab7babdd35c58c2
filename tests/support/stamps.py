"""A release that somebody changed and stamped again: what verify then finds is found by another check."""

from __future__ import annotations

import duckdb

from sqlpriv.table.digest import rows_digest

_PUBLISHED = "sqlpriv_release.published"


def stamp_again(con: duckdb.DuckDBPyConnection) -> None:
    """The digest of the rows as they are now."""
    if con.execute(
        "FROM duckdb_tables() WHERE schema_name = 'sqlpriv_release' AND table_name = 'published'"
    ).fetchall():
        said = [rows_digest(con, _PUBLISHED)]
        con.execute("UPDATE sqlpriv_release.about SET value = ? WHERE name = 'digest'", said).fetchall()
