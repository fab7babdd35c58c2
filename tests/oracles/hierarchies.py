"""Hierarchies as lists of paths: the value as text, its label on each level, `*` at the top."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .counting import canon, order_key, text
from .grids import _cell_label, grid_floor

Path = tuple[str | None, ...]
Faults = list[tuple[str, int, int]]


def _paths(values: Sequence[object], height: int, labels: dict[object, list[str]]) -> list[Path]:
    """One path a value, in the order of the values, NULL last."""
    if not values:
        raise ValueError("the table has no rows")
    found: list[Path] = []
    for value in sorted({text(v): v for v in values}.values(), key=order_key):
        own: Sequence[str | None] = [None] * height if value is None else labels[canon(value)]
        found.append((text(value), *own, "*"))
    return found


def _short(number: Fraction) -> str:
    units = number * 10**10
    assert units.denominator == 1
    whole, decimals = divmod(abs(units.numerator), 10**10)
    return f"{'-' if number < 0 else ''}{whole}.{decimals:010}".rstrip("0").rstrip(".")


def hierarchy_ranges(
    values: Sequence[object], widths: Sequence[object], origin: object, whole_column: bool
) -> list[Path]:
    """Ranges that start at the origin plus a whole number of widths; a float is the number it is written as."""
    start, steps = Fraction(str(origin)), [Fraction(str(w)) for w in widths]
    if any(after % before for before, after in pairwise(steps)):
        raise ValueError("does not nest")
    in_words = whole_column and all(number.denominator == 1 for number in (start, *steps))
    labels: dict[object, list[str]] = {}
    for value in values:
        if value is None:
            continue
        number = Fraction(str(value))
        labels[canon(value)] = []
        for width in steps:
            low = start + (number - start) // width * width
            assert low <= number < low + width
            plain = _short(low) if width == 1 else f"{_short(low)}-{_short(low + width - 1)}"
            half_open = f"[{_short(low)}, {_short(low + width)})"
            labels[canon(value)].append(plain if in_words and low >= 0 else half_open)
    return _paths(values, len(steps), labels)


def hierarchy_mask(values: Sequence[object], length: int) -> list[Path]:
    if any(len(text(v) or "") > length for v in values):
        raise ValueError("longer than the mask")
    labels = {
        canon(value): [str(text(value))[: length - i].ljust(length, "*") for i in range(1, length)]
        for value in values
        if value is not None
    }
    return _paths(values, length - 1, labels)


def hierarchy_dates(values: Sequence[datetime.date | None], units: Sequence[str]) -> list[Path]:
    def label(day: datetime.date, unit: str) -> str:
        return {
            "day": f"{day.year:04}-{day.month:02}-{day.day:02}",
            "month": f"{day.year:04}-{day.month:02}",
            "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
            "year": f"{day.year:04}",
            "decade": f"{day.year // 10:03}0s",
        }[unit]

    labels: dict[object, list[str]] = {canon(v): [label(v, unit) for unit in units] for v in values if v is not None}
    return _paths(values, len(units), labels)


def hierarchy_bins(values: Sequence[object], bins: Sequence[int], whole_column: bool) -> list[Path]:
    """Bin floor(bins * rows before / rows) on each level; numbers and dates stand at points of the grid."""
    present = sorted((v for v in values if v is not None), key=lambda v: order_key(_bin_point(v)))
    places = {canon(v): order_key(_bin_point(v)) for v in present}
    before = {key: sum(places[canon(other)] < place for other in present) for key, place in places.items()}
    labels: dict[object, list[str]] = {canon(v): [] for v in present}
    for number in bins:
        members: dict[int, list[object]] = {}
        for value in present:
            members.setdefault(number * before[canon(value)] // len(present), []).append(value)
        names = _bin_names(members, whole_column)
        for bin_, found in members.items():
            for key in {canon(value) for value in found}:
                labels[key].append(names[bin_])
    return _paths(values, len(bins), labels)


def _has_grid(value: object) -> bool:
    return isinstance(value, (int, float, Decimal, datetime.date)) and not isinstance(value, bool)


def _bin_point(value: Any) -> Any:
    """Where a value stands: on the grid, where its type has one."""
    if isinstance(value, datetime.datetime):
        return grid_floor(value.date())
    return grid_floor(value) if _has_grid(value) else value


def _bin_names(members: dict[int, list[object]], whole_column: bool) -> dict[int, str]:
    order = sorted(members)
    if members and _has_grid(members[0][0]):
        firsts = [min(_bin_point(v) for v in members[bin_]) for bin_ in order]
        is_time = isinstance(members[0][0], datetime.datetime)
        ends = zip([None, *firsts[1:]], [*firsts[1:], None], strict=True)
        return {bin_: _bin_cell(low, cut, whole_column, is_time) for bin_, (low, cut) in zip(order, ends, strict=True)}
    names = {bin_: _bin_of_values(members[bin_]) for bin_ in order}
    if len(set(names.values())) < len(names):
        names = {bin_: f"{name} #{bin_ + 1}" for bin_, name in names.items()}
    return names


def _bin_cell(low: Any, cut: Any, whole_column: bool, is_time: bool) -> str:
    """A cell from a point up to another one, before which it stops."""
    if isinstance(low or cut, datetime.date):
        last = None if cut is None else cut - datetime.timedelta(days=1)
        return _cell_label(low, last, cut, not is_time, " or later", "before ")
    shown_low, shown_cut = (None if end is None else _short(Fraction(str(end))) for end in (low, cut))
    last = None if cut is None else _short(Fraction(str(cut)) - 1)
    is_closed = whole_column and low is not None and low >= 0
    return _cell_label(shown_low, last, shown_cut, is_closed, " or more", "less than ")


def _bin_of_values(members: Sequence[object]) -> str:
    low, high = str(text(members[0])), str(text(members[-1]))
    if canon(members[0]) == canon(members[-1]) and low != "*" and not low.startswith("["):
        return low
    return f"[{low}, {high}]"


def hierarchy_suppression(values: Sequence[object]) -> list[Path]:
    return _paths(values, 0, {canon(v): [] for v in values})


def hierarchy_tree(edges: Sequence[tuple[str, str]], levels: int) -> list[Path]:
    """Climb from each leaf to the root; more steps than there are edges means a cycle."""
    parents: dict[str, set[str]] = {}
    for child, parent in edges:
        parents.setdefault(child, set()).add(parent)
    inner = {parent for _, parent in edges}
    if any(len(found) > 1 for found in parents.values()):
        raise ValueError("more than one parent")
    if len(inner - set(parents)) > 1:
        raise ValueError("roots")
    found = []
    for start in parents:
        path, node = [], start
        while node in parents:
            node = next(iter(parents[node]))
            path.append(node if node in parents else "*")
            if len(path) > len(edges):
                raise ValueError("cycle")
        if start not in inner:
            found.append((start, path))
    if max(len(path) for _, path in found) > levels:
        raise ValueError(f"needs {max(len(path) for _, path in found)} levels")
    return sorted((leaf, *path, *["*"] * (levels - len(path))) for leaf, path in found)


def hierarchy_faults(values: Sequence[object], paths: Sequence[Path]) -> Faults:
    known = set(paths)
    top = len(paths[0]) - 1
    leaves = {path[0] for path in known}
    faults: Faults = [
        ("values are not in the hierarchy", 0, len({text(v) for v in values if v is not None} - leaves)),
        (
            "values stand in the hierarchy twice, with different labels",
            0,
            sum(len({path for path in known if path[0] == leaf}) > 1 for leaf in leaves),
        ),
    ]
    for level in range(1, top):
        labels = {path[level] for path in known} - {None}
        above = {label: {path[level + 1] for path in known if path[level] == label} for label in labels}
        number = sum(len(found) > 1 for found in above.values())
        faults.append(("labels have more than one label on the next level", level, number))
    for level in range(1, top + 1):
        number = sum(path[level] is None and (path[0] is not None or level == top) for path in known)
        faults.append(("values have no label", level, number))
    tops = {path[top] for path in known} - {None}
    faults.append(("labels stand at the top, where there should be one", top, len(tops) if len(tops) > 1 else 0))
    return [fault for fault in faults if fault[2]]
