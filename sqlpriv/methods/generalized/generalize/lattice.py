"""Every node of the lattice, or the minimal ones, evaluated with every measure; and the stubbornness curves of one.

The curves are those of Figure 2(a): how much epsilon a node needs as the adversary gets more stubborn. Each point of a
curve is a measure of its own, and all of them are aggregates over the same histogram, so the curves are one query.
Sigma infinite is class III: an adversary whom no table can convince.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sqlpriv.checks.measures import CLASS1, CLASS2, CLASS3, HISTOGRAM, TABLE, Measure
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.evaluate import allowance, evaluate, rules_out
from sqlpriv.methods.generalized.generalize.objectives import make_objective
from sqlpriv.methods.generalized.generalize.policy import OBJECTIVES
from sqlpriv.methods.generalized.generalize.search import is_valid, nodes_total, of_middle_height
from sqlpriv.methods.generalized.measures import ClassMeasure, epsilon_of_classes
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Lattice, Node, NodeRow, Outcome

MOST_LISTED = 200_000
_BATCH = 128
_LEAST = 64
"""So many nodes share a base on average, or none is made."""
Curve = list[tuple[float, float]]

# For each adversary: the smallest share of a value in the prior, and the weight of a value in it. Both are over the
# values of the table (share, kinds). NULL is the worst shape, which has seen nobody with the value.
_ADVERSARIES: dict[str, tuple[str, str | None]] = {
    "class I, uniform": ("1 / any_value(kinds)", "1 / kinds"),
    "class I, shape of the table": ("min(share)", "share"),
    "class II, any shape": ("1 / any_value(kinds)", None),
}
# No class is to fail for its epsilon: only the value is wanted.
_NEVER = 1e300


def all_nodes(
    scan: Scan, measures: tuple[ClassMeasure, ...], on_progress: Callable[[float], None] | None = None
) -> list[NodeRow]:
    """All nodes, in lexicographic order."""
    total = nodes_total(scan)
    if total > MOST_LISTED:
        raise PolicyError(
            f"the lattice has {total:,} nodes, too many to list; `sqlpriv publish` searches it all the same"
        )
    nodes = list(itertools.product(*(range(highest + 1) for highest in scan.highest)))
    outcomes = _evaluated(scan, measures, nodes, on_progress)
    return _rows(scan, measures, outcomes, _minimal({n for n, o in outcomes.items() if is_valid(scan, o)}))


def minimal_nodes(
    scan: Scan, measures: tuple[ClassMeasure, ...], on_progress: Callable[[float], None] | None = None
) -> list[NodeRow]:
    """The valid nodes below which no node is valid. Where all requirements are monotone most nodes are never seen."""
    total = nodes_total(scan)
    if not all(m.kind != TABLE and rules_out(scan, m) for m in measures):
        return [r for r in all_nodes(scan, measures, on_progress) if r.minimal]
    unknown = np.ones([highest + 1 for highest in scan.highest], dtype=bool)
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
    for levels, group in _with_a_base(scan, nodes):
        with scan.source.scratch.nested() as scratch:
            base = scan.costs_at(levels, scratch) if levels else None
            for start in range(0, len(group), _BATCH):
                batch = group[start : start + _BATCH]
                found = evaluate(scan, measures, batch, with_costs=True, base=base, fixed=levels)
                outcomes.update(zip(batch, found, strict=True))
                if on_progress:
                    on_progress(len(outcomes) / len(nodes))
    return {node: outcomes[node] for node in nodes}


def _with_a_base(scan: Scan, nodes: list[Node]) -> Iterator[tuple[dict[int, int], list[Node]]]:
    """The nodes by their levels of the attributes with the most values: each group starts from fewer rows."""
    wide = sorted(range(len(scan.highest)), key=lambda a: -scan.labels.counts[a][0])
    while wide and math.prod(scan.highest[a] + 1 for a in wide) > len(nodes) / _LEAST:
        wide.pop()
    if not scan.costs_are_kept:
        wide = []
    groups: dict[tuple[int, ...], list[Node]] = {}
    for node in nodes:
        groups.setdefault(tuple(node[a] for a in wide), []).append(node)
    for levels, group in groups.items():
        yield dict(zip(wide, levels, strict=True)), group


def _rows(
    scan: Scan, measures: tuple[ClassMeasure, ...], outcomes: dict[Node, Outcome], minimal: set[Node]
) -> list[NodeRow]:
    objectives = [make_objective(scan, name) for name in OBJECTIVES]
    costs = {o.name: (o.shown, o.costs(outcomes)) for o in objectives}
    return [
        NodeRow(
            node,
            outcome,
            tuple(m.holds(outcome) for m in measures),
            is_valid(scan, outcome),
            node in minimal,
            {name: shown(of_nodes[node]) for name, (shown, of_nodes) in costs.items()},
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


def stubbornness_curves(scan: Scan, node: Node, sensitive: str, sigmas: Sequence[float]) -> dict[str, Curve]:
    """For each adversary the pairs (sigma, epsilon) of a node with nothing suppressed, sigma ascending.

    A sigma that leaves some value with less than 1 is skipped, since no prior of whole counts is so weak. At infinity
    class II is left out: it is class IV then, and no epsilon is enough.
    """
    if sensitive not in scan.policy.sensitive:
        raise PolicyError(f"{sensitive!r} is not a sensitive column")
    j = scan.policy.sensitive.index(sensitive)
    values = scan.values[j].relation
    smallest = fetch(scan.source.con, f"SELECT {', '.join(s for s, _ in _ADVERSARIES.values())} FROM {values.name}")[0]
    points = [
        (name, sigma, _belief(weight, sigma))
        for (name, (_, weight)), share in zip(_ADVERSARIES.items(), smallest, strict=True)
        for sigma in sorted(set(sigmas))
        # The slack keeps sigma = 3 for three values, whose shares are not exact in binary.
        if sigma * share >= 1 - 1e-9 and not (weight is None and math.isinf(sigma))
    ]
    measures = [_measure(i, j, values, sensitive, belief) for i, (_, _, belief) in enumerate(points)]
    (outcome,) = evaluate(scan, measures, [node])
    curves: dict[str, Curve] = {name: [] for name in _ADVERSARIES}
    for (name, sigma, _), epsilon in zip(points, outcome.worst, strict=True):
        curves[name].append((sigma, 1.0 if epsilon is None else float(epsilon)))
    return curves


def _belief(weight: str | None, sigma: float) -> tuple[Measure, str, float]:
    """The measure of a point, what a value weighs for it, as SQL over the histogram, and its stubbornness."""
    if weight is None:
        return CLASS2, "1", sigma
    if math.isinf(sigma):
        return CLASS3, weight, 1.0
    return CLASS1, inlined(f"_sigma_of({float(sigma)!r}, {weight})"), sigma


def _measure(number: int, j: int, values: Relation, sensitive: str, belief: tuple[Measure, str, float]) -> ClassMeasure:
    measure, weight, sigma = belief
    assert measure.adversary is not None
    requirement = Requirement(f"point {number}", measure.name, {}, "<=", _NEVER, sensitive)
    sql, terms = epsilon_of_classes(number, 0, measure.adversary, weight, sigma)
    return ClassMeasure(requirement, number, HISTOGRAM, sql, j, False, False, terms, values)
