"""A value's expression as a sum of products of parts, each part over as few variables as possible.

A sum of products over separate variables is summed without ever joining them. NULL counts as 0 for the whole
expression, so a part of a sum counts only where all the other parts are present. A CASE over many combinations is the
sum of its branches, each where it is the one taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from sqlglot import exp

from sqlpriv.rewrite.domain.formulas import Condition, case_branches, guards_nothing
from sqlpriv.rewrite.domain.variables import Columns
from sqlpriv.rewrite.syntax import without_parentheses

_MOST_PRODUCTS = 64
_NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")  # fmt: skip


@dataclass(frozen=True)
class Product:
    """A coefficient times numbers, where all of `present` are not NULL and all conditions hold."""

    coefficient: float = 1
    numbers: tuple[exp.Expr, ...] = ()
    present: tuple[exp.Expr, ...] = ()
    conditions: tuple[Condition, ...] = ()


def products(expression: exp.Expr, columns: Columns, together: float) -> list[Product]:
    """The expression, NULL as 0, is the sum of these."""
    if isinstance(expression, exp.Literal) and not expression.is_string:
        return [Product(_number(expression))]
    if isinstance(expression, exp.Null):
        return []
    if len(columns.variables_of(columns.mask(expression))) > 1 and _numeric(expression, columns):
        found = _split(expression, columns, together)
        if len(found) <= _MOST_PRODUCTS:
            return [_together(each, columns) for each in found if each.coefficient]
    return [Product(1, (expression,))]


def _number(literal: exp.Literal) -> float:
    text = literal.name
    return int(text) if text.isdigit() else float(text)


def _split(expression: exp.Expr, columns: Columns, together: float) -> list[Product]:
    """As `products`, of a number. Beyond `together` combinations a CASE falls apart into its branches."""
    if isinstance(expression, exp.Paren):
        return _split(expression.this, columns, together)
    if isinstance(expression, exp.Neg):
        return [replace(each, coefficient=-each.coefficient) for each in _split(expression.this, columns, together)]
    if isinstance(expression, exp.Literal):
        return [Product(_number(expression))]
    mask = columns.mask(expression)
    if len(columns.variables_of(mask)) > 1:
        if isinstance(expression, exp.Add | exp.Sub):
            return _sum(expression, columns)
        if isinstance(expression, exp.Mul):
            left = _split(expression.this, columns, together)
            right = _split(expression.expression, columns, together)
            if len(left) * len(right) <= _MOST_PRODUCTS:
                return [_product(a, b) for a in left for b in right]
        if isinstance(expression, exp.Case) and columns.combinations(mask) > together and guards_nothing(expression):
            return _branches(expression, columns, together)
        if _is_double_of_numbers(expression, columns) and columns.combinations(mask) > together:
            return _split(_distributed(expression), columns, together)
    return [Product(1, (expression,))]


def _is_double_of_numbers(expression: exp.Expr, columns: Columns) -> bool:
    """Whether it is CAST(a + b AS DOUBLE), or the like, of numbers: the factors of squares and cubes are."""
    if not isinstance(expression, exp.Cast) or expression.to.this != exp.DataType.Type.DOUBLE:
        return False
    inner = without_parentheses(expression.this)
    return isinstance(inner, exp.Add | exp.Sub | exp.Mul | exp.Neg) and _numeric(inner, columns)


def _distributed(cast: exp.Expr) -> exp.Expr:
    """As doubles, the parts of a sum or product give the same, and pass no limits."""
    inner = without_parentheses(cast.this).copy()
    for side in (inner.this, inner.args.get("expression")):
        if side is not None:
            side.replace(exp.Cast(this=side.copy(), to=exp.DataType.build("double")))
    return inner


def _product(a: Product, b: Product) -> Product:
    return Product(
        a.coefficient * b.coefficient, a.numbers + b.numbers, a.present + b.present, a.conditions + b.conditions
    )


def _branches(case: exp.Case, columns: Columns, together: float) -> list[Product]:
    return [
        replace(each, conditions=each.conditions + taken)
        for taken, result in case_branches(case)
        if not isinstance(result, exp.Null)
        for each in _split(result, columns, together)
    ]


def _sum(expression: exp.Add | exp.Sub, columns: Columns) -> list[Product]:
    # Whether a part is present could not be said of a CASE in branches without putting it together again.
    left, right = _split(expression.this, columns, inf), _split(expression.expression, columns, inf)
    sign = -1 if isinstance(expression, exp.Sub) else 1
    of_left, of_right = _parts(left), _parts(right)
    return [
        *(replace(each, present=each.present + of_right) for each in left),
        *(replace(each, present=each.present + of_left, coefficient=sign * each.coefficient) for each in right),
    ]


def _parts(found: list[Product]) -> tuple[exp.Expr, ...]:
    """Everything that the products mention, once."""
    return tuple({id(part): part for each in found for part in (*each.numbers, *each.present)}.values())


def _together(product: Product, columns: Columns) -> Product:
    """Each test for NULL once; not for what is multiplied anyway, as NULL is 0 there."""
    present = {columns.sql(part): part for part in product.present}
    for part in product.numbers:
        present.pop(columns.sql(part), None)
    return replace(product, present=tuple(present.values()))


def _numeric(expression: exp.Expr, columns: Columns) -> bool:
    """Whether it is surely a number; the difference of two dates, say, cannot be split."""
    if isinstance(expression, exp.Literal):
        return not expression.is_string
    if isinstance(expression, exp.Paren | exp.Neg):
        return _numeric(expression.this, columns)
    if isinstance(expression, exp.Add | exp.Sub | exp.Mul):
        return _numeric(expression.this, columns) and _numeric(expression.expression, columns)
    if isinstance(expression, exp.Column):
        number = columns.number(expression)
        if number is None:
            return False
        column = columns.columns[number]
        kind = columns.variables[column.variable].columns[column.name].upper()
        return kind.split("(")[0].strip() in _NUMERIC
    if isinstance(expression, exp.Cast):
        return expression.to.is_type(*exp.DataType.NUMERIC_TYPES)
    if isinstance(expression, exp.Case):
        results = [branch.args["true"] for branch in expression.args["ifs"]]
        results += [expression.args["default"]] if expression.args.get("default") else []
        return all(isinstance(each, exp.Null) or _numeric(each, columns) for each in results)
    return isinstance(expression, exp.Length | exp.Abs | exp.Extract | exp.Year | exp.Month | exp.Sqrt)
