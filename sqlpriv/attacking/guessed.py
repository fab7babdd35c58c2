"""What a sensitive value is guessed from: the classes of a table, or of a release that publishes classes or buckets.

A table has the classes of its quasi-identifiers. So has a release of labels, by its labels. In buckets a value is one
of its bucket, and of those rows there that have the quasi-identifiers which stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.engine import Row, fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.bucketed.layout import BUCKET, side_table
from sqlpriv.methods.labelled.kinds import VALUES
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.sqltext import literal

_QI, _SENSITIVE = "quasi-identifier", "sensitive"
_EVERY = -1.0
"""A threshold that all classes pass."""


@dataclass(frozen=True)
class Guessed:
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
) -> dict[str, Guessed]:
    """What each sensitive column of a table is guessed from."""
    return {s: Guessed(calls, table, tuple(qis), s, person) for s in sensitive} if qis else {}


def of_release(calls: Calls, file: ReleaseFile) -> dict[str, Guessed]:
    """What each sensitive column of a release is guessed from, as its file lays it out."""
    columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
    qis = [str(c["name"]) for c in columns if c["role"] == _QI]
    found = {}
    for column in columns:
        name = str(column["name"])
        if column["role"] != _SENSITIVE:
            continue
        if "side" not in column:
            found[name] = Guessed(calls, file.table("published"), tuple(qis), name)
            continue
        known = [str(c["name"]) for c in columns if c["role"] == _QI and c["side"] == column["side"]]
        table = file.table(side_table(int(column["side"]) - 1))
        found[name] = Guessed(calls, table, (BUCKET, *known), name)
    return found


def why_no_values(file: ReleaseFile) -> str | None:
    """Why a sensitive value cannot be counted in the classes of a release: it shows labels in the place of some.

    All of a class may have the label `*`, and nothing is known of any of them. And where each cell has a level of its
    own, labels of different rows stand for the same person: rows of equal labels are not all among which one is found.
    """
    columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
    hidden = [str(c["name"]) for c in columns if c["role"] == _SENSITIVE and c.get("labels", VALUES) != VALUES]
    if not hidden:
        return None
    return (
        f"{file.name} shows labels of {', '.join(hidden)}, and not the values: that all in a class have one label does "
        "not tell what they have, and people are not found by equal labels alone"
    )


def has_buckets(file: ReleaseFile) -> bool:
    """Whether its columns stand apart, in buckets."""
    return "side" in file.columns(SCHEMA, "attributes")
