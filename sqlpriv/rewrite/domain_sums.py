"""Sums over the whole domain, without enumerating it: one generated SELECT over the small domain tables.

The domain is the product of its attributes (and of the public tables joined to them), easily 10^9 or 10^30 elements.
The condition falls apart into factors over a few attributes each; attributes are summed out one after the other, in
nested GROUP BYs (variable elimination), so the cost is that of the widest join and not that of the product.

    formulas   SQL's three-valued logic as two-valued formulas
    products   a value as a sum of products
    factors    what is summed: conditions, groups and values as factors
    eliminate  in which order, and what it costs
    domain_sql the plan as SQL
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.domain_sql import write
from sqlpriv.rewrite.eliminate import Order, best_order
from sqlpriv.rewrite.factors import Factors, build
from sqlpriv.rewrite.variables import Columns, Value, Variable

__all__ = ["DomainSums", "PlannedJoin", "Value", "Variable", "domain_sums"]


@dataclass(frozen=True)
class PlannedJoin:
    """One step of a plan: what is joined, what it decides, what it sums out, and its rows at most."""

    joined: tuple[str, ...]
    summed_out: tuple[str, ...]
    factors: tuple[str, ...]
    rows: float

    def __str__(self) -> str:
        summed = f", sum out {', '.join(self.summed_out)}" if self.summed_out else ""
        return f"join {' x '.join(self.joined) or 'what is left'}{summed} ({self.rows:,.0f} rows at most)"


@dataclass(frozen=True)
class DomainSums:
    """The query, the rows that its joins have at most, and its plan."""

    sql: str
    cost: float
    plan: tuple[PlannedJoin, ...]

    def explain(self) -> str:
        """The plan for people."""
        return "\n".join([*map(str, self.plan), f"cost: {self.cost:,.0f} rows"])


def domain_sums(
    condition: exp.Expr | None,
    groups: Sequence[exp.Expr],
    values: Sequence[Value],
    variables: Sequence[Variable],
    budget: float,
    *,
    together: int = 1_000_000,
) -> DomainSums:
    """One SELECT with columns g0.., s0..: for each group, the sums of the values over all elements with the condition.

    Without groups there is exactly one row. A condition with OR stays in one piece while the attributes it mentions
    have at most `together` combinations, unless that costs more than the budget.
    """
    factors, order = _planned(condition, groups, values, variables, together)
    if order.cost > budget and together > 1:
        factors, order = min((factors, order), _planned(condition, groups, values, variables, 1), key=_cost)
    if order.cost > budget:
        raise UnsupportedSQLError(_too_wide(factors, order, budget))
    return DomainSums(write(factors, order, len(values)), order.cost, _explained(factors, order))


def _planned(
    condition: exp.Expr | None,
    groups: Sequence[exp.Expr],
    values: Sequence[Value],
    variables: Sequence[Variable],
    together: int,
) -> tuple[Factors, Order]:
    factors = build(condition, groups, values, Columns(variables), max(together, 1))
    return factors, best_order(factors)


def _cost(planned: tuple[Factors, Order]) -> float:
    return planned[1].cost


def _too_wide(factors: Factors, order: Order, budget: float) -> str:
    variables, rows = order.widest
    names = [repr(factors.columns.label(number)) for number in variables]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return (
        f"the query looks at {listed} together, {rows:,.0f} combinations, and needs {order.cost:,.0f} in all where "
        f"{budget:,.0f} are allowed: compare or group by fewer attributes at once, restrict them to single values, "
        "or raise the budget"
    )


def _explained(factors: Factors, order: Order) -> tuple[PlannedJoin, ...]:
    columns = factors.columns
    return tuple(
        PlannedJoin(
            tuple(columns.label(number) for number in columns.variables_of(step.scope)),
            tuple(columns.label(number) for number in columns.variables_of(step.scope & ~step.output.mask)),
            tuple(factor.sql for factor in step.evaluated),
            step.rows,
        )
        for step in order.steps
    )
