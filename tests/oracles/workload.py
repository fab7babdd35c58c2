"""The mean error of counting queries on a release, by enumerating what every published row may stand for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .counting import canon
from .lattice import Require, measure_node
from .lattice_table import Node, Table

Condition = Callable[[Mapping[str, object]], object]
"""A row, by column name, to True, False or None."""


def leaves_below(table: Table, qi: str, level: int, label: object) -> list[object]:
    """All values of the hierarchy, in the table or not, that have the label on the level."""
    return [value for value, path in table.paths[qi].items() if path[level] == label]


def estimate(table: Table, node: Node, requirements: Sequence[Require], condition: Condition) -> Fraction:
    """Each published row counts for the share of the combinations below its labels that meet the condition."""
    kept = measure_node(table, node, requirements, 1).published
    others = [name for name in table.columns if name not in table.qis]
    total = Fraction(0)
    for values, numbers in table.members.items():
        labels = table.labels(values, node)
        if labels not in kept:
            continue
        below = [leaves_below(table, q, lv, label) for q, lv, label in zip(table.qis, node, labels, strict=True)]
        combinations = [dict(zip(table.qis, c, strict=True)) for c in itertools.product(*below)]
        for number in numbers:
            rest = {name: table.columns[name][number] for name in others}
            hits = sum(condition({**combination, **rest}) is True for combination in combinations)
            total += Fraction(hits, len(combinations))
    return total


def mean_error(table: Table, node: Node, requirements: Sequence[Require], conditions: Sequence[Condition]) -> Fraction:
    """The mean over the queries of |estimate - true count|, in rows."""
    errors = []
    for condition in conditions:
        rows = [{name: cells[i] for name, cells in table.columns.items()} for i in range(table.size)]
        exact = sum(condition({k: canon(v) for k, v in row.items()}) is True for row in rows)
        errors.append(abs(estimate(table, node, requirements, condition) - exact))
    return sum(errors, Fraction(0)) / len(errors)
