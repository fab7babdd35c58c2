"""A dictionary: what an attacker holds, a list of people with names and cells that records may be found by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.sqltext import csv_arguments, folded, reader
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source

TABLE = "__dictionary"
_TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst")


@dataclass(frozen=True)
class Dictionary:
    """The entries, read into table `__dictionary` of a connection."""

    name: str
    types: Mapping[str, str]
    entries: int

    def column(self, name: str) -> str | None:
        """A column as the dictionary spells it; None where it has none of this name."""
        return next((c for c in self.types if folded(c) == folded(name)), None)


def read_dictionary(con: duckdb.DuckDBPyConnection, given: Any, beside: Source | None = None) -> Dictionary | None:
    """Read it, if one is given: a file, a table beside the private one, or what a program holds."""
    if given is None:
        return None
    name = Path(given).name if isinstance(given, str | Path) else "the dictionary"
    relation = _relation(con, given, beside)
    try:
        fetch(con, f"CREATE OR REPLACE TEMP TABLE {TABLE} AS FROM {relation}")
    except SqlprivError as error:
        raise InputError(f"the dictionary {name} cannot be read: {error}") from None
    types = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE FROM {TABLE}")}
    entries = int(fetch(con, f"SELECT count(*) FROM {TABLE}")[0][0])
    if not entries:
        raise InputError(f"the dictionary {name} has no rows: there is nobody to find")
    return Dictionary(name, types, entries)


def _relation(con: duckdb.DuckDBPyConnection, given: Any, beside: Source | None) -> str:
    if not isinstance(given, str | Path):
        return _held(con, given)
    text = str(given)
    if Path(text).is_file():
        # As texts, so that a code such as 01305 keeps its zero; they are read as what they are compared with.
        return f"read_csv({csv_arguments(text, {'all_varchar': True})})" if text.endswith(_TEXTS) else reader(text, {})
    if beside is not None and beside.given is not None and beside.reference.is_in_database:
        return find_named(beside, text)
    raise InputError(f"there is no dictionary {text!r}; name a CSV, Parquet or JSON file")


def _held(con: duckdb.DuckDBPyConnection, given: Any) -> str:
    whole = given.to_arrow_table() if isinstance(given, duckdb.DuckDBPyRelation) else given
    try:
        con.register("__given_dictionary", whole)
    except (duckdb.Error, TypeError, RuntimeError):
        raise InputError(
            f"a {type(given).__name__} is no dictionary; give a file, a data frame, an Arrow table or a DuckDB relation"
        ) from None
    return "__given_dictionary"
