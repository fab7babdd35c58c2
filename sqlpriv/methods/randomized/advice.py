"""What can be published where a policy asks for too much: the largest sets of its columns that still say something.

A set will do when it holds a sensitive column, a linking attacker is covered on each that it holds, and a count of a
twentieth of the rows and of the domain has a standard error below a fifth of it. Fewer columns make a smaller domain
and less noise, so sets are tried from the largest down, and only as far as the first size at which some will do. All
of it is made from sizes that are public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

from sqlpriv.errors import SqlprivError
from sqlpriv.facts import Grid, Line, Part
from sqlpriv.methods.randomized.attackers import Known
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.terms import Asked, Terms, asked_for
from sqlpriv.table.source import Source

GOOD_ERROR = 0.2
_MOST_TRIED = 200
_MOST_LISTED = 5
_MOST_COARSENED = 3
MakeTerms = Callable[[Source, Any, Asked], Terms]


@dataclass(frozen=True)
class ColumnSet:
    """Columns that could be published together, and the error of a count of a twentieth of them."""

    columns: tuple[str, ...]
    tuples: int
    error: float

    def to_json(self) -> dict[str, Any]:
        """As `plan` lists it."""
        return {"columns": list(self.columns), "m": self.tuples, "small_count_error": self.error}


@dataclass(frozen=True)
class Trials:
    """Tries what would come out if fewer or coarser columns were published, with the bound from the attacker."""

    source: Source
    policy: RandomizedPolicy
    rows: int
    known: Known
    sizes: Mapping[str, int]
    make_terms: MakeTerms

    def sets(self) -> tuple[ColumnSet, ...]:
        """The largest sets that will do, best first; none where none was found among those tried."""
        found: list[ColumnSet] = []
        for columns in _subsets(self.known, self.sizes):
            if found and len(columns) < len(found[0].columns):
                break
            sizes = {c: self.sizes[c] for c in columns}
            if (error := self._error(sizes)) is not None:
                found.append(ColumnSet(columns, prod(sizes.values()), error))
        return tuple(sorted(found, key=lambda s: s.error)[:_MOST_LISTED])

    def coarser(self) -> dict[str, int]:
        """For the largest columns that nobody wants: how many values each may have for all columns to do together."""
        wanted = {w.column for w in self.known.wanted}
        columns = sorted((c for c in self.sizes if c not in wanted), key=lambda c: -self.sizes[c])[:_MOST_COARSENED]
        found = {c: self._most_values(c) for c in columns}
        return {c: most for c, most in found.items() if 1 < most < self.sizes[c]}

    def _most_values(self, column: str) -> int:
        low, high = 0, self.sizes[column]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._error({**self.sizes, column: middle}) is None else (middle, high)
        return low

    def _error(self, sizes: Mapping[str, int]) -> float | None:
        """The error of a twentieth, where these columns with so many values will do."""
        asks = replace(self.policy, release={**self.policy.release, **dict.fromkeys(("d", "k", "p", "alpha", "beta"))})
        part = replace(
            self.known,
            wanted=tuple(w for w in self.known.wanted if w.column in sizes),
            quasi_identifiers=tuple(q for q in self.known.quasi_identifiers if q in sizes),
            tuples=prod(sizes.values()),
        )
        try:
            asked = asked_for(self.source.calls, asks, self.rows, part, list(sizes.values()), None)
            terms = self.make_terms(self.source, asks, asked)
        except SqlprivError:
            return None
        return terms.small_error if _will_do(terms, self.policy.max_rows) else None


def _will_do(terms: Terms, most_rows: int) -> bool:
    is_useful = terms.possible and terms.small_error < GOOD_ERROR
    return not terms.uncovered and is_useful and terms.expected_rows <= most_rows


def _subsets(known: Known, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Sets of the columns with at least one that is wanted and not known anyway, from the largest, so many in all."""
    open_columns = {w.column for w in known.wanted if w.choices > 1}
    tried = 0
    for number in range(len(sizes), 0, -1):
        for columns in combinations(sizes, number):
            if open_columns & set(columns):
                tried += 1
                if tried > _MOST_TRIED:
                    return
                yield columns


def advice(known: Known, sets: Sequence[ColumnSet]) -> str:
    """What can be done where a linking attacker's belief is not below gamma, in one sentence."""
    few = min((w for w in known.wanted if w.choices > 1), key=lambda w: w.choices)
    listed = " or ".join(", ".join(s.columns) for s in sets[:2])
    fewer = f"publish fewer columns, as {listed}" if sets else "no set of the columns will do"
    without = "leave out the shares, " if known.shared else ""
    return (
        f"of {few.column!r} only {few.choices} values are possible: leave it out or take a larger gamma; {fewer}; or "
        f"take another method (generalize with distinct_l); or {without}give d yourself and say why in uncovered"
    )


def set_parts(sets: Sequence[ColumnSet], coarser: Mapping[str, int]) -> tuple[Part, ...]:
    """The sets as a table for people, and what would do instead."""
    rows = tuple((", ".join(s.columns), f"{s.tuples:,}", f"{s.error:.1%}") for s in sets)
    caption = (
        "The largest sets of columns for which a linking attacker is covered, and a count of 5% of the rows and the "
        f"domain is off by less than {GOOD_ERROR:.0%}."
    )
    headings = ("columns", "domain", "error of 5%")
    grid = Grid(headings, rows, title="What could be published", caption=caption, folded=("columns",))
    listed = " or ".join(f"{column} to at most {most:,} values" for column, most in coarser.items())
    coarsen = Line(f"Or coarsen {listed}: a hierarchy and a level, or wider ranges.") if coarser else None
    return (*((grid,) if sets else ()), *((coarsen,) if coarsen else ()))
