"""What a requirement measures: a number for every class of a node, or one for what is published.

The formulas are those of the oracles of the checks. Whatever a class is compared with (shares, priors, the order of
the values) is taken from the whole table before suppression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .closeness import (
    _enhanced,
    _gains,
    _hierarchical_distance,
    _in_order,
    _log_ratio,
    _ordered_distance,
    _shares,
    _surplus,
    check_hierarchy,
)
from .counting import Class, Group, Number, canon, fails, text, value_totals
from .diversity import _alpha, _entropy_l, _posterior, _recursive_c
from .epsilon import epsilon_class1_per_class, epsilon_class2_per_class, epsilon_class3_per_class
from .implications import disclosures

Arguments = Mapping[str, Any]

AT_LEAST = frozenset({"k", "distinct_l", "entropy_l", "k_map"})
BELOW = frozenset({"recursive_c", "delta"})
COUNTS = frozenset({"k", "distinct_l", "k_map", "uniques"})
"""Whole numbers: compared exactly, all others with the tolerance of definitions.md."""


def violates(measure: str, value: Number, threshold: float) -> bool:
    """Is the value on the wrong side of the threshold?"""
    if measure in COUNTS:
        return value < threshold if measure in AT_LEAST else value > threshold
    return fails(value, "<" if measure in AT_LEAST else ">=" if measure in BELOW else ">", threshold)


@dataclass(frozen=True)
class NodeTable:
    """The whole table in the classes of one node, with what the measures ask for besides."""

    classes: Mapping[Class, Group]
    column: Sequence[object]
    """The sensitive value of every row; empty for measures that need none."""
    population: Mapping[Class, int]


ALONE: dict[str, Callable[[Group, Arguments], Number]] = {
    "k": lambda q, _: q.n,
    "prosecutor": lambda q, _: Fraction(1, q.n),
    "alpha": lambda q, _: _alpha(q),
    "distinct_l": lambda q, _: len(q.histogram()),
    "entropy_l": lambda q, _: _entropy_l(q),
    "recursive_c": lambda q, given: _recursive_c(q, given["l"]),
    "posterior": lambda q, given: _posterior(q, given["l"]),
    "disclosure": lambda q, given: disclosures([q], given["k"])[0],
}
"""Measures that look at one class and nothing else."""


def _against_the_table(measure: str, table: NodeTable, given: Arguments) -> Callable[[Group], Number]:
    """Measures of the distance between a class and the whole table."""
    shares = _shares(value_totals(table.classes))
    if measure == "t":
        return lambda q: sum(abs(difference) for difference in _surplus(q, shares).values()) / 2
    if measure == "t_ordered":
        ordered = _in_order([{"value": value} for value in table.column], "value")
        return lambda q: _ordered_distance(_surplus(q, shares), ordered)
    if measure == "t_hierarchical":
        by_text = check_hierarchy(list(given["hierarchy"].values()))
        paths = {canon(value): by_text[text(value)] for value in table.column}
        height = len(next(iter(by_text.values()))) - 1
        return lambda q: _hierarchical_distance(_surplus(q, shares), paths, height)
    if measure == "beta":
        return lambda q: max(Fraction(0), *_gains(q, shares).values())
    if measure == "enhanced_beta":
        return lambda q: _enhanced(q, shares)
    if measure == "delta":
        return lambda q: max(_log_ratio(q, value, shares) for value in shares)
    raise ValueError(f"no such measure: {measure}")


def _epsilon(measure: str, table: NodeTable, given: Arguments) -> dict[Class, Number]:
    """The worst belief ratio of each class; 1, nothing learned, where no set of the predicates occurs."""
    keys = list(table.classes)
    rows = [{"q": at, "s": table.column[unit]} for at, key in enumerate(keys) for unit in table.classes[key].units]
    named = None
    if given.get("predicates") is not None:
        named = [(name, value) for name, values in enumerate(given["predicates"]) for value in values]
    check, belief = {
        "epsilon_class1": (epsilon_class1_per_class, "prior"),
        "epsilon_class2": (epsilon_class2_per_class, "sigma"),
        "epsilon_class3": (epsilon_class3_per_class, "shape"),
    }[measure]
    ratios = check(rows, ["q"], "s", given[belief], given.get("b", 0), predicates=named)
    return {key: ratios[canon(at),][1] if (canon(at),) in ratios else Fraction(1) for at, key in enumerate(keys)}


def _against_the_population(measure: str, table: NodeTable) -> dict[Class, Number]:
    people = {key: table.population.get(key, 0) for key in table.classes}
    if measure == "k_map":
        return dict(people)
    if measure == "journalist":  # a class that the population lacks is no place to hide
        return {key: Fraction(1, count or 1) for key, count in people.items()}
    if any(people[key] < q.n for key, q in table.classes.items()):
        raise ValueError("the table is not part of the population")
    return {key: Fraction(q.n, people[key]) for key, q in table.classes.items()}


def class_values(measure: str, table: NodeTable, given: Arguments) -> dict[Class, Number]:
    """The value of a class-level measure for every class of a node."""
    if measure in ALONE:
        return {key: ALONE[measure](q, given) for key, q in table.classes.items()}
    if measure in ("k_map", "delta_presence", "journalist"):
        return _against_the_population(measure, table)
    if measure.startswith("epsilon_"):
        return _epsilon(measure, table, given)
    value = _against_the_table(measure, table, given)
    return {key: value(q) for key, q in table.classes.items()}


TABLE_LEVEL: dict[str, Callable[[Sequence[int]], Number]] = {
    "marketer": lambda sizes: Fraction(len(sizes), sum(sizes)),
    "uniques": lambda sizes: sizes.count(1),
}
"""Measures of the sizes of the published classes, of which there is at least one."""

JOINT: dict[str, Callable[[Sequence[Group], Arguments], Number]] = {
    "disclosure": lambda groups, given: max(disclosures(groups, given["k"])),
}
"""Measures of the published classes together. What a class fails alone, it is suppressed for."""
