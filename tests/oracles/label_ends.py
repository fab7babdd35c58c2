"""The ends of the ranges that labels name, read letter by letter: the first value, and the first beyond."""

from __future__ import annotations

import datetime
from decimal import Decimal


def range_ends(label: str) -> tuple[Decimal, Decimal]:
    """Of a label of numbers: 15-19, 15 or [-5, 0)."""
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return Decimal(low), Decimal(high)
    low, _, high = label.partition("-")
    return Decimal(low), Decimal(high or low) + 1


def date_ends(label: str) -> tuple[datetime.date, datetime.date]:
    """Of a label of dates: 2020s, 2024, 2024-Q1, 2024-03 or 2024-03-17."""
    year = int(label[:4])
    if label.endswith("s"):
        return datetime.date(year, 1, 1), datetime.date(year + 10, 1, 1)
    if "Q" in label:
        month, months = 3 * int(label[-1]) - 2, 3
    elif len(label) == 4:
        month, months = 1, 12
    else:
        month, months = int(label[5:7]), 1
    if len(label) == 10:
        day = datetime.date.fromisoformat(label)
        return day, day + datetime.timedelta(days=1)
    beyond = year * 12 + month - 1 + months
    return datetime.date(year, month, 1), datetime.date(beyond // 12, beyond % 12 + 1, 1)


def bin_ends(label: str) -> tuple[str | None, str | None, str | None]:
    """Of a label of a bin: its first value, the value before which it stops, and its last one, as texts."""
    for words in ("less than ", "before "):
        if label.startswith(words):
            return None, label.removeprefix(words), None
    for words in (" or more", " or later"):
        if label.endswith(words):
            return label.removesuffix(words), None, None
    if label.startswith("["):
        low, cut = label[1:-1].split(", ")
        return low, cut, None
    parts = label.split("-")
    half = (len(parts) + 1) // 2
    return "-".join(parts[:half]), None, "-".join(parts[half:] or parts)
