"""A release of boxes that could be made: the table scanned, its rows in classes, every class a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.checks.measures import TABLE
from sqlpriv.core.engine import few_rows
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, Part, shown_number
from sqlpriv.core.relation import Relation
from sqlpriv.methods.generalized.boxes import Boxed, describe_boxes, judge, judge_boxes, make_boxes, whole_table
from sqlpriv.methods.generalized.columns import ShownColumn, refuse_names
from sqlpriv.methods.generalized.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalized.points import BoxScan, scan_points
from sqlpriv.methods.generalized.policy import WARNINGS, BoxPolicy
from sqlpriv.methods.generalized.scan import FEW, published_columns, scan_values
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

Told = Mapping[str, object]


@dataclass(frozen=True)
class Divided:
    """The points in classes."""

    classed: Relation
    """Row, class, and what is read of a point; every class meets all measures."""
    told: Told
    """What is told of how it went, by name."""


Divide = Callable[[BoxScan, tuple[ClassMeasure, ...], Request], Divided]
"""Puts every point into a class that meets all measures."""


@dataclass(frozen=True)
class BoxPlan(Plan[BoxPolicy]):
    """Boxes that meet every requirement, and what they cost."""

    scan: BoxScan
    measures: tuple[ClassMeasure, ...]
    boxed: Boxed
    told: Told

    @cached_property
    def columns(self) -> list[ShownColumn]:
        """The published columns, and what a reader may know of their values."""
        return describe_boxes(self.scan)

    @property
    def warning(self) -> str:
        """What is to be known of the cuts."""
        return WARNINGS[self.policy.cuts]

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release."""
        policy = self.policy
        return {
            "columns": {c.name: [c.role, *(str(v) for v in c.given.values())] for c in policy.columns},
            "requirements": [r.text for r in policy.requirements],
            "cuts": policy.cuts,
        }

    def warnings(self) -> tuple[str, ...]:
        """What is to be known of the cuts."""
        return (self.warning,)

    def facts(self, written: Written | None = None) -> Facts:
        """The boxes, what they meet and cost, and where the release is."""
        rows, boxed = self.scan.rows, self.boxed
        worst = dict(zip((m.requirement.text for m in self.measures), boxed.worst, strict=True))
        content = {
            "version": __version__,
            "method": self.policy.method,
            "cuts": self.policy.cuts,
            "rows": rows,
            "suppressed_rows": 0,
            "classes": boxed.classes,
            "loss": boxed.loss,
            **self.told,
            "requirements": [{"requirement": text, "value": value} for text, value in worst.items()],
            "warnings": [self.warning],
            "output": None if written is None else str(written.output),
        }
        title = (
            f"{rows:,} rows in {boxed.classes:,} classes, {shown_number(rows / boxed.classes)} rows each on average; "
            f"loss {boxed.loss:.4f}"
        )
        parts: list[Part] = [
            Line("Loss is the width of a cell's range as a share of its column, or of its values below its label."),
            *(Line(f"{text}  (is {_number(value)})", "holds") for text, value in worst.items()),
        ]
        if written is not None and written.again:
            parts.append(
                Line(f"The table and the policy are those of before: this is {written.output.name}, as it was.")
            )
        elif written is not None:
            parts.append(Line(f"Written and checked again from the file: {written.output.name}"))
        return Facts(title, content, tuple(parts), (self.warning,))


def plan_boxes(source: Source, policy: BoxPolicy, request: Request, divide: Divide) -> BoxPlan:
    """Scan the table, divide its rows into classes, and make boxes of them; or say what cannot be met."""
    with ExitStack() as stack:
        if is_small := source.held_rows is not None and source.held_rows <= FEW:
            stack.enter_context(few_rows(source.con))
        found = scan_values(source, policy)
        if found.is_small and not is_small:
            stack.enter_context(few_rows(source.con))
        scan = scan_points(found, policy)
        refuse_names(describe_boxes(scan), published_columns(scan))
        measures = write_measures(scan)
        _refuse_tables(policy, measures)
        worst, failing = judge(scan, measures, whole_table(scan, measures))
        if failing:
            raise PolicyError(_not_met(scan, measures, worst, failing))
        divided = divide(scan, measures, request)
        boxed = judge_boxes(scan, measures, make_boxes(scan, divided.classed))
    if boxed.failing:
        raise PolicyError(
            f"classes that show the same labels do not meet {', '.join(boxed.failing)} together: labels of a hierarchy "
            "stand for different values on different levels; call them something else"
        )
    return BoxPlan(policy, source, scan, measures, boxed, divided.told)


def _refuse_tables(policy: BoxPolicy, measures: Sequence[ClassMeasure]) -> None:
    """A cut is judged by the classes that it makes; what is about all classes together depends on the others, too."""
    whole = [m.requirement.text for m in measures if m.kind == TABLE]
    if whole:
        raise PolicyError(
            f"{', '.join(whole)}: {policy.method} judges one cut at a time, and this is about the table as a whole; "
            "require k, or take generalize"
        )


def _not_met(
    scan: BoxScan, measures: Sequence[ClassMeasure], worst: Sequence[float | None], failing: Sequence[str]
) -> str:
    values = {m.requirement.text: value for m, value in zip(measures, worst, strict=True)}
    each = [f"{text} is not met: it is {_number(values[text])}" for text in failing]
    return f"even all {scan.rows:,} rows as one class do not meet the requirements: {' and '.join(each)}. Ask for less"


def _number(value: float | None) -> str:
    return "none" if value is None else shown_number(value)
