"""What is summed, as factors: functions of a few columns, each evaluated in one join of the elimination.

The condition gives factors that keep a row or not; a group gives a key; a value gives numbers to multiply. A condition
with OR over too many combinations is a circuit instead. Its parts are factors whose yes or no travels as a bit beside
the keys, and a gate combines the bits of its inputs where they meet. Nothing is subtracted, so sums of very many
combinations lose no digits, as inclusion and exclusion would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from sqlglot import exp

from sqlpriv.rewrite.domain.formulas import TRUE, Condition, Formula, Gate, apart, at_connectives, flat, written
from sqlpriv.rewrite.domain.products import products
from sqlpriv.rewrite.domain.variables import Columns, Value, bits

WHERE, BIT, GROUP, NUMBER, ONLY = "where", "bit", "group", "number", "only"


@dataclass
class Factor:
    """One function of the columns in `mask`.

    WHERE keeps a row, BIT is an input of gate `target`, GROUP is the key of group `target`. NUMBER multiplies the
    terms (twice where a term is listed twice), ONLY keeps a row for the terms alone.
    """

    kind: str
    mask: int
    sql: str
    target: int = 0
    terms: list[int] = field(default_factory=list)
    # The columns of a variable that this factor fixes, once the columns of the second mask are known.
    fixes: list[tuple[int, int]] = field(default_factory=list)
    at_most: float = inf  # values of an attribute that it keeps, where it is about one alone


@dataclass
class Circuit:
    """A gate whose inputs are evaluated apart. Its result goes to `parent`, or decides about a row or the terms."""

    operator: str
    inputs: int
    parent: int | None
    terms: list[int] | None = None


@dataclass(frozen=True)
class Term:
    """One product of factors: a value is a sum of terms."""

    value: int
    coefficient: float
    power: int


@dataclass
class Factors:
    """Everything to be summed. Gates stand behind their inputs."""

    columns: Columns
    groups: int
    factors: list[Factor]
    gates: list[Circuit]
    terms: list[Term]


class _Builder:
    def __init__(self, columns: Columns, together: float) -> None:
        self.columns = columns
        self.together = together
        self.factors: list[Factor] = []
        self.gates: list[Circuit] = []
        self.terms: list[Term] = []
        self._shared: dict[tuple[str, str], Factor] = {}

    # -------------------- conditions

    def condition(self, condition: Formula, terms: list[int] | None) -> None:
        """Rows, or these terms, count only where the condition holds."""
        for part in self._conjuncts(condition):
            if isinstance(part, _Leaf):
                factor = Factor(WHERE if terms is None else ONLY, part.mask, part.sql, terms=terms or [])
                factor.fixes = self._fixed(part)
                factor.at_most = self._kept(part)
                self.factors.append(factor)
            else:
                self._gate(part, None, terms)

    def _conjuncts(self, formula: Formula) -> list[_Leaf | _Split]:
        found: list[_Leaf | _Split] = []
        for part in flat(formula, "and"):
            gate = self._apart(part) if len(self.columns.variables_of(self._mask(part))) > 2 else None
            if gate is not None and gate.operator == "and":
                found.extend(each for inner in gate.inputs for each in self._conjuncts(inner))
            else:
                found.append(self._split(part))
        return found

    def _split(self, formula: Formula) -> _Leaf | _Split:
        """One factor if its combinations are few or it cannot be taken apart, else a gate over such."""
        few = self.columns.combinations(self._mask(formula)) <= self.together
        gate = None if few else self._apart(formula)
        if gate is None:
            return self._leaf(formula)
        inputs: list[_Leaf | _Split] = []
        for each in flat(gate, gate.operator):
            split = self._split(each)
            inputs.extend(split.inputs if isinstance(split, _Split) and split.operator == gate.operator else [split])
        inputs = _merged(inputs, gate.operator)
        return inputs[0] if len(inputs) == 1 else _Split(gate.operator, inputs)

    @staticmethod
    def _apart(formula: Formula) -> Gate | None:
        return formula if isinstance(formula, Gate) else apart(formula)

    def _mask(self, formula: Formula) -> int:
        if isinstance(formula, Condition):
            return self.columns.mask(formula.expression)
        mask = 0
        for each in formula.inputs:
            mask |= self._mask(each)
        return mask

    def _leaf(self, formula: Formula) -> _Leaf:
        if isinstance(formula, Gate):
            return _joined([self._leaf(each) for each in formula.inputs], formula.operator)
        bare = at_connectives(formula)
        own = formula if isinstance(bare, Gate) else bare
        sql = written(own, self.columns.sql(own.expression))
        return _Leaf(self.columns.mask(own.expression), sql, own)

    def _gate(self, split: _Split, parent: int | None, terms: list[int] | None) -> int:
        """Number the gate behind its inputs, and make its leaves factors."""
        below: list[int] = []
        bits_of: list[Factor] = []
        for each in split.inputs:
            if isinstance(each, _Leaf):
                bits_of.append(Factor(BIT, each.mask or split.some_mask(), each.sql))
            else:
                below.append(self._gate(each, None, None))
        number = len(self.gates)
        self.gates.append(Circuit(split.operator, len(split.inputs), parent, terms))
        for factor in bits_of:
            factor.target = number
        for gate in below:
            self.gates[gate].parent = number
        self.factors.extend(bits_of)
        return number

    def _fixed(self, leaf: _Leaf) -> list[tuple[int, int]]:
        """The columns that an equality fixes: `a = f(b)` leaves at most one row for each b, if a is a key."""
        own = leaf.condition
        if own is None or own.outcome != TRUE or not isinstance(own.expression, exp.EQ | exp.NullSafeEQ):
            return []
        sides = own.expression.this.unnest(), own.expression.expression.unnest()
        null_meets_null = isinstance(own.expression, exp.NullSafeEQ)
        found = []
        for one, other in (sides, sides[::-1]):
            if isinstance(one, exp.Column):
                mask, others = self.columns.mask(one), self.columns.mask(other)
                if mask and not mask & others and self._is_key(mask, null_meets_null):
                    found.append((mask, others))
        return found

    def _kept(self, leaf: _Leaf) -> float:
        """How many values of an attribute `a = 5` or `a IN (1, 2)` keep."""
        own = leaf.condition
        if own is None or own.outcome != TRUE or not isinstance(own.expression, exp.EQ | exp.In):
            return inf
        if isinstance(own.expression, exp.EQ):
            return 1 if any(not others for _, others in self._fixed(leaf)) else inf
        tested, listed = own.expression.this, own.expression.expressions
        plain = isinstance(tested, exp.Column) and all(isinstance(each, exp.Literal) for each in listed)
        return len(listed) if plain and listed and self._is_key(leaf.mask) else inf

    def _is_key(self, mask: int, null_meets_null: bool = False) -> bool:
        used = self.columns.columns[bits(mask)[0]]
        variable = self.columns.variables[used.variable]
        return variable.is_key(used.name) and not (null_meets_null and variable.keys is not None)

    def fix_rows(self) -> None:
        """Once all columns are known: where a key is fixed, all columns of its row are."""
        for factor in self.factors:
            owners = [self.columns.columns[bits(mask)[0]].variable for mask, _ in factor.fixes]
            factor.fixes = [(self.columns.of_variable[v], o) for v, (_, o) in zip(owners, factor.fixes, strict=True)]

    # -------------------- groups and values

    def group(self, number: int, expression: exp.Expr) -> None:
        self.factors.append(Factor(GROUP, self.columns.mask(expression), self.columns.sql(expression), number))

    def value(self, number: int, value: Value) -> list[int]:
        """The terms of a value."""
        own = []
        for product in products(value.expression, self.columns, self.together):
            term = len(self.terms)
            self.terms.append(Term(number, product.coefficient, value.power))
            for part in product.numbers:
                self._multiply(NUMBER, f"coalesce(CAST({self.columns.sql(part)} AS DOUBLE), 0)", part, term)
            for part in product.present:
                self._multiply(ONLY, f"(({self.columns.sql(part)}) IS NOT NULL)", part, term)
            for condition in product.conditions:
                self.condition(condition, [term])
            own.append(term)
        return own

    def _multiply(self, kind: str, sql: str, part: exp.Expr, term: int) -> None:
        shared = self._shared.get((kind, sql))
        if shared is None:
            shared = self._shared[kind, sql] = Factor(kind, self.columns.mask(part), sql)
            self.factors.append(shared)
        shared.terms.append(term)


@dataclass
class _Leaf:
    mask: int
    sql: str
    condition: Condition | None = None


@dataclass
class _Split:
    operator: str
    inputs: list[_Leaf | _Split]

    def some_mask(self) -> int:
        """Columns of any leaf: where an input without columns is evaluated."""
        masks = (each.mask if isinstance(each, _Leaf) else each.some_mask() for each in self.inputs)
        return next((mask for mask in masks if mask), 0)


def _joined(leaves: Sequence[_Leaf], operator: str) -> _Leaf:
    mask = 0
    for leaf in leaves:
        mask |= leaf.mask
    return _Leaf(mask, "(" + f" {operator.upper()} ".join(leaf.sql for leaf in leaves) + ")")


def _merged(inputs: list[_Leaf | _Split], operator: str) -> list[_Leaf | _Split]:
    """Leaves that mention no other columns than another leaf become one with it, in the order written.

    That keeps `x = '' OR CAST(x AS INTEGER) > y` in one piece, whose first part guards the second.
    """
    leaves = [each for each in inputs if isinstance(each, _Leaf)]
    widest = [a for a in leaves if not any(a.mask != b.mask and a.mask | b.mask == b.mask for b in leaves)]
    kinds = list(dict.fromkeys(leaf.mask for leaf in widest))
    homes: dict[int, list[_Leaf]] = {mask: [] for mask in kinds}
    for leaf in leaves:
        homes[next(mask for mask in kinds if leaf.mask | mask == mask)].append(leaf)
    merged: list[_Leaf | _Split] = [own[0] if len(own) == 1 else _joined(own, operator) for own in homes.values()]
    return [*merged, *(each for each in inputs if isinstance(each, _Split))]


def build(
    condition: exp.Expr | None,
    groups: Sequence[exp.Expr],
    values: Sequence[Value],
    columns: Columns,
    together: float,
) -> Factors:
    """The factors of a sum over the product of the variables."""
    builder = _Builder(columns, together)
    if condition is not None:
        builder.condition(Condition(condition, TRUE), None)
    for number, group in enumerate(groups):
        builder.group(number, group)
    filtered: dict[str, tuple[exp.Expr, list[int]]] = {}
    for number, value in enumerate(values):
        terms = builder.value(number, value)
        if value.filter is not None:
            filtered.setdefault(columns.sql(value.filter), (value.filter, []))[1].extend(terms)
    for wanted, terms in filtered.values():
        builder.condition(Condition(wanted, TRUE), terms)
    builder.fix_rows()
    return Factors(columns, len(groups), builder.factors, builder.gates, builder.terms)
