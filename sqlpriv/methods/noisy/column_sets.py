"""What can be published where a policy asks for too much: the largest sets of its columns that still say something.

A set will do when it holds a sensitive column, a linking attacker is covered on each that it holds, and a count of a
twentieth of the rows and of the domain has a standard error below a fifth of it. Fewer columns make a smaller domain
and less noise, so sets are tried from the largest down, and only as far as the first size at which some will do. All
of it is made from sizes that are public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

from sqlpriv.core.errors import SqlprivError
from sqlpriv.methods.noisy.attackers import Background
from sqlpriv.methods.noisy.calibration import Calibrate, Calibration, find_bound
from sqlpriv.methods.noisy.policy import CALIBRATED, RandomizedPolicy
from sqlpriv.table.source import Source

GOOD_ERROR = 0.2
_MOST_TRIED = 200
_MOST_LISTED = 5
_MOST_COARSENED = 3


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
    background: Background
    sizes: Mapping[str, int]
    calibrate: Calibrate

    def sets(self) -> tuple[ColumnSet, ...]:
        """The largest sets that will do, best first; none where none was found among those tried."""
        found: list[ColumnSet] = []
        for columns in _subsets(self.background, self.sizes):
            if found and len(columns) < len(found[0].columns):
                break
            sizes = {c: self.sizes[c] for c in columns}
            if (error := self._error(sizes)) is not None:
                found.append(ColumnSet(columns, prod(sizes.values()), error))
        return tuple(sorted(found, key=lambda s: s.error)[:_MOST_LISTED])

    def coarser(self) -> dict[str, int]:
        """For the largest columns that nobody wants: how many values each may have for all columns to do together."""
        wanted = {w.column for w in self.background.wanted}
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
        policy = replace(self.policy, release={**self.policy.release, **dict.fromkeys(("d", "k", *CALIBRATED))})
        part = replace(
            self.background,
            wanted=tuple(w for w in self.background.wanted if w.column in sizes),
            quasi_identifiers=tuple(q for q in self.background.quasi_identifiers if q in sizes),
            tuples=prod(sizes.values()),
        )
        try:
            bound = find_bound(self.source.calls, policy, self.rows, part, list(sizes.values()), None)
            found = self.calibrate(self.source, policy, bound)
        except SqlprivError:
            return None
        return found.small_error if _will_do(found, self.policy.max_rows) else None


def _will_do(found: Calibration, most_rows: int) -> bool:
    is_useful = found.possible and found.small_error < GOOD_ERROR
    return not found.uncovered and is_useful and found.expected_rows <= most_rows


def _subsets(background: Background, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Sets of the columns with at least one that is wanted and not known anyway, from the largest, so many in all."""
    open_columns = {w.column for w in background.wanted if w.choices > 1}
    tried = 0
    for number in range(len(sizes), 0, -1):
        for columns in combinations(sizes, number):
            if open_columns & set(columns):
                tried += 1
                if tried > _MOST_TRIED:
                    return
                yield columns
