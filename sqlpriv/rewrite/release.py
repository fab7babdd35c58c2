"""What rewriting knows of a release: four kinds, what all of them have, and what it asks the data of public tables.

    NoisyRelease         rows that carry weights and variances; low and high are confidence intervals
    GeneralizedRelease   classes of rows that may stand for several values; low and high hold for certain
    SplitRelease         columns published apart inside buckets; low and high hold for certain
    SampledRelease       classes of a sample of the rows; low and high are confidence limits around certain bounds

A method makes one of them (release.read and methods/*/answers), and rewriting asks it alone: no method is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import folded, quoted

UNBOUNDED = "1e300"
"""Stands for a value without bounds in what is summed: an infinite one would be no number in a difference."""
Cuts: TypeAlias = Mapping[str, Sequence[str]]
"""Of columns that are published in ranges of numbers without gaps: what a query compares them with, as SQL text."""
RowsOf: TypeAlias = Callable[[frozenset[str], Cuts, bool], str]
"""From the columns that a query mentions to SQL text of a relation: one row for each leaf that a class may stand for.

It also has the columns __unit (the class), __copies (its rows), __leaves (so many leaves it has here), and __hidden
(whether the class is that of suppressed rows). __weight and __total are of a leaf, and of all leaves of the class: its
share is their ratio. A column that is cut has another beside it, `end_of(name)`: the value to be summed, where the
column itself is the value to be compared. Where nothing is mentioned, it has a row for all rows of the table. With the
last argument, a class without rows stands for all that the domains have, so that every group is there.
"""


def end_of(name: str) -> str:
    """What the column of values to be summed is called."""
    return f"__end_{name}"


@dataclass(frozen=True)
class Weights:
    """Of one row: what it adds to an estimate, to its variance, and to its third moment."""

    weight: float
    variance: float
    skew: float


@dataclass(frozen=True)
class Attribute:
    """A column of the private table, with the relation that lists its domain."""

    name: str
    type: str
    size: int
    domain: str
    has_null: bool = True
    share: str | None = None
    """The column of the domain that says what share a value has of the noise, where values differ in it."""
    never_below_zero: bool = False
    why_not: str | None = None
    """Why nothing can be asked of it: the values below its labels are not public, say."""
    is_cut: bool = False
    """Whether it is published in ranges of numbers without gaps, so that it can be compared with constants alone."""
    unlisted: bool = False
    """Whether a suppressed row may have another value than those of `domain`."""
    labels: str = ""
    """Where it is published as labels in the place of numbers or dates, and nothing else is known: what they are."""
    is_open: bool = False
    """Whether some of its ranges are open at an end, so that its sums have no bounds."""


@dataclass(frozen=True)
class PublicTable:
    """A table that everybody may see, and that queries may join."""

    name: str
    relation_parts: tuple[str, ...]
    """Catalog, schema and table."""
    columns: Mapping[str, str]
    size: int
    keys: frozenset[str] = frozenset()
    """Columns that have no value twice: a value meets one row at most."""

    @property
    def relation(self) -> str:
        """Its SQL text."""
        return quoted(*self.relation_parts)


class PublicFacts:
    """Facts about the public tables of an open release. They do not change while it is open, so each is asked once.

    Relations and domains are given as SQL text that can stand after FROM.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._unique: dict[tuple[str, frozenset[str], frozenset[str]], bool] = {}
        self._types: dict[str, dict[str, str]] = {}
        self._values: dict[tuple[str, str], bool] = {}

    @cached_property
    def _has_collations(self) -> bool:
        """A column with a collation makes texts equal that are unique in another table; by bytes it does not."""
        others = "regexp_replace(lower(sql), 'collate \"?binary\"?', '', 'g')"
        query = f"SELECT count(*) > 0 FROM duckdb_tables() WHERE contains({others}, 'collate')"
        return bool(fetch(self._con, query)[0][0])

    def is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        """Whether no two rows are equal in these columns, NULL being equal to NULL; NULL in `present` is left out."""
        key = (relation, columns, present)
        if key not in self._unique:
            self._unique[key] = not self._has_collations and self._is_unique(*key)
        return self._unique[key]

    def _is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        listed = ", ".join(quoted(c) for c in sorted(columns))
        kept = " AND ".join([f"{quoted(c)} IS NOT NULL" for c in sorted(present)] or ["true"])
        twice = f"SELECT 1 FROM {relation} WHERE {kept} GROUP BY {listed} HAVING count(*) > 1 LIMIT 1"
        try:
            return not fetch(self._con, twice)
        except SqlprivError:  # The answer itself will fail, and say why.
            return False

    def type_of(self, relation: str, column: str) -> str:
        """The type of a column, "" if it cannot be known."""
        if relation not in self._types:
            try:
                self._types[relation] = {r[0]: r[1] for r in fetch(self._con, f"DESCRIBE FROM {relation}")}
            except SqlprivError:
                self._types[relation] = {}
        return self._types[relation].get(column, "")

    def has_value(self, domain: str, value: str) -> bool:
        """Whether a domain has a value, given as SQL text; true if that cannot be known."""
        key = (domain, value)
        if key not in self._values:
            try:
                found = fetch(self._con, f'SELECT 1 FROM {domain} WHERE "value" = {value} LIMIT 1')
            except SqlprivError:  # The answer itself will fail, and say why.
                found = [(1,)]
            self._values[key] = bool(found)
        return self._values[key]

    def some_values(self, domain: str, most: int) -> list[str]:
        """The values of a domain as text, if they are so many at most."""
        query = f'SELECT CAST("value" AS VARCHAR) FROM {domain} WHERE "value" IS NOT NULL ORDER BY "value"'
        found = fetch(self._con, f"{query} LIMIT {most + 1}")
        return [text for (text,) in found] if len(found) <= most else []


@dataclass(frozen=True, kw_only=True)
class Release:
    """What every release has. Queries name `table` and its attributes; public tables may be joined to it."""

    table: str
    attributes: tuple[Attribute, ...]
    public: Mapping[str, PublicTable] = field(default_factory=dict)
    """By folded name."""
    facts: PublicFacts | None = field(default=None, compare=False)
    """Asks the data of public tables; without it nothing is taken to be unique."""

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, as DuckDB compares names."""
        return next((a for a in self.attributes if folded(a.name) == folded(name)), None)

    def lists_combinations(self, columns: set[str]) -> bool:
        """Whether the release shows which values of these columns occur together."""
        return True


@dataclass(frozen=True, kw_only=True)
class NoisyRelease(Release):
    """Rows with weights: an estimate is a weighted sum over the rows of the view and over the whole domain.

    Where all rows of the view carry the same weights, these are taken out of the sums, and a count over the view stays
    a plain count.
    """

    published: str
    """SQL text of the relation with the attributes, __weight, __variance and __skew."""
    domain_weights: Mapping[int, Weights]
    """By power of the share that a tuple has of the noise; where all have the same, there is power 0 alone."""
    constant: Weights | None = None
    """The weights of every row of the view, where they are all the same."""
    largest: float = 0.0
    """The largest weight of a row of the view: by how much one row more or less moves a count."""
    cross_estimate: float = 0.0
    cross_square: float = 0.0

    @property
    def kappa(self) -> float | None:
        """The slope of the variance of a count, if it is the same for all rows: then no third moment is summed."""
        if self.constant is None:
            return None
        slopes = [w.skew / w.variance for w in (self.constant, *self.domain_weights.values()) if w.variance]
        if not slopes or any(abs(s - slopes[0]) > 1e-9 * max(abs(slopes[0]), 1.0) for s in slopes):
            return None
        if any(w.skew and not w.variance for w in (self.constant, *self.domain_weights.values())):
            return None
        return slopes[0]

    @property
    def has_cross_terms(self) -> bool:
        """Whether the variance of a sum is no sum over rows, but has products of sums in it."""
        return self.cross_estimate != 0 or self.cross_square != 0


@dataclass(frozen=True, kw_only=True)
class ClassRelease(Release):
    """Rows in classes, each with all that it may stand for; the kinds of it follow."""

    rows: RowsOf = field(compare=False)
    """What each class of rows may stand for."""
    suppressed: int = 0
    """How many rows of the table are suppressed, whether left out or kept with stars."""


@dataclass(frozen=True, kw_only=True)
class GeneralizedRelease(ClassRelease):
    """Labels in place of values: a row may be any leaf below its labels, a suppressed one any tuple of the domain."""


@dataclass(frozen=True)
class Side:
    """Columns that are published together, and the relation that has them, with the buckets of its rows."""

    relation: str
    columns: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class SplitRelease(ClassRelease):
    """Columns published apart: in a bucket, each row of a side goes with one of every other side, unknown which.

    `rows` is asked for columns of one side alone.
    """

    sides: tuple[Side, ...]
    bucket: str
    """The column of the bucket, in every side."""
    size: int
    """How many rows there are."""
    largest_bucket: int
    """How many rows a bucket has at most."""

    def sides_of(self, columns: set[str]) -> list[Side]:
        """The sides that have one of these columns."""
        return [side for side in self.sides if side.columns & columns]

    def lists_combinations(self, columns: set[str]) -> bool:
        return len(self.sides_of(columns)) < 2


@dataclass(frozen=True, kw_only=True)
class SampledRelease(ClassRelease):
    """Classes of a sample: each row of the table was taken with the same probability, and rare classes suppressed
    afterwards. Of classes that are hidden, at most their copies were sampled."""

    share: float
    """The probability with which a row was taken."""
    is_closed: bool
    """Whether every class that could be there is known, and with it how many sampled rows may be suppressed."""
    groups: tuple[frozenset[str], ...] = ()
    """Groups of columns, each published from a sample of its own. Then `rows` is asked for columns of one group alone:
    it says nothing about columns of two together. Empty where all are in one."""
