"""From a policy to a release: search the lattice, write the best node, check it, report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.methods.generalize.evaluate import Node, evaluate
from sqlpriv.methods.generalize.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalize.objectives import Objective, make_objective, workload_objective
from sqlpriv.methods.generalize.policy import WORKLOAD, Policy
from sqlpriv.methods.generalize.scan import Domain, read_domain
from sqlpriv.methods.generalize.search import Answer, nodes_total, search
from sqlpriv.methods.generalize.workload import Workload, other_columns, read_workload
from sqlpriv.methods.generalize.write import check_target, write_release
from sqlpriv.policy.reader import TablePolicy
from sqlpriv.sqltext import quoted
from sqlpriv.table.private import private_view
from sqlpriv.table.source import Source, open_source
from sqlpriv.version import __version__

Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class Anonymized:
    """What was published, and how it was found."""

    policy: Policy
    node: dict[str, int]
    heights: dict[str, int]
    objective: str
    value: float
    loss: float
    rows: int
    suppressed_rows: int
    classes: int
    answer: Answer
    bound: float | None
    worst: dict[str, float | None]
    sample: tuple[tuple[dict[str, Any], dict[str, Any]], ...]
    output: Path | None

    def to_json(self) -> str:
        """The result for machines; it holds no value of the table."""
        content = {
            "version": __version__,
            "node": self.node,
            "objective": self.objective,
            "value": self.value,
            "loss": self.loss,
            "rows": self.rows,
            "suppressed_rows": self.suppressed_rows,
            "classes": self.classes,
            "nodes_total": self.answer.nodes_total,
            "nodes_evaluated": self.answer.nodes_evaluated,
            "nodes_pruned_by_requirement": self.answer.pruned_by_requirement,
            "nodes_pruned_by_bound": self.answer.pruned_by_bound,
            "optimal": self.answer.optimal,
            "bound": self.bound,
            "requirements": [
                {"requirement": text, "value": "inf" if value is not None and math.isinf(value) else value}
                for text, value in self.worst.items()
            ],
            "output": None if self.output is None else str(self.output),
        }
        return json.dumps(content, indent=2)


@contextmanager
def open_policy(policy: TablePolicy) -> Iterator[Source]:
    """Open the private table of a policy."""
    if policy.database is not None:
        with open_source(policy.source, policy.path(policy.database)) as source:
            yield private_view(source, policy)
        return
    with open_source(str(policy.path(policy.source)), None, policy.read_options) as source:
        yield private_view(source, policy)


def anonymize(
    policy: Policy,
    output: Path | None = None,
    time_limit: float | None = None,
    on_progress: Progress = None,
    *,
    dry_run: bool = False,
) -> Anonymized:
    """Publish the table under the best node of its lattice, to `output` or where the policy says."""
    target = None if dry_run else output or (policy.path(policy.output) if policy.output else None)
    if target is None and not dry_run:
        raise PolicyError("the policy names no output; add it to [release], or give one")
    if target is not None:
        check_target(target, policy)
    with open_policy(policy) as source:
        before = fingerprint(policy)
        domain, measures, objective = prepare(source, policy)
        answer = search(domain, measures, objective, time_limit, on_progress)
        result = _result(domain, measures, objective, answer, target)
        if target is not None and answer.best is not None:
            best = answer.best
            write_release(
                domain,
                measures,
                best.node,
                best.outcome,
                target,
                _about(result),
                lambda: fingerprint(policy) == before,
            )
    return result


def prepare(source: Source, policy: Policy) -> tuple[Domain, tuple[ClassMeasure, ...], Objective]:
    """Scan the table and make ready what nodes are judged by."""
    queries = None
    if policy.objective.startswith(WORKLOAD):
        queries = read_workload(policy, policy.objective.removeprefix(WORKLOAD))
    domain = read_domain(source, policy, other_columns(queries or []))
    nodes_total(domain)
    measures = write_measures(domain)
    if queries is not None:
        return domain, measures, workload_objective(Workload(domain, measures, queries))
    return domain, measures, make_objective(domain, policy.objective)


def fingerprint(policy: TablePolicy) -> tuple[int, int] | None:
    """Size and time of the source file. A database is locked while it is open, so it cannot change."""
    if policy.database is not None:
        return None
    try:
        state = policy.path(policy.source).stat()
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns


def _result(
    domain: Domain, measures: tuple[ClassMeasure, ...], objective: Objective, answer: Answer, output: Path | None
) -> Anonymized:
    best = answer.best
    if best is None:
        raise PolicyError(_unreachable(domain, measures, answer))
    qis = domain.policy.qis
    (published,) = evaluate(domain, measures, [best.node], with_costs=True)
    return Anonymized(
        domain.policy,
        dict(zip(qis, best.node, strict=True)),
        dict(zip(qis, domain.heights, strict=True)),
        objective.name,
        objective.shown(best.cost),
        best.loss,
        domain.rows,
        best.outcome.suppressed,
        best.outcome.classes,
        answer,
        None if answer.bound is None else objective.shown(answer.bound),
        dict(zip((m.requirement.text for m in measures), published.published_worst, strict=True)),
        _sample(domain, best.node),
        output,
    )


def _unreachable(domain: Domain, measures: tuple[ClassMeasure, ...], answer: Answer) -> str:
    """Which requirement cannot be met, and the node that comes nearest."""
    if not answer.seen:
        return "the time limit was too short to look at any node"
    node, outcome = min(answer.seen.items(), key=lambda item: (item[1].suppressed, item[0]))
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if m.kind == "table" and outcome.table_fails]
    listed = ", ".join(f"{q}={level}" for q, level in zip(domain.policy.qis, node, strict=True))
    left = "; more nodes were left when the time was over" if not answer.optimal else ""
    return (
        f"no node meets the requirements: at the nearest one ({listed}) {outcome.suppressed:,} of {domain.rows:,} rows "
        f"would have to be suppressed because of {', '.join(failing) or 'all of them together'}{left}. "
        "Ask for less, or allow more suppression"
    )


def _about(result: Anonymized) -> dict[str, str]:
    return {
        "method": "generalize",
        "objective": result.objective,
        "node": json.dumps(result.node),
        "suppressed_rows": str(result.suppressed_rows),
        "kept_suppressed": "yes" if result.policy.keep_suppressed and result.suppressed_rows else "no",
        "optimal": "yes" if result.answer.optimal else "no",
    }


def _sample(domain: Domain, node: Node) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """A few rows before and after, quasi-identifiers only: for the owner's eyes, to see what generalization does."""
    qis = domain.policy.qis
    before = ", ".join(f"CAST(t.{quoted(q)} AS VARCHAR)" for q in qis)
    joins = "".join(
        f" JOIN paths AS p{a} ON p{a}.attribute = {a} "
        f"AND p{a}.labels[1] IS NOT DISTINCT FROM CAST(t.{quoted(q)} AS VARCHAR)"
        for a, q in enumerate(qis)
    )
    after = ", ".join(
        f"p{a}.labels[{level + 1}]" if level < h else "'*'"
        for a, (level, h) in enumerate(zip(node, domain.heights, strict=True))
    )
    rows = fetch(
        domain.source.con,
        f"SELECT {before}, {after} FROM (FROM __frequencies ORDER BY __priv_n DESC LIMIT 5) AS t{joins}",
    )
    width = len(qis)
    return tuple((dict(zip(qis, r[:width], strict=True)), dict(zip(qis, r[width:], strict=True))) for r in rows)
