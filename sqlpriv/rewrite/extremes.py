"""min() and max() where the range of a control is asked for: those of the public domain, under names that say so."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, Rows
from sqlpriv.rewrite.bind.scope import Scope
from sqlpriv.rewrite.clauses import Clauses, Item
from sqlpriv.rewrite.syntax import default_name, has_aggregates, without_parentheses
from sqlpriv.sqltext import quoted

_OTHERS = ("group", "having", "distinct", "qualify", "order", "offset")


def asks_for_extremes(clauses: Clauses, select: exp.Select) -> bool:
    """Whether a query asks for extremes alone, and the client wants those of the domain."""
    if not clauses.options.domain_extremes or any(select.args.get(c) for c in _OTHERS if c != "having"):
        return False
    having = select.args.get("having")
    if having is not None and not _says_that_there_are_rows(having.this):
        return False
    asked = [without_parentheses(item.unalias()) for item in select.expressions]
    return bool(asked) and all(isinstance(a, (exp.Min, exp.Max)) and _is_of_rows(a) for a in asked)


def _says_that_there_are_rows(condition: exp.Expr) -> bool:
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
    rows: Rows,
    scope: Scope,
    answered: Callable[[list[Item], list[exp.Expr], Rows], Answer],
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
