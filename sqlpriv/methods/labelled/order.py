"""The order of published rows: by what they show, so that it tells nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import quoted
from sqlpriv.table.private_table import reads_apart


def in_order(columns: Sequence[str], kinds: Mapping[str, str]) -> str:
    """ORDER BY these columns, and where equal values read differently, by how they read."""
    texts = [f"CAST({quoted(c)} AS VARCHAR)" for c in columns if reads_apart(kinds[c])]
    return ", ".join([*map(quoted, columns), *texts])


def write_in_order(con: duckdb.DuckDBPyConnection, table: str, rows: str) -> int:
    """Write a table of rows, given by a query, in the order of all their columns; how many there are."""
    kinds = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE {rows}")}
    return int(fetch(con, f"CREATE TABLE {table} AS FROM ({rows}) ORDER BY {in_order(tuple(kinds), kinds)}")[0][0])


def check_order(file: ReleaseFile, table: str, kinds: Mapping[str, str]) -> Check:
    """The rows of a table of the file stand in the order of its columns, given with their types, and no other."""
    title = f"the order of the rows of {table} tells nothing"
    if any("TIME ZONE" in kind for kind in kinds.values()):
        return Check(title, None, "times read differently in every time zone")
    by = in_order(tuple(kinds), kinds)
    places = f"row_number() OVER (ORDER BY rowid) AS here, row_number() OVER (ORDER BY {by}, rowid) AS sorted"
    moved = f"SELECT count(*) FROM (SELECT {places} FROM {file.table(table)}) WHERE here <> sorted"
    wrong = fetch(file.con, moved)[0][0]
    return Check(title, not wrong, f"{wrong:,} are not where their values put them" if wrong else "")
