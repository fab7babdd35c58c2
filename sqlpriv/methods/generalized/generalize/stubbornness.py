"""How much epsilon one node needs as the adversary gets more stubborn: the curves of Figure 2(a).

Each point of a curve is a measure of its own, and all of them are aggregates over the same histogram, so the curves
are one query. Sigma infinite is class III: an adversary whom no table can convince.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.checks.measures import CLASS1, CLASS2, CLASS3, HISTOGRAM, Measure
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.measures import ClassMeasure, epsilon_of_classes
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node

Curve = list[tuple[float, float]]

# For each adversary: the smallest share of a value in the prior, the weight of a value in it (NULL: the worst shape,
# which has seen nobody with the value), both over the values of the table (share, kinds).
_ADVERSARIES: dict[str, tuple[str, str | None]] = {
    "class I, uniform": ("1 / any_value(kinds)", "1 / kinds"),
    "class I, shape of the table": ("min(share)", "share"),
    "class II, any shape": ("1 / any_value(kinds)", None),
}
# No class is to fail for its epsilon: only the value is wanted.
_NEVER = 1e300


def stubbornness_curves(scan: Scan, node: Node, sensitive: str, sigmas: Sequence[float]) -> dict[str, Curve]:
    """For each adversary the pairs (sigma, epsilon) of a node with nothing suppressed, sigma ascending.

    A sigma that leaves some value with less than 1 is skipped, since no prior of whole counts is so weak. At infinity
    class II is left out: it is class IV then, and no epsilon is enough.
    """
    if sensitive not in scan.policy.sensitive:
        raise PolicyError(f"{sensitive!r} is not a sensitive column")
    j = scan.policy.sensitive.index(sensitive)
    values = scan.values[j].relation
    smallest = fetch(scan.source.con, f"SELECT {', '.join(s for s, _ in _ADVERSARIES.values())} FROM {values}")[0]
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
