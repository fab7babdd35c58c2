"""What a part of a query reads and shows, once its names are resolved.

Resolved columns are written variable.column. An attribute of the private table is a variable of its own with the one
column `value`. A public table is a variable with all its columns, and an answer one with the columns it shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.syntax import without_parentheses

VALUE = "value"
SCALAR = "__priv_scalar"
"""The variable of answers that stand as one value in an expression; its columns are their numbers."""
_MARK = "shown"
_marks = count()


@dataclass(frozen=True)
class Shown:
    """A column that a relation shows: its name as spelt, and what it stands for. Copied wherever it is used."""

    name: str
    expression: exp.Expr
    estimate: AnswerColumn | None = None


@dataclass(frozen=True)
class Read:
    """A relation that is read under the name of a variable, and is no attribute."""

    relation: str
    """Its SQL text."""
    columns: dict[str, str] = field(default_factory=dict)
    """Names and types, "" where the type is not known; of an answer only those that were joined to it."""
    size: int = 0
    answer: Answer | None = None
    counted: bool = True
    """Whether the size is the number of rows, and not only a bound."""
    keys: frozenset[str] | None = frozenset()
    """Columns that are known to have no value twice; None for one column that has not even NULL twice."""


@dataclass
class SelectedRows:
    """Rows joined, filtered and projected, but not aggregated: all that is below them is merged into this."""

    shown: list[Shown] = field(default_factory=list)
    conditions: list[exp.Expr] = field(default_factory=list)
    reads: dict[str, Read] = field(default_factory=dict)
    private: bool = False

    @property
    def over_answers(self) -> bool:
        """Whether estimates are among what is read."""
        return any(r.answer is not None for r in self.reads.values())


@dataclass(frozen=True)
class AnswerColumn:
    """A column of an answer, and where its bounds are, if it is an estimate that has some."""

    name: str
    low: str | None = None
    high: str | None = None
    exact: bool = False
    """Whether it is made of group keys and constants alone."""
    never_below_zero: bool = False
    """Whether it is a count, or a sum of what is never below 0: an estimate below 0 is to be marked."""
    is_rank: bool = False
    """Whether it is a place in the order of estimates."""

    def seen_in(self, variable: str) -> AnswerColumn | None:
        """As SQL text over the answer that is read under that name; None if it has no bounds."""
        if self.low is None or self.high is None:
            return None
        name, low, high = (quoted(variable, each) for each in (self.name, self.low, self.high))
        return AnswerColumn(name, low, high, never_below_zero=self.never_below_zero)


@dataclass(frozen=True)
class Answer:
    """A query over estimates, rewritten: its SQL text and its columns."""

    sql: str
    columns: tuple[AnswerColumn, ...]
    cost: float = 0.0
    plans: tuple[str, ...] = ()
    unique_by: tuple[str, ...] | None = None
    """The columns that are its group keys, if all of them are shown."""
    many: bool = False
    """Whether it surely has more than one row."""
    aggregated: Aggregated | None = None
    """What is below it, where nothing was chosen by estimates: then sums over it are sums over that."""
    warnings: tuple[str, ...] = ()
    """Warnings for whoever asked."""

    @property
    def names(self) -> list[str]:
        """All columns in order, bounds after their estimates."""
        return [n for c in self.columns for n in (c.name, c.low, c.high) if n is not None]


@dataclass(frozen=True)
class Aggregated:
    """The rows that an answer aggregates, and its columns: group keys, and expressions over aggregates."""

    rows: SelectedRows
    columns: dict[str, exp.Expr]
    keys: tuple[exp.Expr, ...] = ()
    windowed: bool = False
    """Whether there are window functions among the columns: then no row may be left out above it."""


Relation: TypeAlias = SelectedRows | Answer
"""What a query stands for: rows, if it does not aggregate, or an answer."""


def marked(shown: Shown) -> Shown:
    """The column with a mark of its own: two columns that stand for the same are still two keys to GROUP BY."""
    expression = shown.expression.copy()
    without_parentheses(expression).meta[_MARK] = next(_marks)
    return replace(shown, expression=expression)


def mark(node: exp.Expr) -> int | None:
    """The mark of the column that an expression stands for, if it stands for one."""
    return (node._meta or {}).get(_MARK)


def column(variable: str, name: str, like: exp.Expr | None = None) -> exp.Column:
    """A resolved column, which remembers where it stood in the query."""
    made = exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=variable, quoted=True))
    if like is not None:
        found = next((n._meta for n in like.walk() if n._meta and "start" in n._meta), None)
        if found:
            made._meta = dict(found)
    return made


def table(name: str, variable: str) -> exp.Table:
    """A relation that the rewriting defined, read under the name of a variable."""
    alias = exp.TableAlias(this=exp.to_identifier(variable, quoted=True))
    return exp.Table(this=exp.to_identifier(name, quoted=True), alias=alias)


def exists(read: exp.Table, where: exp.Expr) -> exp.Exists:
    """That a relation has a row which meets a condition."""
    one = exp.Literal.number(1)
    return exp.Exists(this=exp.Select(expressions=[one], from_=exp.From(this=read), where=exp.Where(this=where)))


def distinct_names(names: list[str]) -> list[str]:
    """The names, each with a number where another has it already."""
    taken: set[str] = set()
    found = []
    for name in names:
        made, number = name, 1
        while folded(made) in taken:
            number += 1
            made = f"{name} {number}"
        taken.add(folded(made))
        found.append(made)
    return found
