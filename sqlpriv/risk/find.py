"""`sqlpriv find`: by which columns, and by which small sets of them, the people of a table can be found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress, Part, shown_number
from sqlpriv.core.sqltext import folded
from sqlpriv.risk.uniqueness import FoundSet, Uniqueness, measure_uniqueness
from sqlpriv.table.frequencies import count_combinations
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import TableReference
from sqlpriv.version import __version__

_TOP = 10
_MEASURED = ("entropy", "uniques", "unique_share")
_ESTIMATORS = {"pitman": "Pitman's model", "zayatz": "Zayatz's estimate"}


@dataclass(frozen=True)
class FindOptions:
    """What is asked about a table."""

    columns: tuple[str, ...] = ()
    """The columns to look at; all but the person, if none are named."""
    most: int | None = None
    """How many columns a set may have; as many as there is time for, if it is not said."""
    person: str | None = None
    fraction: float | None = None
    """The share of the population that is in the table."""
    top: int = _TOP
    """How many columns and sets to show."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense of any table."""
        if self.most is not None and self.most < 1:
            raise InputError("a set has at least one column: name a larger number of columns")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise InputError("the fraction is the share of the population in the table: above 0, and 1 at most")
        twice = [name for name in self.columns if [folded(c) for c in self.columns].count(folded(name)) > 1]
        if twice:
            raise InputError(f"the column {twice[0]!r} is named twice")
        if self.person is not None and folded(self.person) in map(folded, self.columns):
            raise InputError(f"{self.person!r} says whose row it is: leave it out of the columns")


@dataclass(frozen=True)
class Findings:
    """By what people can be found."""

    data: str
    person: str | None
    found: Uniqueness
    options: FindOptions = field(default_factory=FindOptions)

    @property
    def singles(self) -> list[FoundSet]:
        """The columns, the most identifying first."""
        return sorted(
            (own for own in self.found.sets if len(own.columns) == 1), key=lambda own: (-own.uniques, -own.entropy)
        )

    @property
    def sets(self) -> list[FoundSet]:
        """The sets of several columns, those that find the most people first whom no smaller part finds."""
        several = (own for own in self.found.sets if len(own.columns) > 1)
        return sorted(several, key=lambda own: (-own.special, len(own.columns), -own.uniques))

    @property
    def title(self) -> str:
        """The table and its size."""
        counted = f", counted by {self.person}" if self.person else ""
        return f"{self.data}: {self.found.people:,} {self.people}{counted}"

    @property
    def people(self) -> str:
        """What is counted."""
        return "people" if self.person else "rows"

    def facts(self) -> Facts:
        """Numbers and names of columns; never a value."""
        found = self.found
        content = {
            "version": __version__,
            "data": self.data,
            "person": self.person,
            "people": found.people,
            "most": found.most,
            "columns": [
                {"name": own.columns[0], "values": own.classes, **_numbers(own, *_MEASURED)} for own in self.singles
            ],
            "sets": [
                _numbers(own, "columns", "classes", "entropy", "uniques", "unique_share", "special")
                for own in self.sets
            ],
            "identifiers": found.identifiers,
            "together": {"columns": found.together.columns, **_numbers(found.together, "uniques", "unique_share")},
            "population": None if found.population is None else asdict(found.population),
        }
        return Facts(self.title, content, tuple(self._parts()))

    def _parts(self) -> Iterator[Part]:
        top = self.options.top
        rows = [(own.columns[0], own.classes, round(own.entropy, 1), own.uniques, _share(own)) for own in self.singles]
        yield Grid(
            ("column", "values", "bits", "alone", "share"),
            tuple(rows[:top]),
            "Columns",
            f"alone: {self.people} with a value that nobody else has; bits: the entropy{_more(rows, top)}",
            folded=("column",),
        )
        several = [own for own in self.sets if own.special]
        if several:
            sets = [(", ".join(own.columns), own.special, own.uniques, _share(own)) for own in several]
            yield Grid(
                ("columns", "only together", "alone", "share"),
                tuple(sets[:top]),
                f"Sets of up to {self.found.most} columns",
                f"only together: {self.people} that no smaller part of the set finds{_more(sets, top)}",
                folded=("columns",),
            )
        yield from self._lines()

    def _lines(self) -> Iterator[Line]:
        found, together = self.found, self.found.together
        for name in found.identifiers:
            said = "is an identifier until you know better; sets with it are not looked at"
            yield Line(f"{name} finds 95% of the {self.people} or more by itself: it {said}", "identifier")
        all_of = "All columns" if not found.identifiers else "All other columns"
        if set(together.columns) == set(found.identifiers):
            all_of = "All columns"
        yield Line(f"{all_of} together: {together.uniques:,} {self.people} are alone ({_share(together)})")
        if found.most < min(3, len(together.columns)) and self.options.most is None:
            yield Line("There are too many sets of more columns to look at all of them; name columns, or how many.")
        if found.population is not None:
            own = found.population
            yield Line(
                f"Of a population of {own.people:,}, from which the table is a random sample, about "
                f"{shown_number(own.population_uniques, 2)} are alone by these columns: "
                f"{own.population_share:.0%} of those who are alone here ({_ESTIMATORS[own.estimator]})."
            )
            yield Line(
                "An estimate, good for the order of magnitude. It is no protection: many know who is in a table.",
                quiet=True,
            )


def _numbers(own: FoundSet, *names: str) -> dict[str, Any]:
    return {name: getattr(own, name) for name in names}


def _share(own: FoundSet) -> str:
    """Rounded, but neither 0% nor 100% where it is not.

    >>> [_share(FoundSet((), 0, 0, n, n / 1000, 0, False)) for n in (0, 1, 500, 999, 1000)]
    ['0%', '0.1%', '50%', '99.9%', '100%']
    """
    percent = own.unique_share * 100
    return (
        f"{percent:.0f}%"
        if percent in {0, 100} or 1 <= percent <= 99
        else f"{percent:.2g}%"
        if percent < 1
        else (f"{min(percent, 99.9):.1f}%")
    )


def _more(rows: Sequence[object], top: int) -> str:
    return f"; {len(rows) - top:,} more are in the JSON" if len(rows) > top else ""


def find_people(
    data: Any,
    database: Path | None,
    options: Mapping[str, Any],
    chosen: FindOptions,
    on_progress: OnProgress = None,
) -> Findings:
    """Look at a table, which may be whatever `check` takes; `options` are those of read_csv."""
    if isinstance(data, Path):
        data = str(data)
    is_named = isinstance(data, str)
    if not is_named and (database is not None or options):
        raise InputError("this table comes from no database and from no file: leave database and options out")
    named = TableReference(
        Path(), data if is_named else "", None if database is None else str(database), options,
        held=None if is_named else data,
    )  # fmt: skip
    read = [*chosen.columns, *filter(None, [chosen.person])] if chosen.columns else None
    with open_table(named, (), read) as source:
        source.refuse_unknown([*chosen.columns, *filter(None, [chosen.person])])
        spelt = {folded(name): name for name in source.columns}
        person = spelt[folded(chosen.person)] if chosen.person else None
        columns = tuple(spelt[folded(name)] for name in chosen.columns)
        columns = columns or tuple(name for name in source.columns if name != person)
        if not columns:
            raise InputError(f"{source.label} has no column besides {person}: there is nothing to look at")
        frequencies = count_combinations(source, columns, person=person)
        found = measure_uniqueness(frequencies, columns, chosen.most, chosen.fraction, on_progress)
        return Findings(source.label, person, found, chosen)
