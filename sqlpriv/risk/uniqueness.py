"""Which columns, and which small sets of them, find people: what priv.uniqueness defines, in steps that take any table.

The table is counted once, and its cells become small numbers. Sets are looked at by size. A row that is alone by a part
of a set is alone by the set as well, in a class of its own. So it is left out before the others are grouped, and their
classes of one row are the special uniques. A person may have several rows, so of persons all rows are grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

import duckdb

from sqlpriv.core.engine import fetch, few_rows, run
from sqlpriv.core.facts import OnProgress
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.engines.types import reads_apart
from sqlpriv.table.frequencies import Frequencies

MOST_COLUMNS, MOST_SETS, MOST_CELLS = 3, 10_000, 1_000_000_000
"""How many columns the sets have that are looked at, how many sets there are of a size, and how many rows they have
together, unless more are asked for."""
_FEW, _AT_ONCE = 50_000, 40
"""Of so few rows so many sets are counted in one query."""
_MOST_BITS = 22
_WORD = 62
"""So many sets are marked in one number."""
_BIGINT = 2**63
_Places = tuple[int, ...]


@dataclass(frozen=True)
class FoundSet:
    """How identifying a set of columns is. People are rows, or persons where they are named."""

    columns: tuple[str, ...]
    classes: int
    entropy: float
    uniques: int
    unique_share: float
    special: int
    is_near_unique: bool
    """Whether it finds nearly everybody, so that larger sets say no more."""


@dataclass(frozen=True)
class PopulationUniques:
    """How many of a population are alone in their class, as priv.population_uniques estimates it."""

    people: int
    uniques: int
    population_uniques: float
    population_share: float
    estimator: str


@dataclass(frozen=True)
class Uniqueness:
    """What was found about the columns of a table."""

    people: int
    sets: tuple[FoundSet, ...]
    most: int
    """So many columns have the largest sets that were looked at."""
    identifiers: tuple[str, ...]
    """The columns that find nearly everybody by themselves."""
    together: FoundSet
    """All columns together but these, unless there are no others."""
    population: PopulationUniques | None
    """Likewise for the population, where the share of it is known that is in the table."""


def measure_uniqueness(
    frequencies: Frequencies,
    columns: Sequence[str],
    most: int | None = None,
    fraction: float | None = None,
    on_progress: OnProgress = None,
) -> Uniqueness:
    """Look at every set of up to `most` columns; at those that hold a nearly unique one, not.

    Without `most`, at sets of up to MOST_COLUMNS, as far as that is quick.
    """
    with frequencies.source.scratch.nested() as scratch, _quick(scratch.con, frequencies.combinations):
        cells = _cells(frequencies, columns, scratch)
        places, size = range(len(columns)), 0
        found: list[FoundSet] = []
        near: list[_Places] = []
        while size < min(most or MOST_COLUMNS, len(columns)):
            todo = [own for own in combinations(places, size + 1) if not any(set(part) <= set(own) for part in near)]
            if not todo or (most is None and size > 0 and not _is_quick(len(todo), frequencies.combinations)):
                break
            size += 1
            is_last = size == min(most or MOST_COLUMNS, len(columns))
            looked = cells.look_at_all(todo, is_last, on_progress)
            found += looked
            near += [own for own, one in zip(todo, looked, strict=True) if one.is_near_unique]
        others = tuple(place for place in places if (place,) not in near) or tuple(places)
        (together,) = cells.look_at_all([others], is_last=True)
        population = None if fraction is None else cells.population(others, fraction)
        identifiers = tuple(columns[place] for place in places if (place,) in near)
        return Uniqueness(cells.people, tuple(found), size, identifiers, replace(together, special=0), population)


@contextmanager
def _quick(con: duckdb.DuckDBPyConnection, rows: int) -> Iterator[None]:
    """For many groupings: of large tables by an array that has a place for each key, if there are no more than rows."""
    if rows <= _FEW:
        with few_rows(con):
            yield
        return
    run(con, f"SET perfect_ht_threshold = {min(rows.bit_length(), _MOST_BITS)}")
    try:
        yield
    finally:
        run(con, "RESET perfect_ht_threshold")


def _is_quick(sets: int, combinations: int) -> bool:
    return sets <= MOST_SETS and sets * combinations <= MOST_CELLS


@dataclass
class _Cells:
    """The combinations of a table with small numbers in the place of their cells: c0, c1, ..., n and their holder.

    The holder is the person, or else the combination. w0, w1, ... say by which sets the holder is a special unique,
    with a bit for each set that is in `marks`.
    """

    scratch: Scratch
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    people: int
    of_persons: bool
    rows: Relation
    marks: dict[_Places, tuple[int, int]] = field(default_factory=dict)

    def look_at_all(self, sets: Sequence[_Places], is_last: bool, on_progress: OnProgress = None) -> list[FoundSet]:
        """Count sets of one size, whose parts are marked; mark their special uniques, unless they are the last."""
        con, word = self.scratch.con, 1 + max((word for word, _ in self.marks.values()), default=-1)
        at_once = _AT_ONCE if self.rows.count() <= _FEW else 1
        with self.scratch.nested() as scratch:
            counted = scratch.table(f"{self._counted(0, sets[0], is_last)} LIMIT 0", "counted")
            for start in range(0, len(sets), at_once):
                batch = enumerate(sets[start : start + at_once], start)
                queries = " UNION ALL ".join(self._counted(number, own, is_last) for number, own in batch)
                fetch(con, f"INSERT INTO {counted} {queries}")
                if on_progress:
                    on_progress(min(start + at_once, len(sets)) / len(sets))
            # Rows that are alone by a part were not grouped.
            before = "0" if self.of_persons else f"{self.people} - total"
            rows = fetch(
                con,
                inlined(
                    f"SELECT classes + before, _entropy_of_sizes(total + before, spread), uniques + before, "
                    f"(uniques + before) / {self.people}, special, _near_unique((uniques + before) / {self.people}) "
                    f"FROM (SELECT *, {before} AS before FROM {counted}) ORDER BY number"
                ),
            )
            if not is_last:
                self.marks |= {own: (word + number // _WORD, number % _WORD) for number, own in enumerate(sets)}
                self._mark(counted, word, word + (len(sets) - 1) // _WORD)
        names = [tuple(self.columns[place] for place in own) for own in sets]
        return [FoundSet(own, *row) for own, row in zip(names, rows, strict=True)]

    def _counted(self, number: int, own: _Places, is_last: bool) -> str:
        """A query for the sums over the classes of a set, and the holders that are its special uniques."""
        alone = "count(DISTINCT holder)" if self.of_persons else "count(*)"
        listed = f", list({'DISTINCT ' if self.of_persons else ''}holder) FILTER (size = 1 AND is_new) AS holders"
        return (
            f"SELECT {number} AS number, count(*) AS classes, CAST(coalesce(sum(size), 0) AS BIGINT) AS total, "
            "coalesce(sum(size * log2(size)), 0) AS spread, "
            f"{alone} FILTER (size = 1) AS uniques, {alone} FILTER (size = 1 AND is_new) AS special"
            f"{'' if is_last else listed} FROM ({self._classes(own)})"
        )

    def population(self, own: _Places, fraction: float) -> PopulationUniques:
        """How many of a population are alone by these columns, where a random share of it is in the table."""
        size = "count(DISTINCT holder)" if self.of_persons else "sum(n)"
        classes = f"SELECT {size} AS size FROM {self.rows} GROUP BY {self._key(own)}"
        sizes = f"SELECT CAST(size AS DOUBLE) AS j, CAST(count(*) AS DOUBLE) AS c FROM ({classes}) GROUP BY size"
        with self.scratch.nested() as scratch:
            relation = scratch.table(sizes, "sizes").name
            return PopulationUniques(
                *fetch(self.scratch.con, inlined(f"FROM _population_uniques({relation}, _fraction({fraction!r}))"))[0]
            )

    def _classes(self, own: _Places) -> str:
        """The classes of a set: size, holder, and whether the holder is alone by no part of it."""
        sizes = range(1, min(len(own), 1 + max(map(len, self.marks), default=0)))
        parts = [part for size in sizes for part in combinations(own, size)]
        masks: dict[int, int] = {}
        for word, bit in (self.marks[part] for part in parts if part in self.marks):
            masks[word] = masks.get(word, 0) | 1 << bit
        is_new = " AND ".join(f"w{word} & {mask} = 0" for word, mask in masks.items()) or "true"
        if self.of_persons:
            counted = f"count(DISTINCT holder) AS size, min(holder) AS holder, bool_and({is_new}) AS is_new"
            return f"SELECT {counted} FROM {self.rows} GROUP BY {self._key(own)}"
        # No row is there twice in most tables that have many columns, and counting is quicker than adding up.
        size = "count(*)" if self.rows.written == self.people else "CAST(sum(n) AS BIGINT)"
        counted = f"{size} AS size, min(holder) AS holder, true AS is_new"
        return f"SELECT {counted} FROM {self.rows} WHERE {is_new} GROUP BY {self._key(own)}"

    def _key(self, own: _Places) -> str:
        """What is grouped by: one number for all columns, where it is small enough."""
        if prod(self.sizes[place] for place in own) >= _BIGINT:
            return ", ".join(f"c{place}" for place in own)
        key = ""
        for place in own:
            key = f"({key}) * {self.sizes[place]} + c{place}" if key else f"CAST(c{place} AS BIGINT)"
        return key

    def _mark(self, counted: Relation, first: int, last: int) -> None:
        words = range(first, last + 1)
        place = f"number // {_WORD} + {first} AS word, 1::BIGINT << number % {_WORD} AS bit"
        marked = ", ".join(f"bit_or(bit) FILTER (word = {word}) AS w{word}" for word in words)
        added = ", ".join(f"coalesce(l.w{word}, 0) AS w{word}" for word in words)
        bits = f"SELECT unnest(holders) AS holder, {place} FROM {counted}"
        before = self.rows
        self.rows = self.scratch.table(
            f"SELECT r.*, {added} FROM {before} AS r "
            f"LEFT JOIN (SELECT holder, {marked} FROM ({bits}) GROUP BY holder) AS l ON l.holder = r.holder",
            "cells",
        )
        self.scratch.drop(before)


def _cells(frequencies: Frequencies, columns: Sequence[str], scratch: Scratch) -> _Cells:
    """Give the values of each column numbers."""
    types, person = frequencies.relation.columns, frequencies.person
    names = [*columns, *filter(None, [person])]
    cells = [f"__priv_f.{quoted(name)}" for name in names]
    values = [
        f"CAST({cell} AS VARCHAR)" if reads_apart(types[name]) else cell
        for name, cell in zip(names, cells, strict=True)
    ]
    dictionaries = [
        scratch.table(
            "SELECT value, row_number() OVER () - 1 AS code "
            f"FROM (SELECT DISTINCT {value} AS value FROM {frequencies} AS __priv_f)",
            "dictionary",
        )
        for value in values
    ]
    joined = " ".join(
        f"JOIN {dictionary} AS d{place} ON d{place}.value IS NOT DISTINCT FROM {value}"
        for place, (dictionary, value) in enumerate(zip(dictionaries, values, strict=True))
    )
    holder, n = (f"d{len(columns)}.code", "1") if person else ("row_number() OVER ()", COUNT)
    coded = [*(f"d{place}.code AS c{place}" for place in range(len(columns))), f"{holder} AS holder", f"{n} AS n"]
    rows = scratch.table(f"SELECT {', '.join(coded)} FROM {frequencies} AS __priv_f {joined}", "cells")
    sizes = tuple(dictionary.written or 0 for dictionary in dictionaries)
    scratch.drop(*dictionaries)
    people = sizes[-1] if person else frequencies.rows
    return _Cells(scratch, tuple(columns), sizes[: len(columns)], people, person is not None, rows)
