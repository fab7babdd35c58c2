"""What attacks read of a release: the classes in which people are found, and rows whose cells can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.source import Source

SIMPLE_TYPE = re.compile(r"[A-Z_ ]+(\([0-9]+, ?[0-9]+\))?")
"""Types that are one word or two, and are written into SQL as a file says them."""
BUCKET = "__bucket"
"""The column of bucket numbers, where columns are published apart; no column of a table may be called so."""
VALUE = "__possible"
"""The column of the value that may be a person's, as text."""


@dataclass(frozen=True)
class PublishedClasses:
    """Where a sensitive column is published, and the columns whose equal values make the classes there."""

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class GroupedPeople:
    """People and values published apart: who is in a group is known, and which values occur in it."""

    people: str
    """A relation, as SQL: the group of each person, and the columns."""
    columns: tuple[str, ...]
    values: str
    """A relation, as SQL: the group of each value."""
    group: str
    promised: float
    """How much anybody believes a value, who learns nothing from the other groups."""


@dataclass(frozen=True)
class OwnedRelease:
    """A release file, with the private table and the policy where they are at hand: both help to read labels."""

    file: ReleaseFile
    source: Source | None = None
    policy: Policy | None = None


@dataclass(frozen=True)
class Cell:
    """A column, the type of its values, and a query for its labels and the values that each may stand for."""

    name: str
    kind: str
    below: Callable[[str], str]
    """Of a table with the column `value`, of texts, the query for `label` and `value`, both as texts."""

    def text(self, column: str) -> str:
        """A cell of another table as the text that it is compared by; NULL where it is no value of the type."""
        return f"CAST(TRY_CAST(CAST({column} AS VARCHAR) AS {self.kind}) AS VARCHAR)"


@dataclass(frozen=True)
class Records:
    """A relation whose rows are compared with others: its name as SQL, its columns, and those that cannot be."""

    relation: str
    cells: tuple[Cell, ...]
    unknown: tuple[str, ...] = ()
    """Columns whose labels nobody can read."""
    is_starred: bool = False
    """Whether rows of stars alone are suppressed ones."""

    def read_from(self, relation: str) -> Records:
        """Likewise for another relation."""
        return replace(self, relation=relation)


def table_records(relation: str, types: Mapping[str, str], names: Sequence[str]) -> Records:
    """The rows of a relation whose cells are values, by some of its columns."""
    return Records(relation, tuple(Cell(n, plain_type(types[n]), same_value) for n in names))


def same_value(values: str) -> str:
    """A label that is a value stands for itself."""
    return f"SELECT value AS label, value FROM {values}"


def plain_type(kind: str) -> str:
    """A type as it may be written into SQL; text in the place of all others."""
    return kind if SIMPLE_TYPE.fullmatch(kind) else "VARCHAR"


def is_published(name: str, names: Sequence[str]) -> bool:
    """Whether a column is among those that are named."""
    return folded(name) in {folded(n) for n in names}


def value_as_text(column: str) -> str:
    """The value of a column as text, SQL that distinguishes NULL from every value."""
    return f"CASE WHEN {quoted(column)} IS NULL THEN '-' ELSE '=' || CAST({quoted(column)} AS VARCHAR) END"
