"""The file of a release: one DuckDB file, the same for every method.

    sqlpriv_release.about         name, value: format, version, date, method, table, policy, digest of the rows ...
    sqlpriv_release.attributes    the published columns
    sqlpriv_release.parameters    name, value: the numbers that the guarantee and the weights are made from
    sqlpriv_release.published     the published rows; other tables of this schema are the method's own
    domain.<column>               value and share, where the method has domains
    public.<name>                 public tables that queries may join
    main.<name>                   questions as views, and sqlpriv_release.views, which says what they ask (views.py)
    priv                          the macros, to check it from any client

It never holds a private row, a key, a count that the method does not publish, a path or a user name. It is written
under another name, verified from what was written, and only then renamed: a crash leaves the old release or none.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from sqlpriv.engine import attach, fetch, may_hold_a_database, open_database, open_memory
from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.macros.catalog import SCHEMA as MACROS
from sqlpriv.macros.prepared import attach_new_release
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.source import TableReference
from sqlpriv.version import __version__

SCHEMA = "sqlpriv_release"
FORMAT = 6
"""Raised when what is in a file, or what it is called, changes."""
WRITTEN = "release_file"
"""The name under which a release is attached while it is written."""
_OTHER_KINDS = frozenset({".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".xlsx", ".txt", ".gz"})
"""Names that promise a file of another kind."""
_BEFORE = "release"
"""The schema of format 1."""


def check_target(output: Path, table: TableReference) -> None:
    """Refuse what cannot be written, and to write over anything but an earlier release."""
    if not output.parent.is_dir():
        raise ReleaseError(f"there is no folder for the release {output.name!r}")
    if output.suffix.lower() in _OTHER_KINDS:
        raise ReleaseError(
            f"a release is a DuckDB file, and {output.name!r} says something else; call it "
            f"{output.with_suffix('.duckdb').name!r}, and export its table from there if you need to"
        )
    if folded(output.name).partition(".")[0] in {SCHEMA, MACROS, "domain", "public"}:
        # DuckDB calls an open file by its name up to the first dot, and could not tell it from a schema inside.
        raise ReleaseError(f"a release cannot be called {output.name!r}, like a schema in it; give it another name")
    if not output.exists() or (output.is_file() and output.stat().st_size == 0):
        return
    if table.database is not None and table.is_file(table.database) and output.samefile(table.file):
        raise ReleaseError(f"{output.name!r} is the private database itself; give the release another name")
    if not output.is_file() or not may_hold_a_database(output) or not _may_be_replaced(output):
        raise ReleaseError(f"{output.name!r} is there already and is no release; give the release another name")


def _may_be_replaced(path: Path) -> bool:
    """Whether it is a release of this format or an older one; a newer one may hold what is not known here."""
    with open_database(path, error=ReleaseError, doing="replace") as con:
        file = ReleaseFile(con, str(fetch(con, "SELECT current_database()")[0][0]), path.name)
        if (SCHEMA, "about") not in file.tables:
            return (_BEFORE, "about") in file.tables and file.is_ours(_BEFORE)
        _ = file.about
        return file.is_ours(SCHEMA)


def released_there(path: Path) -> tuple[str, str] | None:
    """The table and the name of a release that is there, of any format; None where there is no release."""
    if not path.is_file() or path.stat().st_size == 0 or not may_hold_a_database(path):
        return None
    with open_database(path, error=ReleaseError, doing="replace") as con:
        file = ReleaseFile(con, str(fetch(con, "SELECT current_database()")[0][0]), path.name)
        schema = next((s for s in (SCHEMA, _BEFORE) if (s, "about") in file.tables and file.is_ours(s)), None)
        if schema is None:
            return None
        said = fetch(con, f"SELECT name, value FROM {quoted(file.catalog, schema, 'about')}")
        about = {str(k): v for k, v in said}
    return str(about.get("table", "")), str(about.get("release", ""))


def remove_partial(partial: Path) -> None:
    """Remove a release that is not finished, with what DuckDB keeps beside it."""
    for path in (partial, partial.with_name(partial.name + ".wal")):
        path.unlink(missing_ok=True)


@contextmanager
def written(con: duckdb.DuckDBPyConnection, path: Path) -> Iterator[None]:
    """A new file attached for writing, as `release_file`, with the macros and its schemas."""
    try:
        attach_new_release(con, path, WRITTEN)
    except duckdb.Error:
        raise ReleaseError("the folder of the release cannot be written") from None
    try:
        for schema in (SCHEMA, "domain", "public"):
            fetch(con, f"CREATE SCHEMA {WRITTEN}.{schema}")
        yield
    finally:
        fetch(con, f"DETACH {WRITTEN}")


def write_about(con: duckdb.DuckDBPyConnection, about: Mapping[str, str]) -> None:
    """Table about of the file that is written."""
    facts = {"format": str(FORMAT), "sqlpriv": __version__, **about}
    write_values(con, "about", "name, value", ((literal(k), literal(v)) for k, v in facts.items()))


def write_numbers(con: duckdb.DuckDBPyConnection, numbers: Mapping[str, float]) -> None:
    """Table parameters of the file that is written."""
    rows = [(literal(k), double(v)) for k, v in numbers.items()]
    if rows:
        write_values(con, "parameters", "name, value", rows)
    else:
        fetch(con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.parameters (name VARCHAR, value DOUBLE)")


def write_values(con: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Iterable[tuple[str, ...]]) -> None:
    """A small table of the file that is written; cells as SQL."""
    listed = ", ".join(f"({', '.join(row)})" for row in rows)
    fetch(con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.{table} AS FROM (VALUES {listed}) AS v({columns})")


def double(number: float) -> str:
    """A number as SQL, all its digits."""
    return f"CAST({literal(repr(float(number)))} AS DOUBLE)"


@dataclass(frozen=True)
class ReleaseFile:
    """A release that is open for reading, attached under `catalog`."""

    con: duckdb.DuckDBPyConnection
    catalog: str
    name: str

    def table(self, name: str) -> str:
        """A table of the release's own schema, as SQL."""
        return quoted(self.catalog, SCHEMA, name)

    @cached_property
    def tables(self) -> frozenset[tuple[str, str]]:
        """Schema and name of every table and view in the file."""
        return frozenset(
            (str(schema), str(table))
            for schema, table in fetch(
                self.con,
                "SELECT schema_name, table_name FROM duckdb_tables() "
                f"WHERE database_name = {literal(self.catalog)} UNION ALL "
                "SELECT schema_name, view_name FROM duckdb_views() "
                f"WHERE NOT internal AND database_name = {literal(self.catalog)}",
            )
        )

    @cached_property
    def views(self) -> frozenset[tuple[str, str]]:
        """Schema and name of every view in the file."""
        asked = f"FROM duckdb_views() WHERE NOT internal AND database_name = {literal(self.catalog)}"
        return frozenset((str(s), str(v)) for s, v in fetch(self.con, f"SELECT schema_name, view_name {asked}"))

    def is_ours(self, schema: str) -> bool:
        """Whether we wrote it: it says by which version, and holds no schema but those of a release."""
        known = {schema, MACROS, "main", "domain", "public"}
        columns = list(self.columns(schema, "about")) if (schema, "about") not in self.views else []
        if columns != ["name", "value"] or any(s not in known for s, _ in self.tables):
            return False
        about = quoted(self.catalog, schema, "about")
        return bool(fetch(self.con, f"FROM {about} WHERE name = 'sqlpriv'"))

    @cached_property
    def about(self) -> dict[str, str]:
        """What the file says of itself; a file of another format is refused, and one that would run SQL of its own."""
        running = sorted(f"{s}.{v}" for s, v in self.views if s != "main")
        if running:
            raise ReleaseError(f"{self.name} is no release: {running[0]} is a view, which would run when it is read")
        if (SCHEMA, "about") not in self.tables:
            self._refuse_older()
        found = {str(k): str(v) for k, v in fetch(self.con, f"SELECT name, value FROM {self.table('about')}")}
        if found.get("format") != str(FORMAT):
            self._refuse_format(found.get("sqlpriv"), found.get("format", "unknown"))
        return found

    def _refuse_older(self) -> None:
        if (_BEFORE, "about") not in self.tables:
            raise ReleaseError(f"{self.name} is no release: it has no table {SCHEMA}.about")
        about = quoted(self.catalog, _BEFORE, "about")
        if not self.is_ours(_BEFORE):
            raise ReleaseError(f"{self.name} is no release: it has no table {SCHEMA}.about")
        version = fetch(self.con, f"SELECT value FROM {about} WHERE name = 'sqlpriv'")
        self._refuse_format(str(version[0][0]) if version else None, "1")

    def _refuse_format(self, version: str | None, written: str) -> NoReturn:
        """A file of another format; what to do depends on whether this version is the older one."""
        by = f"{self.name} was written by sqlpriv {version or 'of another version'}, in format {written}"
        if written.isdecimal() and int(written) < FORMAT:
            raise ReleaseError(
                f"{by}, which this version, {__version__}, does not read; publish it again from its table, with the "
                "same key"
            )
        raise ReleaseError(f"{by}; this version, {__version__}, reads format {FORMAT}: upgrade it")

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The numbers by name."""
        return dict(fetch(self.con, f"SELECT name, value FROM {self.table('parameters')}"))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the release warns of."""
        return tuple(json.loads(self.about.get("warnings", "[]")))

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A small table of the release's own schema, each row by the names of its columns."""
        names = self.columns(SCHEMA, table)
        return [dict(zip(names, row, strict=True)) for row in fetch(self.con, f"FROM {self.table(table)}")]

    def columns(self, schema: str, table: str) -> dict[str, str]:
        """The columns of a table with their types."""
        return {r[0]: r[1] for r in fetch(self.con, f"DESCRIBE FROM {quoted(self.catalog, schema, table)}")}


def count_rows(file: ReleaseFile) -> int:
    """The published rows; in a sequence those of its own view."""
    condition = " WHERE __view" if "__view" in file.columns(SCHEMA, "published") else ""
    return int(fetch(file.con, f"SELECT count(*) FROM {file.table('published')}{condition}")[0][0])


def attach_release(con: duckdb.DuckDBPyConnection, path: Path, catalog: str) -> ReleaseFile:
    """Attach a release for reading."""
    refuse_no_file(path)
    attach(con, path, catalog)
    file = ReleaseFile(con, catalog, path.name)
    _ = file.about
    return file


def refuse_no_file(path: Path) -> None:
    """A release is a DuckDB file."""
    if not path.is_file():
        raise InputError(f"there is no release file {str(path)!r}")
    if not may_hold_a_database(path):
        raise ReleaseError(f"{path.name} is no DuckDB file; a release is one, with the ending .duckdb")


@contextmanager
def open_file(path: Path) -> Iterator[ReleaseFile]:
    """A release, open for reading in a connection of its own."""
    with open_memory() as con:
        # Under a name that nobody could have written into the file.
        file = attach_release(con, path, f"{WRITTEN}_{secrets.token_hex(8)}")
        # Whoever made the file, nothing in it reaches beyond it.
        con.execute("SET python_enable_replacements = false; SET enable_external_access = false").fetchall()
        yield file


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What a tampered file may hold in the place of names and numbers makes no sense in ways that nobody can list."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise ReleaseError(f"{path.name} is no release, or was changed: it does not say what a release says") from None
