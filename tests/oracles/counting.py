"""What every oracle counts with: equal values, classes, thresholds.

A table is a list of rows, a row a dict by column name. Nothing here is meant to be fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Row = Mapping[str, object]
Rows = Sequence[Row]
Class = tuple[object, ...]
Number = int | float | Fraction
PerClass = dict[Class, tuple[int, Number]]

INFINITY = float("inf")
TOLERANCE = Fraction(1, 10**12)
NAN = ("NaN",)


def canon(value: object) -> object:
    """A hashable stand-in that is equal exactly when two values count as the same value."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, float):
        return NAN if math.isnan(value) else value + 0.0
    if isinstance(value, (list, tuple)):
        return ("list", tuple(canon(item) for item in value))
    if isinstance(value, dict):
        return ("struct", tuple((key, canon(item)) for key, item in value.items()))
    return value


def text(value: object) -> str | None:
    """The value as DuckDB casts it to VARCHAR; priors, sets and hierarchies compare that."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value + 0.0)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_in_nested, value)) + "]"
    if isinstance(value, dict):
        fields = (f"'{name}': {_in_nested(item)}" for name, item in value.items())
        return "{" + ", ".join(fields) + "}"
    return str(value)


def _in_nested(value: object) -> str:
    return "NULL" if value is None else str(text(value))


def order_key(value: object) -> tuple[object, ...]:
    """Sorts as DuckDB does: NaN above all numbers, NULL above everything, lists item by item."""
    if value is None:
        return (2,)
    if isinstance(value, float) and math.isnan(value):
        return (1,)
    if isinstance(value, (list, tuple)):
        return (0, tuple(order_key(item) for item in value))
    return (0, value)


@dataclass
class Group:
    """The units of one class: row numbers, or persons when a person column is given."""

    units: set[object] = field(default_factory=set)
    by_value: dict[object, set[object]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """n(q)."""
        return len(self.units)

    def n_value(self, value: object) -> int:
        """n(q,s) of a canonical value."""
        return len(self.by_value.get(value, ()))

    def n_set(self, values: Iterable[object]) -> int:
        """n(q,S): units with at least one of the canonical values."""
        return len(set().union(*(self.by_value.get(value, set()) for value in values)))

    def histogram(self) -> list[int]:
        """r: counts in descending order, the tail cut where the sum reaches n(q)."""
        result: list[int] = []
        room = self.n
        for count in sorted((len(units) for units in self.by_value.values()), reverse=True):
            result.append(min(count, room))
            room -= result[-1]
        return [count for count in result if count > 0]


def refuse_bad_input(rows: Rows, qis: Sequence[str], sensitive: str | None) -> None:
    """The refusals of definitions.md that an oracle can see."""
    if isinstance(qis, str) or not qis:
        raise ValueError("qis is a list of at least one name")
    if not rows:
        raise ValueError("the table has no rows")
    if sensitive in qis:
        raise ValueError("the sensitive column is among the quasi-identifiers")
    for name in [*qis, *([] if sensitive is None else [sensitive])]:
        if name.startswith("__priv_") or name not in rows[0]:
            raise ValueError(f"no such column, or a reserved name: {name}")


def class_of(row: Row, qis: Sequence[str]) -> Class:
    return tuple(seen(row[name]) for name in qis)


def seen(value: object) -> object:
    """A hashable stand-in that is equal exactly when a reader sees the same value: zeros and NaN have a sign."""
    if isinstance(value, float) and (value == 0 or math.isnan(value)):
        return ("signed", canon(value), math.copysign(1, value))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(seen(item) for item in value))
    if isinstance(value, dict):
        return ("struct", tuple((key, seen(item)) for key, item in value.items()))
    return canon(value)


def group(
    rows: Rows, qis: Sequence[str], sensitive: str | None = None, person: str | None = None
) -> dict[Class, Group]:
    """The classes of a table."""
    refuse_bad_input(rows, qis, sensitive)
    if person is not None and any(row[person] is None for row in rows):
        raise ValueError("the person column holds NULL")
    groups: dict[Class, Group] = {}
    for number, row in enumerate(rows):
        unit = number if person is None else canon(row[person])
        found = groups.setdefault(class_of(row, qis), Group())
        found.units.add(unit)
        if sensitive is not None:
            found.by_value.setdefault(canon(row[sensitive]), set()).add(unit)
    return groups


def total(groups: Mapping[Class, Group]) -> int:
    """N: the sum of n(q)."""
    return sum(found.n for found in groups.values())


def value_totals(groups: Mapping[Class, Group]) -> dict[object, int]:
    """n(s) of every value of the table: the sum over the classes of n(q,s)."""
    totals: dict[object, int] = {}
    for found in groups.values():
        for value, units in found.by_value.items():
            totals[value] = totals.get(value, 0) + len(units)
    return totals


def per_group(groups: Mapping[Class, Group], value: Callable[[Group], Number]) -> PerClass:
    return {key: (found.n, value(found)) for key, found in groups.items()}


def largest(per_class: PerClass) -> Number:
    return max(value for _, value in per_class.values())


def smallest(per_class: PerClass) -> Number:
    return min(value for _, value in per_class.values())


def same(value: Number, threshold: Number) -> bool:
    """Equal within the tolerance of definitions.md; infinity equals infinity."""
    if math.isinf(value) or math.isinf(threshold):
        return value == threshold
    x, y = Fraction(value), Fraction(threshold)
    return abs(x - y) <= TOLERANCE * max(abs(y), 1)


def fails(value: Number, direction: str, threshold: Number) -> bool:
    """Is `value direction threshold` true, where nearly equal counts as equal?"""
    if same(value, threshold):
        return direction == ">="
    return value < threshold if direction == "<" else value > threshold


def failing(per_class: PerClass, direction: str, threshold: Number) -> list[tuple[Class, int, Number]]:
    """The classes for which `value direction threshold` holds, worst first, then smallest."""
    if direction not in ("<", ">", ">="):
        raise ValueError("direction is one of < > >=")
    found = [(key, size, value) for key, (size, value) in per_class.items() if fails(value, direction, threshold)]
    sign = 1 if direction == "<" else -1
    return sorted(found, key=lambda item: (sign * item[2], item[1]))
