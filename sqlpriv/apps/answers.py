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
_OUTSIDE = "* "


@dataclass(frozen=True)
class AnsweredQuery:
    """The columns as the engine names them, the rows, and what the reader is warned of."""

    columns: Sequence[str]
    rows: Sequence[Row]
    warnings: tuple[str, ...] = ()

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
        bounds = dict(_bounds(self.names))
        cells = tuple(tuple(_cell(row, place, bounds) for place in range(len(row))) for row in self.rows[:most])
        parts: list[Part] = [Grid(tuple(self.columns), cells)]
        if any(text.startswith(_OUTSIDE) for row in cells for text in row):
            beyond = "beyond what its column can hold: too few rows to say more than its bounds do"
            parts.append(Line(f"{_OUTSIDE}{beyond}"))
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


def _bounds(names: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Where the bounds of each estimate are; a bound has itself."""
    places = {name: place for place, name in enumerate(names)}
    for name, place in places.items():
        low, high = places.get(f"{name}_low"), places.get(f"{name}_high")
        if low is not None and high is not None:
            yield from ((place, (low, high)), (low, (low, low)), (high, (high, high)))


def _cell(row: Row, place: int, bounds: dict[int, tuple[int, int]]) -> str:
    """A value for people: of an estimate few digits, and a mark where it lies beyond its bounds; all of a group key."""
    value = row[place]
    if value is None:
        return "NULL"
    if not isinstance(value, float):
        return str(value)
    if place not in bounds:
        return shown_number(value, 6) if math.isfinite(value) and not bounds else str(value)
    low, high = (row[bound] for bound in bounds[place])
    text = shown_number(value)
    return f"{_OUTSIDE}{text}" if _is_beyond(value, low, high) else text


def _is_beyond(value: float, low: float | None, high: float | None) -> bool:
    """Only bounds that were cut to a range leave their estimate outside; a rounding error does not count."""
    room = 1e-9 * max(abs(value), 1.0)
    return low is not None and high is not None and not low - room <= value <= high + room
