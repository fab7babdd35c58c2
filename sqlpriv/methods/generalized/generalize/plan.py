"""A generalized release that could be made: the table scanned, the lattice searched, the best node found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlpriv.core.engine import fetch, scratch_folder
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, OnProgress
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.charts import SearchCharts
from sqlpriv.methods.generalized.columns import PublicColumns, ShownColumn, describe, read_public_columns, refuse_names
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, lattice_of
from sqlpriv.methods.generalized.generalize.node import Stars, judge_stars, shown_rows, write_shown
from sqlpriv.methods.generalized.generalize.objectives import Objective, make_objective
from sqlpriv.methods.generalized.generalize.policy import WORKLOAD, GeneralizePolicy
from sqlpriv.methods.generalized.generalize.retrace import Retrace
from sqlpriv.methods.generalized.generalize.search import SearchResult, ValidNode, look_at, nodes_total, search
from sqlpriv.methods.generalized.generalize.wording import frequent_rows, node_lines, not_met, search_line, unreachable
from sqlpriv.methods.generalized.generalize.workload import Workload, other_columns, read_workload, workload_objective
from sqlpriv.methods.generalized.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalized.scan import Scan, node_of, published_columns, scan_table
from sqlpriv.methods.generalized.wording import written_to
from sqlpriv.methods.generalized.write import NodeLabels
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source
from sqlpriv.version import __version__


@dataclass(frozen=True)
class GeneralizePlan(Plan[GeneralizePolicy]):
    """The best node, what it meets and costs, and how it was found."""

    scan: Scan
    measures: tuple[ClassMeasure, ...]
    objective: Objective
    searched: SearchResult
    best: ValidNode
    columns: list[ShownColumn]
    """The published columns, and what a reader may know of their values."""

    @property
    def node(self) -> dict[str, int]:
        """The level of every quasi-identifier."""
        return dict(zip(self.policy.qis, self.best.node, strict=True))

    @property
    def heights(self) -> dict[str, int]:
        """The top level of every quasi-identifier."""
        return dict(zip(self.policy.qis, self.scan.heights, strict=True))

    @property
    def optimal(self) -> bool:
        """Whether no other node is better, as far as was looked."""
        return self.searched.optimal and self.policy.node is None

    @cached_property
    def retrace(self) -> Retrace | None:
        """The search, to be made again in other worlds; None where sensitive values change more than it looks at."""
        if self.policy.person is not None or self.policy.objective.startswith(WORKLOAD):
            return None
        return Retrace(self.scan, self.measures, self.objective, self.searched)

    @cached_property
    def shown(self) -> NodeLabels:
        """The labels of the node, and the classes that it suppresses."""
        return write_shown(self.scan, self.measures, self.best.node)

    @cached_property
    def starred(self) -> Stars | None:
        """Suppressed rows judged as the one class that they would be with stars; None where none are to be kept."""
        if not self.policy.keep_suppressed or self.best.outcome.suppressed == 0:
            return None
        return judge_stars(self.scan, self.measures, self.shown)

    @property
    def stars(self) -> bool:
        """Whether suppressed rows are published, with stars."""
        return self.starred is not None and self.starred.kept

    @cached_property
    def worst(self) -> dict[str, float | None]:
        """The requirements, each with the worst value of a published class."""
        texts = [m.requirement.text for m in self.measures]
        if self.starred is not None and self.starred.kept and self.starred.outcome is not None:
            return dict(zip(texts, self.starred.outcome.worst, strict=True))
        (published,) = evaluate(self.scan, self.measures, [self.best.node], with_costs=True)
        return dict(zip(texts, published.published_worst, strict=True))

    @property
    def digest(self) -> str:
        """Of the columns that are published: without noise nothing depends on the others."""
        return self.scan.digest

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release, and the node."""
        policy = self.policy
        return {
            "columns": {c.name: c.seed for c in policy.columns},
            "requirements": [r.text for r in policy.requirements],
            "objective": policy.objective,
            "suppression": policy.suppression,
            "keep_suppressed": policy.keep_suppressed,
            "node": self.node,
        }

    def published_rows(self) -> str:
        """As the node shows them."""
        scan, policy, columns = self.scan, self.policy, published_columns(self.scan)
        table, more = scan.frequencies.rows_by(columns)
        return shown_rows(scan, self.shown, columns, policy.keep_suppressed, self.stars, table, more)

    def facts(self, written: Written | None = None) -> Facts:
        """The node, what it meets and costs, a few rows before and after, and where the release is."""
        best, searched, warnings = self.best, self.searched, self.all_warnings(written)
        bound = None if searched.bound is None else self.objective.shown(searched.bound)
        content = {
            "version": __version__,
            "method": self.policy.method,
            "node": self.node,
            "objective": self.objective.name,
            "value": self.objective.shown(best.cost),
            "loss": best.loss,
            "rows": self.scan.rows,
            "suppressed_rows": best.outcome.suppressed,
            "kept_suppressed": self.stars,
            "classes": best.outcome.classes,
            "nodes_total": searched.nodes_total,
            "nodes_evaluated": searched.nodes_evaluated,
            "nodes_pruned_by_requirement": searched.pruned_by_requirement,
            "nodes_pruned_by_bound": searched.pruned_by_bound,
            "optimal": self.optimal,
            "bound": bound,
            "requirements": [{"requirement": text, "value": worst} for text, worst in self.worst.items()],
            "warnings": list(warnings),
            "output": None if written is None else str(written.output),
        }
        levels = ", ".join(f"{q} {level}/{self.heights[q]}" for q, level in self.node.items())
        title = f"node  {levels}  (level / top of each hierarchy)"
        named = f"It is the node that was asked for, one of {searched.nodes_total:,}; others may lose less."
        parts = (
            *node_lines(self.scan, best, self.objective, self.starred, self.worst),
            frequent_rows(self.scan, self.shown),
            search_line(searched, bound) if self.policy.node is None else Line(named),
            *written_to(written),
        )
        return Facts(title, content, parts, warnings)

    def search_charts(
        self, most_nodes: int, most_work: float = math.inf, on_progress: OnProgress = None
    ) -> SearchCharts:
        """What each column lost, suppressed rows apart; and the lattice that was searched."""
        sums = [by_level[level] for by_level, level in zip(self.scan.labels.loss, self.best.node, strict=True)]
        asked = ", ".join(inlined(f"_mean_loss({value!r}::DOUBLE, {self.scan.rows}, 1)") for value in map(float, sums))
        (losses,) = fetch(self.source.con, f"SELECT {asked}")
        rows = [
            {"column": name, "loss": float(loss), "level": f"{level} of {self.heights[name]}"}
            for (name, level), loss in zip(self.node.items(), losses, strict=True)
        ]
        nodes = nodes_total(self.scan)
        if nodes > most_nodes or nodes * self.scan.combinations > most_work:
            return SearchCharts(rows, nodes)
        evaluated = all_nodes(self.scan, self.measures, on_progress)
        return SearchCharts(rows, nodes, lattice_of(self.scan, self.measures, evaluated, self.best.node))


def make_plan(source: Source, policy: GeneralizePolicy, request: Request) -> GeneralizePlan:
    """Search the lattice, or take the node that the policy names; a requirement that cannot be met is refused."""
    scan, measures, objective, known = prepare(source, policy)
    known = known or read_public_columns(source, policy, published_columns(scan))
    if policy.node is not None:
        searched = look_at(scan, measures, objective, node_of(scan, policy.node))
    else:
        searched = search(scan, measures, objective, request.time_limit, request.on_progress)
    if searched.best is None and policy.node is not None:
        raise PolicyError(not_met(scan, measures, *next(iter(searched.outcomes.items()))))
    if searched.best is None:
        raise PolicyError(unreachable(scan, measures, searched))
    objective.refuse(searched.best.node)
    columns = describe(scan, searched.best.node, published_columns(scan), known)
    refuse_names(columns, published_columns(scan))
    return GeneralizePlan(policy, source, scan, measures, objective, searched, searched.best, columns)


def prepare(
    source: Source, policy: GeneralizePolicy
) -> tuple[Scan, tuple[ClassMeasure, ...], Objective, PublicColumns | None]:
    """Scan the table and make ready what nodes are judged by; what may be known of columns, where that needs it."""
    queries = None
    if policy.objective.startswith(WORKLOAD):
        queries = read_workload(policy, policy.objective.removeprefix(WORKLOAD))
    scan = scan_table(source, policy, other_columns(policy, queries or []))
    nodes_total(scan)
    measures = write_measures(scan)
    if queries is not None:
        known = read_public_columns(source, policy, published_columns(scan))
        return scan, measures, workload_objective(Workload(scan, policy, measures, known, queries)), known
    return scan, measures, make_objective(scan, policy.objective), None


def best_node(plan: GeneralizePlan, queries: Sequence[str], request: Request) -> dict[str, int] | None:
    """The node that meets the policy with the smallest mean error, as `objective = "workload:..."` finds it.

    None where it is the plan's own, where the policy says what it wants, and where the questions are none that nodes
    can be judged by.
    """
    policy = plan.policy
    if policy.node is not None or policy.objective.startswith(WORKLOAD):
        return None
    with scratch_folder() as folder:
        file = folder / "queries.sql"
        file.write_text(";\n".join(queries), encoding="utf-8")
        by_workload = replace(policy, release={**policy.release, "objective": f"{WORKLOAD}{file}"})
        # A source of its own: the tables of the plan's are not to be written over.
        with open_table(policy.table, policy.by_text, policy.read) as source:
            try:
                found = make_plan(source, by_workload, request)
            except PolicyError:
                return None
    return None if found.node == plan.node else found.node
