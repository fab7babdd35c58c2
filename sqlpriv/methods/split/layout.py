"""How a table is taken apart: its sides, columns that stay together, and how its rows go into buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.checks.measures import MEASURES
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods import records

BUCKET = records.BUCKET
QI = "quasi-identifier"
SENSITIVE = "sensitive"


@dataclass(frozen=True)
class Layout:
    """The sides of a table, and what its buckets are made by."""

    sides: tuple[tuple[str, ...], ...]
    """Columns that are published together, as the table spells them; the first side is that of `published`."""
    roles: Mapping[str, str]
    """By column, as the table spells it."""
    least: int
    """So many rows a bucket has at least."""
    spread: str | None
    """The sensitive column whose values are spread over the buckets; None: buckets are runs in the order of side 1."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, side by side."""
        return tuple(c for side in self.sides for c in side)

    @property
    def order(self) -> tuple[str, ...]:
        """What decides the bucket of a row, beside coins."""
        return self.sides[0] if self.spread is None else (self.spread,)

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
        qis = [c for c in self.columns if self.roles[c] == QI]
        numbers = {self.side_of(q) for q in qis}
        if len(numbers) > 1:
            raise PolicyError(
                f"{requirement.text} is about the quasi-identifiers together, and they are published in several "
                "groups; put them into one, or leave the requirement out"
            )
        return numbers.pop(), qis


def can_judge(requirement: Requirement) -> bool:
    """Whether the buckets of a file are enough to judge by rows: no population, prior or hierarchy is needed."""
    return requirement.name in judged_names() and set(requirement.arguments) == set(requirement.measure.names)


def judged_names() -> list[str]:
    """The measures that can be required of buckets, in the order of the alphabet."""
    return sorted(m.name for m in MEASURES.values() if m.reads is not None and not m.reads_tables)


def side_table(number: int) -> str:
    """The name of the table of a side in the file."""
    return "published" if number == 0 else f"side_{number + 1}"


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    used, name, number = set(map(folded, taken)), wanted, 1
    while folded(name) in used:
        number += 1
        name = f"{wanted}_{number}"
    return name
