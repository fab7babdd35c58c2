"""Whether a search would choose the same node in another world: for the same people, with the sensitive values of each
published class dealt otherwise among its rows.

Most of a search comes out alike in every world. The chosen node is valid at the same cost: its classes keep their
values. So do those of every node above it, which are unions of these. Sizes of classes, the bounds of costs and what
is required of quasi-identifiers alone do not depend on sensitive values. What is left are nodes that are not above the
chosen one, that meet what is required of quasi-identifiers, and that then cost no more. They are found once; in each
world the search goes on among them, from the chosen node, until one is better or none is left.
"""

from __future__ import annotations

import numpy as np

from sqlpriv.checks.measures import TABLE, TOGETHER
from sqlpriv.methods.generalized.evaluate import SizedNodes, evaluate, size_nodes
from sqlpriv.methods.generalized.generalize.objectives import Objective
from sqlpriv.methods.generalized.generalize.search import Search, SearchResult, is_valid, with_costs
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.table.source import Source

_MOST_SIZED = 20_000_000
"""Nodes times combinations, up to which the sizes and costs of classes are kept for all worlds."""


class _WorldSearch(Search):
    """A search that need not count again what is alike in all worlds."""

    def __init__(
        self, scan: Scan, measures: tuple[ClassMeasure, ...], objective: Objective, sized: SizedNodes | None
    ) -> None:
        super().__init__(scan, measures, objective)
        self._sized = sized

    def evaluate(self, nodes: list[Node]) -> list[Outcome]:
        """The outcomes, with their costs where those are at hand."""
        if self._sized is None:
            return super().evaluate(nodes)
        return evaluate(self._scan, self._measures, nodes, with_costs=True, sized=self._sized)


class Retrace:
    """A search that found a node, to be made again in other worlds. There are no persons, and no workload."""

    def __init__(
        self, scan: Scan, measures: tuple[ClassMeasure, ...], objective: Objective, searched: SearchResult
    ) -> None:
        assert searched.best is not None
        self._scan, self._measures, self._objective, self._best = scan, measures, objective, searched.best
        start = Search(scan, measures, objective)
        start.raise_bounds(searched.outcomes)
        start.result.best = searched.best
        start.open[tuple(slice(level, None) for level in searched.best.node)] = False
        self._without_values(start)
        self._open, self._bound = start.candidates(), start.bound
        nodes = [tuple(map(int, node)) for node in np.argwhere(self._open)]
        self.is_open = bool(nodes)
        """Whether any world may choose otherwise."""
        few = nodes and len(nodes) * scan.combinations <= _MOST_SIZED
        self._sized = size_nodes(scan, nodes) if few else None

    def chooses_alike(self, world: Source) -> bool:
        """Whether no node is better in this world than the one that was chosen."""
        search = _WorldSearch(self._scan.in_world(world), self._measures, self._objective, self._sized)
        search.open, search.bound = self._open.copy(), self._bound.copy()
        search.result.best = self._best
        while search.result.best is self._best and (candidates := search.candidates()).any():
            search.look_at(search.choose(candidates))
        return search.result.best is self._best

    def _without_values(self, start: Search) -> None:
        """Close the nodes that fail, or cost more than the best, by what is required of quasi-identifiers alone.

        What else is required can only suppress more rows, which never lowers a cost.
        """
        measures = tuple(m for m in self._measures if m.sensitive is None and m.kind not in (TABLE, TOGETHER))
        unknown = start.candidates() if measures else np.zeros_like(start.open)
        while unknown.any():
            nodes = start.choose(unknown)
            outcomes = dict(zip(nodes, evaluate(self._scan, measures, nodes), strict=True))
            for node, outcome in outcomes.items():
                unknown[node] = False
                start.open[node] &= is_valid(self._scan, outcome)
                start.close_below(node, outcome)
            valid = with_costs(self._scan, measures, {n: o for n, o in outcomes.items() if start.open[n]})
            for node, cost in self._objective.costs(valid).items():
                start.bound[node] = max(start.bound[node], cost)
            unknown &= start.candidates()
