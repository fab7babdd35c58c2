"""DuckDB: the one way to open a database, to run SQL, and to say in one sentence what went wrong.

DuckDB's own text is never passed on, since it may hold cell values.
"""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb

from sqlpriv.core.errors import InputError, InternalError, SqlprivError, refusal
from sqlpriv.core.folders import PREFIX, make_folder, remove_folder
from sqlpriv.core.sqltext import is_utf8, literal

Row = tuple[Any, ...]
# Files written with this are read by DuckDB 1.x clients (command line, Node, WebAssembly) too.
STORAGE = "v1.0.0"

_OPENED = "__priv_opened"
_ON_DISK = "__priv_on_disk"
_SLOW_OPTIMIZERS = "join_order,join_filter_pushdown"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_DISK = re.compile(
    r'file "([^"\n]+)": (?:(No space left on device|Disk quota exceeded|File too large)'
    "|Read-only file system|Permission denied|Operation not permitted)"
)
# What DuckDB says, as a pattern, and what we say; the group is a name, never a value.
_TRANSLATIONS: tuple[tuple[str, str], ...] = (
    (r"REPLACE list not found in sqlpriv: ([^\n]+)", "{0}"),  # a table that sql/ has given this name, to be read
    (r'does not have a column named "([^"\n]+)"', "there is no column {0!r} in the table"),
    (r'Referenced column "([^"\n]+)" not found', "there is no column {0!r} in the table"),
    (r'Column "([^"\n]+)" in REPLACE list not found', "there is no column {0!r} in the table"),
    (r"Table with name ([^!\n]+?) does not exist", "there is no table {0!r}"),
    (r'infinite recursion detected: .*table macro "(\w+)"',
     "the table is a view made with priv.{0}, and this DuckDB does not run a macro inside itself; "
     "write the view with the SQL that `sqlpriv sql` prints, or make it a table"),
    (r'Duplicate struct entry name "([^"\n]+)"', "the column {0!r} is named twice"),
    (r"No files found that match the pattern", "there is no such file"),
    (r"Out of Memory Error", "DuckDB ran out of memory; raise memory_limit or give it a temp_directory"),
    (r"not utf-8 encoded|nvalid unicode",
     "the file is not UTF-8: write it as UTF-8, or name its encoding: --encoding latin-1 with the table, "
     "encoding = 'latin-1' in [table] of a policy"),
    (r"Error when sniffing|CSV Error", "the file cannot be read as CSV; convert it to Parquet or name its format"),
)  # fmt: skip


def translate(error: duckdb.Error) -> SqlprivError:
    """The error as one of ours."""
    text = str(error)
    if ours := refusal(error):
        return InputError(ours)
    if found := _DISK.search(text):
        return InputError(_trouble(Path(found[1]).parent, is_full=bool(found[2])))
    if "max_temp_directory_size" in text:
        return InputError(_trouble(Path(tempfile.gettempdir()) / PREFIX, is_full=True))
    for pattern, sentence in _TRANSLATIONS:
        match = re.search(pattern, text)
        if match:
            return InputError(sentence.format(*match.groups()))
    return InternalError(f"DuckDB could not run the check ({type(error).__name__})")


def disk_trouble(error: OSError) -> SqlprivError:
    """A file that cannot be written or read, as one of our errors."""
    if error.filename is None:
        why = "the disk is full; free some space" if error.errno in _FULL else "a file cannot be read or written"
        return InputError(why)
    path = Path(str(error.filename))
    if error.errno in _FULL | _CLOSED:
        return InputError(_trouble(path.parent, is_full=error.errno in _FULL))
    return InputError(f"cannot read or write {path.name!r} in the folder {_shown(path.parent)}")


def _trouble(folder: Path, *, is_full: bool) -> str:
    """Which disk or folder it is, and what to do about it."""
    if not is_full:
        return f"cannot write in the folder {_shown(folder)}: it is read-only, or not yours; choose another"
    spilt = folder.name.startswith(PREFIX)
    place = folder.parent if spilt else folder
    use = ", where what does not fit into memory is kept," if spilt else ""
    other = "set TMPDIR to a folder on another disk" if spilt else "choose a folder on another disk"
    return f"the disk of {_shown(place)}{use} is full{_left(place)}: free some space there, or {other}"


def _shown(folder: Path) -> str:
    return repr(str(folder.absolute()))


def _left(folder: Path) -> str:
    try:
        return f" ({shutil.disk_usage(folder).free / 1e6:,.1f} MB are left)"
    except OSError:
        return ""


def make_spill_folder() -> str:
    """A folder for what does not fit into memory (core/folders.py); who makes it removes it."""
    try:
        return make_folder()
    except OSError as error:
        if error.errno in _FULL:
            raise disk_trouble(error) from None
        raise InputError("there is no folder for temporary files; set TMPDIR to one that can be written") from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Such a folder while it is used, for files that never leave it."""
    folder = make_spill_folder()
    try:
        yield Path(folder)
    finally:
        remove_folder(folder)


@contextmanager
def open_memory(**config: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory, with a private folder for what does not fit."""
    with scratch_folder() as folder, duckdb.connect(config={"temp_directory": str(folder), **config}) as con:
        yield con


def work_on_disk(con: duckdb.DuckDBPyConnection) -> None:
    """Keep the tables of a database in memory in a file of its private folder from now on: there they are compressed,
    and what is held of them in memory is little. Memory that is free again is given back sooner. For many rows: a small
    table is made in a fraction of the time."""
    ((folder,),) = run(con, "SELECT current_setting('temp_directory')")
    run(con, f"ATTACH {literal(str(Path(folder) / 'tables.duckdb'))} AS {_ON_DISK}")
    run(con, f"USE {_ON_DISK}")
    run(con, "SET allocator_flush_threshold = '8MB'")


@contextmanager
def few_rows(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """For work on few rows in many steps: threads that wait for each other, and a search for the best order of joins,
    cost more than they bring. Joins are done in the order in which they are written."""
    ((threads, disabled),) = con.execute(
        "SELECT current_setting('threads'), current_setting('disabled_optimizers')"
    ).fetchall()
    con.execute(f"SET threads = 1; SET disabled_optimizers = {literal(_SLOW_OPTIMIZERS)}").fetchall()
    try:
        yield
    finally:
        con.execute(f"SET threads = {threads}; SET disabled_optimizers = {literal(disabled)}").fetchall()


@contextmanager
def interruptible() -> Iterator[None]:
    """What DuckDB makes of Ctrl-C, whatever it was doing, is an interrupt as any other, and no fault."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


class Fetched(Protocol):
    """What a statement found."""

    def fetchall(self) -> list[Row]:
        """All its rows."""


class Runs(Protocol):
    """What SQL is run on: a connection, or a relation of a program on its own connection (table/engines/duck.py)."""

    def execute(self, query: str, parameters: object = ..., /) -> Fetched:
        """Run one statement."""


def run(con: Runs, sql: str, parameters: list[object] | None = None) -> list[Row]:
    """The rows of a query; errors of DuckDB are left to the caller, who knows what the query was for."""
    _refuse_odd_text(sql)
    with interruptible():
        return con.execute(sql, parameters or []).fetchall()


def fetch(
    con: Runs,
    sql: str,
    parameters: list[object] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Row]:
    """The rows of a query; `on_progress` hears the share done, from 0 to 1, while a long one runs."""
    try:
        if on_progress is None:
            return run(con, sql, parameters)
        assert isinstance(con, duckdb.DuckDBPyConnection)
        return _watched(con, sql, parameters or [], on_progress)
    except duckdb.InterruptException:  # not an error of the query, so not to be translated
        raise
    except duckdb.Error as error:
        raise translate(error) from None


def _watched(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: list[object],
    on_progress: Callable[[float], None],
) -> list[Row]:
    from concurrent.futures import ThreadPoolExecutor, TimeoutError  # only where somebody watches

    _refuse_odd_text(sql)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: con.execute(sql, parameters).fetchall())
        while True:
            try:
                return running.result(timeout=0.1)
            except TimeoutError:
                on_progress(max(con.query_progress(), 0.0) / 100)
            except KeyboardInterrupt:
                con.interrupt()
                time.sleep(0.1)
                raise


@contextmanager
def open_database(
    path: Path, *, write: bool = False, error: type[SqlprivError] = InputError, doing: str = "open"
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database file, made if it is to be written and does not exist; or the error, with why."""
    _refuse_odd_path(path, error, doing)
    if not may_hold_a_database(path):
        raise error(f"cannot {doing} {path.name}: it is not a DuckDB database")
    if not write:
        with open_memory() as con:  # attached, since a program may have the file open for reading in its own way
            attach(con, path, _OPENED, error=error, doing=doing)
            fetch(con, f"USE {_OPENED}")
            yield con
        return
    with scratch_folder() as folder:
        try:
            con = duckdb.connect(
                str(path), config={"storage_compatibility_version": STORAGE, "temp_directory": str(folder)}
            )
        except duckdb.Error as cause:
            raise error(f"cannot {doing} {path.name}: {locked_by(cause)}") from None
        with con:
            yield con


def attach(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    *,
    write: bool = False,
    error: type[SqlprivError] = InputError,
    doing: str = "open",
) -> None:
    """Attach a database file under a name; or the error, with the reason."""
    _refuse_odd_path(path, error, doing)
    how = f"STORAGE_VERSION {literal(STORAGE)}" if write else "READ_ONLY"
    try:
        run(con, f"ATTACH {literal(str(path))} AS {name} ({how})")
    except duckdb.Error as cause:
        raise error(f"cannot {doing} {path.name}: {locked_by(cause)}") from None


@contextmanager
def attached(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    name: str,
    *,
    write: bool = False,
    error: type[SqlprivError] = InputError,
) -> Iterator[None]:
    """A database file that is attached meanwhile."""
    attach(con, path, name, write=write, error=error)
    try:
        yield
    finally:
        fetch(con, f"DETACH {name}")


def _refuse_odd_path(path: Path, error: type[SqlprivError], doing: str) -> None:
    if not is_utf8(str(path)):
        raise error(
            f"cannot {doing} {path.name!r}: its path is not UTF-8; rename the file, or the folder that it is in"
        )


def _refuse_odd_text(sql: str) -> None:
    if not is_utf8(sql):
        raise InputError("a name of a file, table or column is not UTF-8; rename it")


def may_hold_a_database(path: Path) -> bool:
    """DuckDB 2.0 opens a CSV or Parquet file too, in memory, where nothing would stay installed."""
    start = _start(path)  # of no file yet, or of one that DuckDB will complain about, there is none
    return not start or start[8:] == b"DUCK"


def is_database(path: Path) -> bool:
    """Whether a file is a DuckDB database, whatever it is called."""
    return _start(path)[8:] == b"DUCK"


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(12)
    except OSError:
        return b""


def locked_by(error: duckdb.Error) -> str:
    """What DuckDB says about a file it cannot open, in one sentence."""
    text = str(error)
    if "onflicting lock" in text or "being used by another process" in text:
        holder = text.partition("held in ")[2].partition(". ")[0].partition("\n")[0]
        return f"another process holds it{f' ({holder})' if holder else ''}; close it there first"
    if "different configuration" in text or "already attached" in text:
        return "this process has it open; use sqlpriv.load on that connection"
    if "not a valid DuckDB database" in text:
        return "it is not a DuckDB database"
    if "newer version" in text or "storage version" in text.lower():
        return "it was written by a newer DuckDB"
    return "it cannot be read or created here"
