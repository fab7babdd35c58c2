"""How a table is taken apart: the sides, columns that stay together, and what is measured of their buckets.

A `BucketLayout` says which columns stand together and what decides the bucket of a row. `Sides` are the tables of a
layout: the same questions are asked of a plan, of the file while it is written, and of the file alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods import records

BUCKET = records.BUCKET
QI = "quasi-identifier"
SENSITIVE = "sensitive"


@dataclass(frozen=True)
class BucketLayout:
    """The sides of a table, and what its buckets are made by."""

    sides: tuple[tuple[str, ...], ...]
    """Columns that are published together, as the table spells them; the first side is that of `published`."""
    roles: Mapping[str, str]
    """By column, as the table spells it."""
    least: int
    """So many rows a bucket has at least."""
    spread: str | None
    """The sensitive column whose values are spread over the buckets; None: buckets are runs in the order of side 1."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns, side by side."""
        return tuple(c for side in self.sides for c in side)

    @property
    def order(self) -> tuple[str, ...]:
        """What decides the bucket of a row, besides random numbers."""
        return self.sides[0] if self.spread is None else (self.spread,)

    def with_role(self, role: str) -> list[str]:
        """The columns that have a role."""
        return [c for c in self.columns if self.roles[c] == role]

    def side_of(self, column: str) -> int:
        """The number of the side in which a column stands."""
        found = [i for i, side in enumerate(self.sides) if folded(column) in map(folded, side)]
        if not found:
            raise ReleaseError("no side has the column that is said to be spread over the buckets")
        return found[0]

    def classes_of(self, column: str) -> tuple[int, list[str]]:
        """In which side a sensitive column stands, and the classes there: buckets, and what others may know there."""
        number = self.side_of(column)
        return number, [BUCKET, *(c for c in self.sides[number] if self.roles[c] == QI)]

    def judged_on(self, requirement: Requirement) -> tuple[int, list[str]]:
        """The side from which a requirement is judged, and its classes.

        Beliefs in values go by buckets. Who can be singled out goes by the quasi-identifiers as they are published.
        """
        if requirement.sensitive is not None:
            return self.classes_of(requirement.sensitive)
        qis = self.with_role(QI)
        numbers = {self.side_of(q) for q in qis}
        if len(numbers) > 1:
            raise PolicyError(
                f"{requirement.text} is about the quasi-identifiers together, and they are published in several "
                "groups; put them into one, or leave the requirement out"
            )
        return numbers.pop(), qis


def side_table(number: int) -> str:
    """The name of the table of a side in the file."""
    return "published" if number == 0 else f"side_{number + 1}"


@dataclass(frozen=True)
class Sides:
    """The tables of the sides, as SQL, and how to ask macros about them."""

    con: duckdb.DuckDBPyConnection
    calls: Calls
    layout: BucketLayout
    tables: Sequence[str]

    def sizes(self) -> dict[str, float]:
        """Rows, buckets, and the smallest and largest of these."""
        by_bucket = f"SELECT count(*) AS n FROM {self.tables[0]} GROUP BY {quoted(BUCKET)}"
        found = fetch(self.con, f"SELECT sum(n), count(*), min(n), max(n) FROM ({by_bucket})")[0]
        names = ("rows", "buckets", "smallest", "largest")
        return {name: float(value or 0) for name, value in zip(names, found, strict=True)}

    def value(self, requirement: Requirement) -> float:
        """The number that a requirement is about."""
        measure, (side, classes) = requirement.measure, self.layout.judged_on(requirement)
        called = self.calls.need(measure.macro)
        query = measure.select(called, self.tables[side], classes, requirement.sensitive, requirement.arguments)
        return float(fetch(self.con, query)[0][0])

    def posterior(self) -> float | None:
        """The greatest share of a sensitive value in a class: what one believes who knows all quasi-identifiers."""
        sensitive = self.layout.with_role(SENSITIVE)
        return max((self._ask("alpha_k_anonymity", "alpha", column) for column in sensitive), default=None)

    def disclosure(self, sensitive: str, implications: int) -> float:
        """Likewise for an attacker who also knows so many implications between values of people."""
        return self._ask("ck_safety", "disclosure", sensitive, implications)

    def alike(self, column: str) -> int:
        """How many rows have a value that another row of their bucket has, too."""
        by = ", ".join(map(quoted, (BUCKET, column)))
        counted = f"SELECT count(*) AS n FROM {self.tables[self.layout.side_of(column)]} GROUP BY {by}"
        return int(fetch(self.con, f"SELECT coalesce(sum(n - 1), 0) FROM ({counted})")[0][0])

    def _ask(self, macro: str, result: str, sensitive: str, *more: int) -> float:
        side, classes = self.layout.classes_of(sensitive)
        given = ", ".join(map(literal, [self.tables[side], classes, sensitive, *more]))
        return float(fetch(self.con, f"SELECT {result} FROM {self.calls.need(macro)}({given})")[0][0])
