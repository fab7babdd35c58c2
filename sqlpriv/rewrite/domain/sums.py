"""Sums over the whole domain, without enumerating it: one generated SELECT over the small domain tables.

The domain is the product of its attributes (and of the public tables joined to them), easily 10^9 or 10^30 elements.
The condition falls apart into factors over a few attributes each. Attributes are summed out one after the other, in
nested GROUP BYs (variable elimination), so the cost is that of the widest join and not that of the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.rewrite.domain.eliminate import Order, best_order
from sqlpriv.rewrite.domain.factors import Factors, build
from sqlpriv.rewrite.domain.sql import write
from sqlpriv.rewrite.domain.variables import Columns, Value, Variable

__all__ = ["DomainSums", "Elimination", "JoinStep", "TooWideError", "Value", "Variable", "domain_sums"]


class TooWideError(UnsupportedSQLError):
    """The sums over the domain cost more than is allowed."""


@dataclass(frozen=True)
class JoinStep:
    """One step of an elimination: what is joined, by which factors, what it sums out, and its rows at most."""

    joined: tuple[str, ...]
    factors: tuple[str, ...]
    summed_out: tuple[str, ...]
    rows: float

    def __str__(self) -> str:
        what = " x ".join(self.joined) or "what is left"
        by = f" by {', '.join(self.factors)}" if self.factors else ""
        summed = f", sum out {', '.join(self.summed_out)}" if self.summed_out else ""
        return f"join {what}{by}{summed} ({self.rows:,.0f} rows at most)"


@dataclass(frozen=True)
class Elimination:
    """How the sums are computed; its text is for people."""

    factors: Factors
    order: Order

    @property
    def joins(self) -> tuple[JoinStep, ...]:
        columns = self.factors.columns
        return tuple(
            JoinStep(
                tuple(columns.label(number) for number in columns.variables_of(step.scope)),
                tuple(columns.readable(factor.sql) for factor in step.evaluated),
                tuple(columns.label(number) for number in columns.variables_of(step.scope & ~step.output.mask)),
                step.rows,
            )
            for step in self.order.steps
        )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.joins), f"cost: {self.order.cost:,.0f} rows"])


@dataclass(frozen=True)
class DomainSums:
    """The query, the rows that its joins have at most in all, and how it sums."""

    sql: str
    cost: float
    plan: Elimination


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
    have at most `together` combinations, or where taking it apart costs more. It is taken apart anyway where it costs
    more than the budget in one piece. `together=1` takes apart all that can be.
    """
    best = _eliminated(condition, groups, values, variables, together)
    if best.factors.gates and together > 1:
        best = min(best, _eliminated(condition, groups, values, variables, inf), key=_cost)
    if best.order.cost > budget and together > 1:
        best = min(best, _eliminated(condition, groups, values, variables, 1), key=_cost)
    if best.order.cost > budget:
        raise TooWideError(_too_wide(best, budget))
    return DomainSums(write(best.factors, best.order, len(values)), best.order.cost, best)


def _eliminated(
    condition: exp.Expr | None,
    groups: Sequence[exp.Expr],
    values: Sequence[Value],
    variables: Sequence[Variable],
    together: float,
) -> Elimination:
    factors = build(condition, groups, values, Columns(variables), max(together, 1))
    return Elimination(factors, best_order(factors))


def _cost(elimination: Elimination) -> float:
    return elimination.order.cost


def _too_wide(elimination: Elimination, budget: float) -> str:
    variables, rows = elimination.order.widest
    names = [repr(elimination.factors.columns.label(number)) for number in variables]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return (
        f"the query looks at {listed} together, {rows:,.0f} combinations, and needs {elimination.order.cost:,.0f} in "
        f"all where {budget:,.0f} are allowed: compare or group by fewer attributes at once, restrict them to single "
        "values, or raise the budget"
    )
