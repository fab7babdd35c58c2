"""The number of entries of the dictionary that are consistent with what is disclosed, at any depths.

The dictionary is counted once, by key. Counts at coarser depths are sums of finer counts. An entry that is itself a
general label is consistent with everything below it. So entries are counted separately for each combination of depths,
and looked up at the smaller one of their own depth and the disclosed one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.risk.coding import Coding, Depths


@dataclass(frozen=True)
class Lookup:
    """A table of counts (key, entries), and the mask to apply to a key before it is looked up."""

    table: Relation
    mask: str


@dataclass
class EntryCounts:
    """The counts of a dictionary. Depths are of the attributes that it knows, in their order."""

    coding: Coding
    scratch: Scratch
    patterns: dict[Depths, Relation]
    """By the depths of entries, the table of the entries with these depths."""

    def __post_init__(self) -> None:
        self._made = {(pattern, pattern): table for pattern, table in self.patterns.items()}
        """By the depths of entries and the depths they are counted at."""

    def most(self, depths: Depths) -> int:
        """The number of different keys at these depths if all combinations occurred."""
        return math.prod(a.sizes[min(k, len(a.sizes) - 1)] for a, k in zip(self.coding.known, depths, strict=True))

    def lookups(self, depths: Depths) -> list[Lookup]:
        """The tables that together count the consistent entries at these depths, created where missing."""
        found = []
        for pattern in self.patterns:
            at = tuple(map(min, pattern, depths))
            if (pattern, at) not in self._made:
                finer = [
                    table
                    for (own, other), table in self._made.items()
                    if own == pattern and all(a >= b for a, b in zip(other, at, strict=True))
                ]
                smallest = min(finer, key=lambda table: table.written or 0)
                self._made[pattern, at] = self.scratch.table(self._counted(smallest, self._mask(at)), "counts")
            found.append(Lookup(self._made[pattern, at], self._mask(at)))
        return found

    def lookups_for(self, depths: Depths, keys: Relation) -> list[Lookup]:
        """As `lookups`, for the keys of one table only; the caller drops the tables."""
        found = []
        for pattern, finest in self.patterns.items():
            mask = self._mask(tuple(map(min, pattern, depths)))
            only = f"WHERE key & {mask} IN (SELECT key & {mask} FROM {keys.name})"
            found.append(Lookup(self.scratch.table(self._counted(finest, mask, only), "counts_of_keys"), mask))
        return found

    def _mask(self, depths: Depths) -> str:
        return self.coding.mask(dict(zip((a.place for a in self.coding.known), depths, strict=True)))

    @staticmethod
    def _counted(finer: Relation, mask: str, only: str = "") -> str:
        entries = "CAST(sum(entries) AS BIGINT) AS entries"
        return f"SELECT key & {mask} AS key, {entries} FROM {finer.name} {only} GROUP BY 1"


def count_rows(coding: Coding, scratch: Scratch, side: str, counted: str) -> dict[Depths, Relation]:
    """The rows of one side counted by key, the only time they are read: a table for each combination of depths."""
    attributes = coding.attributes if side == "record" else coding.known
    depths = {
        a.place: [
            int(d) for (d,) in fetch(scratch.con, f"SELECT DISTINCT depth FROM {coding.cells[side, a.place].name}")
        ]
        for a in attributes
    }
    mixed = [f"d{place}" for place, own in depths.items() if len(own) > 1]
    made = scratch.table(
        f"SELECT {', '.join(['key', *mixed])}, count(*) AS {counted} FROM ({keyed(coding, side)}) GROUP BY ALL", counted
    )
    if not mixed:
        return {tuple(min(own) for own in depths.values()): made}
    patterns: dict[Depths, Relation] = {}
    for found in fetch(scratch.con, f"SELECT DISTINCT {', '.join(mixed)} FROM {made.name} ORDER BY ALL"):
        own = dict(zip(mixed, found, strict=True))
        only = " AND ".join(f"{name} = {depth}" for name, depth in own.items())
        pattern = tuple(own.get(f"d{place}", min(depths[place])) for place in depths)
        patterns[pattern] = scratch.table(f"SELECT key, {counted} FROM {made.name} WHERE {only}", counted)
    scratch.drop(made)
    return patterns


def keyed(coding: Coding, side: str) -> str:
    """SQL of the rows of one side with their keys and the depths of their cells."""
    problem = coding.problem
    table, attributes = (problem.table, coding.attributes) if side == "record" else (problem.dictionary, coding.known)
    rows = coding.calls.value(f"_choice_rows({literal(table.name)}, {problem.listed}, '{side}')")
    joins = " ".join(
        f"JOIN {coding.cells[side, a.place].name} AS c{a.place} ON t.raw{a.place} IS NOT DISTINCT FROM c{a.place}.raw"
        for a in attributes
    )
    key = " + ".join(f"c{a.place}.code" for a in attributes)
    depths = ", ".join(f"c{a.place}.depth AS d{a.place}" for a in attributes)
    return f"SELECT {key} AS key, {depths}, record FROM ({rows}) AS t {joins}"
