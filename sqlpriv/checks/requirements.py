"""What a steward requires of a table: `k>=5`, `distinct_l>=3`, `epsilon_class2(sigma=1000, b=2)<=2.5`.

A requirement is a threshold for one measure (measures.py). Each measure has a side that is safe, and some are bounds
that do not themselves hold (an infimum). So a comparison that points the other way or includes such a bound is refused
rather than judged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.checks.measures import MEASURES, Measure
from sqlpriv.core.errors import InputError, did_you_mean
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import constant_value

_FORM = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(>=|<=|>|<|==|=)\s*([-+.\deE]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A threshold for a measure: of every sensitive column, or of the one it names."""

    text: str
    name: str
    arguments: Mapping[str, float | str]
    operator: str
    threshold: float
    sensitive: str | None = None

    @cached_property
    def measure(self) -> Measure:
        """What is required."""
        return MEASURES[self.name]

    @cached_property
    def limit(self) -> float:
        """The threshold moved by the tolerance of docs/definitions.md, to the side that the comparison asks for."""
        return limit(self.threshold, self.operator)

    def holds(self, value: float) -> bool:
        """Whether the value meets the threshold."""
        if self.operator == ">=":
            return value >= self.limit
        if self.operator == ">":
            return value > self.limit
        return value <= self.limit if self.operator == "<=" else value < self.limit


def limit(threshold: float, operator: str) -> float:
    """The number that a comparison is made with, as sql/base.sql has it: DuckDB says it, once for each threshold.

    >>> limit(5, ">="), limit(0.5, "<=")
    (4.999999999995, 0.500000000001)
    """
    moved = constant_value(inlined(f"_limit(CAST('{float(threshold)!r}' AS DOUBLE), {literal(operator)})"))
    assert isinstance(moved, float)
    return moved


def parse(text: str) -> Requirement:
    """Read a requirement, or say what is wrong with it."""
    match = _FORM.fullmatch(text)
    if not match:
        raise InputError(f"cannot read the requirement {text!r}; write it like k>=5 or posterior(l=3)<=0.5")
    name, given, operator, number = match.groups()
    measure = MEASURES.get(name)
    if measure is None:
        near = did_you_mean(name, MEASURES)
        raise InputError(f"unknown measure {name!r} in {text!r}; there are {', '.join(MEASURES)}{near}")
    if operator not in measure.direction.operators:
        raise InputError(f"{text!r} does not protect anybody: write {name}{measure.direction.operators[0]}{number}")
    try:
        threshold = float(number)
    except ValueError:
        raise InputError(f"{number!r} in {text!r} is not a number") from None
    if measure.is_count and threshold % 1 > 0:
        whole = f"{name}{operator}{math.ceil(threshold)}"
        raise InputError(f"{text!r}: {name} counts, so its threshold must be a whole number: write {whole}")
    return Requirement(text.strip(), name, _arguments(measure, given, text), operator, threshold)


def _arguments(measure: Measure, given: str | None, text: str) -> dict[str, float | str]:
    name, values = measure.name, dict[str, float | str](measure.defaults)
    for part in filter(None, (given or "").split(",")):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals or key not in measure.names:
            expected = ", ".join(measure.names) or "none"
            raise InputError(f"{part.strip()!r} in {text!r} is no argument of {name}; it takes {expected}")
        values[key] = _number(value)
    missing = [key for key in measure.names if key not in values]
    if missing:
        raise InputError(f"{name} in {text!r} needs {missing[0]}, as in {name}({missing[0]}=...)")
    return {key: values[key] for key in measure.names}


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value
