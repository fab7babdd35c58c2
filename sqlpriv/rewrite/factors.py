"""A condition or a value as a product of factors, each over few attributes, and how to take a wide factor apart.

A factor is a number for each tuple: 1 or 0 for a condition that is true or not (false and NULL are both "not"), or a
value with NULL as 0. So AND is a product, as in `[a AND b] = [a][b]`. A wide OR can be replaced by its complement,
`[a OR b] = 1 - [a is not true][b is not true]`, and the negation of an AND by `[(a AND b) is not true] = 1 - [a][b]`.
Doing both is inclusion and exclusion over the disjunctive normal form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from sqlpriv.rewrite.attributes import Attributes


class Role(Enum):
    """What a factor says about its expression."""

    TRUE = "is true"
    NOT_TRUE = "is false or NULL"
    VALUE = "its value"

    @property
    def opposite(self) -> Role:
        return Role.NOT_TRUE if self is Role.TRUE else Role.TRUE


@dataclass(frozen=True, eq=False)
class Factor:
    """A number for each combination of a few attributes' values."""

    tree: exp.Expr
    role: Role
    attributes: frozenset[int]
    open_names: frozenset[int] = frozenset()

    @functools.cached_property
    def sql(self) -> str:
        """A condition, or a number; where that is NULL, so is every product with it, which a sum leaves out."""
        text = f"({self.tree.sql('duckdb')})"
        if self.role is Role.TRUE:
            return text
        return f"({text} IS NOT TRUE)" if self.role is Role.NOT_TRUE else f"CAST({text} AS DOUBLE)"

    @property
    def statement(self) -> str:
        """What it says, to be read."""
        return self.tree.sql("duckdb") + (" IS NOT TRUE" if self.role is Role.NOT_TRUE else "")


Number = int | float
Product = tuple[Number, tuple[Factor, ...]]


class Factors:
    """Bound expressions into factors."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._expansions: dict[Factor, list[Product] | None] = {}

    def factor(self, tree: exp.Expr, role: Role = Role.VALUE) -> Factor:
        tree = _bare(tree)
        return Factor(tree, role, self._attributes.read_by(tree), self._attributes.open_in(tree))

    def of_condition(self, tree: exp.Expr, role: Role = Role.TRUE) -> tuple[Factor, ...]:
        """The factors whose product is 1 where the condition is true (or is not true), and 0 elsewhere.

        >>> these = Factors(Attributes([]))
        >>> [f.sql for f in these.of_condition(exp.condition("NOT (1 > 2 OR NOT (3 > 4 AND 5 > 6))"))]
        ['(NOT (1 > 2))', '(3 > 4)', '(5 > 6)']
        """
        tree, role = self._normal(tree, role)
        if isinstance(tree, exp.And if role is Role.TRUE else exp.Or):
            return tuple(factor for part in tree.flatten() for factor in self.of_condition(part, role))
        if role is Role.TRUE and isinstance(tree, exp.Boolean) and tree.this:
            return ()
        return (self.factor(tree, role),)

    def of_value(self, tree: exp.Expr) -> Product | None:
        """A value as a number times factors, or None where it is NULL everywhere.

        A CASE with one branch is what FILTER becomes: its condition and its value are two factors. They stay one where
        each has attributes that the other lacks, since the condition may be there to keep the value from failing.
        """
        tree = _bare(tree)
        if isinstance(tree, exp.Null):
            return None
        if isinstance(tree, exp.Literal) and not tree.is_string:
            return (int(tree.this) if tree.this.isdigit() else float(tree.this)), ()
        if isinstance(tree, exp.Neg):
            negated = self.of_value(tree.this)
            return negated and (-negated[0], negated[1])
        if isinstance(tree, exp.Mul):
            return _times(self.of_value(tree.this), self.of_value(tree.expression))
        branches = _branches(tree)
        if branches and len(branches[0]) == 1 and _is_nothing(branches[1]):
            condition, then = branches[0][0]
            conditions = self.of_condition(condition)
            value = self._attributes.read_by(then)
            if all(f.attributes <= value or value <= f.attributes for f in conditions if f.attributes & value):
                return _times((1, conditions), self.of_value(then))
        return 1, (self.factor(tree),)

    def expanded(self, factor: Factor) -> list[Product] | None:
        """A factor as a sum of products of narrower ones, or None where it has no parts.

        The same objects every time, so that sums that meet the same factors again can be shared.
        """
        if factor not in self._expansions:
            self._expansions[factor] = self._expanded(factor)
        return self._expansions[factor]

    def _expanded(self, factor: Factor) -> list[Product] | None:
        if factor.role is Role.VALUE:
            return self._expanded_value(factor.tree)
        opposite = self.of_condition(factor.tree, factor.role.opposite)
        return [(1, ()), (-1, opposite)] if len(opposite) > 1 else None

    def _expanded_value(self, tree: exp.Expr) -> list[Product] | None:
        tree = _bare(tree)
        branches = _branches(tree)
        products: list[Product | None] = []
        if isinstance(tree, exp.Add | exp.Sub) and self._is_number(tree):
            sign = 1 if isinstance(tree, exp.Add) else -1
            for value, other, factor in ((tree.this, tree.expression, 1), (tree.expression, tree.this, sign)):
                products.append(_times((factor, tuple(self._present(other))), self.of_value(value)))
        elif branches:
            before: tuple[Factor, ...] = ()
            for condition, then in branches[0]:
                taken = before + self.of_condition(condition)
                products.append(_times((1, taken), self.of_value(then)))
                before += self.of_condition(condition, Role.NOT_TRUE)
            if branches[1] is not None:
                products.append(_times((1, before), self.of_value(branches[1])))
        else:
            return None
        return [product for product in products if product]

    def _present(self, tree: exp.Expr) -> Iterator[Factor]:
        """That a number is not NULL: a sum or product is NULL where one of its operands is."""
        tree = _bare(tree)
        if isinstance(tree, exp.Add | exp.Sub | exp.Mul | exp.Neg):
            for operand in tree.iter_expressions():
                yield from self._present(operand)
        elif not isinstance(tree, exp.Literal):
            yield self.factor(exp.Not(this=exp.Is(this=exp.paren(tree), expression=exp.Null())), Role.TRUE)

    def _is_number(self, tree: exp.Expr) -> bool:
        """Whether this is arithmetic over numbers, for sure. (A date less a date can be summed, a date cannot.)"""
        if isinstance(tree, exp.Column):
            read = self._attributes.read_by(tree)
            return len(tree.parts) == 1 and all(self._attributes.domains[a].is_numeric for a in read) and bool(read)
        if isinstance(tree, exp.Literal):
            return not tree.is_string
        arithmetic = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Paren, exp.Abs, exp.Pow)
        return isinstance(tree, arithmetic) and all(self._is_number(child) for child in tree.iter_expressions())

    def _normal(self, tree: exp.Expr, role: Role) -> tuple[exp.Expr, Role]:
        """The same statement with AND or OR at its top, if that can be had."""
        tree = _bare(tree)
        if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Boolean):
            return self._normal(tree.this if tree.expression.this else _negation(tree.this), role)
        if isinstance(tree, exp.Not):
            inner = _bare(tree.this)
            if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Boolean):
                return self._normal(inner, role.opposite)
            inner = self._unfolded(inner)
            if isinstance(inner, exp.Not):
                return self._normal(inner.this, role)
            if isinstance(inner, exp.And | exp.Or):
                dual = exp.Or if isinstance(inner, exp.And) else exp.And
                return _joined(dual, map(_negation, inner.flatten())), role
        return self._unfolded(tree), role

    def _unfolded(self, tree: exp.Expr) -> exp.Expr:
        """BETWEEN and IN as the AND and OR that they stand for, where their bounds are different attributes."""
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            bounds = tree.args["low"], tree.args["high"]
            if all(map(self._attributes.read_by, bounds)):
                comparisons = zip((exp.GTE, exp.LTE), bounds, strict=True)
                return _joined(exp.And, [_compared(c, tree.this, bound) for c, bound in comparisons])
        if isinstance(tree, exp.In) and len(tree.expressions) > 1:
            listed = tree.expressions
            if any(map(self._attributes.read_by, listed)) and not isinstance(tree.this, exp.Tuple):
                return _joined(exp.Or, [_compared(exp.EQ, tree.this, item) for item in listed])
        return tree


def _bare(tree: exp.Expr) -> exp.Expr:
    """Without brackets. (sqlglot's own unnest would take those of a subquery, too.)"""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def _times(left: Product | None, right: Product | None) -> Product | None:
    return (left[0] * right[0], left[1] + right[1]) if left and right else None


def _branches(tree: exp.Expr) -> tuple[list[tuple[exp.Expr, exp.Expr]], exp.Expr | None] | None:
    """The conditions and values of a CASE, and its ELSE."""
    if not isinstance(tree, exp.Case):
        return None
    subject = tree.this
    pairs = [(_compared(exp.EQ, subject, b.this) if subject else b.this, b.args["true"]) for b in tree.args["ifs"]]
    return pairs, tree.args.get("default")


def _is_nothing(tree: exp.Expr | None) -> bool:
    return tree is None or isinstance(tree, exp.Null) or (isinstance(tree, exp.Literal) and tree.this == "0")


def _compared(comparison: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return comparison(this=exp.paren(left), expression=exp.paren(right))


def _negation(tree: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.paren(_bare(tree)))


def _joined(connector: Callable[..., exp.Expr], parts: Iterable[exp.Expr]) -> exp.Expr:
    return functools.reduce(lambda left, right: connector(this=left, expression=exp.paren(right)), parts)
