"""What a sensitive value is guessed from: the classes of a table by its quasi-identifiers, or those of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import AnyMethod
from sqlpriv.release.file import ReleaseFile

_EVERY = -1.0
"""A threshold that all classes pass."""


@dataclass(frozen=True)
class ClassGuess:
    """A sensitive column, and the classes by which it is guessed."""

    calls: Calls
    table: str
    classes: tuple[str, ...]
    sensitive: str
    person: str | None = None

    def by_class(self, macro: str, columns: str, *extra: object) -> Row:
        """Aggregates over all classes of a check: `class`, `size` and `value` are those of its companion."""
        return fetch(self.calls.con, f"SELECT {columns} FROM {self._call(macro, *extra, threshold=True)}")[0]

    def value(self, macro: str, column: str, *extra: object) -> float:
        """The number of a check."""
        return float(fetch(self.calls.con, f"SELECT {column} FROM {self._call(macro, *extra)}")[0][0])

    def worst(self, macro: str, condition: str, most: int, *extra: object) -> list[Row]:
        """The classes of a check for which a condition on `value` holds, the largest first: values of people."""
        call = self._call(macro, *extra, threshold=True)
        found = fetch(
            self.calls.con,
            f"SELECT class, size, value FROM {call} WHERE {condition} ORDER BY size DESC, CAST(class AS VARCHAR) "
            f"LIMIT {most}",
        )
        return [(", ".join(f"{k} {v}" for k, v in names.items()), size, value) for names, size, value in found]

    def _call(self, macro: str, *extra: object, threshold: bool = False) -> str:
        given = [self.table, list(self.classes), self.sensitive, *extra, *filter(None, [self.person])]
        given += [_EVERY] if threshold else []
        return f"{self.calls.need(macro)}({', '.join(literal(a) for a in given)})"


def of_table(
    calls: Calls, table: str, qis: Sequence[str], sensitive: Sequence[str], person: str | None = None
) -> dict[str, ClassGuess]:
    """What each sensitive column of a table is guessed from."""
    return {s: ClassGuess(calls, table, tuple(qis), s, person) for s in sensitive} if qis else {}


def of_release(calls: Calls, method: AnyMethod, file: ReleaseFile) -> dict[str, ClassGuess]:
    """What each sensitive column of a release is guessed from; none where random noise bounds beliefs."""
    return {s: ClassGuess(calls, c.table, c.columns, s) for s, c in method.classes(file).items()}
