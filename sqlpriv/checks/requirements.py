"""What a steward requires of a table: `k>=5`, `distinct_l>=3`, `epsilon_class2(sigma=1000, b=2)<=2.5`.

A requirement names one number of one check. Each number has a side that is safe, and some are bounds that do not
themselves hold (an infimum), so a comparison that points the other way or includes such a bound is refused rather
than judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.errors import InputError
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import constant_value
from sqlpriv.sqltext import literal


@dataclass(frozen=True)
class Measure:
    """A number of a check: the macro, its column, the report's row, and which comparisons make sense.

    `extra` are the arguments between the sensitive column and the person, with their defaults (None: must be given).
    """

    macro: str
    column: str
    operators: tuple[str, ...]
    reported_as: tuple[str, str] | None = None
    extra: Mapping[str, float | str | None] | None = None
    needs_sensitive: bool = True


_AT_LEAST = (">=", ">")
_AT_MOST = ("<=", "<")
_BELOW = ("<",)
_POPULATION = {"population": None}

MEASURES: dict[str, Measure] = {
    "k": Measure("k_anonymity", "k", _AT_LEAST, ("k_anonymity", ""), needs_sensitive=False),
    "alpha": Measure("alpha_k_anonymity", "alpha", _AT_MOST, ("alpha_k_anonymity", "")),
    "distinct_l": Measure("l_diversity", "distinct_l", _AT_LEAST, ("l_diversity", "distinct")),
    "entropy_l": Measure("l_diversity", "entropy_l", _AT_LEAST, ("l_diversity", "entropy")),
    "recursive_c": Measure("recursive_diversity", "c", _BELOW, extra={"l": 2}),
    "posterior": Measure("negation_diversity", "posterior", _AT_MOST, extra={"l": 2}),
    "t": Measure("t_closeness", "t", _AT_MOST, ("t_closeness", "")),
    "t_ordered": Measure("t_closeness_ordered", "t", _AT_MOST, ("t_closeness_ordered", "")),
    "t_hierarchical": Measure("t_closeness_hierarchical", "t", _AT_MOST, extra={"hierarchy": None}),
    "beta": Measure("beta_likeness", "beta", _AT_MOST, ("beta_likeness", "")),
    "enhanced_beta": Measure("enhanced_beta_likeness", "beta", _AT_MOST, ("enhanced_beta_likeness", "")),
    "delta": Measure("delta_disclosure", "delta", _BELOW, ("delta_disclosure", "")),
    "epsilon_class1": Measure("epsilon_class1", "epsilon", _AT_MOST, extra={"prior": None, "b": 0}),
    "epsilon_class2": Measure("epsilon_class2", "epsilon", _AT_MOST, extra={"sigma": 1000000, "b": 0}),
    "epsilon_class3": Measure("epsilon_class3", "epsilon", _AT_MOST, extra={"shape": None, "b": 0}),
    "disclosure": Measure("ck_safety", "disclosure", _BELOW, extra={"k": 1}),
    "prosecutor": Measure("risk", "prosecutor", _AT_MOST, ("risk", "prosecutor"), needs_sensitive=False),
    "marketer": Measure("risk", "marketer", _AT_MOST, ("risk", "marketer"), needs_sensitive=False),
    "uniques": Measure("risk", "uniques", _AT_MOST, ("risk", "uniques"), needs_sensitive=False),
    "k_map": Measure("k_map", "k", _AT_LEAST, extra=_POPULATION, needs_sensitive=False),
    "delta_presence": Measure("delta_presence", "delta_max", _AT_MOST, extra=_POPULATION, needs_sensitive=False),
    "journalist": Measure("population_risk", "journalist", _AT_MOST, extra=_POPULATION, needs_sensitive=False),
}

_FORM = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(>=|<=|>|<|==|=)\s*([-+.\deE]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """One requirement, read and found sensible: of every sensitive column, or of the one it names."""

    text: str
    name: str
    arguments: Mapping[str, float | str]
    operator: str
    threshold: float
    sensitive: str | None = None

    @property
    def measure(self) -> Measure:
        """The number that is required."""
        return MEASURES[self.name]

    @property
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
    asked = constant_value(inlined(f"_limit(CAST('{float(threshold)!r}' AS DOUBLE), {literal(operator)})"))
    assert isinstance(asked, float)
    return asked


def parse(text: str) -> Requirement:
    """Read a requirement, or say what is wrong with it."""
    match = _FORM.fullmatch(text)
    if not match:
        raise InputError(f"cannot read the requirement {text!r}; write it like k>=5 or posterior(l=3)<=0.5")
    name, given, operator, number = match.groups()
    measure = MEASURES.get(name)
    if measure is None:
        raise InputError(f"unknown measure {name!r} in {text!r}; there are {', '.join(MEASURES)}")
    if operator not in measure.operators:
        raise InputError(f"{text!r} does not protect anybody: write {name}{measure.operators[0]}{number}")
    try:
        threshold = float(number)
    except ValueError:
        raise InputError(f"{number!r} in {text!r} is not a number") from None
    return Requirement(text.strip(), name, _arguments(name, measure, given, text), operator, threshold)


def _arguments(name: str, measure: Measure, given: str | None, text: str) -> dict[str, float | str]:
    values = dict(measure.extra or {})
    for part in filter(None, (given or "").split(",")):
        key, equals, value = (x.strip() for x in part.partition("="))
        if not equals or key not in values:
            expected = ", ".join(values) or "none"
            raise InputError(f"{part.strip()!r} in {text!r} is no argument of {name}; it takes {expected}")
        values[key] = _number(value)
    missing = [k for k, v in values.items() if v is None]
    if missing:
        raise InputError(f"{name} in {text!r} needs {missing[0]}, as in {name}({missing[0]}=...)")
    return {k: v for k, v in values.items() if v is not None}


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value
