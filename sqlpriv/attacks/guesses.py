"""What a sensitive value is guessed from: the classes of a table by its quasi-identifiers, or those of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.relation import Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.table.source import Source

_EVERY = -1.0
"""A threshold that all classes pass."""


@dataclass(frozen=True)
class ClassGuess:
    """A sensitive column, and the classes by which it is guessed."""

    calls: Calls
    scratch: Scratch
    table: str
    classes: tuple[str, ...]
    sensitive: str
    person: str | None = None

    def by_class(self, macro: str, columns: str, *extra: object) -> Row:
        """Aggregates over all classes of a check: `class`, `size` and `value` are those of its companion."""
        return fetch(self.calls.con, f"SELECT {columns} FROM {self.call(macro, *extra, threshold=True)}")[0]

    def value(self, macro: str, column: str, *extra: object) -> float:
        """The number of a check."""
        return float(fetch(self.calls.con, f"SELECT {column} FROM {self.call(macro, *extra)}")[0][0])

    def call(self, macro: str, *extra: object, threshold: bool = False) -> str:
        """The call of a check, as SQL; with `threshold` of its companion, which then lists every class."""
        given = [self.table, list(self.classes), self.sensitive, *extra, *filter(None, [self.person])]
        given += [_EVERY] if threshold else []
        return f"{self.calls.need(macro)}({', '.join(literal(a) for a in given)})"

    def homogeneity(self) -> dict[str, float | None]:
        """How many people there are, and what their classes alone reveal: a value with the share 1 is certain."""
        found = self.by_class(
            "alpha_k_anonymity_classes",
            "sum(size), coalesce(sum(size) FILTER (value = 1), 0), count(*) FILTER (value = 1), sum(size * value), "
            "max(value)",
        )
        names = ("people", "certain", "homogeneous_classes", "guessed_right", "surest_guess")
        return {name: float(value) for name, value in zip(names, found, strict=True)}


def of_table(
    source: Source, qis: Sequence[str], sensitive: Sequence[str], person: str | None = None
) -> dict[str, ClassGuess]:
    """What each sensitive column of a table is guessed from."""
    if not qis:
        return {}
    return {s: ClassGuess(source.calls, source.scratch, source.table, tuple(qis), s, person) for s in sensitive}
