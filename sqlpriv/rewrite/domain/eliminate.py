"""The order in which columns are summed out, and what it costs.

To sum out a column, everything that mentions it is joined, and grouped by what later factors still need. The order is
greedy: the cheapest join first, or the one that adds the fewest new neighbours; the cheaper of the two is taken.
The cost is the sum of the rows of all joins, estimated from above by the sizes of the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from sqlpriv.rewrite.domain.factors import BIT, GROUP, WHERE, Circuit, Factor, Factors
from sqlpriv.rewrite.domain.variables import bits

_WORTH_A_SECOND_ORDER = 100_000


@dataclass(frozen=True, eq=False)
class Table:
    """A relation of the elimination: a variable, or the outcome of a step. `variable` is None for the latter."""

    mask: int
    groups: int = 0
    open: dict[int, int] = field(default_factory=dict)  # gate -> how many of its inputs are in
    rows: float = 1
    variable: int | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """One join and grouping: of tables, and of copies of variables (their values only) where columns are missing."""

    inputs: tuple[Table, ...]
    copies: tuple[tuple[int, int], ...]  # variable, mask
    evaluated: tuple[Factor, ...]
    scope: int
    output: Table
    rows: float


@dataclass(frozen=True)
class Order:
    """The steps, and the tables without columns that remain to be multiplied."""

    steps: tuple[Step, ...]
    remaining: tuple[Table, ...]
    filters: dict[int, list[Factor]]  # variable -> conditions on it alone
    constants: tuple[Factor, ...]  # factors without columns
    cost: float
    widest: tuple[list[int], float]  # variables joined at once, and their combinations


Score = Callable[[Step], tuple[float, float]]


def _smallest(step: Step) -> tuple[float, float]:
    return step.rows, step.output.rows


def _fewest_neighbours(step: Step) -> tuple[float, float]:
    return step.output.mask.bit_count(), step.rows


def best_order(factors: Factors) -> Order:
    """The cheaper of the greedy orders."""
    first = _Ordering(factors, _smallest).order()
    if first.cost < _WORTH_A_SECOND_ORDER:
        return first
    return min(first, _Ordering(factors, _fewest_neighbours).order(), key=lambda order: order.cost)


class _Ordering:
    def __init__(self, factors: Factors, score: Score) -> None:
        self.columns = factors.columns
        self.gates = factors.gates
        self.score = score
        self.steps: list[Step] = []
        self.filters: dict[int, list[Factor]] = {}
        self.constants = tuple(f for f in factors.factors if not f.mask)
        self.sizes = [float(size) for size in self.columns.sizes]
        self.group_sizes = {
            f.target: float(self.columns.combinations(f.mask)) for f in factors.factors if f.kind == GROUP
        }
        self.owners = [column.variable for column in self.columns.columns]
        self.pending: list[Factor] = []
        for factor in factors.factors:
            variables = self.columns.variables_of(factor.mask)
            if factor.kind == WHERE and len(variables) == 1:
                self.filters.setdefault(variables[0], []).append(factor)
                self.sizes[variables[0]] = min(self.sizes[variables[0]], factor.at_most)
            elif factor.mask:
                self.pending.append(factor)
        live = 0
        for factor in self.pending:
            live |= factor.mask
        self.tables = [
            Table(own & live, rows=self.sizes[number], variable=number)
            for number, own in enumerate(self.columns.of_variable)
            if own
        ]

    def order(self) -> Order:
        for table in [table for table in self.tables if not table.mask]:
            self._take(self._merge((table,)))
        self._eliminate_all()
        self._close_gates()
        cost = sum(step.rows for step in self.steps)
        grouped = [table.rows for table in self.tables if table.groups]
        if len(grouped) > 1:
            cost += prod(grouped)
        return Order(tuple(self.steps), tuple(self.tables), self.filters, self.constants, cost, self._widest(grouped))

    def _widest(self, grouped: Sequence[float]) -> tuple[list[int], float]:
        widest = max(self.steps, key=lambda step: step.rows, default=None)
        if widest is not None and widest.rows >= (prod(grouped) if len(grouped) > 1 else 0):
            return self.columns.variables_of(widest.scope), widest.rows
        mask = 0
        for step in self.steps:
            for factor in step.evaluated:
                mask |= factor.mask if factor.kind == GROUP else 0
        return self.columns.variables_of(mask), prod(grouped)

    # -------------------- one step after the other

    def _eliminate_all(self) -> None:
        left = 0
        for table in self.tables:
            left |= table.mask
        considered: dict[int, Step] = {}
        while left:
            for number in bits(left):
                if number not in considered:
                    considered[number] = self._consider(1 << number)
            step = min((considered[number] for number in bits(left)), key=self.score)
            self._take(step)
            left &= ~step.scope | step.output.mask
            considered = {n: s for n, s in considered.items() if not s.scope & step.scope and left >> n & 1}

    def _take(self, step: Step) -> None:
        self.steps.append(step)
        self.tables = [table for table in self.tables if table not in step.inputs] + [step.output]
        self.pending = [factor for factor in self.pending if factor not in step.evaluated]

    def _close_gates(self) -> None:
        """Tables without columns may still hold bits of one gate: bring them together, two by two."""
        while True:
            by_rows = sorted(self.tables, key=lambda table: table.rows)
            gate = next((gate for table in by_rows for gate in table.open), None)
            if gate is None:
                return
            pair = [table for table in by_rows if gate in table.open][:2]
            self._take(self._merge(tuple(pair)))

    def _merge(self, inputs: tuple[Table, ...]) -> Step:
        return self._step(inputs, (), [], 0, 0)

    def _consider(self, column: int) -> Step:
        """The step that would sum out this column, and any other column that is then no longer needed."""
        scope = column
        for factor in self.pending:
            if factor.mask & column:
                scope |= factor.mask
        inputs = [table for table in self.tables if table.mask & column]
        have = 0
        for table in inputs:
            have |= table.mask
        scope |= have
        copies: list[tuple[int, int]] = []
        while missing := scope & ~have:
            within = [t for t in self.tables if t.mask & missing and not t.mask & ~scope and not t.groups]
            if within:
                table = min(within, key=lambda table: table.rows)
                inputs.append(table)
                have |= table.mask
            else:
                variable = self.owners[bits(missing)[0]]
                mask = missing & self.columns.of_variable[variable]
                copies.append((variable, mask))
                have |= mask
        needed = 0
        for factor in self.pending:
            if factor.mask & ~scope:
                needed |= factor.mask
        for table in self.tables:
            if table.mask & scope and table not in inputs:
                needed |= table.mask
        gone = scope & ~needed
        evaluated = [
            f for f in self.pending if f.mask & gone or (f.kind == WHERE and f.mask & scope and not f.mask & ~scope)
        ]
        return self._step(tuple(inputs), tuple(copies), evaluated, scope, scope & needed)

    def _step(
        self,
        inputs: tuple[Table, ...],
        copies: tuple[tuple[int, int], ...],
        evaluated: list[Factor],
        scope: int,
        kept: int,
    ) -> Step:
        groups, opened = 0, {}
        for table in inputs:
            groups |= table.groups
        for factor in evaluated:
            if factor.kind == GROUP:
                groups |= 1 << factor.target
        if self.gates:
            opened = still_open(self.gates, inputs, evaluated)
        rows = self._rows(inputs, copies, evaluated)
        keys = self._keys(kept, groups) * 2.0 ** len(opened)
        return Step(inputs, copies, tuple(evaluated), scope, Table(kept, groups, opened, min(rows, keys)), rows)

    # -------------------- estimates

    def _keys(self, mask: int, groups: int) -> float:
        size = 1.0
        for variable in {self.owners[number] for number in bits(mask)}:
            size *= self.sizes[variable]
        for group in bits(groups):
            size *= self.group_sizes[group]
        return size

    def _rows(self, inputs: tuple[Table, ...], copies: tuple[tuple[int, int], ...], evaluated: list[Factor]) -> float:
        """How many rows the join has at most: each table adds those that may match one row of the ones before it."""
        fixes = [fix for factor in evaluated for fix in factor.fixes]
        waiting = [*inputs, *(Table(mask, rows=self.sizes[variable]) for variable, mask in copies)]
        targets = 0
        for mask, _ in fixes:
            targets |= mask
        waiting.sort(key=lambda table: (table.mask & targets != 0, table.rows))
        rows, have = 1.0, 0
        while waiting:
            fixed = 0
            for mask, others in fixes:
                if not others & ~have:
                    fixed |= mask
            best, least = 0, inf
            for at, table in enumerate(waiting):
                if table.mask & have or (fixed and not table.mask & ~(have | fixed)):
                    more = self._keys(table.mask & ~have & ~fixed, table.groups) * 2.0 ** len(table.open)
                    if more < least:
                        best, least = at, more
            table = waiting.pop(best)
            rows *= min(least, table.rows)
            have |= table.mask
        return rows


def still_open(gates: Sequence[Circuit], inputs: Sequence[Table], evaluated: Sequence[Factor]) -> dict[int, int]:
    """The gates that have some of their inputs after a step, but not all."""
    arrived = [0] * len(gates)
    for table in inputs:
        for number, count in table.open.items():
            arrived[number] += count
    for factor in evaluated:
        if factor.kind == BIT:
            arrived[factor.target] += 1
    for number, gate in enumerate(gates):
        if arrived[number] == gate.inputs and gate.parent is not None:
            arrived[gate.parent] += 1
    return {n: count for n, count in enumerate(arrived) if 0 < count < gates[n].inputs}
