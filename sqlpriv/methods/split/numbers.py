"""What is measured of buckets: how many there are, how large, and how much of a value anybody comes to believe.

The same questions are asked of a plan, of the file while it is written, and of the file alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.split.layout import BUCKET, SENSITIVE, Layout


@dataclass(frozen=True)
class Sides:
    """The tables of the sides, as SQL, and how to ask macros about them."""

    con: duckdb.DuckDBPyConnection
    calls: Calls
    layout: Layout
    tables: Sequence[str]

    def sizes(self) -> dict[str, float]:
        """Rows, buckets, and the smallest and largest of these."""
        by_bucket = f"SELECT count(*) AS n FROM {self.tables[0]} GROUP BY {quoted(BUCKET)}"
        rows, buckets, smallest, largest = fetch(
            self.con, f"SELECT sum(n), count(*), min(n), max(n) FROM ({by_bucket})"
        )[0]
        found = {"rows": rows, "buckets": buckets, "smallest": smallest, "largest": largest}
        return {name: float(value or 0) for name, value in found.items()}

    def value(self, requirement: Requirement) -> float:
        """The number that a requirement is about."""
        measure, (side, classes) = requirement.measure, self.layout.judged_on(requirement)
        called = self.calls.need(measure.macro)
        query = measure.select(called, self.tables[side], classes, requirement.sensitive, requirement.arguments)
        return float(fetch(self.con, query)[0][0])

    def posterior(self) -> float | None:
        """The greatest share of a sensitive value in a class: what one believes who knows all quasi-identifiers."""
        wanted = [c for c in self.layout.columns if self.layout.roles[c] == SENSITIVE]
        found = []
        for column in wanted:
            side, classes = self.layout.classes_of(column)
            found.append(self._ask("alpha_k_anonymity", "alpha", [self.tables[side], classes, column]))
        return max(found, default=None)

    def alike(self, column: str) -> int:
        """How many rows have a value that another row of their bucket has, too."""
        by = ", ".join(map(quoted, (BUCKET, column)))
        counted = f"SELECT count(*) AS n FROM {self.tables[self.layout.side_of(column)]} GROUP BY {by}"
        return int(fetch(self.con, f"SELECT coalesce(sum(n - 1), 0) FROM ({counted})")[0][0])

    def disclosure(self, sensitive: str, implications: int) -> float:
        """The same of one who also knows so many implications between values of people."""
        side, classes = self.layout.classes_of(sensitive)
        return self._ask("ck_safety", "disclosure", [self.tables[side], classes, sensitive, implications])

    def _ask(self, macro: str, column: str, given: Sequence[object]) -> float:
        listed = ", ".join(literal(a) for a in given)
        return float(fetch(self.con, f"SELECT {column} FROM {self.calls.need(macro)}({listed})")[0][0])
