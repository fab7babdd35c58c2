"""A query over the private table, rewritten into one query over its release.

sqlpriv/rewrite/__init__.py describes the steps. Whatever no step knows is refused, and nothing runs. The query itself
is never run.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.answers import counted, counts_rows, over_answers, united_answers
from sqlpriv.rewrite.bind.below_answers import as_aggregate, flattened, is_of_keys, with_answers_in_from
from sqlpriv.rewrite.bind.catalog import tables_shown
from sqlpriv.rewrite.bind.chosen_groups import with_chosen
from sqlpriv.rewrite.bind.expressions import Expressions
from sqlpriv.rewrite.bind.joins import united_rows
from sqlpriv.rewrite.bind.labels import refuse_values_of_labels
from sqlpriv.rewrite.bind.names import Ctes, Names, Scope, with_ctes
from sqlpriv.rewrite.bind.parameters import Bound
from sqlpriv.rewrite.bind.parse import TOO_DEEP, parsed
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node, refuse_other_parts
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, Relation, SelectedRows
from sqlpriv.rewrite.bind.sources import Sources
from sqlpriv.rewrite.bind.two_steps import Known, in_two_steps
from sqlpriv.rewrite.clauses import ROWS, Clauses, Options, is_limit_zero
from sqlpriv.rewrite.domain.sums import TooWideError
from sqlpriv.rewrite.grouped import answered, grouped
from sqlpriv.rewrite.on_estimates import on_estimates
from sqlpriv.rewrite.public_answers import (
    asks_for_extremes,
    domain_extremes,
    public_answer,
    rows_of_types,
    without_rows,
)
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import SELECT_ARGS, UNION_ARGS, aggregated, is_of_values

_INTERVALS = "That is for its intervals"


def rewrite(sql: str, release: Release, options: Options | None = None, parameters: Bound = ()) -> Answer:
    """The query that estimates the answer of `sql` from the release, with the values of its parameters in it."""
    options = options or Options()
    for tried in (options, replace(options, apart=False)):
        try:
            return _rewritten(sql, parameters, release, tried)
        except TooWideError as error:
            refused = error
    raise TooWideError(f"{refused}{_for_intervals(sql, parameters, release, options, str(refused))}") from None


def _for_intervals(sql: str, parameters: Bound, release: Release, options: Options, message: str) -> str:
    """What to add to a refusal, if only the intervals cost so much."""
    if not options.intervals or _INTERVALS in message:
        return ""
    try:
        _rewritten(sql, parameters, release, replace(options, intervals=False))
    except TooWideError:
        return ""
    return f". {_INTERVALS}: its estimates alone can be asked for"


def _rewritten(sql: str, parameters: Bound, release: Release, options: Options) -> Answer:
    statement = parsed(sql, parameters, _tables(release) if options.postgres else None, options.now)
    if isinstance(statement, exp.Show):
        return Answer(tables_shown(release), (AnswerColumn("name", exact=True),))
    refuse_values_of_labels(sql, statement, release)
    try:
        rewriting = _Rewriting(sql, release, options)
        if isinstance(statement, exp.Describe):
            return rewriting.described(statement)
        answer = rewriting.answer(statement)
    except RecursionError:
        raise UnsupportedSQLError(TOO_DEEP) from None
    sql, warnings = rewriting.names.with_definitions(answer.sql), tuple(rewriting.names.warnings)
    return replace(answer, sql=sql, warnings=warnings)


def _tables(release: Release) -> dict[str, dict[str, str]]:
    """The tables that a query may read, with the types of their columns."""
    public = {table.name: dict(table.columns) for table in release.public.values()}
    return {**public, release.table: {a.name: a.type for a in release.attributes}}


class _Rewriting:
    """One rewriting: makes the names that everything else is given, and reads the query from the outside in."""

    def __init__(self, sql: str, release: Release, options: Options) -> None:
        self.names = Names(sql, release)
        self._sql = sql
        expressions = Expressions(self.names, self.read)
        self._sources = Sources(self.names, expressions, self.read)
        self._clauses = Clauses(self.names, expressions, options)

    def answer(self, statement: exp.Expr) -> Answer:
        """The answer to a whole query; single rows have none, unless a condition says that there are none."""
        if self.names.is_public(statement):
            return public_answer(self._clauses, statement)
        answer = self._read_all(statement)
        if isinstance(answer, Answer):
            return answer
        if not answer.private:
            raise UnsupportedSQLError(
                f"the query does not read {self.names.release.table!r}; ask for counts, sums or averages of it"
            )
        if (empty := without_rows(self.names, answer)) is not None:
            return empty
        refuse(self._sql, statement, "a SELECT of single rows", ROWS)

    def _read_all(self, statement: exp.Expr) -> Relation:
        """What a whole query stands for; what stands for no sums over rows may be evaluated over estimates."""
        given = statement.copy()
        try:
            return self.read(statement, {})
        except TooWideError:
            raise
        except UnsupportedSQLError as refused:
            if self._clauses.options.deviations or not isinstance(given, exp.Query):
                raise
            self.names.warnings.clear()
            in_two_steps(given, self._known(given, {}))
            try:
                return on_estimates(self._clauses, given, self._answer_inside)
            except UnsupportedSQLError:
                raise refused from None

    def _answer_inside(self, node: exp.Expr, ctes: Ctes) -> Answer | None:
        """What reads the private table inside a query over estimates, if it is an aggregate query by itself."""
        if node.parent is None or not self.names.reads_private(node, ctes):
            return None
        warnings = [*self.names.warnings]
        try:
            found = self.read(node.copy(), ctes)
        except TooWideError:
            raise
        except UnsupportedSQLError:
            self.names.warnings[:] = warnings
            in_two_steps(node, self._known(node, ctes))
            return None
        return found if isinstance(found, Answer) else None

    def _known(self, query: exp.Expr, ctes: Ctes) -> Known:
        """What is known of the tables of a query."""
        visible, release = with_ctes(query, ctes, self._sql), self.names.release

        def is_rows(table: exp.Expr) -> bool:
            if not isinstance(table, exp.Table) or not self.names.reads_private(table, visible):
                return False
            cte = None if table.args.get("db") else visible.get(folded(table.name))
            return cte is None or (isinstance(cte[0].this, exp.Select) and not aggregated(cte[0].this))

        return Known(
            partial(self.names.reads_private, ctes=visible),
            is_rows,
            frozenset(folded(a.name) for a in release.attributes),
            frozenset(folded(name) for table in release.public.values() for name in table.columns),
        )

    def described(self, statement: exp.Describe) -> Answer:
        """The names and types of the columns of a table or a query."""
        query = statement.this
        if isinstance(query, exp.Table):
            query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=query.copy()))
        if not isinstance(query, exp.Query):
            refuse(self._sql, statement, "DESCRIBE of anything but a table or a SELECT", "name one of these")
        found = public_answer(self._clauses, query) if self.names.is_public(query) else self._read_all(query)
        if isinstance(found, SelectedRows):
            found = rows_of_types(self.names, found)
        names = ("column_name", "column_type", "null", "key", "default", "extra")
        sql = f"DESCRIBE {self.names.with_definitions(found.sql)}"
        return Answer(sql, tuple(AnswerColumn(name, exact=True) for name in names))

    def read(self, node: exp.Expr, ctes: Ctes) -> Relation:
        """What a query stands for: rows, if it does not aggregate, or an answer."""
        self.names.count_select()
        if isinstance(node, exp.Subquery):
            refuse_other_parts(self._sql, node, {"this"})
            return self.read(node.this, ctes)
        visible = with_ctes(node, ctes, self._sql)
        self._check_unused(node)
        if isinstance(node, exp.Union):
            return self._union(node, visible)
        if isinstance(node, exp.Select):
            return self._select(node, visible)
        refuse_node(self._sql, node)

    def _check_unused(self, node: exp.Expr) -> None:
        """What nobody reads is not run, but it must be a query that could be."""
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            if not isinstance(cte.this, exp.Query):
                refuse(self._sql, cte, f"WITH ... AS ({cte.this.key.upper()})", "write a SELECT there")

    def _select(self, select: exp.Select, ctes: Ctes) -> Relation:
        refuse_other_parts(self._sql, select, SELECT_ARGS | {"qualify"})
        reads_private = partial(self.names.reads_private, ctes=ctes)
        select = with_answers_in_from(select, ctes, reads_private, self._sql)
        rows, scope = self._sources.read_from(select, ctes)
        if rows.private and rows.over_answers:
            with_chosen(self.names, select, rows, scope)
        if is_of_values(select) and (rows.private or is_of_keys(select, rows, scope)):
            # Each value comes once, and which there are is public: DISTINCT a, b is GROUP BY a, b.
            select.set("group", exp.Group(all=True))
            select.set("distinct", None)
        if rows.over_answers and not rows.private and counts_rows(select, rows):
            return counted(self._clauses, select, rows, scope)
        if rows.over_answers and aggregated(select) and not rows.private:
            never_null = frozenset(a.name for a in self.names.release.attributes if not a.has_null)
            rows, scope.flat = flattened(self._sql, select, rows, scope, never_null)
        elif rows.over_answers:
            if (below := as_aggregate(select, rows, scope)) is not None:
                return grouped(self._clauses, select, *below)
            return over_answers(self._clauses, select, rows, scope)
        if not aggregated(select):
            return self._projected(select, rows, scope)
        if not rows.private:
            instead = f"read {self.names.release.table!r}"
            refuse(self._sql, select, "a query that does not read the private table", instead)
        if scope.flat is None and asks_for_extremes(self._clauses, select):
            return domain_extremes(self._clauses, select, rows, scope, partial(answered, self._clauses))
        return grouped(self._clauses, select, rows, scope)

    def _projected(self, select: exp.Select, rows: SelectedRows, scope: Scope) -> SelectedRows:
        self._clauses.refuse_limit_of_rows(select)
        for item in list(select.expressions):
            rows.shown += self._clauses.shown(item, scope)
        if where := select.args.get("where"):
            rows.conditions.append(self._clauses.resolve(where.this, scope))
        if is_limit_zero(select):
            rows.conditions.append(exp.false())
        return rows

    def _union(self, union: exp.Union, ctes: Ctes) -> Relation:
        refuse_other_parts(self._sql, union, UNION_ARGS)
        if union.args.get("distinct"):
            refuse(self._sql, union, "UNION", "write UNION ALL: estimates that happen to be equal are not the same")
        left, right = (self.read(node, ctes) for node in (union.this, union.expression))
        if isinstance(left, SelectedRows) and isinstance(right, SelectedRows):
            self._clauses.refuse_limit_of_rows(union)
            united = united_rows(self.names, union, (left, right))
            united.conditions += [exp.false()] if is_limit_zero(union) else []
            return united
        if isinstance(left, SelectedRows) or isinstance(right, SelectedRows):
            refuse(self._sql, union, "UNION ALL of single rows with estimates", ROWS)
        return united_answers(self._clauses, union, left, right)
