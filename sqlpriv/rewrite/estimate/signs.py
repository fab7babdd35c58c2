"""Which expressions are never below 0, as far as that can be seen without computing them.

The interval of a sum treats values above and below 0 apart, which takes twice the moments: not needed for ages.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import without_parentheses

_KEEPS_THE_SIGN = (exp.Add, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)


def is_never_below_zero(node: exp.Expr, release: Release) -> bool:
    """Whether an expression over attributes is at least 0, or NULL, for every tuple of the domain."""
    node = without_parentheses(node)
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, (exp.Null, exp.Boolean, exp.Abs, exp.Length, exp.Sqrt, exp.Exp)):
        return True
    if isinstance(node, exp.Column):
        found = release.attribute(node.table)
        return found is not None and found.never_below_zero
    if isinstance(node, _KEEPS_THE_SIGN):
        return all(is_never_below_zero(side, release) for side in (node.this, node.expression))
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        return all(is_never_below_zero(r, release) for r in (*results, node.args.get("default") or exp.Null()))
    if isinstance(node, exp.Coalesce):
        return all(is_never_below_zero(n, release) for n in (node.this, *node.expressions))
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return node.to.this in exp.DataType.NUMERIC_TYPES and is_never_below_zero(node.this, release)
    return False
