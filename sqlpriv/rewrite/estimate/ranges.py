"""Columns that are published in ranges of numbers without gaps: what can be asked of them, and where to cut them.

A range has no list of values, but a condition that compares the column with constants is the same for all values
between two neighbours of these constants. So the range is cut there, and each piece stands for its values: inside the
piece for conditions, with its two ends for what is summed. That is exact where the sum is linear in the column, since
then it is greatest and least at an end. Whatever else is done with such a column is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.estimate.texts import VIEW
from sqlpriv.rewrite.release import Attribute, end_of
from sqlpriv.rewrite.syntax import without_parentheses

_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Is,
)  # fmt: skip
_ADDED = (exp.Add, exp.Sub)
_KEPT = (exp.Paren, exp.Neg, exp.Coalesce, exp.If, exp.Case)


def cut_points(nodes: Iterable[exp.Expr], cut: Mapping[str, Attribute]) -> dict[str, list[str]]:
    """By column, the constants that it is compared with, as SQL text, each once."""
    points: dict[str, list[str]] = {name: [] for name in cut}
    for node in nodes:
        for found in _occurrences(node, cut):
            comparison = _comparison(found)
            for text in _constants(comparison, found) if comparison is not None else ():
                if text not in points[found.table]:
                    points[found.table].append(text)
    return points


def refuse_uncut(node: exp.Expr, cut: Mapping[str, Attribute], sql: str) -> None:
    """Refuse a condition or a key that does anything else with such a column than comparing it with constants."""
    for found in _occurrences(node, cut):
        if _comparison(found) is None:
            _refuse(found, sql)


def with_ends(node: exp.Expr, cut: Mapping[str, Attribute], sql: str) -> exp.Expr:
    """What is summed, with the ends of pieces in it, but for conditions inside; refused where it is not linear."""
    if next(summed_columns(node, cut), None) is None:
        return node
    if max(_degrees(node, cut, sql).values(), default=0) > 1:
        _refuse(next(summed_columns(node, cut)), sql)
    made = exp.Paren(this=node.copy())
    for found in list(summed_columns(made, cut)):
        name = exp.Identifier(this=end_of(found.table), quoted=True)
        found.replace(exp.Column(this=name, table=exp.Identifier(this=VIEW, quoted=True)))
    return made


def summed_columns(node: exp.Expr, cut: Mapping[str, Attribute]) -> Iterator[exp.Column]:
    """Where such a column is summed itself, and not only compared."""
    return (found for found in _occurrences(node, cut) if _comparison(found) is None)


def _occurrences(node: exp.Expr, cut: Mapping[str, Attribute]) -> Iterator[exp.Column]:
    return (found for found in node.find_all(exp.Column) if found.table in cut)


def _comparison(found: exp.Column) -> exp.Expr | None:
    """The comparison with constants that a column stands in."""
    inner: exp.Expr = found
    while isinstance(inner.parent, exp.Paren):
        inner = inner.parent
    comparison = inner.parent
    if not isinstance(comparison, _COMPARED):
        return None
    if isinstance(comparison, exp.In) and (comparison.this is not inner or comparison.args.get("query")):
        return None
    others = [child for child in comparison.iter_expressions() if child is not inner]
    is_constant = not any(other.find(exp.Column, exp.Query, exp.Subquery) for other in others)
    return comparison if is_constant else None


def _constants(comparison: exp.Expr, found: exp.Column) -> Iterator[str]:
    for child in comparison.iter_expressions():
        bare = without_parentheses(child)
        if bare is not found and not isinstance(bare, (exp.Null, exp.Boolean)):
            yield bare.sql(dialect="duckdb")


def _degrees(node: exp.Expr, cut: Mapping[str, Attribute], sql: str) -> Counter[str]:
    """How often each column is multiplied in an expression; what is neither sum nor product of it is refused."""
    if isinstance(node, exp.Column):
        return Counter({node.table: 1}) if node.table in cut else Counter()
    if isinstance(node, _COMPARED) and not any(_comparison(f) is None for f in _occurrences(node, cut)):
        return Counter()
    below = [_degrees(child, cut, sql) for child in node.iter_expressions()]
    if not any(below):
        return Counter()
    if isinstance(node, exp.Mul):
        return below[0] + below[1]
    decides = node.this if isinstance(node, (exp.Case, exp.If)) else None
    if isinstance(decides, exp.Expression) and _degrees(decides, cut, sql):
        _refuse(next(_occurrences(decides, cut)), sql)
    divided = isinstance(node, exp.Div) and not below[1]
    cast = isinstance(node, (exp.Cast, exp.TryCast)) and node.to.this == exp.DataType.Type.DOUBLE
    if not (divided or cast or isinstance(node, (*_ADDED, *_KEPT))):
        _refuse(next(_occurrences(node, cut)), sql)
    highest: Counter[str] = Counter()
    for own in below:
        highest |= own
    return highest


def _refuse(found: exp.Column, sql: str) -> None:
    refuse(
        sql,
        found,
        f"the column {found.table!r} like this",
        "it is published in ranges without a list of values: compare it with constants, sum or average it as it is, or "
        "publish it with a domain",
    )
