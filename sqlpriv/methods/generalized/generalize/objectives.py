"""What a node costs, and what it must cost at least.

An objective has a cost that the search makes as small as it can, and a bound: a number that no node above this one can
cost less than, whatever is suppressed. Loss, entropy, height and precision are sums over cells, so their bounds follow
from the counts of single columns, for all nodes before any is looked at. Discernibility, average class size and KL
divergence need the classes. Their bound is the cost of the node with nothing suppressed, known once it was evaluated
(suppressing a class joins it with others, and joining never lowers them). A workload asks for a bound of each node
alone (workload.py), which says nothing of those above it.

The formulas are helpers of utility.sql over the sums of an outcome, asked for many nodes at once. They have a small
query of their own, because the one that judges the nodes is slow by its length. A bound is the same formula where
nothing is suppressed. This module chooses the formula and makes the arrays over the lattice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlpriv.core.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.scan import COSTS, Scan
from sqlpriv.methods.lattice import Node, Outcome

Array = npt.NDArray[np.float64]
_SUMS = ("suppressed", "classes", "all_classes", "squares", "all_squares", "size_logs", "all_size_logs")


@dataclass(frozen=True)
class Objective:
    """A cost to make small. `shown` turns it into the number that people know (precision grows, its cost shrinks).

    `cost` and `bound` are SQL over the sums of an outcome, the costs of its cells, and `least` and `spread`, which a
    node has before it is evaluated: of this objective, and of the values that its labels stand for. Where `before` is
    known for all nodes it is the bound. `by_cells`: whether it needs the costs of the cells, for which nodes are
    evaluated again. A workload needs more than the outcome of a node: `costs_of` finds costs, as far as they are not
    above the best cost that it is given, `least_costs` finds `before` in so many seconds at most, and `refuse` says why
    the best node is none after all.
    """

    name: str
    scan: Scan | None
    cost: str
    bound: str = "0"
    before: Array | None = None
    shown: Callable[[float], float] = lambda cost: cost
    costs_of: Callable[[Mapping[Node, Outcome], float], dict[Node, float]] | None = None
    least_costs: Callable[[float | None], Array | None] | None = None
    refuse: Callable[[Node], None] = lambda node: None
    by_cells: bool = False

    def costs(self, outcomes: Mapping[Node, Outcome]) -> dict[Node, float]:
        """What these nodes cost."""
        return self._values(self.cost, outcomes)

    def bounds(self, outcomes: Mapping[Node, Outcome]) -> dict[Node, float]:
        """What no node above these costs less than."""
        if self.before is not None:
            return {node: float(self.before[node]) for node in outcomes}
        return self._values(self.bound, outcomes)

    def _values(self, sql: str, outcomes: Mapping[Node, Outcome]) -> dict[Node, float]:
        if self.scan is None or not outcomes:
            return dict.fromkeys(outcomes, 0.0)
        columns: dict[str, list[float]] = {
            name: [getattr(o, name) for o in outcomes.values()] for name in _SUMS if name in sql
        }
        for place, name in enumerate(COSTS):
            if name in sql:
                columns[name] = [o.costs[place] for o in outcomes.values()]
        if "least" in sql and self.before is not None:
            columns["least"] = [float(self.before[node]) for node in outcomes]
        if "spread" in sql:
            volume = self.scan.labels.volume
            columns["spread"] = [sum(v[lv] for v, lv in zip(volume, node, strict=True)) for node in outcomes]
        return dict(zip(outcomes, _ask(self.scan, sql, columns), strict=True))


def _ask(scan: Scan, sql: str, columns: Mapping[str, Sequence[float]]) -> list[float]:
    """The values of a formula of sql/ over columns of numbers. Lists as texts are read fastest."""
    listed = ", ".join(
        f"unnest(CAST('{list(column)}' AS {'HUGEINT' if isinstance(column[0], int) else 'DOUBLE'}[])) AS {name}"
        for name, column in columns.items()
    )
    numbered = f"SELECT unnest(range({len(next(iter(columns.values())))})) AS place, {listed}"
    query = f"SELECT CAST({sql} AS DOUBLE) FROM ({numbered}) ORDER BY place"
    return [float(r[0]) for r in fetch(scan.source.con, inlined(query))]


def make_objective(scan: Scan, name: str) -> Objective:
    """The objective of that name, for this table; a workload is made by workload.py."""
    rows, attributes = scan.rows, len(scan.heights)
    weighed = list(zip(scan.heights, scan.policy.importance, strict=True))
    if name == "loss":
        mean = f"_mean_loss(loss, {rows}, {attributes})"
        before = _sum_over_attributes([np.array(_ask(scan, mean, {"loss": sums})) for sums in scan.labels.loss])
        return Objective(name, scan, mean, before=before, by_cells=True)
    if name == "entropy":
        before = _sum_over_attributes([np.array(sums) for sums in scan.labels.entropy])
        return Objective(name, scan, "entropy", before=before, by_cells=True)
    if name == "height":
        before = _sum_over_attributes([weight * np.arange(h + 1.0) for h, weight in weighed])
        return Objective(name, scan, "least", before=before)
    if name == "precision":
        # The height that was climbed does not depend on the rows, and is the least that a node costs.
        levels = [[float(level) for level in range(h + 1)] for h in scan.heights]
        climbed = [
            weight * np.array(_ask(scan, f"_climbed(level, {h}, {attributes})", {"level": own}))
            for (h, weight), own in zip(weighed, levels, strict=True)
        ]
        cost = f"_imprecision(least, suppressed, {rows})"
        return Objective(name, scan, cost, before=_sum_over_attributes(climbed), shown=lambda c: 1 - c)
    if name == "discernibility":
        cost, bound = (f"_discernibility({sums}, {rows})" for sums in ("squares, suppressed", "all_squares, 0"))
        return Objective(name, scan, cost, bound)
    if name == "average_class_size":
        cost, bound = (f"_average_class_size({rows}, {sums})" for sums in ("classes, suppressed", "all_classes, 0"))
        return Objective(name, scan, cost, bound)
    # KL divergence in nats from table to release, a class spread evenly over the values that its labels stand for.
    keys = ", ".join(f"a{a}[1]" for a in range(attributes))
    tuples = f"SELECT sum(n) AS n FROM {scan.base.name} GROUP BY {keys}"
    logs = float(fetch(scan.source.con, f"SELECT sum(n * ln(n)) FROM ({tuples})")[0][0])
    cost = f"_kl_of_sums({logs!r}, size_logs, volume, suppressed, {rows})"
    bound = f"_kl_of_sums({logs!r}, all_size_logs, spread, 0, {rows})"
    return Objective("kl", scan, cost, bound, by_cells=True)


def _sum_over_attributes(costs: list[npt.NDArray[np.float64]]) -> Array:
    """An array over the lattice: the sum of one cost a level for each attribute."""
    total = np.zeros((1,) * len(costs))
    for axis, cost in enumerate(costs):
        shape = [1] * len(costs)
        shape[axis] = len(cost)
        total = total + cost.reshape(shape)
    return total
