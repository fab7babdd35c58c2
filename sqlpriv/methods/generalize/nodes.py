"""Every node of the lattice with every measure: what `sqlpriv lattice` shows and the pictures are drawn from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqlpriv.checks.measures import TABLE
from sqlpriv.errors import PolicyError
from sqlpriv.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.methods.generalize.objectives import make_objective
from sqlpriv.methods.generalize.policy import OBJECTIVES
from sqlpriv.methods.generalize.refusals import holds
from sqlpriv.methods.generalize.search import is_valid, nodes_total, of_middle_height
from sqlpriv.methods.labelled.evaluate import Node, Outcome, evaluate, rules_out
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.scan import Scan

MOST_LISTED = 200_000
_BATCH = 128


@dataclass(frozen=True)
class NodeRow:
    """One node: its outcome, whether it meets everything, whether nothing below it does, and all objectives.

    `holds` says for each requirement whether it holds with nothing suppressed.
    """

    node: Node
    outcome: Outcome
    holds: tuple[bool, ...]
    valid: bool
    minimal: bool
    objectives: dict[str, float]


def all_nodes(
    scan: Scan, measures: tuple[ClassMeasure, ...], on_progress: Callable[[float], None] | None = None
) -> list[NodeRow]:
    """All nodes, in lexicographic order."""
    total = nodes_total(scan)
    if total > MOST_LISTED:
        raise PolicyError(
            f"the lattice has {total:,} nodes, too many to list; `sqlpriv anonymize` searches it all the same"
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


def lattice_facts(qis: Sequence[str], texts: Sequence[str], rows: Sequence[NodeRow], most: int) -> Facts:
    """The nodes, valid and cheap ones first; as data all of them, in lexicographic order."""
    ordered = sorted(rows, key=lambda r: (not r.valid, r.objectives["loss"], r.node))
    numbers = [f"({i})" for i, _ in enumerate(texts, 1)]
    listed = []
    for row in ordered[:most]:
        meets = "minimal" if row.minimal else "yes" if row.valid else "no"
        values = [_shown(v) + ("" if holds else " !") for v, holds in zip(row.outcome.worst, row.holds, strict=True)]
        counts = [f"{row.outcome.suppressed:,}", f"{row.outcome.classes:,}", f"{row.objectives['loss']:.4f}"]
        listed.append((str(list(row.node)), meets, *counts, *values))
    headings = ("node", "meets all", "suppressed", "classes", "loss", *numbers)
    left = f"; {len(ordered) - most:,} more, see --csv" if len(ordered) > most else ""
    parts: tuple[Part, ...] = (
        *(
            Line(f"{n} {text}, with nothing suppressed; ! where it fails")
            for n, text in zip(numbers, texts, strict=True)
        ),
        Grid(headings, tuple(listed)),
        Line(f"{sum(r.valid for r in rows):,} of {len(rows):,} nodes meet the policy{left}"),
    )
    content = [_plain(qis, texts, r) for r in rows]
    return Facts(f"node: the levels of {', '.join(qis)}", content, parts)


def _shown(value: float | None) -> str:
    return "none" if value is None else shown_number(value)


def _plain(qis: Sequence[str], texts: Sequence[str], row: NodeRow) -> dict[str, Any]:
    return {
        "node": dict(zip(qis, row.node, strict=True)),
        "valid": row.valid,
        "minimal": row.minimal,
        "suppressed_rows": row.outcome.suppressed,
        "classes": row.outcome.classes,
        "requirements": {
            text: {"value": value, "holds": holds}
            for text, value, holds in zip(texts, row.outcome.worst, row.holds, strict=True)
        },
        **row.objectives,
    }


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
