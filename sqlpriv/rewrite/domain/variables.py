"""The relations whose product is summed over, and the expressions that mention their columns.

A variable is an attribute of the domain, or a public table that the query joins to it. Its columns get names of our own
the first time an expression mentions them, so that an expression is written once and can stand in any join, whichever
relation brings the column there. Sets of columns are bit masks: ordering them asks for intersections all the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.syntax import PREFIX

# What gives a name to rows inside a subquery.
_NAMING = (exp.Table, exp.Subquery, exp.CTE, exp.Values, exp.Unnest)

# What the generator writes without changing the tree; all else is copied first, which takes most of the time.
_UNCHANGED = frozenset({
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ,
    exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Between, exp.Is,
})  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """One attribute of the domain, or one row of a public table joined to it."""

    name: str
    table: str
    columns: Mapping[str, str]
    size: int
    weight: str | None = None
    counted: bool = True
    """Whether the size is the number of rows; else there are no more than that."""
    keys: frozenset[str] | None = None
    """Columns that have no value twice; None for a domain, whose one column is one."""

    def is_key(self, column: str) -> bool:
        """Whether a value of the column is that of one row at most."""
        return column in (self.columns if self.keys is None else self.keys)


@dataclass(frozen=True)
class Value:
    """One sum: of the expression times the product of all weights to this power, where the filter is true."""

    expression: exp.Expr
    filter: exp.Expr | None = None
    power: int = 0


@dataclass(frozen=True)
class UsedColumn:
    """A column that an expression mentions; its number is its bit in the masks."""

    variable: int
    name: str
    alias: str


class _Writer(DuckDBGenerator):
    """DuckDB's SQL with the columns of variables under our names."""

    used: Columns

    def column_sql(self, expression: exp.Column) -> str:
        number = self.used.number(expression)
        return super().column_sql(expression) if number is None else quoted(self.used.columns[number].alias)


class Columns:
    """The columns of the variables that expressions mention, as bits."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = variables
        self.sizes = [max(variable.size, 1) for variable in variables]
        self.columns: list[UsedColumn] = []
        self.of_variable = [0] * len(variables)  # the mask of each variable's columns
        self._names = {folded(variable.name): number for number, variable in enumerate(variables)}
        if len(self._names) < len(variables):
            raise UnsupportedSQLError("two relations of the query have the same name: give one an alias of its own")
        self._numbers: dict[tuple[str, str], int | None] = {}
        self._masks: dict[int, tuple[exp.Expr, int]] = {}
        self._writer = _Writer(dialect="duckdb", comments=False)
        self._writer.used = self

    def number(self, column: exp.Column) -> int | None:
        """The number of a column, or None where it is not one of a variable."""
        key = column.table, column.name
        if key not in self._numbers:
            self._numbers[key] = self._numbered(*key)
        return self._numbers[key]

    def _numbered(self, table: str, name: str) -> int | None:
        variable = self._names.get(folded(table)) if table else None
        if variable is None:
            return None
        own = next((own for own in self.variables[variable].columns if folded(own) == folded(name)), None)
        if own is None:
            raise UnsupportedSQLError(f"{table!r} has no column {name!r}")
        number = next((n for n, c in enumerate(self.columns) if (c.variable, c.name) == (variable, own)), None)
        if number is None:
            number = len(self.columns)
            self.columns.append(UsedColumn(variable, own, f"{PREFIX}c{number}"))
            self.of_variable[variable] |= 1 << number
        return number

    def mask(self, expression: exp.Expr) -> int:
        """The columns of variables that an expression mentions, in its subqueries too."""
        known = self._masks.get(id(expression))
        if known is None:
            # The expression is kept with its mask, so that no other can get its id.
            known = self._masks[id(expression)] = expression, self._mentioned(expression)
        return known[1]

    def _mentioned(self, expression: exp.Expr) -> int:
        mask = 0
        for node in _nodes(expression):
            if isinstance(node, exp.Column):
                number = self.number(node)
                if number is not None:
                    mask |= 1 << number
            elif isinstance(node, _NAMING) and node.alias_or_name and folded(node.alias_or_name) in self._names:
                raise UnsupportedSQLError(
                    f"a subquery reads {node.alias_or_name!r}, which is also the name of a relation outside of it: "
                    "give it another alias"
                )
        return mask

    def sql(self, expression: exp.Expr) -> str:
        """An expression as DuckDB's SQL over our column names."""
        changed = any(type(node) not in _UNCHANGED for node in _nodes(expression))
        return self._writer.generate(expression, copy=changed)

    def variables_of(self, mask: int) -> list[int]:
        """The variables that own the columns, in order."""
        return [number for number, own in enumerate(self.of_variable) if own & mask]

    def combinations(self, mask: int) -> int:
        """How many combinations the variables of these columns have."""
        return math.prod(self.sizes[number] for number in self.variables_of(mask))

    def label(self, variable: int) -> str:
        """What a user calls a variable: an attribute by its column where no other has that, a table by its alias."""
        own = list(self.variables[variable].columns)
        same = [other for other in self.variables if own == list(other.columns)]
        return own[0] if len(own) == len(same) == 1 else self.variables[variable].name

    def readable(self, sql: str) -> str:
        """SQL over our column names with the names of the query, for people."""
        for column in reversed(self.columns):
            sql = sql.replace(quoted(column.alias), quoted(self.variables[column.variable].name, column.name))
        return sql

    def aliases(self, mask: int) -> list[str]:
        """The quoted names of the columns of a mask, in order."""
        return [quoted(self.columns[number].alias) for number in bits(mask)]


def _nodes(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Every node but the names inside columns."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, exp.Column | exp.Literal):
            stack.extend(node.iter_expressions())


def bits(mask: int) -> list[int]:
    """The numbers of the bits that are set, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
