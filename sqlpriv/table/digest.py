"""A digest of a table that does not depend on the order of its rows. It is private data."""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.source import Source

WHOLE_TYPE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
WRITTEN_ONE_WAY = re.compile(
    rf"{WHOLE_TYPE.pattern}|DECIMAL\([^)]*\)|FLOAT|DOUBLE|BOOLEAN|DATE|TIME|TIMESTAMP|VARCHAR|UUID|ENUM\(.*\)"
)
"""Types of which equal values are written alike."""


def content_digest(source: Source) -> str:
    """A digest of the whole table, also of what is not published."""
    return rows_digest(source.con, source.table)


def rows_digest(con: duckdb.DuckDBPyConnection, table: str) -> str:
    """A digest of all columns of a table, given as SQL. Rows that repeat are hashed once, and count all."""
    kinds = fetch(con, f"SELECT column_type FROM (DESCRIBE FROM {table})")
    # Values that are equal but written differently, such as intervals, are compared by their texts.
    by_value = all(WRITTEN_ONE_WAY.fullmatch(str(kind)) for (kind,) in kinds)
    row = "__priv_row" if by_value else "CAST(__priv_row AS VARCHAR)"
    return digest_of(
        con,
        "SELECT sha256(CAST(row AS VARCHAR)) AS bits, n FROM "
        f"(SELECT {row} AS row, count(*) AS n FROM {table} AS __priv_row GROUP BY ALL)",
        copies="n",
    )


def digest_of(con: duckdb.DuckDBPyConnection, rows: str, copies: str = "1") -> str:
    """A digest of rows given by a query for their hashes, `bits`: summed up, word by word, as often as each is."""
    words = ", ".join(inlined(f"sum(_coin_word(bits, {i}) * CAST({copies} AS HUGEINT))") for i in range(4))
    return _joined(fetch(con, f"SELECT {words} FROM ({rows})")[0])


def _joined(sums: Sequence[int | None]) -> str:
    return "-".join(f"{int(s or 0) % 2**64:016x}" for s in sums)
