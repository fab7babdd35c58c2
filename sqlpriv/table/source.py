"""Where a table is, and how it is opened: files, a table or view of a database, or a data frame; for reading only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import duckdb

from sqlpriv.core.engine import attach, fetch, open_memory, run, translate, work_on_disk
from sqlpriv.core.errors import InputError, InternalError, SqlprivError, did_you_mean
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import counted_table, folded, quoted, table_parts
from sqlpriv.macros.calls import Calls
from sqlpriv.table.counted import REPEATED, counted_by
from sqlpriv.table.duplicates import refuse_duplicates
from sqlpriv.table.engines import engine_table, rows_of
from sqlpriv.table.engines.rows import COUNT, Rows, WholeRows, each_copy
from sqlpriv.table.files import DataFiles, Reading, find_files, read_files, table_name
from sqlpriv.table.fingerprint import Sketch
from sqlpriv.table.folded import FoldedTable
from sqlpriv.table.imported import is_imported, read_imported

ATTACHED = "checked"
"""The name under which a database is attached."""
FILE_VIEW = "__data"
_MANY = 500_000
"""From so many rows of a relation on, tables are kept on disk: its connection holds rows in memory, too."""
_COUNTED = "__counted"
"""The combinations of a relation of a program, from which the view is made."""


@dataclass(frozen=True)
class TableReference:
    """The section [table] of a policy: files, or a table of a database. Paths start at the folder of the policy."""

    folder: Path
    source: str
    database: str | None
    read_options: Mapping[str, Any]
    held: Any = field(default=None, repr=False, compare=False)
    """Rows of a program in the place of the file: a data frame, an Arrow table, a DuckDB relation."""
    given_name: str | None = None
    """What the owner calls the table; `own_name` if nothing."""
    engine: str | None = None
    """What reads the source, where it is not DuckDB."""
    connection: str | None = None
    """Where the engine is, as in env:NAME."""

    @cached_property
    def name(self) -> str:
        """What queries call the table, also in its releases."""
        return self.given_name or self.own_name

    @cached_property
    def own_name(self) -> str:
        """The name of the table where it is, whatever queries call it: by this one it is known again."""
        if self.database or (self.engine and "/" not in self.source and not self.file.exists()):
            return table_parts(self.source)[-1].replace('""', '"')
        return table_name(self.source, self.folder)

    @cached_property
    def file(self) -> Path:
        """The file that holds the private data; of several, their folder or their pattern."""
        return self.path(self.database if self.database is not None else self.source)

    @property
    def is_in_database(self) -> bool:
        """Whether the rows come from a database, which may hold other tables."""
        return self.database is not None and self.held is None

    @property
    def is_in_file(self) -> bool:
        """Whether the rows come from a file."""
        return self.database is None and self.held is None and self.engine is None

    @property
    def kept(self) -> Any:
        """The rows where another engine or a program keeps them; None, if they come from a file or a database."""
        if self.held is not None:
            return self.held
        return engine_table(self.engine, self.source, self.folder, self.name, self.connection)

    def path(self, name: str) -> Path:
        """A file named in the policy, relative to its folder."""
        return self.folder / name

    def is_file(self, name: str) -> bool:
        """Whether there is such a file; what no file can be called is none."""
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False

    def files(self) -> DataFiles:
        """The files that hold the rows, as they are now; the database, where they come from one."""
        if self.database is not None:
            return DataFiles(self.file.name, (self.file,), is_one=True)
        return find_files(self.source, self.folder)

    def includes(self, file: Path) -> bool:
        """Whether a file is one of those that hold the table."""
        try:
            return self.files().includes(file)
        except InputError:  # there are none: a program holds the rows
            return False

    @cached_property
    def file_name(self) -> str:
        """The name of a file of rows, which says of what kind it is; empty where none is found."""
        try:
            return self.source if self.database is not None else self.files().paths[0].name
        except InputError:
            return Path(self.source).name

    def state(self) -> tuple[tuple[str, int, int], ...] | None:
        """Sizes and times of the files. A database is locked while it is open, so it cannot change."""
        if self.held is not None or self.database is not None:
            return None
        try:
            return self.files().state()
        except (OSError, InputError):
            return None


@dataclass(frozen=True)
class Source:
    """An open table: its connection, its name there, and its columns."""

    con: duckdb.DuckDBPyConnection
    calls: Calls
    table: str
    label: str
    columns: tuple[str, ...]
    beside: str | None = None
    """The schema in which other tables are looked up."""
    types: Mapping[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Columns of a file that are read as text, and what DuckDB takes them for."""
    given: TableReference | None = None
    """The table as a policy names it, where it was opened for one."""
    held_rows: int | None = None
    """The number of rows, where a program holds them."""
    counted: Relation | None = None
    """The combinations of the columns that are read, with COUNT, where they were counted elsewhere."""
    rows: Rows | None = field(default=None, repr=False, compare=False)
    """The engine that keeps the rows, if it is another than `con`."""
    reading: Reading | None = field(default=None, repr=False, compare=False)
    """How the files are read, where it is made of files."""
    condition: str = "true"
    """Which rows of the table they are, as SQL."""
    left_out: int = 0
    """How many rows without a person are not among them."""
    scope: Scratch | None = field(default=None, repr=False, compare=False)
    """Where temporary tables are made, if it is shared with others."""

    @cached_property
    def private(self) -> Relation:
        """The private rows themselves. table/frequencies.py lists who reads them."""
        return Relation(self.con, self.table)

    @property
    def checked(self) -> str:
        """The table as macros take it: by its name, or where each kind of row is there once, as a counted one."""
        return self.table if self.counted is None else counted_table(self.counted.name, COUNT)

    @property
    def repeated(self) -> tuple[Relation, str]:
        """The private rows, and more columns of t, as SQL: COUNT, where each kind of row is there once."""
        return (self.private, "") if self.counted is None else (self.counted, f", t.{COUNT} AS {COUNT}")

    @cached_property
    def scratch(self) -> Scratch:
        """Where temporary tables are made."""
        return self.scope or Scratch(self.con)

    @cached_property
    def sketches(self) -> dict[str, list[Sketch]]:
        """Sketches of private rows, by what is selected of them: named tables are compared with them."""
        return {}

    @cached_property
    def sketch_secret(self) -> str:
        """Their key, gone with the connection."""
        return token_hex(16)

    @cached_property
    def everything(self) -> WholeRows | FoldedTable:
        """The private rows with all their columns. Where another engine keeps them, some never leave it."""
        if self.rows is None:
            return WholeRows(self.con, self.table)
        if self.counted is not None and len(self.counted.columns) > len(self.rows.types):
            return WholeRows(self.con, self.counted.name, COUNT)
        return FoldedTable(self.con, self.rows, self.counted) if self.rows.folds else self.rows.everything(self.con)

    def sharing(self, name: str) -> int:
        """How many rows have a value of a column that another row has, too; the column may have stayed elsewhere."""
        if self.rows is not None:
            return self.rows.sharing(self.rows.spelt([name])[0])
        values = f"SELECT count(*) AS n FROM {self.table} WHERE {quoted(name)} IS NOT NULL GROUP BY {quoted(name)}"
        return int(fetch(self.con, f"SELECT coalesce(sum(n) FILTER (n > 1), 0) FROM ({values})")[0][0])

    @property
    def reference(self) -> TableReference:
        """The table as the policy names it."""
        if self.given is None:
            raise InternalError("this table was opened without a policy")
        return self.given

    def need(self, macro_name: str) -> str:
        """The macro's full name; it is created when first needed."""
        return self.calls.need(macro_name)

    def refuse_unknown(self, names: list[str]) -> None:
        """Refuse names that are no columns, all of them at once."""
        spelt = {folded(c) for c in self.columns}
        missing = [n for n in names if folded(n) not in spelt]
        if missing:
            raise InputError(
                f"{self.label} has no column {', '.join(repr(m) for m in missing)}; it has {', '.join(self.columns)}"
                + did_you_mean(missing[0], self.columns)
            )


@contextmanager
def open_source(
    data: Any,
    database: Path | None = None,
    options: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    folder: Path = Path(),
    copies: str | None = None,
) -> Iterator[Source]:
    """Open DATA: files by their path, folder or pattern, or with a database a table or view by its name.

    `options` are read_csv's, and `folder` is where the path starts.

    Also what a program holds: a data frame of pandas or polars, an Arrow table, a DuckDB relation. Of a relation only
    combinations of `columns` are read here, those that its table has; of all columns, if none are given.

    `copies` is a column that says how many rows each row stands for, and no column of theirs.
    """
    number, counted, rows, reading = None, None, None, None
    with ExitStack() as stack, open_memory() as con:
        # DuckDB counts its progress only when it may print it, and prints it where our own output goes.
        con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false").fetchall()
        if isinstance(data, Path):
            data = str(data)
        columns = columns if columns is None or copies is None else [*columns, copies]
        if not isinstance(data, str):
            if database is not None or options:
                raise InputError("this table comes from no database and from no file: leave database and options out")
            table, label = FILE_VIEW, "the data"
            rows = _kept(stack, data)
            if rows is not None:
                counted, label = _counted(con, data, rows, columns), rows.label
                number = int(fetch(con, f"SELECT coalesce(sum({COUNT}), 0) FROM {counted.name}")[0][0])
            else:
                number = _held(con, data)
        else:
            table, label = FILE_VIEW, data
            if database is not None:
                table = _attach(con, data, database)
            elif is_imported((files := find_files(data, folder)).paths[0]) and files.is_one:
                label = files.label
                con.register(FILE_VIEW, read_imported(files.paths[0], options or {}))
            else:
                reading = read_files(con, files, options or {}, FILE_VIEW)
                label = files.label
        described = f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})"
        found = dict(fetch(con, described)) if rows is None else rows.types
        if reading is not None:
            refuse_duplicates(con, reading, found)
        if copies is not None:
            counted, table = counted_by(con, table, label, tuple(found), copies), REPEATED
            found, number = {c: found[c] for c in counted.columns if c != COUNT}, None
        yield Source(
            con,
            Calls(con),
            table,
            label,
            tuple(found),
            _schema(data) if database else None,
            found,
            held_rows=number,
            counted=counted,
            rows=rows,
            reading=reading,
            scope=Scratch(con),
        )


def _kept(stack: ExitStack, data: Any) -> Rows | None:
    """The rows of what a program holds, while they are read; None where no other engine keeps them."""
    try:
        rows = rows_of(data)
    except SqlprivError:
        raise
    except Exception as error:
        raise _unreadable(data, error) from None
    if rows is not None:
        stack.callback(rows.close)
    return rows


def _counted(con: duckdb.DuckDBPyConnection, data: Any, rows: Rows, columns: Sequence[str] | None) -> Relation:
    """Count the combinations of some columns where they are; the view has each as often as it is there."""
    names = list(rows.types) if columns is None else rows.spelt(columns)
    try:
        if rows.count() > _MANY:
            work_on_disk(con)
        counted = rows.histogram(con, names, _COUNTED)
    except SqlprivError:
        raise
    except Exception as error:
        raise _unreadable(data, error) from None
    listed = ", ".join(map(quoted, names)) or "NULL AS __none"
    fetch(con, f"CREATE VIEW {FILE_VIEW} AS SELECT {listed} FROM {each_copy(counted)}")
    return counted


def _unreadable(data: Any, error: Exception) -> InputError:
    """What a stream, a lazy frame or a relation ran into is not repeated: its words may hold cells."""
    return InputError(
        f"the {type(data).__name__} cannot be read ({type(error).__name__}); "
        "read it into a data frame or an Arrow table first"
    )


def _held(con: duckdb.DuckDBPyConnection, data: Any) -> int | None:
    """Register the rows of a program as the view; the number of rows, if it is known.

    They are read several times, so a stream is read into memory.
    """
    try:
        whole = _whole(data)
    except Exception as error:
        raise _unreadable(data, error) from None
    try:
        con.register(FILE_VIEW, whole)
    except (duckdb.Error, TypeError, RuntimeError):
        raise InputError(
            f"a {type(data).__name__} is no table; give a file, a data frame, an Arrow table or a DuckDB relation"
        ) from None
    return len(whole) if hasattr(type(whole), "__len__") and not isinstance(whole, Mapping) else None


def _whole(data: Any) -> Any:
    """WholeRows that can be read repeatedly. A column may be named like a method, so the class is inspected."""
    for reads in ("read_all", "collect"):  # an Arrow stream, a lazy frame of polars
        if hasattr(type(data), reads):
            data = getattr(data, reads)()
    return data


def _attach(con: duckdb.DuckDBPyConnection, data: str, database: Path) -> str:
    if not database.is_file():
        raise InputError(f"there is no database file {str(database)!r}; check the path")
    attach(con, database, ATTACHED)
    table = ".".join(f'"{part}"' for part in [ATTACHED, *table_parts(data)])
    try:
        run(con, f"DESCRIBE FROM {table}")
    except duckdb.CatalogException as error:
        if "does not exist" not in str(error):
            raise translate(error) from None
        raise InputError(f"{database.name} has no table {data!r}; it has {_tables(con)}") from None
    except duckdb.Error as error:
        raise translate(error) from None
    return table


def _tables(con: duckdb.DuckDBPyConnection) -> str:
    """The tables and views of the attached database, as they are named here."""
    found = fetch(
        con,
        "SELECT CASE WHEN table_schema = 'main' THEN '' ELSE table_schema || '.' END || table_name "
        f"FROM information_schema.tables WHERE table_catalog = '{ATTACHED}' ORDER BY 1 LIMIT 21",
    )
    names = [name for (name,) in found]
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "") if names else "none"


def _schema(data: str) -> str:
    """The schema of a table of the attached database; that of a name without one is DuckDB's own choice, main."""
    return ".".join(f'"{part}"' for part in [ATTACHED, *table_parts(data)[:-1]])
