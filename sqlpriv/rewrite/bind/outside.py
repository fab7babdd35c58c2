"""Values that a query asks for and the public domain of a column has not: an answer of 0 about them says nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlpriv.rewrite.bind.relations import VALUE
from sqlpriv.rewrite.release import Attribute, Release
from sqlpriv.rewrite.syntax import without_parentheses

_MOST_NAMED = 8


def outside_domains(node: exp.Expr, release: Release) -> Iterator[str]:
    """A sentence for each value that a resolved expression compares a column with and that its domain has not."""
    if release.facts is None:
        return
    for found in node.find_all(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In):
        for attribute, value in _compared(found, release):
            if attribute.is_cut or attribute.unlisted:
                continue  # Its values are not all known.
            text = value.sql(dialect="duckdb")
            if not release.facts.has_value(attribute.domain, text):
                known = release.facts.some_values(attribute.domain, _MOST_NAMED)
                listed = f" (it has {', '.join(known)})" if known else " (`sqlpriv show` describes it)"
                yield f"the domain of {attribute.name!r} has no value {text}{listed}: no row of the release can have it"


def _compared(node: exp.Expr, release: Release) -> Iterator[tuple[Attribute, exp.Expr]]:
    """The columns of the private table that a comparison is about, each with a value it is compared with."""
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    for other in others:
        for side, value in ((node.this, other), (other, node.this)):
            column = without_parentheses(side)
            if isinstance(column, exp.Column) and column.name == VALUE and _is_value(value):
                attribute = release.attribute(column.table)
                if attribute is not None:
                    yield attribute, without_parentheses(value)


def _is_value(node: exp.Expr) -> bool:
    bare = without_parentheses(node)
    if isinstance(bare, exp.Neg | exp.Cast):
        return isinstance(without_parentheses(bare.this), exp.Literal)
    return isinstance(bare, exp.Literal)
