"""Open a release and ask it ordinary SQL: every query is rewritten into an estimator, or refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from weakref import finalize

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import interruptible, make_spill_folder
from sqlpriv.core.errors import InputError, InternalError, ReleaseError, SqlprivError
from sqlpriv.core.errors import refusal as our_refusal
from sqlpriv.core.folders import remove_folder
from sqlpriv.release.describe import Description
from sqlpriv.release.file import WRITTEN, ReleaseFile, attach_release, readable
from sqlpriv.release.read import MEMORY, attach_public
from sqlpriv.rewrite.bind.parameters import Values, as_constants
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Release


@dataclass(frozen=True)
class Explained:
    """What a query becomes: the SQL that runs, and how the sums over the domain are computed, at which cost."""

    sql: str
    plan: str
    cost: float
    """Rows of domain tables and their joins that the sums read, about."""

    def __str__(self) -> str:
        return f"{self.sql}\n\n-- sums over the domain, about {self.cost:,.0f} rows\n" + "\n".join(
            f"-- {line}" for line in self.plan.splitlines()
        )


class OpenRelease:
    """A release that answers queries about the private table, written as if it were there."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        release: Release,
        budget: float,
        spill: str | None = None,
        method: str = "",
        guarantee: Callable[[], str] = str,
    ) -> None:
        self.con = con
        """The connection that its queries run in."""
        self.table = release.table
        """The name of the private table."""
        self.about = Description(con, release, method, guarantee)
        """What an analyst should know of it, in words."""
        # Also where nobody closes it, the folder for what does not fit into memory goes.
        self._forget = None if spill is None else finalize(self, remove_folder, spill)
        self._release = release
        self._budget = budget
        # Dashboards ask the same questions again and again.
        self._rewritten = lru_cache(maxsize=256)(partial(rewrite, release=release))

    def __repr__(self) -> str:
        """What it is, with its columns and what it guarantees."""
        return str(self.about)

    @property
    def tables(self) -> dict[str, dict[str, str]]:
        """The private table and the public ones, with the names and types of their columns."""
        own = {a.name: a.type for a in self._release.attributes}
        return {self.table: own, **{t.name: dict(t.columns) for t in self._release.public.values()}}

    @checked
    def sql(
        self,
        query: str,
        confidence: float = 0.95,
        intervals: bool = True,
        nonnegative: bool = False,
        parameters: Values = None,
        domain_extremes: bool = False,
    ) -> duckdb.DuckDBPyRelation:
        """The estimated answer, as a DuckDB relation; each estimate x is followed by x_low and x_high.

        These are an interval at `confidence` where the release holds noise, and hard bounds where it holds none.

        A count that is estimated below 0 stays there unless `nonnegative`: clamping would bias what is summed up.
        `parameters` are the values of `?` and `$1` in order, or those of `$name` by name. With `domain_extremes`, a
        query for min and max alone is answered from the public domain.
        """
        answer = self._answer(query, confidence, intervals, nonnegative, parameters, domain_extremes)
        return self.con.from_arrow(run_rewritten(self.con, answer.sql))

    def fetch(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names and the rows of what `sql` answers, where many are asked: they do not become a relation first."""
        answer = self.answer(query, Options())
        with _translated():
            found = self.con.execute(answer.sql)
            return [str(column[0]) for column in found.description or ()], found.fetchall()

    @checked
    def explain(
        self,
        query: str,
        confidence: float = 0.95,
        intervals: bool = True,
        nonnegative: bool = False,
        parameters: Values = None,
        domain_extremes: bool = False,
    ) -> Explained:
        """The SQL that would run, and what it costs. Nothing of it runs; public tables may be asked what is unique."""
        answer = self._answer(query, confidence, intervals, nonnegative, parameters, domain_extremes)
        return Explained(answer.sql, "\n".join(answer.plans), answer.cost)

    @checked
    def warnings(
        self,
        query: str,
        confidence: float = 0.95,
        intervals: bool = True,
        nonnegative: bool = False,
        parameters: Values = None,
        domain_extremes: bool = False,
    ) -> tuple[str, ...]:
        """What to know besides the answer: values that a query asks for, and the domain of a column has not.

        Asked like the answer, nothing is rewritten again.
        """
        return self._answer(query, confidence, intervals, nonnegative, parameters, domain_extremes).warnings

    def never_below_zero(self, query: str, *options: Any) -> frozenset[str]:
        """The columns of the answer that are counts, or sums of what is never below 0; `options` as for `warnings`."""
        return frozenset(c.name for c in self._answer(query, *options).columns if c.never_below_zero)

    def _answer(
        self,
        query: str,
        confidence: float,
        intervals: bool,
        nonnegative: bool,
        parameters: Values,
        domain_extremes: bool,
    ) -> Answer:
        options = Options(confidence, intervals, nonnegative, domain_extremes=domain_extremes)
        return self.answer(query, options, parameters)

    def answer(self, query: str, options: Options, parameters: Values = None) -> Answer:
        """The rewritten query, its columns and its warnings; nothing of it runs."""
        options = replace(options, budget=self._budget, now=time_of_asking(query))
        return self._rewritten(query, options=options, parameters=as_constants(parameters))

    def close(self) -> None:
        """Give the release file back."""
        self.con.close()
        if self._forget is not None:
            self._forget()

    def __enter__(self) -> OpenRelease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Opens(Protocol):
    """What opening a release needs to know of a method."""

    @property
    def name(self) -> str:
        """What policies call it."""

    def guarantee(self, file: ReleaseFile) -> str:
        """What one of its releases guarantees, in a few sentences."""

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries."""


def open_files(
    methods: Mapping[str, Opens],
    paths: Sequence[Path],
    public: Mapping[str, Any],
    budget: float,
    catalog: str = WRITTEN,
    aside: str = MEMORY,
    settings: Mapping[str, str] | None = None,
) -> OpenRelease:
    """Open a release file for queries; several views of one sequence answer together.

    Rewritten queries know it as `catalog`, and the public tables that are given as tables of the database `aside`.
    `settings` are DuckDB's, memory_limit say; once it is open they are locked.
    """
    spill = make_spill_folder()
    con = duckdb.connect(config={**(settings or {}), "temp_directory": spill})
    try:
        names = [f"release_{i}" if i else catalog for i in range(len(paths))]
        files = [attach_release(con, path, name) for name, path in zip(names, paths, strict=True)]
        method = files[0].method_among(methods)
        with readable(paths[0]):
            release = method.open(files)
        release = replace(release, public={**release.public, **attach_public(con, public, release, aside)})
        con.execute("SET python_enable_replacements = false; SET enable_external_access = false").fetchall()
        con.execute("SET lock_configuration = true").fetchall()
    except BaseException:
        con.close()
        remove_folder(spill)
        raise
    return OpenRelease(con, release, budget, spill, method.name, partial(_guarantee, method, files[0], paths[0]))


def _guarantee(method: Opens, file: ReleaseFile, path: Path) -> str:
    try:
        with readable(path):
            return method.guarantee(file)
    except ReleaseError:
        return "its file does not say what it guarantees"


def run_rewritten(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The rows, as an Arrow table: a relation made of the SQL itself would run again at every look at it.

    By execute(), although DuckDB 2.0 warns that Arrow then copies the rows: a relation is planned twice, and planning
    takes longer than copying.
    """
    with warnings.catch_warnings(), _translated():
        warnings.simplefilter("ignore")
        return con.execute(sql).to_arrow_table()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        with interruptible():
            yield
    except duckdb.Error as error:
        raise translated(error) from None


def translated(error: duckdb.Error) -> SqlprivError:
    """One sentence, without what DuckDB quotes: types and functions are named in it, values are not."""
    if ours := our_refusal(error):
        return InputError(ours)
    if "More than one row returned by a subquery" in str(error):
        return InputError("a scalar subquery has several rows: aggregate it without GROUP BY, or filter it to one row")
    if isinstance(error, duckdb.ParserException):
        return InputError("DuckDB cannot read an expression of the query: put parentheses around its parts")
    if isinstance(error, duckdb.CatalogException):
        return InputError("DuckDB does not know a type or a function of the query; check how it is spelt")
    if isinstance(error, duckdb.BinderException):
        return InputError("DuckDB cannot bind the query: check that the types fit the functions and operators it uses")
    if isinstance(error, (duckdb.ConversionException, duckdb.OutOfRangeException)):
        return InputError("a value of a column or a domain does not fit a cast or an operation; use TRY_CAST")
    if isinstance(error, (duckdb.InvalidInputException, duckdb.SyntaxException)):
        return InputError("a function or operator of the query refuses a value of a column or a domain, as x // 0 does")
    if isinstance(error, duckdb.OutOfMemoryException):
        return InputError("DuckDB ran out of memory; ask for fewer groups")
    return InternalError(f"DuckDB could not run the rewritten query ({type(error).__name__})")
