"""Checks that compare a class with the whole table: t-closeness, beta, delta."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from .counting import (
    INFINITY,
    Class,
    Group,
    Number,
    PerClass,
    Rows,
    canon,
    group,
    largest,
    order_key,
    per_group,
    text,
    total,
    value_totals,
)

Shares = dict[object, Fraction]
Hierarchy = Sequence[Sequence[object]]


def _shares(counts: Mapping[object, int]) -> Shares:
    whole = sum(counts.values())
    return {value: Fraction(count, whole) for value, count in counts.items()}


def _surplus(found: Group, table: Shares) -> Shares:
    """How much more of each value of the table the class has than the table."""
    own = _shares({value: len(units) for value, units in found.by_value.items()})
    return {value: own.get(value, Fraction(0)) - share for value, share in table.items()}


def t_closeness_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    groups = group(rows, qis, sensitive, person)
    table = _shares(value_totals(groups))
    return per_group(groups, lambda q: sum(abs(d) for d in _surplus(q, table).values()) / 2)


def t_closeness(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> Number:
    return largest(t_closeness_per_class(rows, qis, sensitive, person))


def _in_order(rows: Rows, sensitive: str) -> list[object]:
    """The values of the table in ascending order, NULL last, as canonical values."""
    ordered: list[object] = []
    for value in sorted((row[sensitive] for row in rows), key=order_key):
        if canon(value) not in ordered:
            ordered.append(canon(value))
    return ordered


def _ordered_distance(surplus: Shares, ordered: Sequence[object]) -> Fraction:
    if len(ordered) == 1:
        return Fraction(0)
    work = moved = Fraction(0)
    for value in ordered:
        moved += surplus[value]
        work += abs(moved)
    return work / (len(ordered) - 1)


def t_closeness_ordered_per_class(
    rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None
) -> PerClass:
    groups = group(rows, qis, sensitive, person)
    table = _shares(value_totals(groups))
    ordered = _in_order(rows, sensitive)
    return per_group(groups, lambda q: _ordered_distance(_surplus(q, table), ordered))


def t_closeness_ordered(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> Number:
    return largest(t_closeness_ordered_per_class(rows, qis, sensitive, person))


def check_hierarchy(hierarchy: Hierarchy) -> dict[str | None, tuple[str | None, ...]]:
    """Path of every value, from the value up to the top; refuses what is not a tree."""
    paths = {text(path[0]): tuple(text(label) for label in path) for path in hierarchy}
    if any(paths[text(path[0])] != tuple(map(text, path)) for path in hierarchy):
        raise ValueError("a value has two paths")
    if len({len(path) for path in paths.values()}) != 1 or len({p[-1] for p in paths.values()}) > 1:
        raise ValueError("all paths need the same length and the same top")
    parents: dict[tuple[int, str | None], str | None] = {}
    for path in paths.values():
        if len(path) < 2:
            raise ValueError("a hierarchy needs at least two columns")
        for level in range(len(path) - 1):
            if parents.setdefault((level, path[level]), path[level + 1]) != path[level + 1]:
                raise ValueError("the hierarchy does not nest")
    return paths


def _hierarchical_distance(surplus: Shares, paths: Mapping[object, tuple[str | None, ...]], height: int) -> Fraction:
    distance = Fraction(0)
    for level in range(1, height + 1):
        for node in {path[level] for path in paths.values()}:
            children: dict[str | None, Fraction] = {}
            for value, path in paths.items():
                if path[level] == node:
                    child = path[level - 1]
                    children[child] = children.get(child, Fraction(0)) + surplus[value]
            over = sum((d for d in children.values() if d > 0), Fraction(0))
            under = sum((-d for d in children.values() if d < 0), Fraction(0))
            distance += Fraction(level, height) * min(over, under)
    return distance


def t_closeness_hierarchical_per_class(
    rows: Rows, qis: Sequence[str], sensitive: str, hierarchy: Hierarchy, person: str | None = None
) -> PerClass:
    by_text = check_hierarchy(hierarchy)
    missing = {text(row[sensitive]) for row in rows} - set(by_text)
    if missing:
        raise ValueError("a value is missing from the hierarchy")
    paths = {canon(row[sensitive]): by_text[text(row[sensitive])] for row in rows}
    groups = group(rows, qis, sensitive, person)
    table = _shares(value_totals(groups))
    height = len(hierarchy[0]) - 1
    return per_group(groups, lambda q: _hierarchical_distance(_surplus(q, table), paths, height))


def t_closeness_hierarchical(
    rows: Rows, qis: Sequence[str], sensitive: str, hierarchy: Hierarchy, person: str | None = None
) -> Number:
    return largest(t_closeness_hierarchical_per_class(rows, qis, sensitive, hierarchy, person))


def _beliefs(groups: Mapping[Class, Group]) -> Shares:
    """p = n(s)/N of every value of the table."""
    whole = total(groups)
    return {value: Fraction(count, whole) for value, count in value_totals(groups).items()}


def _belief(found: Group, value: object) -> Fraction:
    """p_q = n(q,s)/n(q)."""
    return Fraction(found.n_value(value), found.n)


def _gains(found: Group, table: Shares) -> Shares:
    return {v: (_belief(found, v) - table[v]) / table[v] for v in found.by_value}


def beta_likeness_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    groups = group(rows, qis, sensitive, person)
    table = _beliefs(groups)
    return per_group(groups, lambda q: max(Fraction(0), *_gains(q, table).values()))


def beta_likeness(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> Number:
    return largest(beta_likeness_per_class(rows, qis, sensitive, person))


def _enhanced(found: Group, table: Shares) -> Number:
    gains = _gains(found, table)
    if any(gain > -math.log(table[value]) for value, gain in gains.items()):
        return INFINITY
    return max(Fraction(0), *gains.values())


def enhanced_beta_likeness_per_class(
    rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None
) -> PerClass:
    groups = group(rows, qis, sensitive, person)
    table = _beliefs(groups)
    return per_group(groups, lambda q: _enhanced(q, table))


def enhanced_beta_likeness(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> Number:
    return largest(enhanced_beta_likeness_per_class(rows, qis, sensitive, person))


class DeltaDisclosure(NamedTuple):
    delta: float
    delta_present: float


def _log_ratio(found: Group, value: object, table: Shares) -> float:
    belief = _belief(found, value)
    return abs(math.log(belief / table[value])) if belief else INFINITY


def delta_disclosure_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    groups = group(rows, qis, sensitive, person)
    table = _beliefs(groups)
    return per_group(groups, lambda q: max(_log_ratio(q, value, table) for value in table))


def delta_present_per_class(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> PerClass:
    """As delta_disclosure, over the values that the class has."""
    groups = group(rows, qis, sensitive, person)
    table = _beliefs(groups)
    return per_group(groups, lambda q: max(_log_ratio(q, value, table) for value in q.by_value))


def delta_disclosure(rows: Rows, qis: Sequence[str], sensitive: str, person: str | None = None) -> DeltaDisclosure:
    delta = largest(delta_disclosure_per_class(rows, qis, sensitive, person))
    present = largest(delta_present_per_class(rows, qis, sensitive, person))
    return DeltaDisclosure(float(delta), float(present))
