"""A query over the private table, rewritten into one query over its release.

In this order: parse; resolve names and merge subqueries (scope); list the grouping sets; turn every expression over
aggregates into a form with an interval (outer); compute the sums that the forms need over the view and over the domain
(estimate). Whatever none of these knows is refused, and nothing runs. The query itself is never run.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import sqlglot
from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.answers import OverAnswers
from sqlpriv.rewrite.bind.below_answers import flattened
from sqlpriv.rewrite.bind.refusals import STATEMENTS, refuse, refuse_node
from sqlpriv.rewrite.bind.relations import Answer, Rows
from sqlpriv.rewrite.bind.scalar_select import with_answers_in_from
from sqlpriv.rewrite.bind.scope import Ctes, Scope, with_ctes
from sqlpriv.rewrite.bind.spelling import spell_alike
from sqlpriv.rewrite.clauses import ROWS, Options
from sqlpriv.rewrite.domain.sums import TooWideError
from sqlpriv.rewrite.grouped import Grouped
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import SELECT_ARGS, aggregated

_INTERVALS = "That is for its intervals"
_TOO_DEEP = "the query is nested too deeply; write it flatter, as with IN (...) for many x = 1 OR x = 2"
# Before sqlglot reads it: of statements that it does not know it would print a warning.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]\w*)", re.DOTALL)


def rewrite(sql: str, release: Release, options: Options | None = None) -> Answer:
    """The query that estimates the answer of `sql` from the release."""
    asked = options or Options()
    for tried in (asked, replace(asked, apart=False)):
        try:
            return _rewritten(sql, release, tried)
        except TooWideError as error:
            refused = error
    raise TooWideError(f"{refused}{_for_intervals(sql, release, asked, str(refused))}") from None


def _for_intervals(sql: str, release: Release, options: Options, message: str) -> str:
    """What to add to a refusal, if only the intervals cost so much."""
    if not options.intervals or _INTERVALS in message:
        return ""
    try:
        _rewritten(sql, release, replace(options, intervals=False))
    except TooWideError:
        return ""
    return f". {_INTERVALS}: its estimates alone can be asked for"


def _rewritten(sql: str, release: Release, options: Options) -> Answer:
    statement = _parsed(sql)
    try:
        rewriting = _Rewriting(sql, release, options)
        answer = rewriting.read(statement, {})
    except RecursionError:
        raise UnsupportedSQLError(_TOO_DEEP) from None
    if isinstance(answer, Rows):
        if not answer.private:
            raise UnsupportedSQLError(
                f"the query does not read {release.table!r}; ask for counts, sums or averages of it"
            )
        refuse(sql, statement, "a SELECT of single rows", ROWS)
    return replace(answer, sql=rewriting.names.with_definitions(answer.sql))


def _parsed(sql: str) -> exp.Expr:
    first = _FIRST_WORD.match(sql)
    if first and first.group(1).upper() not in {"SELECT", "FROM", "WITH", "TABLE", "VALUES"}:
        where = exp.Var(this="statement")
        where.meta["start"] = first.start(1)
        refuse(sql, where, f"the statement {first.group(1).upper()}", STATEMENTS)
    _refuse_exclamation(sql)
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="duckdb") if s is not None]
    except sqlglot.errors.SqlglotError as error:
        found = getattr(error, "errors", None) or [{}]
        place = f" near line {found[0]['line']}, column {found[0]['col']}" if found[0].get("line") else ""
        raise UnsupportedSQLError(f"this is no SQL that can be read{place}; check it against DuckDB's SELECT") from None
    except IndexError:  # by sqlglot, of some functions with too few arguments
        raise UnsupportedSQLError("a function of the query has too few arguments; check it against DuckDB's") from None
    except RecursionError:
        raise UnsupportedSQLError(_TOO_DEEP) from None
    if len(statements) != 1:
        raise UnsupportedSQLError("one query at a time: write a single SELECT" if statements else "the query is empty")
    if not isinstance(statements[0], exp.Query):
        refuse(sql, statements[0], f"the statement {statements[0].key.upper()}", STATEMENTS)
    spell_alike(statements[0])
    return statements[0]


def _refuse_exclamation(sql: str) -> None:
    """sqlglot reads !x as NOT x, which DuckDB does not; in the tree they are the same."""
    try:
        tokens = sqlglot.tokenize(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return  # the parser says why
    for token in tokens:
        if token.token_type.name == "NOT" and token.text == "!":
            where = exp.Var(this="!")
            where.meta["start"] = token.start
            refuse(sql, where, "the operator !", "DuckDB does not know it; write NOT")


class _Rewriting(Grouped, OverAnswers):
    """Reads a query from the outside in."""

    def read(self, node: exp.Expr, ctes: Ctes) -> Rows | Answer:
        """What a query stands for: rows, if it does not aggregate, or an answer."""
        if isinstance(node, exp.Subquery):
            self._only(node, {"this"})
            return self.read(node.this, ctes)
        seen = with_ctes(node, ctes, self.sql)
        self._check_unused(node, seen)
        if isinstance(node, exp.Union):
            return self._union(node, seen)
        if isinstance(node, exp.Select):
            return self._select(node, seen)
        refuse_node(self.sql, node)

    def _check_unused(self, node: exp.Expr, ctes: Ctes) -> None:
        """What nobody reads is not run, but it must be a query that could be."""
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            if not isinstance(cte.this, exp.Query):
                refuse(self.sql, cte, f"WITH ... AS ({cte.this.key.upper()})", "write a SELECT there")

    def _select(self, select: exp.Select, ctes: Ctes) -> Rows | Answer:
        self._only(select, SELECT_ARGS)
        reads_private = partial(self.names.reads_private, ctes=ctes)
        select = with_answers_in_from(select, ctes, reads_private, self.sql)
        rows, scope = self.names.read_from(select, ctes)
        if rows.over_answers and aggregated(select) and not rows.private:
            rows, scope.flat = flattened(self.sql, select, rows, scope)
        elif rows.over_answers:
            return self._over_answers(select, rows, scope)
        if not aggregated(select):
            return self._projected(select, rows, scope)
        if not rows.private:
            refuse(self.sql, select, "a query that does not read the private table", f"read {self.release.table!r}")
        return self._aggregate(select, rows, scope)

    def _projected(self, select: exp.Select, rows: Rows, scope: Scope) -> Rows:
        self._refuse_limit_of_rows(select)
        for item in list(select.expressions):
            rows.shown += self._shown(item, scope)
        if where := select.args.get("where"):
            rows.conditions.append(self.names.resolve(where.this, scope))
        return rows
