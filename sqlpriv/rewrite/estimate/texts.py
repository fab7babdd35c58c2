"""SQL text: expressions over the view or as they are, numbers, and the formulas of sql/ with arguments in them."""

from __future__ import annotations

import re
from functools import cache
from statistics import NormalDist

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros import catalog

VIEW = "__priv_v"
ALONE = re.compile(r'[\w.]+|"\w+"[.]"\w+"')
"""A text that needs no parentheses around it."""
_PLACE = re.compile(r"__argument_(\d)")


class Texts:
    """Writes expressions; one for a whole rewriting, since making a generator costs more than a small expression."""

    def __init__(self, attributes: frozenset[str]) -> None:
        self._plain = DuckDBGenerator(dialect="duckdb")
        self._view = _ViewGenerator(attributes)

    def plain(self, node: exp.Expr) -> str:
        """The expression with its columns written variable.column."""
        return self._plain.generate(node)

    def over_view(self, node: exp.Expr) -> str:
        """The expression over the rows of the view."""
        return self._view.generate(node)


class _ViewGenerator(DuckDBGenerator):
    """Writes the attribute age as "__priv_v"."age"."""

    def __init__(self, attributes: frozenset[str]) -> None:
        super().__init__(dialect="duckdb")
        self._attributes = attributes

    def column_sql(self, expression: exp.Column) -> str:
        if expression.table in self._attributes:
            return quoted(VIEW, expression.table)
        return str(super().column_sql(expression))


def number(value: float) -> str:
    """A number as a DOUBLE, not as the DECIMAL that DuckDB takes 0.5 for."""
    text = repr(float(value))
    made = text if "e" in text or "n" in text else f"{text}e0"
    return f"({made})" if value < 0 else made


ONE_DEVIATION = number(1.0)


def squared_quantile(confidence: float) -> str:
    """The square of the z of a two-sided interval, as SQL text."""
    if not 0 < confidence < 1:
        raise InputError("the confidence must lie between 0 and 1, as in 0.95")
    return number(NormalDist().inv_cdf((1 + confidence) / 2) ** 2)


def formula(name: str, *arguments: str) -> str:
    """A helper macro of sql/ with these arguments in it."""
    safe = [a if ALONE.fullmatch(a) else f"({a})" for a in arguments]
    return _PLACE.sub(lambda found: safe[int(found.group(1))], _template(name, len(arguments)))


def widest(bounds: list[tuple[str, str]]) -> tuple[str, str]:
    """The lowest and the highest; none, where the first has none."""
    if len(bounds) == 1:
        return bounds[0]
    (low, high), (view_low, view_high) = bounds
    return (
        f"CASE WHEN {low} IS NOT NULL THEN least({low}, {view_low}) END",
        f"CASE WHEN {high} IS NOT NULL THEN greatest({high}, {view_high}) END",
    )


@cache
def _template(name: str, arity: int) -> str:
    return catalog.inlined(f"{name}({', '.join(f'__argument_{i}' for i in range(arity))})")
