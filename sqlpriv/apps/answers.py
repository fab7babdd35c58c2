"""The answer of a release to a query: its rows as JSON objects for machines, and as facts for people.

The command line prints it, and the MCP server passes it on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number

Row = Sequence[Any]
_IMPOSSIBLE = "* "
_BELOW_ZERO = (
    "below 0, which the true value cannot be: there are few rows for the noise; sums over such estimates stay right, "
    "and --nonnegative shows 0"
)


@dataclass(frozen=True)
class AnsweredQuery:
    """The columns as the engine names them, the rows, and what the reader is warned of."""

    columns: Sequence[str]
    rows: Sequence[Row]
    warnings: tuple[str, ...] = ()
    never_below_zero: frozenset[str] = frozenset()
    """The columns that are counts, or sums of what is never below 0."""

    @cached_property
    def names(self) -> list[str]:
        """The columns as an object names them, which has a name once: a second one of it gets a number."""
        seen: dict[str, int] = {}
        made = []
        for column in self.columns:
            seen[column] = seen.get(column, 0) + 1
            made.append(column if seen[column] == 1 else f"{column}_{seen[column]}")
        return made

    def objects(self) -> list[dict[str, Any]]:
        """The rows by the names of the columns, with values that JSON can hold."""
        return [dict(zip(self.names, map(plain_value, row), strict=True)) for row in self.rows]

    def facts(self, most: int) -> Facts:
        """The first rows for people, all of them as data."""
        estimates = {place for name in self.names for place in _places(self.names, name)}
        positive = {place for place, name in enumerate(self.columns) if name in self.never_below_zero}
        cells = tuple(
            tuple(_cell(value, place, estimates, positive) for place, value in enumerate(row))
            for row in self.rows[:most]
        )
        parts: list[Part] = [Grid(tuple(self.columns), cells)]
        if any(text.startswith(_IMPOSSIBLE) for row in cells for text in row):
            parts.append(Line(f"{_IMPOSSIBLE}{_BELOW_ZERO}"))
        if len(self.rows) > most:
            left, total = len(self.rows) - most, len(self.rows)
            parts.append(Line(f"{left:,} more rows; --csv FILE writes all {total:,}, --most prints more"))
        return Facts("", self.objects(), tuple(parts), self.warnings)


def plain_value(value: Any) -> Any:
    """A value that JSON can hold: NaN and infinity become null, a date becomes text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain_value(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _places(names: list[str], name: str) -> Iterator[int]:
    """Where an estimate and its bounds are; nothing for a column without bounds."""
    found = [names.index(each) for each in (name, f"{name}_low", f"{name}_high") if each in names]
    if len(found) == len(("estimate", "low", "high")):
        yield from found


def _cell(value: Any, place: int, estimates: set[int], positive: set[int]) -> str:
    """A value for people: of an estimate few digits, and a mark where it cannot be true; all of a group key."""
    if value is None:
        return "NULL"
    if not isinstance(value, float):
        return str(value)
    if place not in estimates:
        text = shown_number(value, 6) if math.isfinite(value) and not estimates else str(value)
    else:
        text = shown_number(value)
    return f"{_IMPOSSIBLE}{text}" if place in positive and value < 0 else text
