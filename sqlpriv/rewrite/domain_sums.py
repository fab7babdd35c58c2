"""Sums over the public domain D, the product of the attributes' domains, as one query that never lists D."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.attributes import Attributes, DomainTable
from sqlpriv.rewrite.batches import Batch, Column, State, cheapest, steps, total_cost
from sqlpriv.rewrite.domain_sql import domain_sql
from sqlpriv.rewrite.eliminate import Part, Step, cost, eliminate
from sqlpriv.rewrite.factors import Factor, Factors

BUDGET = 50_000_000
TOGETHER = 1_000_000
_LONGEST = 200


@dataclass(frozen=True, eq=False)
class DomainSums:
    """A query for sums over a domain, with the rows that it touches by estimate."""

    cost: int
    _attributes: Attributes
    _state: State
    _all_groups: list[Step]
    _keys: dict[int, Factor]
    _constants: dict[int, Factor]
    _values: int

    @cached_property
    def sql(self) -> str:
        """A SELECT with columns g0, g1, ... (groups) and v0, v1, ... (sums, DOUBLE), a row for every group of D."""
        return domain_sql(self._attributes, self._state, self._all_groups, self._keys, self._constants, self._values)

    @cached_property
    def plan(self) -> str:
        """The steps in their order: which attributes are summed, under which conditions, over how many rows."""
        lines = []
        for number, batch in enumerate(self._state):
            if len(self._state) > 1:
                signs = {column.coefficient for column in batch.columns}
                lines.append(f"part {number + 1} of {len(self._state)}, times {', '.join(map(str, sorted(signs)))}:")
            lines += [self._line(step) for root in batch.roots for step in root.order]
        return "\n".join([*lines, f"{self.cost:,} rows"])

    def _line(self, step: Step) -> str:
        """A step for readers: `join age, score (400 rows), sum out age, score; where "score" < 3 * "age"`."""
        names = [self._attributes.domains[a].column for a in sorted(step.joined)]
        summed = [self._attributes.domains[a].column for a in sorted(step.joined - step.kept)]
        text = f"join {', '.join(names)} ({step.rows:,} rows)" if names else "constants"
        text += f", sum out {', '.join(summed)}" if summed else ""
        for word, chosen in (
            ("where", [part for part in step.parts if part.is_condition]),
            ("by", [part for part in step.parts if part.key is not None]),
            ("of", [part for part in step.parts if part.column is not None]),
        ):
            said = dict.fromkeys(self._attributes.shown(part.factor.statement) for part in chosen)
            text += f"; {word} {', '.join(said)}" if said else ""
        return text


def domain_sums(
    condition: exp.Expr | None,
    groups: Sequence[exp.Expr],
    values: Sequence[exp.Expr],
    domains: Sequence[DomainTable],
    budget: int = BUDGET,
    *,
    table_names: Iterable[str] = (),
    together: int = TOGETHER,
) -> DomainSums:
    """For each group the sum of each value over the tuples of D that meet the condition.

    All expressions are over the attributes, which they may qualify by one of `table_names` (the private table's name
    and alias in the query). Subqueries read public tables only. A condition that is NULL is not met, a NULL value
    counts as 0, and every group comes back, also one in which no tuple meets the condition. Factors with parts (OR,
    CASE, +) are left whole as long as everything costs no more than `together` rows.

    >>> ages, scores = DomainTable("age", "ages", 20), DomainTable("score", "scores", 20)
    >>> sums = domain_sums(exp.condition("score < 3 * age"), [], [exp.Literal.number(1)], [ages, scores])
    >>> print(sums.plan)
    join age, score (400 rows), sum out age, score; where "score" < 3 * "age"
    400 rows
    """
    expressions = [*([condition] if condition else []), *groups, *values]
    attributes = Attributes(domains, table_names, expressions)
    factors = Factors(attributes)
    grouped = [factors.factor(attributes.bound(group)) for group in groups]
    keys = {number: factor for number, factor in enumerate(grouped) if factor.attributes}
    constants = {number: factor for number, factor in enumerate(grouped) if not factor.attributes}
    products = [(number, factors.of_value(attributes.bound(value))) for number, value in enumerate(values)]
    columns = tuple(Column(number, *product) for number, product in products if product and product[0])
    conditions = factors.of_condition(attributes.bound(condition)) if condition else ()
    never = any(
        isinstance(f.tree, exp.Null) or (isinstance(f.tree, exp.Boolean) and not f.tree.this) for f in conditions
    )
    sizes = {number: domain.size for number, domain in enumerate(domains)}
    all_groups = eliminate([Part(factor, key=key) for key, factor in keys.items()], sizes, {})
    listed = math.prod(root.size for root in all_groups) if keys else 0
    _refuse_beyond(budget, listed, f"the result has a row for each of {_count(listed)} groups")
    anything = bool(columns) and not never
    state = cheapest(Batch(conditions, columns, keys, sizes), factors, together) if anything else ()
    total = total_cost(state) + sum(map(cost, all_groups)) + listed
    if total > budget:
        every = [*steps(state), *(step for root in all_groups for step in root.order)]
        _refuse_beyond(budget, total, _widest(attributes, max(every, key=lambda step: step.rows)))
    return DomainSums(total, attributes, state, all_groups, keys, constants, len(values))


def _refuse_beyond(budget: int, needed: int, why: str) -> None:
    if needed > budget:
        raise UnsupportedSQLError(
            f"summing over the domain would touch {_count(needed)} rows, more than the budget of {_count(budget)}: "
            f"{why}; compare or group by fewer attributes at once, fix some of them to a value, or raise the budget"
        )


def _widest(attributes: Attributes, step: Step) -> str:
    """What makes the widest step wide: the factor with most combinations, or several that must be joined."""

    def combinations(part: Part) -> int:
        return math.prod(attributes.domains[a].size for a in part.attributes)

    names = " × ".join(
        f"{attributes.domains[a].column} ({_count(attributes.domains[a].size)})" for a in sorted(step.joined)
    )
    parts = sorted((part for part in step.parts if len(part.attributes) > 1), key=combinations, reverse=True)
    if parts and parts[0].attributes == step.joined:
        parts = parts[:1]
    texts = " and ".join(attributes.shown(part.factor.tree.sql("duckdb")) for part in parts)
    texts = texts if len(texts) <= _LONGEST else texts[:_LONGEST] + " ..."
    return f"its widest factor joins {names}" + (f" for {texts}" if texts else "")


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.1e}"
