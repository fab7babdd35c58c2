"""Aggregates as sums: count(*) sums 1, count(x) sums 1 where x is not NULL, a condition sums 1 where it holds.

A summand that is 0 or 1 is kept as a filter alone, so that its square and its cube are itself and need no sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.release import Attribute, Release
from sqlpriv.rewrite.syntax import without_parentheses
from sqlpriv.sqltext import NUMERIC_TYPE

_TRUTHS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between,
    exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.RegexpLike, exp.RegexpFullMatch, exp.And, exp.Or, exp.Not,
    exp.Boolean, exp.Exists, exp.StartsWith, exp.EndsWith, exp.Contains, exp.ArrayContains, exp.Escape,
)  # fmt: skip


@dataclass(frozen=True)
class Summand:
    """What is summed: an expression, or 1, where the filters hold. NULL counts as 0."""

    expression: exp.Expr | None
    filters: tuple[exp.Expr, ...] = ()


def summands(node: exp.Expr, release: Release, sql: str) -> tuple[Summand, ...]:
    """The sum that an aggregate is, or the two whose ratio it is (avg)."""
    outside: tuple[exp.Expr, ...] = ()
    if isinstance(node, exp.Filter):
        node, outside = node.this, (node.expression.this,)
    if isinstance(node, exp.Count):
        if node.expressions:
            refuse(sql, node, "count() of several columns", "write count(*), or count of one expression")
        if node.this is None or isinstance(node.this, exp.Star):
            return (Summand(None, outside),)
        return (Summand(None, (*outside, *present(node.this, release))),)
    if isinstance(node, exp.CountIf):
        return (Summand(None, (*outside, node.this)),)
    total = _summed(node.this, outside, release)
    if isinstance(node, exp.Sum):
        return (total,)
    there = (*outside, *present(node.this, release))
    if total.expression is not None:
        total = Summand(total.expression, there)  # Where both sums have the same filters, so have their moments.
    return (total, Summand(None, there))


def averaged_domain(node: exp.Expr, release: Release) -> str | None:
    """The domain of the numbers that are averaged, where these are a column of the private table as it is."""
    average = node.this if isinstance(node, exp.Filter) else node
    averaged = without_parentheses(average.this)
    found = _attribute(averaged, release) if isinstance(averaged, exp.Column) else None
    return found.domain if found is not None and NUMERIC_TYPE.fullmatch(found.type) else None


def _summed(node: exp.Expr, outside: tuple[exp.Expr, ...], release: Release) -> Summand:
    bare = without_parentheses(node)
    if _is_truth(bare, release):
        return Summand(None, (*outside, bare))
    if isinstance(bare, exp.Literal) and not bare.is_string and bare.this == "1":
        return Summand(None, outside)
    if isinstance(bare, exp.Case) and bare.this is None and len(bare.args["ifs"]) == 1:
        branch, default = bare.args["ifs"][0], bare.args.get("default")
        if _is_number(branch.args["true"], "1") and (default is None or _is_number(default, "0")):
            return Summand(None, (*outside, branch.this))
    return Summand(bare, outside)


def _is_number(node: exp.Expr, text: str) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this == text


def _is_truth(node: exp.Expr, release: Release) -> bool:
    if isinstance(node, exp.Column):
        found = _attribute(node, release)
        return found is not None and found.type.upper() == "BOOLEAN"
    return isinstance(node, _TRUTHS)


def present(node: exp.Expr, release: Release) -> tuple[exp.Expr, ...]:
    """That an expression is not NULL: nothing to ask of a constant, or of a column whose domain has no NULL."""
    bare = without_parentheses(node)
    found = _attribute(bare, release) if isinstance(bare, exp.Column) else None
    if isinstance(bare, exp.Literal) or (found is not None and not found.has_null):
        return ()
    return (exp.Not(this=exp.Paren(this=exp.Is(this=exp.Paren(this=bare.copy()), expression=exp.Null()))),)


def _attribute(node: exp.Column, release: Release) -> Attribute | None:
    """The attribute that a resolved column is; a public table never has the name of an attribute."""
    return release.attribute(node.table)
