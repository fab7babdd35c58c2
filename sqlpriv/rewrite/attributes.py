"""Which attributes an expression reads, and names for them that nothing in a query can capture.

A column of the private table becomes `__priv_x<number>`, wherever it stands. One case stays as it was written: a name
without a qualifier inside a subquery, which may be a column of the public table there. Only DuckDB knows, so the name
is left to it ("open"), and the attribute counts as read: a factor that is too wide is slow, one that is too narrow is
wrong. Whoever qualifies the columns of public tables first never meets that case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlpriv.errors import InputError, UnsupportedSQLError
from sqlpriv.sqltext import quoted

_NUMERIC = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL.*", re.IGNORECASE)
_NOT_OF_ONE_ROW = (exp.AggFunc, exp.Window, exp.Star, exp.Columns, exp.PositionalColumn, exp.Unnest, exp.Explode)


@dataclass(frozen=True)
class DomainTable:
    """A published attribute: its name in queries, and a table with exactly this column, each value once.

    `type` is DuckDB's name of the column's type; knowing that it is a number allows sums to be taken apart at + and -.
    """

    column: str
    table: str
    size: int
    type: str = ""

    @cached_property
    def is_numeric(self) -> bool:
        return _NUMERIC.fullmatch(self.type) is not None


def public_rows(alias: str, table: str, columns: Sequence[str], size: int) -> DomainTable:
    """The rows of a public table that a query joins, as if they were the values of one more attribute.

    An inner join is a sum over D times these rows, with the join's condition as a factor. The attribute is a STRUCT
    called like the table in the query, so that `alias.column` reads its field; equal rows are told apart by a number.
    """
    names = ", ".join(map(quoted, columns))
    number = quoted("__priv_row")
    rows = f"SELECT {names}, row_number() OVER (ORDER BY {names}) AS {number} FROM {table}"
    return DomainTable(alias, f"(SELECT {quoted(alias)} FROM ({rows}) AS {quoted(alias)})", size)


class Attributes:
    """The attributes of one domain, by number, and the names that the generated SQL has for them."""

    def __init__(
        self, domains: Sequence[DomainTable], table_names: Iterable[str] = (), expressions: Iterable[exp.Expr] = ()
    ) -> None:
        self.domains = tuple(domains)
        self._table_names = {name.lower() for name in table_names}
        self._numbers = {domain.column.lower(): number for number, domain in enumerate(domains)}
        if len(self._numbers) < len(self.domains):
            raise InputError("two attributes of a domain have the same name")
        self.prefix = _unused_prefix(expressions, self._numbers)
        self._inner = {self.inner(number): number for number in range(len(self.domains))}

    def inner(self, number: int) -> str:
        """The name of an attribute inside the generated SQL."""
        return f"{self.prefix}x{number}"

    def bound(self, expression: exp.Expr) -> exp.Expr:
        """A copy of an expression that reads the attributes by their inner names.

        >>> age = Attributes([DomainTable("Age", "ages", 20)], ["people"])
        >>> age.bound(exp.condition("people.age > 3")).sql()
        '"__priv_x0" > 3'
        """
        # Below a node of its own, so that an expression that is nothing but a column can be replaced, too.
        tree = exp.Paren(this=expression.copy())
        for table in tree.find_all(exp.Table):
            if table.name.lower() in self._table_names:
                raise UnsupportedSQLError(f"a subquery reads the private table {table.name!r}: only public ones can be")
        for node in tree.find_all(*_NOT_OF_ONE_ROW):
            if not node.find_ancestor(exp.Query):
                raise UnsupportedSQLError(f"{node.sql('duckdb')} is not an expression of one row's attributes")
        for column in list(tree.find_all(exp.Column)):
            self._bind(column)
        bound = tree.this
        bound.pop()
        return bound  # type: ignore[no-any-return]

    def read_by(self, tree: exp.Expr) -> frozenset[int]:
        """The attributes that a bound expression reads."""
        return frozenset(number for number, _ in self._reads(tree))

    def open_in(self, tree: exp.Expr) -> frozenset[int]:
        """The attributes that a bound expression may read by the names that users know."""
        return frozenset(number for number, is_open in self._reads(tree) if is_open)

    def shown(self, text: str) -> str:
        """A piece of the generated SQL with the names that users know."""
        for number, domain in enumerate(self.domains):
            text = text.replace(quoted(self.inner(number)), quoted(domain.column))
        return text

    def _reads(self, tree: exp.Expr) -> Iterable[tuple[int, bool]]:
        for column in tree.find_all(exp.Column):
            first = column.parts[0].name
            if first in self._inner:
                yield self._inner[first], False
            elif len(column.parts) == 1 and first.lower() in self._numbers:
                yield self._numbers[first.lower()], True

    def _bind(self, column: exp.Column) -> None:
        """Give a column its inner name, if it is one of the private table."""
        names = [part.name.lower() for part in column.parts]
        inside = _enclosing_queries(column)
        if len(names) == 1 and inside:
            return
        start = self._qualifiers(names, [name for query in inside for name in _sources(query)])
        if start is None or (start == 0 and names[0] not in self._numbers):
            if inside:
                return
            start = 0
        number = self._numbers.get(names[start])
        if number is None:
            raise InputError(f"there is no published column {column.parts[start].name!r}")
        fields = [part.copy() for part in column.parts[start + 1 :]]  # of a STRUCT
        parts = [exp.to_identifier(self.inner(number), quoted=True), *fields]
        column.replace(exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False))))

    def _qualifiers(self, names: list[str], hidden: list[str]) -> int | None:
        """How many parts of a name stand for the private table, or None where another table hides it."""
        for position in (0, 1, 2):
            if position + 1 < len(names) and names[position] in self._table_names:
                return None if names[position] in hidden else position + 1
        return None if names[0] in hidden else 0


def _unused_prefix(expressions: Iterable[exp.Expr], columns: Iterable[str]) -> str:
    """`__priv_`, or longer where a column or anything else in the query has such a name."""
    used = {name.this.lower() for tree in expressions for name in tree.find_all(exp.Identifier)} | set(columns)
    prefix = "__priv_"
    while any(name.startswith(prefix) for name in used):
        prefix += "_"
    return prefix


def _enclosing_queries(node: exp.Expr) -> list[exp.Expr]:
    queries: list[exp.Expr] = []
    query = node.find_ancestor(exp.Query)
    while query is not None:
        queries.append(query)
        query = query.find_ancestor(exp.Query)
    return queries


def _sources(query: exp.Expr) -> list[str]:
    """What a SELECT calls the relations that it reads."""
    start = query.args.get("from_")
    relations = [start.this] if start else []
    relations += [join.this for join in query.args.get("joins") or ()]
    relations += query.args.get("laterals") or []
    return [relation.alias_or_name.lower() for relation in relations]
