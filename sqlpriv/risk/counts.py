"""How many entries of the dictionary are consistent with what is disclosed, at any depths.

The entries are counted once by their keys. At coarser depths they are counted from a finer table, never from the
dictionary again. An entry that is itself general is consistent with all that is below it: entries are kept apart by the
depths that they have, and looked up at the smaller one of those and what is disclosed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sqlpriv.engine import fetch
from sqlpriv.risk.attributes import Coded, Depths
from sqlpriv.sqltext import literal


@dataclass(frozen=True)
class Lookup:
    """One table of counts and the mask of a key that it is asked with; it has the columns key and entries."""

    table: str
    mask: str


@dataclass
class Counts:
    """The counts of a dictionary. Depths are those of the attributes that it knows, in their order."""

    coded: Coded
    patterns: dict[Depths, str]
    """The depths that entries have, with the table of those entries."""
    made: dict[tuple[Depths, Depths], tuple[str, int]] = field(default_factory=dict)
    """Tables by the depths of the entries and those that they are counted at, with their sizes."""

    def most(self, depths: Depths) -> int:
        """The number of different keys at some depths, if all combinations occurred."""
        known = [a for a in self.coded.attributes if a.known]
        return math.prod(a.sizes[min(k, len(a.sizes) - 1)] for a, k in zip(known, depths, strict=True))

    def lookups(self, depths: Depths) -> list[Lookup]:
        """The tables that count what is consistent at some depths, made if need be."""
        found = []
        for pattern in self.patterns:
            at = self._at(pattern, depths)
            found.append(Lookup(self._counted(pattern, at), self._mask(at)))
        return found

    def lookups_for(self, depths: Depths, keys: str) -> list[Lookup]:
        """The same for the keys of one table only, to be dropped after use."""
        found = []
        for number, (pattern, finest) in enumerate(self.patterns.items()):
            mask = self._mask(self._at(pattern, depths))
            wanted = f"SELECT key & {mask} FROM {keys}"
            table = self.coded.desk.make(
                f"some_{number}_{'_'.join(map(str, depths))}",
                f"SELECT key & {mask} AS key, CAST(sum(entries) AS BIGINT) AS entries FROM {finest} "
                f"WHERE key & {mask} IN ({wanted}) GROUP BY 1",
            )
            found.append(Lookup(table, mask))
        return found

    def drop(self) -> None:
        """Drop all tables."""
        self.coded.desk.drop(*self.patterns.values(), *(table for table, _ in self.made.values()))

    def _at(self, pattern: Depths, depths: Depths) -> Depths:
        return tuple(map(min, pattern, depths))

    def _mask(self, depths: Depths) -> str:
        known = [a.place for a in self.coded.attributes if a.known]
        return self.coded.mask(dict(zip(known, depths, strict=True)))

    def _counted(self, pattern: Depths, at: Depths) -> str:
        if (pattern, at) not in self.made:
            finer = [
                (size, table)
                for (own, depths), (table, size) in self.made.items()
                if own == pattern and all(a >= b for a, b in zip(depths, at, strict=True))
            ]
            source = min(finer)[1] if finer else self.patterns[pattern]
            table = self.coded.desk.make(
                f"counts_{len(self.made)}",
                f"SELECT key & {self._mask(at)} AS key, CAST(sum(entries) AS BIGINT) AS entries "
                f"FROM {source} GROUP BY 1",
            )
            self.made[pattern, at] = (table, self.coded.desk.rows(table))
        return self.made[pattern, at][0]


def count_entries(coded: Coded) -> Counts:
    """Read the dictionary once. A value with nothing below it counts as deep as its hierarchy goes."""
    question = coded.question
    patterns = count_rows(coded, question.dictionary, "entry", "entries")
    counts = Counts(coded, patterns)
    for pattern, table in patterns.items():
        counts.made[pattern, pattern] = (table, coded.desk.rows(table))
    return counts


def count_rows(coded: Coded, table: str, side: str, counted: str) -> dict[Depths, str]:
    """The rows of one side, counted by their keys: a table of keys for each combination of depths that occurs."""
    desk = coded.desk
    attributes = [a for a in coded.attributes if side == "record" or a.known]
    depths = {a.place: _depths(coded, side, a.place) for a in attributes}
    mixed = [f"d{place}" for place, own in depths.items() if len(own) > 1]
    made = desk.make(
        counted,
        f"SELECT {', '.join(['key', *mixed])}, count(*) AS {counted} FROM ({keyed(coded, table, side)}) GROUP BY ALL",
    )
    if not mixed:
        return {tuple(min(own) for own in depths.values()): made}
    patterns: dict[Depths, str] = {}
    for number, found in enumerate(fetch(desk.con, f"SELECT DISTINCT {', '.join(mixed)} FROM {made} ORDER BY ALL")):
        own = dict(zip(mixed, found, strict=True))
        only = " AND ".join(f"{name} = {depth}" for name, depth in own.items())
        pattern = tuple(own.get(f"d{place}", min(depths[place])) for place in depths)
        patterns[pattern] = desk.make(f"{counted}_{number}", f"SELECT key, {counted} FROM {made} WHERE {only}")
    desk.drop(made)
    return patterns


def keyed(coded: Coded, table: str, side: str) -> str:
    """SQL text of the rows of one side with their keys and the depths of their cells."""
    attributes = [a for a in coded.attributes if side == "record" or a.known]
    rows = coded.desk.calls.value(f"_choice_rows({literal(table)}, {coded.question.listed}, '{side}')")
    joins = " ".join(
        f"JOIN {coded.cells(side, a.place)} AS c{a.place} ON t.raw{a.place} IS NOT DISTINCT FROM c{a.place}.raw"
        for a in attributes
    )
    key = " + ".join(f"c{a.place}.code" for a in attributes)
    depths = ", ".join(f"c{a.place}.depth AS d{a.place}" for a in attributes)
    return f"SELECT {key} AS key, {depths}, record FROM ({rows}) AS t {joins}"


def _depths(coded: Coded, side: str, place: int) -> set[int]:
    return {depth for (depth,) in fetch(coded.desk.con, f"SELECT DISTINCT depth FROM {coded.cells(side, place)}")}
