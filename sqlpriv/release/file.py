"""The file of a release: one DuckDB file, the same for every method.

    sqlpriv_release.about         name, value: format, version, date, method, table, policy, digest, words
    sqlpriv_release.attributes    the published columns
    sqlpriv_release.parameters    name, value: the numbers that the guarantee and the weights are made from
    sqlpriv_release.reasons       name, text: what the owner gives reasons for, in the owner's words
    sqlpriv_release.digests       name, digest: of domains, public tables, and published rows but the first table's
    sqlpriv_release.published     the published rows; other tables of this schema are the method's own. Where many rows
                                  are equal it has each kind once, and __copies says how often (write.py)
    domain.<column>               value and share, where the method has domains
    public.<name>                 public tables that queries may join
    main.<name>                   questions as views, and sqlpriv_release.views, which says what they ask (views.py)

It holds numbers and names, no sentence of ours and no macro (layout.py). It never holds a private row, a key, a count
that the method does not publish, a path or a user name. It is written under another name, verified from what was
written, and only then renamed: a crash leaves the old release or none.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import STORAGE, attach, fetch, may_hold_a_database, open_database, open_memory, run
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.sqltext import counted_table, folded, literal, quoted, rows_of
from sqlpriv.macros.catalog import SCHEMA as MACROS
from sqlpriv.macros.expand import called
from sqlpriv.policy.require import make_requirement, public_argument
from sqlpriv.table.engines.rows import WholeRows, each_row_of
from sqlpriv.table.source import TableReference
from sqlpriv.version import __version__

SCHEMA = "sqlpriv_release"
FORMAT = 9
"""Raised when what is in a file, or what a name or number in it means, changes."""
WRITTEN = "release_file"
"""The name under which a release is attached while it is written."""
NO_SENSE = (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError)
"""What reading a file may end in that somebody changed."""
COPIES = "__copies"
"""The column of table published that says how many rows each row stands for, where it is counted."""
_TABLE_MAKERS = frozenset(
    {"alpha_beta", "frapp", "noisy_counts", "signed_noisy_counts", "sdgs", "anatomy_rows", "anatomy_values", "suppress"}
)
"""Macros that make tables to publish: a view of one holds its key, and reads the private table."""
_OTHER_KINDS = frozenset({".parquet", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".xlsx", ".txt", ".gz"})
"""Names that promise a file of another kind."""
_BLOCK = 16384
"""Bytes of a block: with DuckDB's usual 262,144 a release of many small tables is ten times as large."""
M = TypeVar("M")
"""A method, as far as the caller needs to know it."""


def check_target(output: Path, table: TableReference) -> None:
    """Refuse what cannot be written, and to write over anything but an earlier release."""
    if not output.parent.is_dir():
        raise ReleaseError(f"there is no folder for the release {output.name!r}")
    if output.suffix.lower() in _OTHER_KINDS:
        raise ReleaseError(
            f"a release is a DuckDB file, and {output.name!r} says something else; call it "
            f"{output.with_suffix('.duckdb').name!r}, and export its table from there if you need to"
        )
    if table.is_in_file and table.file.is_dir() and output.resolve().is_relative_to(table.file.resolve()):
        raise ReleaseError(f"{output.name!r} would be among the files of the table; write it to another folder")
    if folded(output.name).partition(".")[0] in {SCHEMA, MACROS, "domain", "public"}:
        # DuckDB calls an open file by its name up to the first dot, and could not tell it from a schema inside.
        raise ReleaseError(f"a release cannot be called {output.name!r}, like a schema in it; give it another name")
    if not output.exists() or (output.is_file() and output.stat().st_size == 0):
        return
    if table.database is not None and table.is_file(table.database) and output.samefile(table.file):
        raise ReleaseError(f"{output.name!r} is the private database itself; give the release another name")
    no_release = ReleaseError(f"{output.name!r} is there already and is no release; give the release another name")
    if not output.is_file() or not may_hold_a_database(output):
        raise no_release
    with _opened(output) as file:
        if not file.is_ours:
            raise no_release
        if file.format > FORMAT:  # it may hold what is not known here; an older one may be replaced
            file.refuse_format()


def released_there(path: Path) -> tuple[str, str] | None:
    """The table and the ID of a release that is there, of any format; None where there is no release."""
    if not path.is_file() or path.stat().st_size == 0 or not may_hold_a_database(path):
        return None
    with _opened(path) as file:
        if not file.is_ours:
            return None
        return str(file.declared.get("table", "")), str(file.declared.get("release", ""))


@contextmanager
def _opened(path: Path) -> Iterator[ReleaseFile]:
    """What may be a release, open by itself."""
    with open_database(path, error=ReleaseError, doing="replace") as con:
        yield ReleaseFile(con, str(fetch(con, "SELECT current_database()")[0][0]), path.name)


@contextmanager
def written(con: duckdb.DuckDBPyConnection, path: Path) -> Iterator[None]:
    """A new file attached for writing, as `release_file`, with its schemas.

    It keeps no log of what is written, since half a release is none: it is complete once it is detached.
    """
    attach_new(con, path)
    try:
        for schema in (SCHEMA, "domain", "public"):
            fetch(con, f"CREATE SCHEMA {WRITTEN}.{schema}")
        yield
    finally:
        fetch(con, f"DETACH {WRITTEN}")


def attach_new(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach a new, empty file as `release_file`."""
    if path.exists():
        raise ReleaseError(f"there is already a file {path.name}")
    options = f"STORAGE_VERSION {literal(STORAGE)}, BLOCK_SIZE {_BLOCK}, RECOVERY_MODE no_wal_writes"
    try:
        run(con, f"ATTACH {literal(str(path))} AS {WRITTEN} ({options})")
    except duckdb.Error:
        raise ReleaseError("the folder of the release cannot be written") from None


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
    def copies(self) -> str | None:
        """The column of table published that says how often each row is there; None where a row is one row."""
        return COPIES if self.columns(SCHEMA, "published").get(COPIES) == "BIGINT" else None

    @cached_property
    def each_row(self) -> str:
        """The published rows one by one, as SQL for FROM."""
        return each_row_of(WholeRows(self.con, self.table("published"), self.copies))

    @cached_property
    def checked(self) -> str:
        """The published rows as macros take them."""
        published = self.table("published")
        return published if self.copies is None else counted_table(published, self.copies)

    @cached_property
    def _is_view(self) -> dict[tuple[str, str], bool]:
        """Schema and name of every table and view in the file, with whether it is a view."""
        of_file = f"database_name = {literal(self.catalog)}"
        listed = fetch(
            self.con,
            f"SELECT schema_name, table_name, false FROM duckdb_tables() WHERE {of_file} UNION ALL "
            f"SELECT schema_name, view_name, true FROM duckdb_views() WHERE NOT internal AND {of_file}",
        )
        return {(str(schema), str(name)): bool(is_view) for schema, name, is_view in listed}

    @cached_property
    def tables(self) -> frozenset[tuple[str, str]]:
        """Schema and name of every table and view in the file."""
        return frozenset(self._is_view)

    @cached_property
    def views(self) -> frozenset[tuple[str, str]]:
        """Schema and name of every view in the file."""
        return frozenset(name for name, is_view in self._is_view.items() if is_view)

    @cached_property
    def is_ours(self) -> bool:
        """Whether we wrote it, in whatever format: it says by which version, and has no schema but a release's."""
        known = {SCHEMA, MACROS, "main", "domain", "public"}
        if (SCHEMA, "about") not in self.tables - self.views or any(s not in known for s, _ in self.tables):
            return False
        return list(self.columns(SCHEMA, "about")) == ["name", "value"] and "sqlpriv" in self.declared

    @cached_property
    def declared(self) -> dict[str, str]:
        """Table about, of whatever format."""
        return {str(k): str(v) for k, v in fetch(self.con, f"SELECT name, value FROM {self.table('about')}")}

    @property
    def format(self) -> int:
        """The format that the file is written in."""
        written = self.declared.get("format", "")
        return int(written) if written.isascii() and written.isdecimal() and len(written) < 9 else FORMAT + 1

    @cached_property
    def about(self) -> dict[str, str]:
        """What the file says of itself; a file of another format is refused, and one that would run SQL of its own."""
        running = sorted(f"{s}.{v}" for s, v in self.views if s != "main")
        if running:
            raise ReleaseError(f"{self.name} is no release: {running[0]} is a view, which would run when it is read")
        self._refuse_views_of_makers()
        if (SCHEMA, "about") not in self.tables:
            raise ReleaseError(f"{self.name} is no release: it has no table {SCHEMA}.about")
        if self.format != FORMAT:
            self.refuse_format()
        return self.declared

    def _refuse_views_of_makers(self) -> None:
        views = f"FROM duckdb_views() WHERE NOT internal AND database_name = {literal(self.catalog)}"
        for view, text in fetch(self.con, f"SELECT view_name, sql {views} ORDER BY ALL"):
            makers = {name.strip('"').lower() for name in called(str(text))} & _TABLE_MAKERS
            if makers:
                raise ReleaseError(
                    f"{self.name} has a view, {view!r}, that calls {MACROS}.{min(makers)}: it holds the key and reads "
                    "the private table; publish a table that the macro made (CREATE TABLE AS), not a view"
                )

    def refuse_format(self) -> NoReturn:
        """Refuse a file of another format; what to do depends on whether this version is the older one."""
        by = f"sqlpriv {self.declared.get('sqlpriv') or 'of another version'}"
        written = f"{self.name} was written by {by}, in format {self.declared.get('format', 'unknown')}"
        if self.format < FORMAT:
            raise ReleaseError(
                f"{written}, which this version, {__version__}, does not read; publish it again from its table, with "
                "the same key"
            )
        raise ReleaseError(f"{written}; this version, {__version__}, reads format {FORMAT}: upgrade it")

    def method_among(self, methods: Mapping[str, M]) -> M:
        """The method that made the release."""
        name = self.about.get("method", "")
        if name not in methods:
            raise ReleaseError(f"{self.name} is a release by {name!r}, which this version does not know; upgrade it")
        return methods[name]

    @cached_property
    def policy(self) -> Any:
        """The public part of the policy; None where it cannot be read."""
        try:
            return json.loads(self.about["policy"])
        except (KeyError, ValueError, RecursionError):
            return None

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The numbers by name."""
        return {row["name"]: row["value"] for row in self.rows("parameters")}

    @cached_property
    def reasons(self) -> dict[str, str]:
        """The reasons that the owner gives, by what they are for."""
        return {str(row["name"]): str(row["text"]) for row in self.rows("reasons")}

    @cached_property
    def attributes(self) -> list[dict[str, Any]]:
        """The published columns, in their order."""
        return sorted(self.rows("attributes"), key=lambda c: int(c["position"]))

    def names_with_role(self, role: str) -> list[str]:
        """The published columns of a role, in their order."""
        return [str(c["name"]) for c in self.attributes if c["role"] == role]

    @cached_property
    def requirements(self) -> list[dict[str, Any]]:
        """The requirements; none where the method requires nothing of classes."""
        return self.rows("requirements") if (SCHEMA, "requirements") in self.tables else []

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
    rows, number = rows_of(file.checked)
    return int(fetch(file.con, f"SELECT {number} FROM {rows}{condition}")[0][0])


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
    except NO_SENSE:
        raise ReleaseError(f"{path.name} is no release, or was changed: it does not say what a release says") from None


def required_texts(requirements: Sequence[Requirement]) -> list[str]:
    """Requirements as a release declares them: of a file that one names, only the name."""
    public = (
        make_requirement(r.name, r.sensitive, {k: public_argument(v) for k, v in r.arguments.items()}, r.threshold)
        for r in requirements
    )
    return [r.text for r in public]


def declared_requirement(row: Mapping[str, Any]) -> Requirement | None:
    """A requirement as a row of the file declares it; None where this version does not know how to judge it."""
    try:
        arguments = json.loads(row["arguments"])
        if json.dumps(arguments) != row["arguments"]:
            return None
        return make_requirement(row["measure"], row["sensitive"], arguments, float(row["threshold"]))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None
