"""Questions: each goes through the rewriter over an open release, and runs by a cursor of its own, or is refused."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from sqlpriv.doors.server import encode
from sqlpriv.doors.server.frames import Field
from sqlpriv.errors import InputError, SqlprivError, UnsupportedSQLError
from sqlpriv.methods import METHODS
from sqlpriv.release.functions import functions_of_duckdb
from sqlpriv.release.open import OpenRelease, open_files, translated
from sqlpriv.rewrite.clauses import BUDGET
from sqlpriv.sqltext import folded, quoted

BATCH = 20_000
_LOOK_SECONDS = 0.05
_MOST_PLANNED = 8
_LONGEST_REWRITTEN = 1_000_000
"""Planning is not stopped by a time limit, and takes seconds for this much SQL and minutes for twice as much."""
_Planned: TypeAlias = tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]
_MEMORY = re.compile(r"\d+(\.\d+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


class Served:
    """The releases that are served, each a table."""

    def __init__(self, releases: Sequence[OpenRelease], domain_extremes: bool = False) -> None:
        self.domain_extremes = domain_extremes
        self._releases = [(release, Lock()) for release in releases]
        self.tables: dict[str, dict[str, str]] = {}
        of: dict[str, OpenRelease] = {}
        for release in releases:
            for name, columns in release.tables.items():
                other = of.setdefault(folded(name), release)
                if other is release:
                    self.tables[name] = columns
                elif not _have_the_same(name, release, other):
                    raise InputError(
                        f"two releases have a table {name!r}, and nobody could tell which is asked; serve them on two "
                        "ports"
                    )
        self.names = frozenset(map(folded, self.tables))
        called = {folded(column) for columns in self.tables.values() for column in columns}
        self.known = self.names | called | functions_of_duckdb(releases[0].con)

    def release_of(self, named: frozenset[str]) -> tuple[OpenRelease, Lock]:
        """The release that a question is about."""
        own = [found for found in self._releases if folded(found[0].table) in named]
        if len(own) > 1:
            tables = " and ".join(repr(release.table) for release, _ in own)
            raise InputError(f"the query reads {tables}, of two releases; ask them one by one")
        if own:
            return own[0]
        beside = [found for found in self._releases if named & {folded(n) for n in found[0].tables}]
        return (beside or self._releases)[0]

    def close(self) -> None:
        """Give the files back."""
        for release, _ in self._releases:
            release.close()


def _have_the_same(name: str, one: OpenRelease, other: OpenRelease) -> bool:
    """Whether a name is that of the same public table in two releases: by its columns and its rows."""
    found = []
    for release in (one, other):
        columns = {folded(n): c for n, c in release.tables.items()}[folded(name)]
        if folded(name) == folded(release.table):
            return False
        rows = release.sql(f"SELECT * FROM {quoted(name)}")
        summed = rows.query("read", "SELECT count(*), sum(CAST(hash(read) AS HUGEINT)) FROM read")
        found.append((columns, summed and summed.fetchall()))
    return found[0] == found[1]


def open_served(
    paths: Sequence[Path], public: Mapping[str, Any], memory: str, threads: int | None, domain_extremes: bool = False
) -> Served:
    """Open releases for serving; the memory is shared out among them."""
    if not _MEMORY.fullmatch(memory):
        raise InputError(f"{memory!r} is no amount of memory; write it like 2GB")
    # What we say ourselves about copies of rows is decided in open_files; here rows are streamed.
    warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
    number, unit = re.fullmatch(r"([\d.]+)\s*(\w+)", memory).groups()  # type: ignore[union-attr]
    settings = {"memory_limit": f"{float(number) / len(paths):.3f}{unit}"}
    if threads is not None:
        settings["threads"] = str(threads)
    opened: list[OpenRelease] = []
    try:
        for path in paths:
            opened.append(open_files(METHODS, [path], public, BUDGET, settings=settings))
        return Served(opened, domain_extremes)
    except BaseException:
        for release in opened:
            release.close()
        raise


@dataclass
class Rows:
    """The rows of an answer, as they come."""

    fields: tuple[Field, ...]
    batches: Iterator[pa.RecordBatch]
    warnings: tuple[str, ...]
    cursor: duckdb.DuckDBPyConnection
    is_read: bool = False
    """Whether all of them have come; then the cursor is not theirs any more."""

    def close(self) -> None:
        """No more is wanted."""
        if not self.is_read:
            self.cursor.close()


class Asker:
    """Asks for one connection. `interrupt` may come from another thread, and may come too early: it is repeated."""

    def __init__(self, served: Served, intervals: bool) -> None:
        self._served = served
        self._intervals = intervals
        self._running: duckdb.DuckDBPyConnection | None = None
        self._stopped = False
        # Dashboards ask the same again and again, and planning takes longer than running.
        self._planned: OrderedDict[tuple[OpenRelease, str], _Planned] = OrderedDict()

    def ask(self, sql: str, named: frozenset[str], values: Sequence[Any]) -> Rows:
        """The answer to a question; its first rows are computed when this returns."""
        release, explained, told = self._rewritten(sql, named, values)
        # Who reads from a plan has it alone: it is back when all has been read.
        cursor, relation = self._planned.pop((release, explained), None) or (release.con.cursor(), None)
        self._running = cursor
        try:
            relation = cursor.sql(explained) if relation is None else relation
            reader = relation.to_arrow_reader(BATCH)
        except (duckdb.Error, OSError) as error:
            cursor.close()
            raise _ours(error) from None
        fields = tuple(encode.field(f.name, f.type) for f in reader.schema)
        rows = Rows(fields, iter(()), told, cursor)
        rows.batches = self._batches(reader, rows, lambda: self._keep((release, explained), (cursor, relation)))
        return rows

    def close(self) -> None:
        """Give back what is kept."""
        for cursor, _ in self._planned.values():
            cursor.close()

    def _keep(self, of: tuple[OpenRelease, str], planned: _Planned) -> None:
        if of in self._planned or len(self._planned) >= _MOST_PLANNED:
            (self._planned.pop(of, None) or self._planned.popitem(last=False)[1])[0].close()
        self._planned[of] = planned

    def fields(self, sql: str, named: frozenset[str], values: Sequence[Any]) -> tuple[Field, ...]:
        """The columns of the answer to a question, of which nothing is computed."""
        release, explained, _ = self._rewritten(sql, named, values)
        empty = explained if explained.startswith("DESCRIBE") else f"SELECT * FROM ({explained}) LIMIT 0"
        cursor = release.con.cursor()
        self._running = cursor
        try:
            schema = cursor.sql(empty).to_arrow_reader(1).schema
        except (duckdb.Error, OSError) as error:
            raise _ours(error) from None
        finally:
            self._running = None
            cursor.close()
        return tuple(encode.field(f.name, f.type) for f in schema)

    def _rewritten(
        self, sql: str, named: frozenset[str], values: Sequence[Any]
    ) -> tuple[OpenRelease, str, tuple[str, ...]]:
        """The release of a question, the SQL that answers it, and what to know beside it.

        The rewriter asks the release's own connection what is unique in public tables: one question at a time.
        """
        release, lock = self._served.release_of(named)
        extremes = self._served.domain_extremes
        how: dict[str, Any] = {"intervals": self._intervals, "parameters": [*values], "domain_extremes": extremes}
        while not lock.acquire(timeout=_LOOK_SECONDS):
            self._refuse_stopped()
        try:
            self._running = release.con
            while True:
                try:
                    explained = release.explain(sql, **how)
                    told = release.warnings(sql, **how)
                    _refuse_long(explained.sql)
                    return release, explained.sql, told
                except duckdb.InterruptException:
                    self._refuse_stopped()  # else it was meant for the one who had the connection before
        finally:
            self._running = None
            lock.release()

    def begin(self) -> None:
        """What comes next has not been interrupted."""
        self._stopped = False

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise StoppedError

    def interrupt(self) -> None:
        """Stop what runs, if anything does."""
        self._stopped = True
        cursor = self._running
        if cursor is not None:
            try:
                cursor.interrupt()
            except duckdb.Error:  # closed meanwhile
                return

    def _batches(self, reader: pa.RecordBatchReader, rows: Rows, keep: Callable[[], None]) -> Iterator[pa.RecordBatch]:
        while True:
            self._running = rows.cursor
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                rows.is_read = True
                keep()
                return
            except (duckdb.Error, OSError, pa.ArrowException) as error:
                rows.close()
                raise _ours(error) from None
            finally:
                self._running = None
            yield batch


def _refuse_long(sql: str) -> None:
    if len(sql) > _LONGEST_REWRITTEN:
        raise UnsupportedSQLError("the query takes too much SQL to be estimated; ask for fewer columns at a time")


_KINDS: dict[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "Conversion Error": duckdb.ConversionException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Binder Error": duckdb.BinderException,
}


class StoppedError(SqlprivError):
    """What runs was stopped."""


def _ours(error: Exception) -> SqlprivError:
    """The error as one of ours; while rows are streamed, Arrow passes on DuckDB's text alone."""
    if not isinstance(error, duckdb.Error):
        kind = _KINDS.get(str(error).partition(":")[0], duckdb.Error)
        error = kind(str(error))
    if isinstance(error, duckdb.InterruptException):
        return StoppedError("it was stopped")
    return translated(error)
