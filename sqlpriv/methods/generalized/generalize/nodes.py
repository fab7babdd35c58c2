"""Every node of the lattice, or the minimal ones, evaluated with every measure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from sqlpriv.checks.measures import TABLE
from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.generalized.evaluate import allowance, evaluate, rules_out
from sqlpriv.methods.generalized.generalize.objectives import make_objective
from sqlpriv.methods.generalized.generalize.policy import OBJECTIVES
from sqlpriv.methods.generalized.generalize.refusals import holds
from sqlpriv.methods.generalized.generalize.search import is_valid, nodes_total, of_middle_height
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Lattice, Node, NodeRow, Outcome

MOST_LISTED = 200_000
_BATCH = 128


def all_nodes(
    scan: Scan, measures: tuple[ClassMeasure, ...], on_progress: Callable[[float], None] | None = None
) -> list[NodeRow]:
    """All nodes, in lexicographic order."""
    total = nodes_total(scan)
    if total > MOST_LISTED:
        raise PolicyError(
            f"the lattice has {total:,} nodes, too many to list; `sqlpriv publish` searches it all the same"
        )
    nodes = list(itertools.product(*(range(h + 1) for h in scan.heights)))
    outcomes = _evaluated(scan, measures, nodes, on_progress)
    return _rows(scan, measures, outcomes, _minimal({n for n, o in outcomes.items() if is_valid(scan, o)}))


def minimal_nodes(
    scan: Scan, measures: tuple[ClassMeasure, ...], on_progress: Callable[[float], None] | None = None
) -> list[NodeRow]:
    """The valid nodes below which no node is valid. Where all requirements are monotone most nodes are never seen."""
    total = nodes_total(scan)
    if not all(m.kind != TABLE and rules_out(scan, m) for m in measures):
        return [r for r in all_nodes(scan, measures, on_progress) if r.minimal]
    unknown = np.ones([h + 1 for h in scan.heights], dtype=bool)
    valid: set[Node] = set()
    while unknown.any():
        batch = of_middle_height(unknown)
        for node, outcome in zip(batch, evaluate(scan, measures, batch), strict=True):
            if is_valid(scan, outcome):
                valid.add(node)
                unknown[tuple(slice(level, None) for level in node)] = False
            else:
                unknown[tuple(slice(0, level + 1) for level in node)] = False
        if on_progress:
            on_progress(1 - float(unknown.sum()) / total)
    minimal = _minimal(valid)
    return _rows(scan, measures, _evaluated(scan, measures, sorted(minimal), None), minimal)


def lattice_of(
    scan: Scan, measures: Sequence[ClassMeasure], rows: Sequence[NodeRow], chosen: Node | None = None
) -> Lattice:
    """The nodes with what they are judged by, and the one that is chosen."""
    requirements = tuple(m.requirement for m in measures)
    return Lattice(scan.policy.qis, requirements, rows, allowance(scan), chosen)


def _evaluated(
    scan: Scan,
    measures: tuple[ClassMeasure, ...],
    nodes: list[Node],
    on_progress: Callable[[float], None] | None,
) -> dict[Node, Outcome]:
    outcomes: dict[Node, Outcome] = {}
    for start in range(0, len(nodes), _BATCH):
        batch = nodes[start : start + _BATCH]
        outcomes.update(zip(batch, evaluate(scan, measures, batch, with_costs=True), strict=True))
        if on_progress:
            on_progress(len(outcomes) / len(nodes))
    return outcomes


def _rows(
    scan: Scan, measures: tuple[ClassMeasure, ...], outcomes: dict[Node, Outcome], minimal: set[Node]
) -> list[NodeRow]:
    objectives = [make_objective(scan, name) for name in OBJECTIVES]
    priced = {o.name: (o.shown, o.costs(outcomes)) for o in objectives}
    return [
        NodeRow(
            node,
            outcome,
            tuple(holds(m, outcome) for m in measures),
            is_valid(scan, outcome),
            node in minimal,
            {name: shown(costs[node]) for name, (shown, costs) in priced.items()},
        )
        for node, outcome in outcomes.items()
    ]


def _minimal(valid: set[Node]) -> set[Node]:
    """The valid nodes with no other valid node below them on every attribute."""
    found: list[Node] = []
    for node in sorted(valid, key=sum):
        if not any(all(m <= n for m, n in zip(other, node, strict=True)) for other in found):
            found.append(node)
    return set(found)
