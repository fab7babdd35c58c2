"""Rows of an answer as JSON objects, for the command line and the MCP server."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any


def distinct_names(columns: list[str]) -> list[str]:
    """An object has a name once: a second column of the same name gets a number."""
    seen: dict[str, int] = {}
    made = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        made.append(column if seen[column] == 1 else f"{column}_{seen[column]}")
    return made


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
