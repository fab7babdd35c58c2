"""The nodes of a lattice, each with what it meets and costs: what `sqlpriv lattice` lists and charts are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number

Node = tuple[int, ...]
"""The level of every quasi-identifier."""
Curves = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Outcome:
    """What a node gives. Sums are over the published classes; costs also over suppressed rows, at the top level."""

    suppressed: int
    ruled_out: int
    classes: int
    all_classes: int
    squares: int
    all_squares: int
    size_logs: float
    all_size_logs: float
    table_fails: bool
    suppressed_by: tuple[int, ...]
    worst: tuple[float | None, ...]
    costs: tuple[float, ...] = ()
    published_worst: tuple[float | None, ...] = ()


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


@dataclass(frozen=True)
class Lattice:
    """The nodes of a policy, and the one that a search chooses, where that was asked for."""

    qis: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    rows: Sequence[NodeRow]
    allowed: int
    """How many rows may be suppressed."""
    chosen: Node | None = None
    stubbornness: Mapping[str, Curves] = field(default_factory=dict)
    """By sensitive column whose epsilon is bounded: the epsilon that adversaries of each kind and sigma need."""

    @property
    def texts(self) -> list[str]:
        """What is required, in words."""
        return [requirement.text for requirement in self.requirements]

    @property
    def headings(self) -> list[str]:
        """The names of the columns of `listed`."""
        objectives = list(self.rows[0].objectives) if self.rows else []
        return [*self.qis, "valid", "minimal", "suppressed_rows", "classes", *self.texts, *objectives]

    def listed(self) -> list[list[Any]]:
        """Every node with every measure, a row each."""
        return [
            [*r.node, r.valid, r.minimal, r.outcome.suppressed, r.outcome.classes, *r.outcome.worst,
             *r.objectives.values()]
            for r in self.rows
        ]  # fmt: skip

    def facts(self, most: int) -> Facts:
        """The nodes, valid and cheap ones first; as data all of them, in lexicographic order."""
        ordered = sorted(self.rows, key=lambda r: (not r.valid, r.objectives["loss"], r.node))
        numbers = [f"({i})" for i, _ in enumerate(self.texts, 1)]
        listed = []
        for row in ordered[:most]:
            meets = "minimal" if row.minimal else "yes" if row.valid else "no"
            worst = zip(row.outcome.worst, row.holds, strict=True)
            values = [_shown(value) + ("" if holds else " !") for value, holds in worst]
            counts = [f"{row.outcome.suppressed:,}", f"{row.outcome.classes:,}", f"{row.objectives['loss']:.4f}"]
            listed.append((str(list(row.node)), meets, *counts, *values))
        headings = ("node", "meets all", "suppressed", "classes", "loss", *numbers)
        left = f"; {len(ordered) - most:,} more, see --csv" if len(ordered) > most else ""
        parts: tuple[Part, ...] = (
            *(
                Line(f"{n} {text}, with nothing suppressed; ! where it fails")
                for n, text in zip(numbers, self.texts, strict=True)
            ),
            Grid(headings, tuple(listed)),
            Line(f"{sum(r.valid for r in self.rows):,} of {len(self.rows):,} nodes meet the policy{left}"),
        )
        return Facts(f"node: the levels of {', '.join(self.qis)}", [self._plain(row) for row in self.rows], parts)

    def _plain(self, row: NodeRow) -> dict[str, Any]:
        return {
            "node": dict(zip(self.qis, row.node, strict=True)),
            "valid": row.valid,
            "minimal": row.minimal,
            "suppressed_rows": row.outcome.suppressed,
            "classes": row.outcome.classes,
            "requirements": {
                text: {"value": value, "holds": holds}
                for text, value, holds in zip(self.texts, row.outcome.worst, row.holds, strict=True)
            },
            **row.objectives,
        }


def _shown(value: float | None) -> str:
    return "none" if value is None else shown_number(value)
