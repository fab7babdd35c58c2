"""Columns that are published as labels, where a query takes them for the numbers or dates that they were.

The engine would find that types do not fit, and name no column. Labels can be grouped by, compared with each other and
counted; nothing else is known of the values below them.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import without_parentheses

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
_NUMERIC = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Avg, exp.Sum, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Week, exp.Extract,
    exp.DateTrunc, exp.TimestampTrunc, exp.Abs, exp.Floor, exp.Ceil, exp.Round,
)  # fmt: skip


def refuse_values_of_labels(sql: str, statement: exp.Expr, release: Release) -> None:
    """Refuse a column of labels that is calculated with, or compared with a number or a date."""
    labels = {folded(a.name): a for a in release.attributes if a.labels}
    labels = {n: a for n, a in labels.items() if not any(n in map(folded, t.columns) for t in release.public.values())}
    if not labels:
        return
    for column in statement.find_all(exp.Column):
        attribute = labels.get(folded(column.name))
        if attribute is None:
            continue
        node = column.parent
        while isinstance(node, exp.Paren):
            node = node.parent
        if isinstance(node, _NUMERIC) or (isinstance(node, _COMPARED) and _has_other_values(node, column)):
            refuse(
                sql,
                column,
                f"a value of {attribute.name}",
                f"{attribute.name} is published in {attribute.labels}: group by these labels, or compare it with them",
            )


def _has_other_values(node: exp.Expr, column: exp.Column) -> bool:
    """Whether something that is compared with the column is a number, a date or a cast, and no text."""
    for other in map(without_parentheses, node.iter_expressions()):
        if other is column or other.find(exp.Column) is column:
            continue
        if isinstance(other, (exp.Neg, exp.Cast, exp.Date)) or (isinstance(other, exp.Literal) and not other.is_string):
            return True
    return False
