"""Summands made of others: a combination of sums as the one sum it is, and a sum as the difference of two."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from sqlglot import exp, parse_one

from sqlpriv.rewrite.estimate.aggregates import Summand
from sqlpriv.rewrite.estimate.sums import Sums

_MOST_TOGETHER = 1e6


def combined(sums: Sums, terms: Mapping[int, str]) -> int | None:
    """The number of the summand that is a combination of others.

    None where a coefficient differs by group, and where that ties too many attributes together.
    """
    parts: list[exp.Expr] = []
    for i, text in terms.items():
        coefficient = parse_one(text, dialect="duckdb")
        if coefficient.find(exp.Column, exp.Query) is not None:
            return None
        kept = sums.summands[i]
        value = sums.summands.node(kept.factors[0]).copy() if kept.factors else exp.Literal.number(1)
        if kept.filters:
            value = exp.Case(ifs=[exp.If(this=exp.and_(*map(sums.summands.node, kept.filters)), true=value)])
        double = exp.Cast(this=value, to=exp.DataType.build("double"))
        filled = exp.Coalesce(this=double, expressions=[exp.Literal.number(0)])
        parts.append(exp.Mul(this=exp.Paren(this=coefficient), expression=filled))
    total = parts[0]
    for part in parts[1:]:
        total = exp.Add(this=total, expression=part)
    return sums.summands.add(Summand(total)) if _fits_together(sums, total) else None


def signed(sums: Sums, i: int) -> tuple[int, int] | None:
    """The numbers of two summands: the values of one above 0, and those below.

    None where it has none below, where a row may count several times, above 0 and below, and where the sign takes too
    wide a join.
    """
    kept = sums.summands[i]
    if sums.joins.multiply or sums.never_below_zero(i):
        return None
    node = sums.summands.node(kept.factors[0])
    if not _fits_together(sums, node):
        return None
    sides = (side(this=exp.Paren(this=node.copy()), expression=exp.Literal.number(0)) for side in (exp.GT, exp.LT))
    above, below = (sums.summands.add(Summand(node, (*map(sums.summands.node, kept.filters), side))) for side in sides)
    return above, below


def _fits_together(sums: Sums, node: exp.Expr) -> bool:
    """Whether the attributes of an expression have few combinations: it is no product or sum of smaller ones."""
    named = {c.table for c in node.find_all(exp.Column)}
    return prod(a.size for a in sums.release.attributes if a.name in named) <= _MOST_TOGETHER
