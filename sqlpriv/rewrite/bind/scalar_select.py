"""SELECT (SELECT ...), (SELECT ...): scalar subqueries of the private table, and no FROM.

Each subquery is an answer of one row, so it is the same to join them and select their columns; their bounds come along.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.scope import Ctes, with_ctes
from sqlpriv.rewrite.syntax import aggregated, default_name, outside_subqueries
from sqlpriv.sqltext import folded

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
    seen = with_ctes(query, ctes, sql)
    source = query.args["from_"].this if query.args.get("from_") else None
    if isinstance(source, exp.Table) and not source.args.get("db") and folded(source.name) in seen:
        cte, inside = seen[folded(source.name)]
        return _has_one_row(cte.this, inside, sql)
    return source is None or (isinstance(source, exp.Subquery) and _has_one_row(source, seen, sql))
