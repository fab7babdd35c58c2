"""Queries: each goes through the rewriter over an open release and runs on a cursor of its own, or is refused."""

from __future__ import annotations

import contextlib
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from sqlpriv.apps.below_zero import BelowZero
from sqlpriv.apps.server import encode
from sqlpriv.apps.server.messages import Field
from sqlpriv.apps.supervisor import bytes_of
from sqlpriv.core.errors import InputError, SqlprivError, UnsupportedSQLError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods import METHODS
from sqlpriv.release.attach import functions_of_duckdb
from sqlpriv.release.open import OpenRelease, open_files, translated
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.clauses import BUDGET, Options

BATCH = 20_000
_POLL_SECONDS = 0.05
_MOST_PLANS = 8
_LONGEST_REWRITTEN = 1_000_000
"""Planning is not stopped by a time limit, and takes seconds for this much SQL and minutes for twice as much."""
_Plan: TypeAlias = tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]


class ServedReleases:
    """The releases that are served, each a table."""

    def __init__(self, releases: Sequence[OpenRelease], options: Options) -> None:
        self.options = options
        self._releases = [(release, Lock()) for release in releases]
        self.tables: dict[str, dict[str, str]] = {}
        owners: dict[str, OpenRelease] = {}
        for release in releases:
            for name, columns in release.tables.items():
                other = owners.setdefault(folded(name), release)
                if other is release:
                    self.tables[name] = columns
                elif not _is_same_public_table(name, release, other):
                    raise InputError(
                        f"two releases have a table {name!r}, and a query could mean either; serve them on two ports"
                    )
        self.comments = {name: comments for release in releases for name, comments in _comments(release).items()}
        self.names = frozenset(map(folded, self.tables))
        columns_known = {folded(column) for columns in self.tables.values() for column in columns}
        self.known = self.names | columns_known | functions_of_duckdb(releases[0].con)

    def release_of(self, named: frozenset[str]) -> tuple[OpenRelease, Lock]:
        """The release that a query is about: of its own table, or of a public table that it names; else the first."""
        own = [found for found in self._releases if folded(found[0].table) in named]
        if len(own) > 1:
            tables = " and ".join(repr(release.table) for release, _ in own)
            raise InputError(f"the query reads {tables}, of two releases; ask them one by one")
        if own:
            return own[0]
        with_public = [found for found in self._releases if named & {folded(n) for n in found[0].tables}]
        return (with_public or self._releases)[0]

    def close(self) -> None:
        """Give the files back."""
        for release, _ in self._releases:
            release.close()


def _comments(release: OpenRelease) -> dict[str, dict[str, str]]:
    """What tools show of tables, under "", and of columns: that numbers are estimates, and what may be in them."""
    about = release.about
    found = {name: {"": "a public table: its rows are exact"} for name in about.public}
    columns = {column.name: column.values for column in about.columns}
    return {**found, release.table: {"": f"{about.what}; {about.bounds}. {about.guarantee}", **columns}}


def _is_same_public_table(name: str, one: OpenRelease, other: OpenRelease) -> bool:
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


def open_releases(
    paths: Sequence[Path], public: Mapping[str, Any], memory: str, threads: int | None, options: Options | None = None
) -> ServedReleases:
    """Open releases for serving; the memory is shared out among them."""
    # DuckDB warns of copies of rows; here rows are streamed.
    warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
    settings = {"memory_limit": f"{bytes_of(memory) // len(paths)}B"}
    if threads is not None:
        settings["threads"] = str(threads)
    opened: list[OpenRelease] = []
    try:
        for path in paths:
            opened.append(open_files(METHODS, [path], public, BUDGET, settings=settings))
        return ServedReleases(opened, options or Options())
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
    below_zero: BelowZero = field(default_factory=lambda: BelowZero(()))
    """How many of them are estimates that cannot be true."""

    def close(self) -> None:
        """Give back the cursor."""
        if not self.is_read:
            self.cursor.close()


class QueryRunner:
    """Runs the queries of one connection. `interrupt` comes from another thread, too early at times: it is repeated."""

    def __init__(self, releases: ServedReleases, intervals: bool) -> None:
        self._releases = releases
        self._options = replace(releases.options, intervals=intervals, postgres=True)
        self._running: duckdb.DuckDBPyConnection | None = None
        self._stopped = self._is_rewriting = False
        # Dashboards send the same again and again, and planning takes longer than running.
        self._plans: OrderedDict[tuple[OpenRelease, str], _Plan] = OrderedDict()

    @property
    def is_running(self) -> bool:
        """Whether DuckDB runs a query now."""
        return self._running is not None and not self._is_rewriting

    def begin(self) -> None:
        """What comes next has not been interrupted."""
        self._stopped = False

    def run(self, sql: str, tables: frozenset[str], values: Sequence[Any]) -> Rows:
        """The answer to a query; its first rows are computed when this returns."""
        release, answer = self._rewrite(sql, tables, values)
        rewritten = answer.sql
        # A plan that is being read is used by nobody else: it comes back when all its rows are read.
        cursor, relation = self._plans.pop((release, rewritten), None) or (release.con.cursor(), None)
        self._running = cursor
        try:
            relation = cursor.sql(rewritten) if relation is None else relation
            reader = relation.to_arrow_reader(BATCH)
        except (duckdb.Error, OSError) as error:
            cursor.close()
            raise _translated(error) from None
        finally:
            self._running = None
        fields = tuple(encode.field(f.name, f.type) for f in reader.schema)
        positive = [column.name for column in answer.columns if column.never_below_zero]
        rows = Rows(fields, iter(()), answer.warnings, cursor, below_zero=BelowZero(positive))
        rows.batches = self._batches(reader, rows, lambda: self._keep((release, rewritten), (cursor, relation)))
        return rows

    def fields(self, sql: str, tables: frozenset[str], values: Sequence[Any]) -> tuple[Field, ...]:
        """The columns of the answer to a query, of which nothing is computed."""
        release, answer = self._rewrite(sql, tables, values)
        empty = answer.sql if answer.sql.startswith("DESCRIBE") else f"SELECT * FROM ({answer.sql}) LIMIT 0"
        cursor = release.con.cursor()
        self._running = cursor
        try:
            schema = cursor.sql(empty).to_arrow_reader(1).schema
        except (duckdb.Error, OSError) as error:
            raise _translated(error) from None
        finally:
            self._running = None
            cursor.close()
        return tuple(encode.field(f.name, f.type) for f in schema)

    def explain(self, sql: str, tables: frozenset[str]) -> Rows:
        """The SQL that a query becomes, and the plans of its sums, a line each."""
        release, answer = self._rewrite(sql, tables, ())
        plans = [f"-- {line}" for plan in answer.plans for line in plan.splitlines()]
        lines = pa.record_batch({"QUERY PLAN": pa.array([answer.sql, *plans], pa.string())})
        fields = tuple(encode.field(f.name, f.type) for f in lines.schema)
        return Rows(fields, iter([lines]), answer.warnings, release.con, is_read=True)

    def interrupt(self) -> None:
        """Stop what runs, if anything does."""
        self._stopped = True
        cursor = self._running
        if cursor is not None:
            with contextlib.suppress(duckdb.Error):  # closed meanwhile
                cursor.interrupt()

    def close(self) -> None:
        """Give back the plans."""
        for cursor, _ in self._plans.values():
            cursor.close()

    def _rewrite(self, sql: str, tables: frozenset[str], values: Sequence[Any]) -> tuple[OpenRelease, Answer]:
        """The release of a query, and what it becomes.

        The rewriter asks the release's own connection what is unique in public tables: one query at a time.
        """
        release, lock = self._releases.release_of(tables)
        while not lock.acquire(timeout=_POLL_SECONDS):
            self._refuse_stopped()
        try:
            self._running, self._is_rewriting = release.con, True
            while True:
                try:
                    answer = release.answer(sql, self._options, [*values])
                except duckdb.InterruptException:
                    self._refuse_stopped()  # else it was meant for the query that had the connection before
                else:
                    break
        finally:
            self._running, self._is_rewriting = None, False
            lock.release()
        if len(answer.sql) > _LONGEST_REWRITTEN:
            raise UnsupportedSQLError("the query takes too much SQL to be estimated; ask for fewer columns at a time")
        return release, answer

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise StoppedError

    def _keep(self, key: tuple[OpenRelease, str], plan: _Plan) -> None:
        if key in self._plans or len(self._plans) >= _MOST_PLANS:
            (self._plans.pop(key, None) or self._plans.popitem(last=False)[1])[0].close()
        self._plans[key] = plan

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
                raise _translated(error) from None
            finally:
                self._running = None
            rows.below_zero.look_at(batch)
            yield batch


_KINDS: dict[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "Conversion Error": duckdb.ConversionException,
    "Out of Range Error": duckdb.OutOfRangeException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Binder Error": duckdb.BinderException,
}


class StoppedError(SqlprivError):
    """A query was stopped."""


def _translated(error: Exception) -> SqlprivError:
    """The error as one of ours; while rows are streamed, Arrow passes on DuckDB's text alone."""
    if not isinstance(error, duckdb.Error):
        kind = _KINDS.get(str(error).partition(":")[0], duckdb.Error)
        error = kind(str(error))
    if isinstance(error, duckdb.InterruptException):
        return StoppedError("it was stopped")
    return translated(error)
