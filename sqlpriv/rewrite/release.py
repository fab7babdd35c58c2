"""What rewriting knows of a release: its columns, its weights, and the public tables beside it.

A release is a weighted relation, whatever method made it: all that tells methods apart here are numbers. Where all rows
of the view carry the same weights, these are taken out of the sums, and a count over the view stays a plain count.

`errors` says what the bounds of an answer mean. "coins": confidence intervals, from weights and variances. "bounds":
no coins were thrown, and low and high are hard; then `rows` gives each class of rows with all that it may stand for.
Both: the rows are a sample (`sampling`), and low and high are confidence limits around what its classes may stand for.
Where columns are published apart inside buckets, `rows` is about columns of one side, and `buckets` says what else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from sqlpriv.sqltext import folded, quoted


class PublicFacts(Protocol):
    """What is asked of the data of public relations, given as SQL text that can stand after FROM."""

    def is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        """Whether no two rows are equal in these columns, NULL being equal to NULL; NULL in `present` is left out."""

    def type_of(self, relation: str, column: str) -> str:
        """The type of a column, "" if it cannot be known."""

    def has_value(self, domain: str, value: str) -> bool:
        """Whether a domain has a value, given as SQL text; true if that cannot be known."""

    def some_values(self, domain: str, most: int) -> list[str]:
        """The values of a domain as text, if they are so many at most."""


Cuts: TypeAlias = Mapping[str, Sequence[str]]
"""Of columns that are published in ranges of numbers without gaps: what a query compares them with, as SQL text."""
RowsOf: TypeAlias = Callable[[frozenset[str], Cuts, bool], str]
"""From the columns that a query mentions to SQL text of a relation: one row for each leaf that a class may stand for.

Beside these columns it has __unit (the class), __copies (its rows), __leaves (so many leaves it has here), __weight and
__total (of a leaf, and of all leaves of the class: its share is their ratio) and __hidden (whether the class
is that of suppressed rows). A column that is cut has another beside it, `end_of(name)`: the value to be summed, where
the column itself is the value to be compared. Where nothing is mentioned, it has a row for all rows of the table. With
the last argument, a class without rows stands for all that the domains have, so that every group is there.
"""
COINS, BOUNDS = "coins", "bounds"


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


@dataclass(frozen=True)
class Sampling:
    """How the rows were sampled: each with the same probability, and rare classes suppressed afterwards."""

    share: float
    """The probability of a row."""
    is_closed: bool
    """Whether every class that could be there is known, and with it how many sampled rows may be suppressed."""


@dataclass(frozen=True)
class Side:
    """Columns that are published together, and the relation that has them, with the buckets of its rows."""

    relation: str
    columns: frozenset[str]


@dataclass(frozen=True)
class Buckets:
    """Rows whose columns are published apart: in a bucket, each row of a side goes with one of every other side."""

    sides: tuple[Side, ...]
    bucket: str
    """The column of the bucket, in every side."""
    rows: int
    largest: int
    """So many rows a bucket has at most."""


@dataclass(frozen=True)
class Release:
    """A release as rewriting sees it."""

    table: str
    attributes: tuple[Attribute, ...]
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
    public: Mapping[str, PublicTable] = field(default_factory=dict)
    """By folded name."""
    facts: PublicFacts | None = field(default=None, compare=False)
    """Asks the data of public tables; without it nothing is taken to be unique."""
    errors: frozenset[str] = frozenset({COINS})
    """What low and high mean: COINS, BOUNDS, or both."""
    rows: RowsOf | None = field(default=None, compare=False)
    """With BOUNDS: what each class of rows may stand for."""
    buckets: Buckets | None = None
    """With BOUNDS: how columns are published apart; then `rows` is asked for columns of one side alone."""
    suppressed: int = 0
    """With BOUNDS: how many rows of the table are suppressed, whether left out or kept with stars."""
    sampling: Sampling | None = None
    """With COINS and BOUNDS: how the rows were sampled. Classes that are hidden have at most their copies then."""

    apart: tuple[frozenset[str], ...] = ()
    """With `sampling`: groups of columns, each published from a sample of its own. Then `rows` is asked for columns of
    one group alone: nothing is known of columns of two together. Empty where all are in one."""

    @property
    def has_hard_bounds(self) -> bool:
        """Whether low and high hold for certain."""
        return self.errors == {BOUNDS}

    @property
    def is_sampled(self) -> bool:
        """Whether low and high are confidence limits around hard bounds."""
        return self.errors == {COINS, BOUNDS}

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

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, as DuckDB compares names."""
        return next((a for a in self.attributes if folded(a.name) == folded(name)), None)
