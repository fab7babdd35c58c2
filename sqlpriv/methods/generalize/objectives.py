"""What a node costs, and what it must cost at least.

An objective has a cost that the search makes as small as it can, and a bound: a number that no node above this one can
cost less than, whatever is suppressed. Loss, entropy, height and precision are sums over cells, so their bounds follow
from the counts of single columns, for all nodes before any is looked at. Discernibility, average class size and KL
divergence need the classes; their bound is the cost of the node with nothing suppressed, known once it was evaluated
(suppressing a class joins it with others, and joining never lowers them). A workload has no bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlpriv.engine import fetch
from sqlpriv.methods.generalize.evaluate import Node, Outcome
from sqlpriv.methods.generalize.scan import Domain
from sqlpriv.methods.generalize.workload import Workload

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """A cost to make small. `shown` turns it into the number that people know (precision grows, its cost shrinks).

    Where the cost needs more than the outcome of a node, `asked` finds it for several nodes at once; `by_cells` says
    that it needs the costs of the cells, which take another look.
    """

    name: str
    cost: Callable[[Node, Outcome], float]
    bound: Callable[[Node, Outcome], float]
    before: Array | None = None
    shown: Callable[[float], float] = lambda cost: cost
    asked: Callable[[Sequence[Node]], dict[Node, float]] | None = None
    by_cells: bool = False


def make_objective(domain: Domain, name: str) -> Objective:
    """The objective of that name, for this table; a workload is made by `workload_objective`."""
    makers = {
        "loss": _loss,
        "entropy": _entropy,
        "height": _height,
        "precision": _precision,
        "discernibility": _discernibility,
        "average_class_size": _average_class_size,
        "kl": _kl,
    }
    return makers[name](domain)


def workload_objective(workload: Workload) -> Objective:
    """The mean error of counting queries. Nothing is known of a node before it was asked."""
    return Objective("workload", lambda _, __: math.nan, lambda _, __: 0.0, asked=workload.errors)


def loss_of(domain: Domain, outcome: Outcome) -> float:
    """Mean over the cells of (leaves below the label - 1) / (leaves of the domain - 1); suppressed cells 1."""
    return outcome.costs[0] / (domain.rows * len(domain.heights))


def _loss(domain: Domain) -> Objective:
    cells = domain.rows * len(domain.heights)
    before = _sum_over_attributes([np.array(c) / cells for c in domain.loss])
    return Objective("loss", lambda _, o: loss_of(domain, o), lambda n, _: float(before[n]), before, by_cells=True)


def _entropy(domain: Domain) -> Objective:
    before = _sum_over_attributes([np.array(c) for c in domain.entropy])
    return Objective("entropy", lambda _, o: o.costs[1], lambda n, _: float(before[n]), before, by_cells=True)


def _height(domain: Domain) -> Objective:
    before = _sum_over_attributes([np.arange(h + 1, dtype=float) for h in domain.heights])
    return Objective("height", lambda n, _: float(sum(n)), lambda n, _: float(sum(n)), before)


def _precision(domain: Domain) -> Objective:
    count = len(domain.heights)
    before = _sum_over_attributes([np.arange(h + 1) / h / count for h in domain.heights])

    def cost(node: Node, outcome: Outcome) -> float:
        share = outcome.suppressed / domain.rows
        return float(before[node]) * (1 - share) + share

    return Objective("precision", cost, lambda n, _: float(before[n]), before, shown=lambda c: 1 - c)


def _discernibility(domain: Domain) -> Objective:
    return Objective(
        "discernibility",
        lambda _, o: float(o.squares + o.suppressed * domain.rows),
        lambda _, o: float(o.all_squares),
    )


def _average_class_size(domain: Domain) -> Objective:
    return Objective(
        "average_class_size",
        lambda _, o: domain.rows / (o.classes + (o.suppressed > 0)),
        lambda _, o: domain.rows / o.all_classes,
    )


def _kl(domain: Domain) -> Objective:
    """KL divergence in nats from the table to the release, a class spread evenly over the values its labels stand for.

    The suppressed rows are one class that may be anything. As priv.kl_divergence: sum of c/N ln(c volume / size).
    """
    rows = domain.rows
    keys = ", ".join(f"a{a}[1]" for a in range(len(domain.heights)))
    tuples = float(
        fetch(domain.source.con, f"SELECT sum(n * ln(n)) FROM (SELECT sum(n) AS n FROM base GROUP BY {keys})")[0][0]
    )

    def cost(_: Node, outcome: Outcome) -> float:
        suppressed = outcome.suppressed * math.log(outcome.suppressed) if outcome.suppressed else 0.0
        return (tuples - outcome.size_logs - suppressed + outcome.costs[2]) / rows

    def bound(node: Node, outcome: Outcome) -> float:
        spread = sum(v[level] for v, level in zip(domain.volume, node, strict=True))
        return (tuples - outcome.all_size_logs + spread) / rows

    return Objective("kl", cost, bound, by_cells=True)


def _sum_over_attributes(costs: list[npt.NDArray[np.float64]]) -> Array:
    """An array over the lattice: the sum of one cost a level for each attribute."""
    total = np.zeros((1,) * len(costs))
    for axis, cost in enumerate(costs):
        shape = [1] * len(costs)
        shape[axis] = len(cost)
        total = total + cost.reshape(shape)
    return total
