"""The order of published rows: by what they show, so that it reveals nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.table.private_table import reads_apart


def in_order(columns: Sequence[str], kinds: Mapping[str, str]) -> str:
    """ORDER BY these columns, and where equal values read differently, by how they read."""
    texts = [f"CAST({quoted(c)} AS VARCHAR)" for c in columns if reads_apart(kinds[c])]
    return ", ".join([*map(quoted, columns), *texts])


def write_in_order(con: duckdb.DuckDBPyConnection, table: str, rows: str) -> int:
    """Write a table of rows, given by a query, in the order of all their columns; how many there are."""
    kinds = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE {rows}")}
    return int(fetch(con, f"CREATE TABLE {table} AS FROM ({rows}) ORDER BY {in_order(tuple(kinds), kinds)}")[0][0])
