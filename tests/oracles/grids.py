"""Numbers with at most two significant digits, and first days of months: where ranges may end without a domain."""

from __future__ import annotations

import datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Any

FINEST = -10
"""No point has more than ten decimals."""


def grid_floor(value: Any) -> Any:
    """The last point that is not above a value; NULL has none."""
    if value is None:
        return None
    if isinstance(value, datetime.date):
        return value.replace(day=1)
    number = Decimal(str(value))
    step = Decimal(10) ** _second_digit(number)
    return type(value)((number / step).to_integral_value(ROUND_FLOOR) * step)


def grid_next(value: Any) -> Any:
    """The first point above a value, found by going through all that may be it."""
    if isinstance(value, datetime.date):
        first = value.replace(day=1)
        return (first + datetime.timedelta(days=31)).replace(day=1)
    number, finest = Decimal(str(value)), 0 if isinstance(value, int) else FINEST
    found = []
    for exponent in range(max(_second_digit(number) - 1, finest), max(_second_digit(number), finest) + 2):
        step = Decimal(10) ** exponent
        steps = (number / step).to_integral_value(ROUND_FLOOR) + 1
        if abs(steps) <= 100:
            found.append(steps * step)
    return type(value)(min(found))


def _second_digit(number: Decimal) -> int:
    """The power of ten that the second digit of a number stands for."""
    return max(number.adjusted() - 1, FINEST) if number else FINEST


def _grid_number(mantissa: int, exponent: int) -> float:
    return float(Decimal(mantissa) * Decimal(10) ** exponent)


def _grid_near(number: float) -> float:
    return float(max(Decimal(str(number)).adjusted(), -12) - 1) if number else -13.0


def _grid_exponent(number: float, near: float, finest: int) -> float:
    """Of the steps upwards from the point at or below a number: between 10 and 100 of them lead from 0 to it."""
    exponent = int(near)
    while Decimal(10) ** (exponent + 2) < abs(Decimal(str(number))) or Decimal(10) ** (exponent + 2) == number:
        exponent += 1
    while Decimal(10) ** (exponent + 1) > abs(Decimal(str(number))) or Decimal(10) ** (exponent + 1) == -number:
        if exponent <= min(finest, int(near) - 1):
            break
        exponent -= 1
    return float(max(exponent, finest))


def _grid_nearest(number: float, exponent: int) -> float:
    scaled = Decimal(str(number)) / Decimal(10) ** exponent
    return float(round(scaled + Decimal("0") if scaled % 1 != Decimal("0.5") else scaled + Decimal("0.1")))


def _grid_steps(number: float, exponent: int, nearest: float) -> float:
    return nearest - 1 if Decimal(nearest) * Decimal(10) ** exponent > Decimal(str(number)) else nearest


def _closed_label(low: Any, high: Any) -> str:
    if low == high:
        return str(low)
    return f"{low} to {high}" if str(low).startswith("-") else f"{low}-{high}"


def _cell_label(low: Any, high: Any, cut: Any, is_closed: bool, more: str, less: str) -> str:
    if low is None and high is None:
        return "*"
    if high is None:
        return f"{low}{more}"
    if low is None:
        return f"{less}{cut}"
    if is_closed:
        return _closed_label(low, high)
    return f"[{low}, {cut})"
