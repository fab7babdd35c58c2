"""What every layer may ask of a parsed query, before any of its names is known."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

PREFIX = "__priv_"
"""How the names begin that rewriting makes, so that none of a query is the same."""
AGGREGATES = (exp.AggFunc, exp.Filter, exp.Window, exp.Grouping, exp.GroupingId, exp.WithinGroup)
"""What aggregates rows, whether or not it can be estimated (see aggregates.py)."""
HISTOGRAM = exp.AnonymousAggFunc
"""DuckDB's histogram(), which sqlglot takes for any function; nothing else becomes this."""
GROUPING = (exp.Grouping, exp.GroupingId)
SELECT_ARGS = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"
}  # fmt: skip
"""The clauses of a SELECT that are known."""
UNION_ARGS = {"this", "expression", "distinct", "order", "limit", "offset", "with_"}
"""Likewise for a UNION."""


def without_parentheses(node: exp.Expr) -> exp.Expr:
    """What is inside the parentheses. Those of a subquery belong to it, and stay: unnest() would take them away."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def outside_subqueries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of queries inside it."""
    return node.walk(prune=lambda n: isinstance(n, exp.Query))


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates, outside of queries inside it. A window function does not, what is in it may."""
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        function = node.this.this if isinstance(node.this, (exp.Filter, exp.IgnoreNulls)) else node.this
        others = [child for child in node.iter_expressions() if child is not node.this]
        return any(map(has_aggregates, [*function.iter_expressions(), *others]))
    return isinstance(node, AGGREGATES) or any(map(has_aggregates, node.iter_expressions()))


def has_windows(node: exp.Expr | None) -> bool:
    """Whether there is a window function in an expression, outside of queries inside it."""
    return node is not None and any(isinstance(n, exp.Window) for n in outside_subqueries(node))


def is_rank(node: exp.Expr) -> bool:
    """Whether an expression is a place in an order."""
    ranks = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
    return isinstance(node, exp.Window) and isinstance(node.this, ranks)


def windowed(select: exp.Select) -> bool:
    """Whether a SELECT has window functions."""
    return bool(select.args.get("qualify")) or any(
        map(has_windows, [*select.expressions, *(select.args.get(c) for c in ("having", "order"))])
    )


def direction(ordered: exp.Expr) -> str:
    """In which direction ORDER BY sorts, and where NULLs come."""
    found = " DESC" if ordered.args.get("desc") else " ASC"
    return found + (" NULLS FIRST" if ordered.args.get("nulls_first") else " NULLS LAST")


def aggregated(select: exp.Select) -> bool:
    """Whether a SELECT aggregates its rows."""
    return bool(select.args.get("group") or select.args.get("having")) or any(map(has_aggregates, select.expressions))


def is_of_values(select: exp.Select) -> bool:
    """Whether a SELECT asks which values there are: DISTINCT of expressions, and no aggregate.

    Windows are about the rows before DISTINCT, and would be about groups if it were GROUP BY.
    """
    distinct = select.args.get("distinct")
    if not isinstance(distinct, exp.Distinct) or distinct.args.get("on") or aggregated(select) or windowed(select):
        return False
    return not any(map(is_star, select.expressions))


def default_name(item: exp.Expr) -> str:
    """What DuckDB would call a column without an alias."""
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Count) and (item.this is None or isinstance(item.this, exp.Star)):
        return "count_star()"
    return item.sql(dialect="duckdb", normalize_functions="lower")


def is_star(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is * or table.*."""
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """What a condition joins by AND."""
    if condition is None:
        return
    bare = without_parentheses(condition)
    if isinstance(bare, exp.And):
        yield from conjuncts(bare.this)
        yield from conjuncts(bare.expression)
    else:
        yield bare
