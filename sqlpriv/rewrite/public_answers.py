"""What is public, and so answered exactly: public tables, the types of columns, and the extremes of domains.

Tools ask for types by queries without rows, and for the range of a control by min() and max(). These are answered from
the public domain, under names that say so, where the client wants that.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.bind.names import Names, Scope
from sqlpriv.rewrite.bind.public_queries import resolve_public
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, SelectedRows
from sqlpriv.rewrite.clauses import Clauses, Item
from sqlpriv.rewrite.syntax import conjuncts, default_name, has_aggregates, without_parentheses


def public_answer(clauses: Clauses, query: exp.Expr) -> Answer:
    """The answer to a query that reads public tables alone: it runs as it is, with its names resolved."""
    limits = ""
    if not query.args.get("order"):
        # Inside a query it would depend on chance which rows are kept; here nothing depends on them.
        limits = clauses.limits(query)
        for clause in ("limit", "offset"):
            query.set(clause, None)
    found = resolve_public(clauses.names, query, Scope(), {})
    sql = query.sql(dialect="duckdb", comments=False) + limits
    return Answer(sql, tuple(AnswerColumn(name, exact=True) for name in found.names))


def without_rows(names: Names, rows: SelectedRows) -> Answer | None:
    """The columns of rows of which a condition says that there are none, as WHERE 1 = 0 and LIMIT 0 do."""
    if not any(map(_is_false, (part for c in rows.conditions for part in conjuncts(c)))):
        return None
    return rows_of_types(names, rows)


def rows_of_types(names: Names, rows: SelectedRows) -> Answer:
    """No row, with the columns of these rows, and their types."""
    listed = ", ".join(f"{s.expression.sql(dialect='duckdb', comments=False)} AS {quoted(s.name)}" for s in rows.shown)
    mentioned = {c.table for s in rows.shown for c in s.expression.find_all(exp.Column)}
    sources = [f"{a.domain} AS {quoted(a.name)}" for a in names.release.attributes if a.name in mentioned]
    sources += [f"{read.relation} AS {quoted(name)}" for name, read in rows.reads.items()]
    read = f" FROM {', '.join(sources)}" if sources else ""
    text = f"SELECT {listed}{read} WHERE false"
    return Answer(text, tuple(AnswerColumn(s.name, exact=True) for s in rows.shown))


def _is_false(condition: exp.Expr) -> bool:
    """Whether a condition is surely false, seen without computing anything: FALSE, or two constants that differ."""
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if not isinstance(condition, exp.EQ):
        return False
    sides = [without_parentheses(side) for side in (condition.this, condition.expression)]
    if not all(isinstance(side, exp.Literal) and side.this.isdigit() for side in sides):
        return False
    return int(sides[0].this) != int(sides[1].this) and sides[0].is_string == sides[1].is_string


_OTHERS = ("group", "having", "distinct", "qualify", "order", "offset")


def asks_for_extremes(clauses: Clauses, select: exp.Select) -> bool:
    """Whether a query asks for extremes alone, and the client wants those of the domain."""
    if not clauses.options.domain_extremes or any(select.args.get(c) for c in _OTHERS if c != "having"):
        return False
    having = select.args.get("having")
    if having is not None and not _requires_rows(having.this):
        return False
    items = [without_parentheses(item.unalias()) for item in select.expressions]
    return bool(items) and all(isinstance(a, (exp.Min, exp.Max)) and _is_of_rows(a) for a in items)


def _requires_rows(condition: exp.Expr) -> bool:
    """Whether it is count(1) > 0, as tools write it."""
    bare = without_parentheses(condition)
    if not isinstance(bare, exp.GT) or not isinstance(bare.this, exp.Count):
        return False
    counted = bare.this.this
    return isinstance(counted, (exp.Star, exp.Literal)) and bare.expression == exp.Literal.number(0)


def _is_of_rows(node: exp.Expr) -> bool:
    return not node.expressions and not isinstance(node.this, exp.Distinct) and not has_aggregates(node.this)


def domain_extremes(
    clauses: Clauses,
    select: exp.Select,
    rows: SelectedRows,
    scope: Scope,
    answered: Callable[[list[Item], list[exp.Expr], SelectedRows], Answer],
) -> Answer:
    """The extremes of the values that the domain has where the conditions hold."""
    if where := select.args.get("where"):
        rows.conditions.append(clauses.resolve(where.this, scope))
    listed, columns, cost = [], [], 0.0
    plans: list[str] = []
    for item in list(select.expressions):
        node = without_parentheses(item.unalias())
        name = f"{item.alias or default_name(item)}_domain"
        value = without_parentheses(clauses.resolve(node.this, scope))
        found = answered([Item("v", value, item)], [value.copy()], rows)
        listed.append(f"(SELECT {node.key}(v) FROM ({found.sql})) AS {quoted(name)}")
        columns.append(AnswerColumn(name, exact=True))
        plans += found.plans
        cost += found.cost
    return Answer(f"SELECT {', '.join(listed)}{clauses.limits(select)}", tuple(columns), cost, tuple(plans))
