"""What a check looks at: a file, or a table or view in a database file, opened for reading only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.engine import fetch, translate
from sqlpriv.errors import InputError, InternalError
from sqlpriv.macros.catalog import SCHEMA, macro
from sqlpriv.macros.expand import table_parts
from sqlpriv.macros.install import create_statement, locked_by
from sqlpriv.sqltext import file_literal, literal

_ATTACHED = "checked"
FILE_VIEW = "__data"


@dataclass(frozen=True)
class Source:
    """A connection for the macros, the table's name for them, and its columns."""

    con: duckdb.DuckDBPyConnection
    table: str
    label: str
    columns: tuple[str, ...]
    created: set[str] = field(default_factory=set)
    beside: str | None = None
    """The schema in which tables beside this one are looked for."""
    types: Mapping[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Columns of a file that are read as text, and what DuckDB takes them for."""

    def need(self, macro_name: str) -> str:
        """The macro's full name; it is created when first needed, since all of them would take a second."""
        if macro_name not in self.created:
            self.con.execute(create_statement(macro(macro_name))).fetchall()
            self.created.add(macro_name)
        return f"{SCHEMA}.{macro_name}"

    def known(self, names: list[str]) -> None:
        """Refuse names that are no columns, all of them at once."""
        spelt = {c.lower() for c in self.columns}
        missing = [n for n in names if n.lower() not in spelt]
        if missing:
            raise InputError(
                f"{self.label} has no column {', '.join(repr(m) for m in missing)}; it has {', '.join(self.columns)}"
            )


@contextmanager
def open_source(data: str, database: Path | None = None, options: Mapping[str, Any] | None = None) -> Iterator[Source]:
    """Open DATA: a file by its path, or with a database a table or view by its name. `options` are read_csv's."""
    con = duckdb.connect()
    try:
        # DuckDB counts its progress only when it may print it, and prints it where our own output goes.
        con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false").fetchall()
        con.execute(f"CREATE SCHEMA {SCHEMA}").fetchall()
        table = _attach(con, data, database) if database else _file(con, data, options or {})
        found: dict[str, str] = dict(fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})"))
        label = Path(data).name if database is None else data
        yield Source(con, table, label, tuple(found), beside=_schema(data) if database else None, types=found)
    finally:
        con.close()


def _file(con: duckdb.DuckDBPyConnection, data: str, options: Mapping[str, Any]) -> str:
    if not Path(data).is_file():
        raise InputError(f"there is no file {data!r}; for a table name its database with --database")
    try:
        con.execute(f"CREATE VIEW {FILE_VIEW} AS FROM {reader(data, options)}").fetchall()
    except duckdb.Error as error:
        name = Path(data).name
        if options:
            raise InputError(f"{name} cannot be read as CSV with the options {', '.join(options)}") from None
        if isinstance(error, duckdb.CatalogException):
            raise InputError(f"{name} is neither Parquet nor CSV nor JSON by its name") from None
        if isinstance(translated := translate(error), InternalError):
            raise InputError(f"{name} cannot be read; is it what its name says?") from None
        raise translated from None
    return FILE_VIEW


def reader(data: str, options: Mapping[str, Any]) -> str:
    """The file itself, which DuckDB reads by its name, or a call of read_csv with options."""
    if not options:
        return file_literal(Path(data))
    listed = ", ".join(f"{'delim' if k == 'delimiter' else k} = {literal(v)}" for k, v in options.items())
    return f"read_csv({file_literal(Path(data))}, {listed})"


def _attach(con: duckdb.DuckDBPyConnection, data: str, database: Path) -> str:
    if not database.is_file():
        raise InputError(f"there is no database file {str(database)!r}")
    try:
        con.execute(f"ATTACH {literal(str(database))} AS {_ATTACHED} (READ_ONLY)").fetchall()
    except duckdb.Error as error:
        raise InputError(f"cannot open {database.name}: {locked_by(error)}") from None
    return ".".join(f'"{part}"' for part in [_ATTACHED, *table_parts(data)])


def _schema(data: str) -> str:
    """The schema of a table of the attached database; that of a name without one is DuckDB's own choice, main."""
    return ".".join(f'"{part}"' for part in [_ATTACHED, *table_parts(data)[:-1]])
