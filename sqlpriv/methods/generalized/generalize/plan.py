"""A generalized release that could be made: the table scanned, the lattice searched, the best node found."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress, Part, shown_number
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.charts import SearchCharts
from sqlpriv.methods.generalized.columns import Known, ShownColumn, describe, read_known, refuse_names
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, lattice_of
from sqlpriv.methods.generalized.generalize.node import Stars, is_binned, judge_stars, write_shown
from sqlpriv.methods.generalized.generalize.objectives import Objective, make_objective
from sqlpriv.methods.generalized.generalize.policy import WORKLOAD, GeneralizePolicy
from sqlpriv.methods.generalized.generalize.search import Found, Searched, look_at, nodes_total, search
from sqlpriv.methods.generalized.generalize.wording import not_met, unreachable
from sqlpriv.methods.generalized.generalize.workload import Workload, other_columns, read_workload, workload_objective
from sqlpriv.methods.generalized.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalized.scan import Scan, node_of, published_columns, scan_table
from sqlpriv.methods.generalized.write import NodeLabels
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_FREQUENT = 5
"""A row is called frequent when it occurs so often."""


@dataclass(frozen=True)
class GeneralizePlan(Plan[GeneralizePolicy]):
    """The best node, what it meets and costs, and how it was found."""

    scan: Scan
    measures: tuple[ClassMeasure, ...]
    objective: Objective
    answer: Searched
    best: Found
    known: Known
    """What may be known of the published columns."""

    @property
    def node(self) -> dict[str, int]:
        """The level of every quasi-identifier."""
        return dict(zip(self.policy.qis, self.best.node, strict=True))

    @property
    def heights(self) -> dict[str, int]:
        """The top level of every quasi-identifier."""
        return dict(zip(self.policy.qis, self.scan.heights, strict=True))

    @cached_property
    def columns(self) -> list[ShownColumn]:
        """The published columns, and what a reader may know of their values."""
        return describe(self.scan, self.best.node, published_columns(self.scan), self.known)

    @property
    def optimal(self) -> bool:
        """Whether no other node is better, as far as was looked."""
        return self.answer.optimal and self.policy.node is None

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
        """What is required, and the worst value of a published class."""
        texts = [m.requirement.text for m in self.measures]
        if self.starred is not None and self.starred.kept and self.starred.outcome is not None:
            return dict(zip(texts, self.starred.outcome.worst, strict=True))
        (published,) = evaluate(self.scan, self.measures, [self.best.node], with_costs=True)
        return dict(zip(texts, published.published_worst, strict=True))

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release, and the node."""
        policy = self.policy
        return {
            "columns": {c.name: [c.role, *(str(v) for v in c.given.values())] for c in policy.columns},
            "requirements": [r.text for r in policy.requirements],
            "objective": policy.objective,
            "suppression": policy.suppression,
            "keep_suppressed": policy.keep_suppressed,
            "node": self.node,
        }

    def facts(self, written: Written | None = None) -> Facts:
        """The node, what it meets and costs, a few rows before and after, and where the release is."""
        best, answer = self.best, self.answer
        suppressed, rows = best.outcome.suppressed, self.scan.rows
        value = self.objective.shown(best.cost)
        bound = None if answer.bound is None else self.objective.shown(answer.bound)
        content = {
            "version": __version__,
            "method": self.policy.method,
            "node": self.node,
            "objective": self.objective.name,
            "value": value,
            "loss": best.loss,
            "rows": rows,
            "suppressed_rows": suppressed,
            "kept_suppressed": self.stars,
            "classes": best.outcome.classes,
            "nodes_total": answer.nodes_total,
            "nodes_evaluated": answer.nodes_evaluated,
            "nodes_pruned_by_requirement": answer.pruned_by_requirement,
            "nodes_pruned_by_bound": answer.pruned_by_bound,
            "optimal": self.optimal,
            "bound": bound,
            "requirements": [{"requirement": text, "value": worst} for text, worst in self.worst.items()],
            "output": None if written is None else str(written.output),
        }
        levels = ", ".join(f"{q} {level}/{self.heights[q]}" for q, level in self.node.items())
        named = f"; {self.objective.name} {_number(value)}" if self.objective.name != "loss" else ""
        parts: list[Part] = [
            Line(
                f"{rows - suppressed:,} of {rows:,} rows in {best.outcome.classes:,} classes; {suppressed:,} "
                f"suppressed ({suppressed / rows:.2%}); loss {best.loss:.4f}{named}"
            ),
            *self._fate_of_suppressed(),
            *self._told_by_bins(),
            *(Line(f"{text}  (is {_number(worst)})", "holds") for text, worst in self.worst.items()),
            self._sample(),
            Line(self._search(bound)),
        ]
        if written is not None and written.again:
            parts.append(
                Line(f"The table and the policy are those of before: this is {written.output.name}, as it was.")
            )
        elif written is not None:
            parts.append(Line(f"Written and checked again from the file: {written.output.name}"))
        return Facts(f"node  {levels}  (level / top of each hierarchy)", content, tuple(parts))

    def search_charts(
        self, most_nodes: int, most_work: float = math.inf, on_progress: OnProgress = None
    ) -> SearchCharts:
        """What each column lost, suppressed rows apart; and the lattice that was searched."""
        sums = [by_level[level] for by_level, level in zip(self.scan.loss, self.best.node, strict=True)]
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

    def _search(self, bound: float | None) -> str:
        """How the node was found."""
        answer = self.answer
        if self.policy.node is not None:
            return f"It is the node that was asked for, one of {answer.nodes_total:,}; others may lose less."
        proof = (
            "No node is better: this is the optimum."
            if answer.optimal
            else f"The time was over: an unseen node may reach {_number(bound)}."
        )
        return (
            f"{answer.nodes_evaluated:,} of {answer.nodes_total:,} nodes looked at, "
            f"{answer.pruned_by_requirement:,} ruled out by a requirement, {answer.pruned_by_bound:,} by "
            f"their cost. {proof}"
        )

    def _fate_of_suppressed(self) -> Iterator[Line]:
        """Where the policy wants suppressed rows kept: whether they are."""
        if self.starred is None:
            return
        rows = f"{self.best.outcome.suppressed:,} suppressed rows"
        if self.starred.kept:
            yield Line(f"The {rows} stay as one class, with * in every quasi-identifier.")
        else:
            yield Line(
                f"The {rows} are left out although keep_suppressed is set: as one class with * in every "
                f"quasi-identifier they would fail {', '.join(self.starred.failing)}.",
                "warning",
            )

    def _told_by_bins(self) -> Iterator[Line]:
        """What labels tell that are read from the data."""
        binned = [repr(q) for a, q in enumerate(self.policy.qis) if is_binned(self.scan, a)]
        if binned:
            yield Line(
                f"Bins of {', '.join(binned)} end at values that published rows have, and tell them; ranges with round "
                "ends would not.",
                "warning",
            )

    def _sample(self) -> Part:
        """Frequent rows before and after, quasi-identifiers only: for the owner, to see what generalization does."""
        qis = self.policy.qis
        listed_qis = ", ".join(map(quoted, qis))
        counted = f"count(DISTINCT {quoted(self.policy.person)})" if self.policy.person else "sum(__priv_n)"
        frequent = (
            f"SELECT {listed_qis}, CAST({counted} AS BIGINT) AS __priv_n FROM {self.scan.frequencies} "
            f"GROUP BY {listed_qis} HAVING {counted} >= {_FREQUENT} ORDER BY __priv_n DESC, {listed_qis} LIMIT 5"
        )
        before = ", ".join(f"CAST(t.{quoted(q)} AS VARCHAR)" for q in qis)
        joins = "".join(
            f" JOIN {self.shown.labels} AS l{a} ON l{a}.attribute = {a} "
            f"AND l{a}.value IS NOT DISTINCT FROM CAST(t.{quoted(q)} AS VARCHAR)"
            for a, q in enumerate(qis)
        )
        after = ", ".join(f"l{a}.label" for a in range(len(qis)))
        number = " + ".join(f"l{a}.number" for a in range(len(qis)))
        rows = fetch(
            self.source.con,
            f"SELECT {before}, {after}, t.__priv_n FROM ({frequent}) AS t{joins} "
            f"WHERE NOT ({self.shown.is_hidden(number)}) ORDER BY t.__priv_n DESC, {before}",
        )
        if not rows:
            text = (
                f"No values of {', '.join(qis)} occur {_FREQUENT} times together: there are no frequent rows to show."
            )
            return Line(text, private=True)
        width = len(qis)
        listed = tuple((_cells(r[:width]), _cells(r[width:-1]), r[-1]) for r in rows)
        title, folded = "frequent rows", ("before", "after")
        how_many = "persons" if self.policy.person else "rows"
        return Grid(("before", "after", how_many), listed, title=title, folded=folded, private=True)


def make_plan(source: Source, policy: GeneralizePolicy, request: Request) -> GeneralizePlan:
    """Search the lattice, or take the node that is asked for; or say which requirement cannot be met."""
    scan, measures, objective, known = prepare(source, policy)
    known = known or read_known(scan, published_columns(scan))
    if policy.node is not None:
        answer = look_at(scan, measures, objective, node_of(scan, policy.node))
    else:
        answer = search(scan, measures, objective, request.time_limit, request.on_progress)
    if answer.best is None and policy.node is not None:
        raise PolicyError(not_met(scan, measures, *next(iter(answer.seen.items()))))
    if answer.best is None:
        raise PolicyError(unreachable(scan, measures, answer))
    objective.refuse(answer.best.node)
    plan = GeneralizePlan(policy, source, scan, measures, objective, answer, answer.best, known)
    refuse_names(plan.columns, published_columns(scan))
    return plan


def prepare(source: Source, policy: GeneralizePolicy) -> tuple[Scan, tuple[ClassMeasure, ...], Objective, Known | None]:
    """Scan the table and make ready what nodes are judged by; what may be known of columns, where that needs it."""
    queries = None
    if policy.objective.startswith(WORKLOAD):
        queries = read_workload(policy, policy.objective.removeprefix(WORKLOAD))
    scan = scan_table(source, policy, other_columns(policy, queries or []))
    nodes_total(scan)
    measures = write_measures(scan)
    if queries is not None:
        known = read_known(scan, published_columns(scan))
        return scan, measures, workload_objective(Workload(scan, policy, measures, known, queries)), known
    return scan, measures, make_objective(scan, policy.objective), None


def _cells(values: tuple[Any, ...]) -> str:
    return ", ".join("NULL" if v is None else str(v) for v in values)


def _number(value: float | None) -> str:
    return "none" if value is None else shown_number(value)


def best_node(plan: GeneralizePlan, queries: Sequence[str], request: Request) -> dict[str, int] | None:
    """The node that meets the policy with the smallest mean error, as `objective = "workload:..."` finds it.

    None where it is the plan's own, where the policy says what it wants, and where the questions are none that nodes
    can be judged by.
    """
    policy = plan.policy
    if policy.node is not None or policy.objective.startswith(WORKLOAD):
        return None
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        file = Path(folder) / "queries.sql"
        file.write_text(";\n".join(queries), encoding="utf-8")
        by_workload = replace(policy, release={**policy.release, "objective": f"{WORKLOAD}{file}"})
        # A source of its own: the tables of the plan's are not to be written over.
        with open_table(policy.table, policy.by_text) as source:
            try:
                found = make_plan(source, by_workload, request)
            except PolicyError:
                return None
    return None if found.node == plan.node else found.node
