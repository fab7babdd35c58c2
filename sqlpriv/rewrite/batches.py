"""Which sums are made together, and which wide factors are taken apart: whatever costs fewest rows.

A batch is a condition with the sums that are made under it. At first there is one. Where that is not cheap, the widest
factor that has parts is replaced by a sum of products, again and again. In a condition that makes two batches of
one (everything, less what does not meet it); in a value it makes more columns. The cheapest state on the way is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from sqlpriv.rewrite.eliminate import Known, Part, Sizes, Step, combinations, cost, distinct_steps, eliminate
from sqlpriv.rewrite.factors import Factor, Factors, Number, Product, Role

_MOST_BATCHES = 128
_MOST_COLUMNS = 256
_ROWS_A_STEP = 20_000  # as many rows can be joined in the time that planning and starting a step takes


@dataclass(frozen=True, eq=False)
class Column:
    """A summand of the sum number `value`: a number times the factors that only this sum has."""

    value: int
    coefficient: Number
    factors: tuple[Factor, ...]

    @property
    def is_integer(self) -> bool:
        """Whether it counts tuples, so that it can be exact."""
        return isinstance(self.coefficient, int) and all(factor.role is not Role.VALUE for factor in self.factors)


@dataclass(frozen=True, eq=False)
class Batch:
    """Sums under one condition, group by group."""

    conditions: tuple[Factor, ...]
    columns: tuple[Column, ...]
    keys: Mapping[int, Factor]
    sizes: Sizes
    known: Known = field(default_factory=dict)

    @cached_property
    def roots(self) -> list[Step]:
        parts = [Part(factor) for factor in self.conditions]
        parts += [Part(factor, column=j) for j, column in enumerate(self.columns) for factor in column.factors]
        parts += [Part(factor, key=key) for key, factor in self.keys.items()]
        return eliminate(parts, _narrowed(self.sizes, self.conditions), self.known)

    @cached_property
    def cost(self) -> int:
        return sum(map(cost, self.roots))


State = tuple[Batch, ...]


def steps(state: State) -> list[Step]:
    """All steps of some batches, each once, however many of them share it."""
    return distinct_steps(root for batch in state for root in batch.roots)


def total_cost(state: State) -> int:
    """The rows that are touched."""
    return sum(step.rows for step in steps(state))


def effort(state: State) -> int:
    """What a state costs in time, told in rows."""
    return total_cost(state) + _ROWS_A_STEP * len(steps(state))


def cheapest(first: Batch, factors: Factors, together: int) -> State:
    """The batches to make; a state that costs at most `together` rows is good enough."""
    state: State | None = (first,)
    best: State = (first,)
    while state and total_cost(state) > together and len(state) <= _MOST_BATCHES:
        best = min(best, state, key=effort)
        state = _expanded(state, factors)
    best = min(best, state or best, key=effort)
    if total_cost(best) > together:
        best = tuple(part for batch in best for part in _separated(batch))
    return best


def _expanded(state: State, factors: Factors) -> State | None:
    """The state with one factor less: the widest of the costliest batch that has any to take apart."""
    for batch in sorted(state, key=lambda batch: -batch.cost):
        for factor, column in sorted(_wide(batch), key=lambda entry: -combinations(entry[0].attributes, batch.sizes)):
            products = factors.expanded(factor)
            if products is None:
                continue
            if column is None:
                following = [_with_condition(batch, factor, product) for product in products]
            else:
                following = [_with_columns(batch, column, factor, products)]
            if all(len(new.columns) <= _MOST_COLUMNS for new in following):
                return (*(other for other in state if other is not batch), *following)
    return None


def _wide(batch: Batch) -> Iterator[tuple[Factor, Column | None]]:
    yield from ((factor, None) for factor in batch.conditions if len(factor.attributes) > 1)
    yield from ((f, column) for column in batch.columns for f in column.factors if len(f.attributes) > 1)


def _with_condition(batch: Batch, factor: Factor, product: Product) -> Batch:
    coefficient, instead = product
    conditions = (*(f for f in batch.conditions if f is not factor), *instead)
    columns = tuple(replace(c, coefficient=c.coefficient * coefficient) for c in batch.columns)
    return replace(batch, conditions=conditions, columns=columns)


def _with_columns(batch: Batch, column: Column, factor: Factor, products: Sequence[Product]) -> Batch:
    others = tuple(f for f in column.factors if f is not factor)
    new = [replace(column, coefficient=column.coefficient * c, factors=(*others, *fs)) for c, fs in products]
    return replace(batch, columns=(*(c for c in batch.columns if c is not column), *new))


def _separated(batch: Batch) -> State:
    """A batch of its own for each column, where the columns' factors only together make wide steps."""
    apart = tuple(replace(batch, columns=(column,)) for column in batch.columns)
    return apart if 1 < len(apart) <= _MOST_BATCHES and effort(apart) < effort((batch,)) else (batch,)


def _narrowed(sizes: Sizes, conditions: Sequence[Factor]) -> Sizes:
    """The sizes that are left where a condition compares an attribute with constants."""
    narrowed = dict(sizes)
    for factor in conditions:
        tree = factor.tree
        if factor.role is Role.TRUE and len(factor.attributes) == 1:
            (attribute,) = factor.attributes
            constants = _constants(tree)
            if constants is not None:
                narrowed[attribute] = max(1, min(narrowed[attribute], constants))
    return narrowed


def _constants(tree: exp.Expr) -> int | None:
    """With how many constants an attribute is compared, in `a = 5` and `a IN (5, 6)`."""
    if isinstance(tree, exp.EQ):
        sides = {isinstance(side, exp.Column): side for side in (tree.this, tree.expression)}
        return 1 if set(sides) == {True, False} and isinstance(sides[False], exp.Literal) else None
    if isinstance(tree, exp.In) and isinstance(tree.this, exp.Column) and tree.expressions:
        return len(tree.expressions) if all(isinstance(e, exp.Literal) for e in tree.expressions) else None
    return None
