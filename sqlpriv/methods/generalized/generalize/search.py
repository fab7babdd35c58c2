"""The best node, proven: which nodes to look at, and when no other can be better.

Two facts close nodes without looking. A node that fails a monotone requirement (by too many rows, with suppression)
closes all below it. A node whose bound (objectives.py) is not below the best cost closes itself and, as bounds grow
upwards, all above it. The search ends when nothing is open; then the best node is the optimum. Until then the smallest
bound of the open nodes says how much better an unseen node could be.

Order matters only for speed. A greedy path from the bottom to the top finds a first good node. Then, where all
requirements are monotone, the highest open nodes are looked at, since each that fails closes the most. Where some are
not, those with the lowest bounds follow. The neighbours of the best node always do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sqlpriv.checks.measures import TABLE
from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.generalized.evaluate import allowance, evaluate, rules_out
from sqlpriv.methods.generalized.generalize.objectives import Objective, make_objective
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node, Outcome

MOST_NODES = 10**7
FEWEST_BOUNDED = 100
"""In a smaller lattice, to evaluate all nodes is quicker than to bound their costs."""
_BATCH = 32
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ValidNode:
    """A valid node with its cost."""

    node: Node
    cost: float
    loss: float
    outcome: Outcome


@dataclass
class SearchResult:
    """The result of a search: the best node, if any, and how much of the lattice was looked at."""

    best: ValidNode | None
    nodes_total: int
    nodes_evaluated: int = 0
    pruned_by_requirement: int = 0
    pruned_by_bound: int = 0
    bound: float | None = None
    outcomes: dict[Node, Outcome] = field(default_factory=dict)

    @property
    def optimal(self) -> bool:
        """Whether nothing was left open."""
        return self.bound is None


def nodes_total(scan: Scan) -> int:
    """How many nodes the lattice has; too many are refused, because even listing them would not end."""
    total = 1
    for height in scan.heights:
        total *= height + 1
    if total > MOST_NODES:
        raise PolicyError(
            f"the lattice has {total:,} nodes, more than {MOST_NODES:,}: give hierarchies fewer levels, "
            "or coarsen some quasi-identifiers first"
        )
    return total


def search(
    scan: Scan,
    measures: tuple[ClassMeasure, ...],
    objective: Objective,
    time_limit: float | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Find the node with the smallest cost that meets all requirements."""
    start = time.monotonic()
    if objective.least_costs is not None and nodes_total(scan) >= FEWEST_BOUNDED:
        objective = replace(objective, before=objective.least_costs(time_limit))
    return Search(scan, measures, objective).run(start, time_limit, on_progress)


def look_at(scan: Scan, measures: tuple[ClassMeasure, ...], objective: Objective, node: Node) -> SearchResult:
    """One node, with its costs; the best there is if it meets the requirements."""
    started = Search(scan, measures, objective)
    started.look_at([node])
    return started.result


class Search:
    """Which nodes are open, what they must cost at least, and the best of those that were looked at."""

    def __init__(self, scan: Scan, measures: tuple[ClassMeasure, ...], objective: Objective) -> None:
        total = nodes_total(scan)
        self._scan = scan
        self._measures = measures
        self._objective = objective
        self._by_loss = objective if objective.name == "loss" else make_objective(scan, "loss")
        assert self._by_loss.before is not None
        self._loss = self._by_loss.before
        shape = self._loss.shape
        self.bound = np.zeros(shape) if objective.before is None else objective.before.copy()
        self.open: Mask = np.ones(shape, dtype=bool)
        for axis, highest in enumerate(scan.highest):
            self.open[(slice(None),) * axis + (slice(highest + 1, None),)] = False
        self._order = np.arange(total).reshape(shape)
        self.result = SearchResult(None, int(self.open.sum()))
        self._allowance = allowance(scan)
        self._all_rule_out = all(m.kind != TABLE and rules_out(scan, m) for m in measures)

    def run(self, start: float, time_limit: float | None, on_progress: Callable[[float], None] | None) -> SearchResult:
        """Evaluate until nothing is open, or the time since the start is over."""
        self.look_at(self._greedy_path())
        while (candidates := self.candidates()).any():
            if time_limit is not None and time.monotonic() - start > time_limit:
                self.result.bound = float(self.bound[candidates].min())
                break
            if on_progress:
                on_progress(1 - float(candidates.sum()) / self.result.nodes_total)
            self.look_at(self.choose(candidates))
        closed = self.result.nodes_total - self.result.nodes_evaluated - self.result.pruned_by_requirement
        self.result.pruned_by_bound = closed if self.result.bound is None else closed - int(self.candidates().sum())
        return self.result

    def candidates(self) -> Mask:
        """Open nodes that could still be better than the best, or win a tie with it."""
        best = self.result.best
        if best is None:
            return self.open
        slack = _slack(best.cost)
        ties = (self.bound <= best.cost + slack) & (
            (self._loss < best.loss - 1e-12)
            | ((self._loss <= best.loss + 1e-12) & (self._order < self._order[best.node]))
        )
        better: Mask = self.open & ((self.bound < best.cost - slack) | ties)
        return better

    def choose(self, candidates: Mask) -> list[Node]:
        """The candidates to look at next."""
        chosen: dict[Node, None] = {}
        best = self.result.best
        if best is not None:
            chosen.update(dict.fromkeys(n for n in _below(best.node) if candidates[n]))
        if self._objective.before is None:
            chosen.update(dict.fromkeys(of_middle_height(candidates)))
        else:
            if self._all_rule_out or any(rules_out(self._scan, m) for m in self._measures):
                highest = _maximal(candidates)
                chosen.update(dict.fromkeys(_nodes(highest, self.bound, _BATCH)))
            if not self._all_rule_out:
                chosen.update(dict.fromkeys(_nodes(candidates, self.bound, _BATCH)))
        return list(chosen)

    def _greedy_path(self) -> list[Node]:
        """From the bottom, always to the neighbour above that costs least, up to the highest levels."""
        costs = self._loss if self._objective.before is None else self._objective.before
        node = (0,) * costs.ndim
        path = [node]
        while above := list(_above(node, tuple(highest + 1 for highest in self._scan.highest))):
            node = min(above, key=lambda n: (float(costs[n]), float(self._loss[n]), n))
            path.append(node)
        return path

    def look_at(self, nodes: list[Node]) -> None:
        """Evaluate nodes, close those that they rule out, and keep the best."""
        outcomes = dict(zip(nodes, self.evaluate(nodes), strict=True))
        self.result.nodes_evaluated += len(nodes)
        self.raise_bounds(outcomes)
        for node, outcome in outcomes.items():
            self.open[node] = False
            self.close_below(node, outcome)
        self.result.outcomes.update(outcomes)
        self._compare({n: o for n, o in outcomes.items() if is_valid(self._scan, o)})

    def evaluate(self, nodes: list[Node]) -> list[Outcome]:
        """The outcomes of nodes, in their order."""
        return evaluate(self._scan, self._measures, nodes)

    def raise_bounds(self, outcomes: Mapping[Node, Outcome]) -> None:
        """Raise the bounds of all nodes above these, where bounds are not known before."""
        if self._objective.before is None:
            for node, bound in self._objective.bounds(outcomes).items():
                above = self.bound[tuple(slice(level, None) for level in node)]
                np.maximum(above, bound, out=above)

    def close_below(self, node: Node, outcome: Outcome) -> None:
        """Close what is below a node that fails for good."""
        if outcome.ruled_out > self._allowance or outcome.ruled_out == self._scan.rows:
            below = self.open[tuple(slice(0, level + 1) for level in node)]
            self.result.pruned_by_requirement += int(below.sum())
            below[...] = False

    def _compare(self, valid: dict[Node, Outcome]) -> None:
        """Make the best of these nodes the answer, if it is better than the best so far."""
        objective = self._objective
        best = math.inf if self.result.best is None else self.result.best.cost
        errors = objective.costs_of(valid, best) if objective.costs_of and valid else None
        # Nodes that may become the best, as far as is known without the costs of their cells.
        known = errors or (objective.bounds(valid) if objective.by_cells else objective.costs(valid))
        if not objective.by_cells:
            best = min([best, *known.values()])
        promising = {node: valid[node] for node, cost in known.items() if cost <= best + _slack(best)}
        costed = with_costs(self._scan, self._measures, promising)
        self.result.outcomes.update(costed)
        losses = self._by_loss.costs(costed)
        costs = losses if objective is self._by_loss else errors or objective.costs(costed)
        for node, outcome in costed.items():
            found = ValidNode(node, costs[node], losses[node], outcome)
            if self.result.best is None or _is_better(found, self.result.best):
                self.result.best = found


def is_valid(scan: Scan, outcome: Outcome) -> bool:
    """Whether a node meets all requirements: not too many rows suppressed, and not all."""
    few = outcome.suppressed <= allowance(scan) and outcome.suppressed < scan.rows
    return few and not outcome.table_fails


def with_costs(scan: Scan, measures: tuple[ClassMeasure, ...], outcomes: dict[Node, Outcome]) -> dict[Node, Outcome]:
    """The outcomes with their costs: known from the columns where nothing is suppressed, else from another look."""
    found = {node: outcome for node, outcome in outcomes.items() if outcome.costs}
    for node, outcome in outcomes.items():
        if outcome.suppressed == 0:
            sums = (scan.labels.loss, scan.labels.entropy, scan.labels.volume)
            costs = (sum(c[level] for c, level in zip(cost, node, strict=True)) for cost in sums)
            found[node] = replace(outcome, costs=tuple(map(float, costs)))
    partly = [n for n in outcomes if n not in found]
    return found | dict(zip(partly, evaluate(scan, measures, partly, with_costs=True), strict=True))


def _is_better(one: ValidNode, other: ValidNode) -> bool:
    slack = _slack(other.cost)
    if abs(one.cost - other.cost) > slack:
        return one.cost < other.cost
    if abs(one.loss - other.loss) > 1e-12:
        return one.loss < other.loss
    return one.node < other.node


def _slack(cost: float) -> float:
    return 1e-12 * max(1.0, abs(cost)) if math.isfinite(cost) else 0.0


def _maximal(candidates: Mask) -> Mask:
    """The candidates with no candidate directly above."""
    covered = np.zeros_like(candidates)
    for axis in range(candidates.ndim):
        lower = [slice(None)] * candidates.ndim
        upper = [slice(None)] * candidates.ndim
        lower[axis], upper[axis] = slice(0, -1), slice(1, None)
        covered[tuple(lower)] |= candidates[tuple(upper)]
    return candidates & ~covered


def of_middle_height(candidates: Mask) -> list[Node]:
    """Some candidates of middle height: one that fails closes what is below, one that holds what is above."""
    flat = np.flatnonzero(candidates)
    heights = np.array(np.unravel_index(flat, candidates.shape)).sum(axis=0)
    distance = np.abs(heights - np.median(heights))
    level = flat[distance <= distance.min()]
    return [_node(i, candidates.shape) for i in level[:: max(1, len(level) // _BATCH)][:_BATCH]]


def _nodes(mask: Mask, bound: npt.NDArray[np.float64], most: int) -> list[Node]:
    """At most so many nodes of the mask, lowest bounds first."""
    flat = np.flatnonzero(mask)
    if len(flat) > most:
        order = np.argsort(bound.reshape(-1)[flat], kind="stable")
        flat = flat[order[:most]]
    return [_node(i, mask.shape) for i in flat]


def _node(index: np.intp, shape: tuple[int, ...]) -> Node:
    return tuple(int(level) for level in np.unravel_index(index, shape))


def _above(node: Node, shape: tuple[int, ...]) -> Iterable[Node]:
    return ((*node[:a], level + 1, *node[a + 1 :]) for a, level in enumerate(node) if level + 1 < shape[a])


def _below(node: Node) -> Iterable[Node]:
    return ((*node[:a], level - 1, *node[a + 1 :]) for a, level in enumerate(node) if level > 0)
