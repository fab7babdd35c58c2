"""Resolved expressions as SQL text: over the view, where an attribute is a column, or as they are."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

from sqlpriv.sqltext import quoted

VIEW = "__priv_v"


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
