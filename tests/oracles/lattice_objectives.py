"""What a node costs: the objectives of the lattice search. All but precision are better when smaller."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from .counting import Class, Number
from .lattice_table import Node, Table

Published = Mapping[Class, int]
"""The published classes of a node and their sizes."""


def suppressed_rows(table: Table, published: Published) -> int:
    return table.size - sum(published.values())


def _cells(table: Table, published: Published, costs: Mapping[str, Fraction]) -> Fraction:
    """The mean over all cells, where a published cell costs what its column does and a suppressed one 1."""
    kept = sum(published.values()) * sum(costs.values(), Fraction(0))
    lost = suppressed_rows(table, published) * len(table.qis)
    return (kept + lost) / (table.size * len(table.qis))


def loss(table: Table, node: Node, published: Published) -> Fraction:
    """The mean over all cells of (leaves below the label - 1)/(leaves of the hierarchy - 1)."""
    cells = Fraction(suppressed_rows(table, published) * len(table.qis))
    for place, (qi, level) in enumerate(zip(table.qis, node, strict=True)):
        leaves = table.leaves(qi, level)
        others = sum(leaves.values()) - 1
        if others:  # with a single leaf there is nothing to lose
            below = sum(size * (leaves[labels[place]] - 1) for labels, size in published.items())
            cells += Fraction(below, others)
    return cells / (table.size * len(table.qis))


def height(table: Table, node: Node, published: Published) -> int:
    return sum(node)


def precision(table: Table, node: Node, published: Published) -> Fraction:
    """1 - the mean over all cells of level/height: the largest is best."""
    costs = {}
    for qi, level in zip(table.qis, node, strict=True):
        top = table.height(qi)
        costs[qi] = Fraction(level, top) if top else Fraction(0)
    return 1 - _cells(table, published, costs)


def discernibility(table: Table, node: Node, published: Published) -> int:
    """A row is confused with those of its class, a suppressed one with all of the table."""
    return sum(size**2 for size in published.values()) + suppressed_rows(table, published) * table.size


def average_class_size(table: Table, node: Node, published: Published) -> Fraction:
    """The suppressed rows count as one class more."""
    return Fraction(table.size, len(published) + (1 if suppressed_rows(table, published) else 0))


def kl(table: Table, node: Node, published: Published) -> float:
    """From the original to what the classes say, each spread evenly over the leaves seen below its labels, in nats."""
    seen = {qi: table.seen_leaves(qi, level) for qi, level in zip(table.qis, node, strict=True)}
    everything = math.prod(sum(seen[qi].values()) for qi in table.qis)
    suppressed = suppressed_rows(table, published)
    terms = []
    for values, numbers in table.members.items():
        labels = table.labels(values, node)
        size, volume = suppressed, everything
        if labels in published:
            size = published[labels]
            volume = math.prod(seen[qi][label] for qi, label in zip(table.qis, labels, strict=True))
        share, spread = Fraction(len(numbers), table.size), Fraction(size, table.size * volume)
        terms.append(float(share) * math.log(share / spread))
    return math.fsum(terms)


def entropy(table: Table, node: Node, published: Published) -> float:
    """Bits to guess every value back from its label, each column by itself."""
    terms = []
    for place, (qi, level) in enumerate(zip(table.qis, node, strict=True)):
        with_value, with_label = table.rows_with(qi, 0), table.rows_with(qi, level)
        for values, numbers in table.members.items():
            labels = table.labels(values, node)
            known = with_label[labels[place]] if labels in published else table.size
            terms.append(len(numbers) * math.log2(Fraction(known, with_value[table.paths[qi][values[place]][0]])))
    return math.fsum(terms)


OBJECTIVES: dict[str, Callable[[Table, Node, Published], Number]] = {
    "loss": loss,
    "height": height,
    "precision": precision,
    "discernibility": discernibility,
    "average_class_size": average_class_size,
    "kl": kl,
    "entropy": entropy,
}
LARGEST_IS_BEST = frozenset({"precision"})
