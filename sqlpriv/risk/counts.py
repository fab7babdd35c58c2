"""The number of entries of the dictionary that are consistent with what is disclosed, at any depths.

The dictionary is counted once, by key. Counts at coarser depths are sums of finer counts. An entry that is itself a
general label is consistent with everything below it. So entries are counted separately for each combination of depths,
and looked up at the smaller one of their own depth and the disclosed one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.risk.coding import Coding, Depths


@dataclass(frozen=True)
class Lookup:
    """A table of counts (key, entries), and the mask to apply to a key before it is looked up."""

    table: str
    mask: str


@dataclass
class EntryCounts:
    """The counts of a dictionary. Depths are of the attributes that it knows, in their order."""

    coding: Coding
    patterns: dict[Depths, str]
    """By the depths of entries, the table of the entries with these depths."""
    made: dict[tuple[Depths, Depths], tuple[str, int]] = field(default_factory=dict)
    """By the depths of entries and the depths they are counted at, the table and its size."""

    def most(self, depths: Depths) -> int:
        """The number of different keys at these depths if all combinations occurred."""
        known = [a for a in self.coding.attributes if a.known]
        return math.prod(a.sizes[min(k, len(a.sizes) - 1)] for a, k in zip(known, depths, strict=True))

    def lookups(self, depths: Depths) -> list[Lookup]:
        """The tables that together count the consistent entries at these depths, created where missing."""
        found = []
        for pattern in self.patterns:
            at = self._at(pattern, depths)
            found.append(Lookup(self._counted(pattern, at), self._mask(at)))
        return found

    def lookups_for(self, depths: Depths, keys: str) -> list[Lookup]:
        """As `lookups`, for the keys of one table only; the caller drops the tables."""
        found = []
        for number, (pattern, finest) in enumerate(self.patterns.items()):
            mask = self._mask(self._at(pattern, depths))
            wanted = f"SELECT key & {mask} FROM {keys}"
            table = self.coding.work.make(
                f"some_{number}_{'_'.join(map(str, depths))}",
                f"SELECT key & {mask} AS key, CAST(sum(entries) AS BIGINT) AS entries FROM {finest} "
                f"WHERE key & {mask} IN ({wanted}) GROUP BY 1",
            )
            found.append(Lookup(table, mask))
        return found

    def drop(self) -> None:
        """Drop all tables."""
        self.coding.work.drop(*self.patterns.values(), *(table for table, _ in self.made.values()))

    def _at(self, pattern: Depths, depths: Depths) -> Depths:
        return tuple(map(min, pattern, depths))

    def _mask(self, depths: Depths) -> str:
        known = [a.place for a in self.coding.attributes if a.known]
        return self.coding.mask(dict(zip(known, depths, strict=True)))

    def _counted(self, pattern: Depths, at: Depths) -> str:
        if (pattern, at) not in self.made:
            finer = [
                (size, table)
                for (own, depths), (table, size) in self.made.items()
                if own == pattern and all(a >= b for a, b in zip(depths, at, strict=True))
            ]
            source = min(finer)[1] if finer else self.patterns[pattern]
            table = self.coding.work.make(
                f"counts_{len(self.made)}",
                f"SELECT key & {self._mask(at)} AS key, CAST(sum(entries) AS BIGINT) AS entries "
                f"FROM {source} GROUP BY 1",
            )
            self.made[pattern, at] = (table, self.coding.work.rows(table))
        return self.made[pattern, at][0]


def count_entries(coding: Coding) -> EntryCounts:
    """Count the entries of the dictionary by key, the only time it is read."""
    problem = coding.problem
    patterns = count_rows(coding, problem.dictionary, "entry", "entries")
    counts = EntryCounts(coding, patterns)
    for pattern, table in patterns.items():
        counts.made[pattern, pattern] = (table, coding.work.rows(table))
    return counts


def count_rows(coding: Coding, table: str, side: str, counted: str) -> dict[Depths, str]:
    """The rows of one side counted by key: a table for each combination of depths that occurs."""
    work = coding.work
    attributes = [a for a in coding.attributes if side == "record" or a.known]
    depths = {a.place: _depths(coding, side, a.place) for a in attributes}
    mixed = [f"d{place}" for place, own in depths.items() if len(own) > 1]
    made = work.make(
        counted,
        f"SELECT {', '.join(['key', *mixed])}, count(*) AS {counted} FROM ({keyed(coding, table, side)}) GROUP BY ALL",
    )
    if not mixed:
        return {tuple(min(own) for own in depths.values()): made}
    patterns: dict[Depths, str] = {}
    for number, found in enumerate(fetch(work.con, f"SELECT DISTINCT {', '.join(mixed)} FROM {made} ORDER BY ALL")):
        own = dict(zip(mixed, found, strict=True))
        only = " AND ".join(f"{name} = {depth}" for name, depth in own.items())
        pattern = tuple(own.get(f"d{place}", min(depths[place])) for place in depths)
        patterns[pattern] = work.make(f"{counted}_{number}", f"SELECT key, {counted} FROM {made} WHERE {only}")
    work.drop(made)
    return patterns


def keyed(coding: Coding, table: str, side: str) -> str:
    """SQL of the rows of one side with their keys and the depths of their cells."""
    attributes = [a for a in coding.attributes if side == "record" or a.known]
    rows = coding.work.calls.value(f"_choice_rows({literal(table)}, {coding.problem.listed}, '{side}')")
    joins = " ".join(
        f"JOIN {coding.cells(side, a.place)} AS c{a.place} ON t.raw{a.place} IS NOT DISTINCT FROM c{a.place}.raw"
        for a in attributes
    )
    key = " + ".join(f"c{a.place}.code" for a in attributes)
    depths = ", ".join(f"c{a.place}.depth AS d{a.place}" for a in attributes)
    return f"SELECT {key} AS key, {depths}, record FROM ({rows}) AS t {joins}"


def _depths(coding: Coding, side: str, place: int) -> set[int]:
    return {depth for (depth,) in fetch(coding.work.con, f"SELECT DISTINCT depth FROM {coding.cells(side, place)}")}
