"""Queries over answers, as queries over the rows below them, or over answers in FROM.

A query over an answer may be about the rows which that aggregates, and is then flattened into it. SELECT (SELECT ...),
(SELECT ...) has scalar subqueries of the private table and no FROM: each is an answer of one row. So it is the same to
join them and select their columns, and their bounds come along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.flatten import ONLY_SUMS, Flattening
from sqlpriv.rewrite.bind.names import Ctes, Scope, with_ctes
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import SCALAR, Aggregated, SelectedRows, Shown, marked
from sqlpriv.rewrite.syntax import aggregated, default_name, has_windows, is_star, outside_subqueries, windowed


def flattened(
    sql: str, select: exp.Select, rows: SelectedRows, scope: Scope, never_null: frozenset[str]
) -> tuple[SelectedRows, Flattening]:
    """The rows that a query over an answer is about, once it is flattened. Its scope then shows what keys stand for."""
    answers = {name: read.answer for name, read in rows.reads.items() if read.answer is not None}
    variable, answer = next(iter(answers.items()))
    if len(answers) > 1 or answer.aggregated is None or answer.aggregated.windowed or select.args.get("distinct"):
        refuse(sql, select, "an aggregate over estimates", ONLY_SUMS)
    below = answer.aggregated
    flat = Flattening(sql, variable, below.columns, never_null)
    conditions = [flat.exact(c) for c in rows.conditions]
    flat.refuse_estimates(conditions)
    for columns in (*scope.sources.values(), scope.merged):
        for key, shown in columns.items():
            columns[key] = marked(Shown(shown.name, flat.exact(shown.expression)))
    return _merged(below, rows, variable, conditions), flat


def aggregated_rows(
    rows: SelectedRows, columns: list[tuple[str, exp.Expr]], keys: Sequence[exp.Expr] = (), windowed: bool = False
) -> Aggregated:
    """What an answer aggregates, by which keys, and what its columns are; of two with the same name the first."""
    kept = replace(rows, shown=[], conditions=[c.copy() for c in rows.conditions])
    return Aggregated(kept, {name: node.copy() for name, node in reversed(columns)}, tuple(keys), windowed)


def is_of_keys(select: exp.Select, rows: SelectedRows, scope: Scope) -> bool:
    """Whether a query over one answer shows group keys of it alone."""
    read = next(iter(rows.reads.values()), None)
    if read is None or read.answer is None or len(rows.reads) > 1 or read.answer.aggregated is None:
        return False
    exact = {c.name for c in read.answer.columns if c.exact}
    named = [c for item in select.expressions for c in item.find_all(exp.Column)]
    found = [scope.find(c.name) for c in named]
    return all(len(f) == 1 and isinstance(f[0].expression, exp.Column) and f[0].expression.name in exact for f in found)


def as_aggregate(
    select: exp.Select, rows: SelectedRows, scope: Scope
) -> tuple[SelectedRows, Scope, list[exp.Expr]] | None:
    """A query over one answer, as the aggregate query that it is over the rows below; its WHERE is HAVING there.

    None where it joins, or names what stands for nothing below: then it is a query over estimates as they are.
    """
    (read,) = rows.reads.values() if len(rows.reads) == 1 else (None,)
    answer = read.answer if read is not None else None
    where = select.args.get("where")
    if answer is None or answer.aggregated is None or rows.conditions or (where and select.args.get("having")):
        return None
    below = answer.aggregated
    inside = any(map(has_windows, below.columns.values()))
    of_all = any(c.table == SCALAR for node in below.columns.values() for c in node.find_all(exp.Column))
    if (inside and (where or windowed(select))) or (of_all and where):  # these are of the rows before the WHERE
        return None
    columns = {c.name for c in answer.columns} & below.columns.keys()
    if len(columns) != len(answer.columns) or len(scope.sources) != 1:
        return None
    ((called, shown),) = scope.sources.items()
    of_bounds = {key for key, s in shown.items() if s.expression.name not in columns}
    parts = ("where", "order", "having", "qualify")
    clauses = [*select.expressions, *(select.args[c] for c in parts if select.args.get(c))]
    for node in (n for clause in clauses for n in clause.walk()):
        if isinstance(node, exp.Query) or (isinstance(node, exp.Column) and folded(node.name) in of_bounds):
            return None
    kept = {key: Shown(s.name, below.columns[s.expression.name]) for key, s in shown.items() if key not in of_bounds}
    exact = {c.name for c in answer.columns if c.exact}
    if where and any(s.expression.name not in exact for c in where.find_all(exp.Column) for s in _of_name(shown, c)):
        select.set("having", exp.Having(this=where.this))
        select.set("where", None)
    _write_star_out(select, kept)
    made = SelectedRows([], [c.copy() for c in below.rows.conditions], dict(below.rows.reads), private=True)
    return made, Scope({called: kept}, ctes=scope.ctes), [key.copy() for key in below.keys]


def _of_name(shown: dict[str, Shown], column: exp.Column) -> list[Shown]:
    found = shown.get(folded(column.name))
    return [] if found is None else [found]


def _write_star_out(select: exp.Select, shown: dict[str, Shown]) -> None:
    """The columns that * stands for, by their names."""
    listed: list[exp.Expr] = []
    for item in select.expressions:
        listed += [exp.column(s.name, quoted=True) for s in shown.values()] if is_star(item) else [item]
    select.set("expressions", listed)


def still_aggregated(sql: str, rows: SelectedRows, columns: list[tuple[str, exp.Expr]]) -> Aggregated | None:
    """As `aggregated_rows`, of a query that only projects an answer and filters it by its group keys."""
    answers = {name: read.answer for name, read in rows.reads.items() if read.answer is not None}
    variable, answer = next(iter(answers.items()))
    if len(answers) > 1 or answer.aggregated is None or answer.aggregated.windowed:
        return None
    flat = Flattening(sql, variable, answer.aggregated.columns)
    conditions = [flat.exact(c) for c in rows.conditions]
    if any(map(flat.mentions_estimates, conditions)):
        return None
    merged = _merged(answer.aggregated, rows, variable, conditions)
    below = [(name, flat.below(node)) for name, node in columns]
    # Bounds are of this answer alone, and stand for nothing below it.
    shown = [(name, node) for name, node in below if not flat.mentions_estimates(node)]
    return aggregated_rows(merged, shown, answer.aggregated.keys)


def _merged(below: Aggregated, rows: SelectedRows, variable: str, conditions: list[exp.Expr]) -> SelectedRows:
    reads = {name: read for name, read in rows.reads.items() if name != variable}
    own = [c.copy() for c in below.rows.conditions]
    return SelectedRows([], [*own, *conditions], {**below.rows.reads, **reads}, private=True)


_ANSWER = "__priv_answer"
_VALUE = "__priv_value"
_MAY_BE_EMPTY = ("group", "having", "limit", "offset")


def with_answers_in_from(
    select: exp.Select, ctes: Ctes, reads_private: Callable[[exp.Expr], bool], sql: str
) -> exp.Select:
    """The query with its scalar subqueries of the private table in FROM; the query itself, if it has a FROM or none."""
    if select.args.get("from_"):
        return select
    found = [n for item in select.expressions for n in outside_subqueries(item) if isinstance(n, exp.Subquery)]
    found = [node for node in found if reads_private(node)]
    if not found:
        return select
    for number, node in enumerate(found):
        source = _named(node, number, ctes, sql)
        value: exp.Expr = exp.column(_VALUE, table=f"{_ANSWER}{number}", quoted=True)
        if node.parent is select:
            value = exp.Alias(this=value, alias=exp.to_identifier(node.alias or default_name(node), quoted=True))
        node.replace(value)
        select = select.join(source, join_type="CROSS", copy=False) if number else select.from_(source, copy=False)
    return select


def _named(node: exp.Subquery, number: int, ctes: Ctes, sql: str) -> exp.Subquery:
    """A subquery as a table of one row and one column, under names of ours."""
    query = node.this.copy()
    if isinstance(node.parent, (exp.Any, exp.All)):
        refuse(sql, node, "ANY or ALL of a subquery of the private table", "it has one row: compare with the subquery")
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        refuse(sql, node, "a subquery of rows of the private table", "write a scalar subquery: one aggregate")
    if not _has_one_row(query, ctes, sql):
        instead = "aggregate in it, without GROUP BY, HAVING and LIMIT"
        refuse(sql, node, "a scalar subquery that may have no row, or several", instead)
    item = query.expressions[0]
    bare = item.this if isinstance(item, exp.Alias) else item
    query.set("expressions", [exp.alias_(bare.copy(), _VALUE, quoted=True)])
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(f"{_ANSWER}{number}", quoted=True)))


def _has_one_row(query: exp.Expr, ctes: Ctes, sql: str) -> bool:
    """Whether a query surely has one row: it aggregates all rows to one, or shows all of a query that does."""
    if isinstance(query, exp.Subquery):
        return _has_one_row(query.this, ctes, sql)
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in _MAY_BE_EMPTY):
        return False
    if aggregated(query):
        return True
    if query.args.get("where") or query.args.get("joins"):
        return False
    visible = with_ctes(query, ctes, sql)
    source = query.args["from_"].this if query.args.get("from_") else None
    if isinstance(source, exp.Table) and not source.args.get("db") and folded(source.name) in visible:
        cte, inside = visible[folded(source.name)]
        return _has_one_row(cte.this, inside, sql)
    return source is None or (isinstance(source, exp.Subquery) and _has_one_row(source, visible, sql))
