"""The full-domain search by trying every node: slow, obvious, and without any pruning.

A class is the rows with equal labels. A class that fails a requirement is suppressed: its rows are not published. A
node is valid when at most the given share of the rows is suppressed, at least one row is published, and what is
published meets the requirements on the table as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from .counting import Class, Group, Number, same
from .lattice_measures import JOINT, TABLE_LEVEL, NodeTable, class_values, violates
from .lattice_objectives import LARGEST_IS_BEST, OBJECTIVES, Published
from .lattice_table import Hierarchy, Node, Table

Rows = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Require:
    """One requirement; the safe side of the threshold goes by the measure (lattice_measures.violates)."""

    measure: str
    threshold: float
    sensitive: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """l, sigma, b, prior (value -> sigma), shape (value -> share), predicates (a list of sets of values), hierarchy
    (value -> labels), population (rows of the quasi-identifiers, in their order)."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of the table at one node."""

    suppressed: int
    """Rows that are not published."""
    failing: Mapping[Class, tuple[Require, ...]]
    """The suppressed classes and the requirements that each fails."""
    published: Published
    unmet: tuple[Require, ...]
    """The requirements on the table as a whole that the published classes do not meet."""
    valid: bool


def measure_node(table: Table, node: Node, requirements: Sequence[Require], suppression: float) -> Outcome:
    names = {requirement.sensitive for requirement in requirements}
    classes = {name: table.classes(node, name) for name in names | {None}}
    failing: dict[Class, tuple[Require, ...]] = {}
    for requirement in requirements:
        if requirement.measure not in TABLE_LEVEL:
            for key, value in values_at(table, node, requirement, classes[requirement.sensitive]).items():
                if violates(requirement.measure, value, requirement.threshold):
                    failing[key] = (*failing.get(key, ()), requirement)
    sizes = {key: found.n for key, found in classes[None].items()}
    published = {key: size for key, size in sizes.items() if key not in failing}
    suppressed = sum(sizes[key] for key in failing)
    unmet = tuple(r for r in requirements if r.measure in TABLE_LEVEL and published and _is_unmet(r, published))
    for requirement in requirements:
        if requirement.measure in JOINT and published:
            together = [found for key, found in classes[requirement.sensitive].items() if key in published]
            value = JOINT[requirement.measure](together, requirement.arguments)
            unmet += (requirement,) if violates(requirement.measure, value, requirement.threshold) else ()
    few_enough = suppressed <= Fraction(str(suppression)) * table.size  # 0.1 is a tenth, not the double next to it
    return Outcome(suppressed, failing, published, unmet, bool(published) and few_enough and not unmet)


def values_at(table: Table, node: Node, requirement: Require, classes: Mapping[Class, Group]) -> dict[Class, Number]:
    """The class-level measure of a requirement for every class of a node; `classes` are those of its column."""
    column = [] if requirement.sensitive is None else table.columns[requirement.sensitive]
    people = table.population_sizes(requirement.arguments.get("population", ()), node)
    return class_values(requirement.measure, NodeTable(classes, column, people), requirement.arguments)


def _is_unmet(requirement: Require, published: Published) -> bool:
    value = TABLE_LEVEL[requirement.measure](list(published.values()))
    return violates(requirement.measure, value, requirement.threshold)


def measure_nodes(
    rows: Rows,
    columns: Sequence[str],
    qis: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Require],
    suppression: float,
) -> dict[Node, Outcome]:
    """Every node of the lattice, in lexicographic order."""
    table = Table.read(rows, columns, qis, hierarchies)
    return {node: measure_node(table, node, requirements, suppression) for node in table.nodes()}


def objective_value(objective: str, table: Table, node: Node, outcome: Outcome) -> Number:
    """The objective of a node; exact where it can be."""
    return OBJECTIVES[objective](table, node, outcome.published)


class Best(NamedTuple):
    node: Node
    value: Number
    suppressed_rows: int
    classes: int


def best_of(table: Table, outcomes: Mapping[Node, Outcome], objective: str) -> Best | None:
    """The best valid node; among equals that of lower loss, then the lexicographically smaller one."""
    values = {node: objective_value(objective, table, node, found) for node, found in outcomes.items() if found.valid}
    if not values:
        return None
    best = max(values.values()) if objective in LARGEST_IS_BEST else min(values.values())
    equals = [node for node, value in values.items() if same(value, best)]
    losses = {node: objective_value("loss", table, node, outcomes[node]) for node in equals}
    least = min(losses.values())
    node = min(node for node in equals if same(losses[node], least))
    return Best(node, values[node], outcomes[node].suppressed, len(outcomes[node].published))


def best_node(
    rows: Rows,
    columns: Sequence[str],
    qis: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Require],
    objective: str,
    suppression: float,
) -> Best | None:
    """The optimum of the whole lattice, or None when no node is valid."""
    outcomes = measure_nodes(rows, columns, qis, hierarchies, requirements, suppression)
    return best_of(Table.read(rows, columns, qis, hierarchies), outcomes, objective)


def minimal_nodes(
    rows: Rows,
    columns: Sequence[str],
    qis: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Require],
    suppression: float,
) -> list[Node]:
    """The valid nodes with no other valid node anywhere below them, in lexicographic order."""
    outcomes = measure_nodes(rows, columns, qis, hierarchies, requirements, suppression)
    valid = [node for node, found in outcomes.items() if found.valid]
    return [node for node in valid if not any(other != node and is_below(other, node) for other in valid)]


def is_below(lower: Node, upper: Node) -> bool:
    """Is every level of the first at most that of the second?"""
    return all(low <= high for low, high in zip(lower, upper, strict=True))
