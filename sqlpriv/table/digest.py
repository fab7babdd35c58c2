"""A digest of a table, whatever the order of its rows: by it the ledger knows a table again. It is private."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.source import Source


def content_digest(source: Source) -> str:
    """A digest of the whole table, also of what is not published."""
    return rows_digest(source.con, source.table)


def rows_digest(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """A digest of all columns of a table, given as SQL."""
    return digest_of(con, f"SELECT sha256(CAST(__priv_row AS VARCHAR)) AS bits FROM {table} AS __priv_row")


def digest_of(con: duckdb.DuckDBPyConnection, rows: str) -> str:
    """A digest of rows given by a query for their hashes, `bits`: the hashes are summed up, word by word."""
    words = ", ".join(inlined(f"sum(_coin_word(bits, {i}))") for i in range(4))
    return _joined(fetch(con, f"SELECT {words} FROM ({rows})")[0])


def _joined(sums: Sequence[int | None]) -> str:
    return "-".join(f"{int(s or 0) % 2**64:016x}" for s in sums)
