"""Columns of one name in a file: DuckDB would call the second age_1, say, and no role would mean what it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import csv_arguments, file_literal, folded
from sqlpriv.table.files import Reading

_NUMBERED = re.compile(r"(.+)_[0-9]+")
"""What DuckDB makes of a name that is there already."""


def refuse_duplicates(con: duckdb.DuckDBPyConnection, reading: Reading, columns: Iterable[str]) -> None:
    """Refuse files with several columns of one name, by the places of these. `columns` are those that DuckDB found."""
    names = {folded(name) for name in columns}
    if not any((found := _NUMBERED.fullmatch(name)) and found[1] in names for name in names):
        return
    for path in reading.files.paths:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(_written(con, reading, path), 1):
            places.setdefault(folded(name), []).append(place)
        for name, found_at in places.items():
            if len(found_at) > 1:
                where = f"{', '.join(map(str, found_at[:-1]))} and {found_at[-1]}"
                raise InputError(
                    f"{reading.files.label} has several columns called {name!r}, the columns {where}: "
                    "give each a name of its own"
                )


def _written(con: duckdb.DuckDBPyConnection, reading: Reading, path: Path) -> list[str]:
    """The names of the columns as the file has them; none where it names none."""
    if not reading.is_csv:
        if not reading.files.is_parquet:
            return []
        # In the order of the file, each group of columns followed by its own; those are not looked at.
        listed = fetch(con, f"SELECT name, num_children FROM parquet_schema({file_literal(path)})")
        names, inner = [], 0
        for name, children in listed[1:]:
            if inner == 0:
                names.append(str(name))
            inner = max(inner - 1, 0) + (children or 0)
        return names
    arguments = csv_arguments(str(path), reading.options)
    ((has_header,),) = fetch(con, f"SELECT HasHeader FROM sniff_csv({arguments})")
    if not has_header:
        return []
    as_text = {k: v for k, v in reading.options.items() if k != "types"} | {"header": False, "all_varchar": True}
    rows = fetch(con, f"FROM read_csv({csv_arguments(str(path), as_text)}) LIMIT 1")
    return [str(name) for name in rows[0]] if rows else []
