"""A release of boxes that could be made: the table scanned, its rows in classes, every class a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from sqlpriv.checks.measures import TABLE
from sqlpriv.core.engine import few_rows
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, shown_number
from sqlpriv.core.relation import Relation
from sqlpriv.methods.generalized.box_files import describe_boxes, published_rows
from sqlpriv.methods.generalized.boxes import (
    Boxed,
    Cells,
    by_bounds,
    judge,
    judge_boxes,
    make_boxes,
    whole_table,
)
from sqlpriv.methods.generalized.columns import ShownColumn, refuse_names
from sqlpriv.methods.generalized.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalized.points import BoxScan, scan_points
from sqlpriv.methods.generalized.policy import BoxPolicy
from sqlpriv.methods.generalized.scan import FEW, published_columns, scan_values
from sqlpriv.methods.generalized.wording import CUT_WARNINGS, value_text, written_to
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.source import Source
from sqlpriv.version import __version__


@dataclass(frozen=True)
class Divided:
    """The points in classes."""

    classed: Relation
    """Row, class, and the other columns of a point; every class meets all measures."""
    facts: Mapping[str, object]
    """Further facts of the plan, by name: how the classes were found."""
    cells: Cells
    """Where the cells of the classes end."""


@dataclass(frozen=True)
class BoxPlan(Plan[BoxPolicy]):
    """Boxes that meet every requirement, and what they cost."""

    scan: BoxScan
    measures: tuple[ClassMeasure, ...]
    boxed: Boxed
    columns: list[ShownColumn]
    """The published columns, and what a reader may know of their values."""
    divided: Divided
    """How the rows were divided."""

    @property
    def digest(self) -> str:
        """Of the columns that are published: without noise nothing depends on the others."""
        return self.scan.digest

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release."""
        policy = self.policy
        return {
            "columns": {c.name: c.seed for c in policy.columns},
            "requirements": [r.text for r in policy.requirements],
            "cuts": policy.cuts,
        }

    def warnings(self) -> tuple[str, ...]:
        """Where the cuts come from."""
        return (CUT_WARNINGS[self.policy.cuts],)

    def published_rows(self) -> str:
        """Each with the labels of its box."""
        return published_rows(self.scan, self.boxed)

    def facts(self, written: Written | None = None) -> Facts:
        """The boxes, what they meet and cost, and where the release is."""
        rows, boxed, warnings = self.scan.rows, self.boxed, self.all_warnings(written)
        worst = dict(zip((r.text for r in self.policy.requirements), boxed.worst, strict=True))
        content = {
            "version": __version__,
            "method": self.policy.method,
            "cuts": self.policy.cuts,
            "rows": rows,
            "suppressed_rows": 0,
            "classes": boxed.classes,
            "loss": boxed.loss,
            **self.divided.facts,
            "requirements": [{"requirement": text, "value": value} for text, value in worst.items()],
            "warnings": list(warnings),
            "output": None if written is None else str(written.output),
        }
        title = (
            f"{rows:,} rows in {boxed.classes:,} classes, {shown_number(rows / boxed.classes)} rows each on average; "
            f"loss {boxed.loss:.4f}"
        )
        parts = (
            Line("Loss is the width of a cell's range as a share of its column, or of its values below its label."),
            *(Line(f"{text}  (is {value_text(value)})", "holds") for text, value in worst.items()),
            *written_to(written),
        )
        return Facts(title, content, parts, warnings)


def plan_boxes(
    source: Source,
    policy: BoxPolicy,
    request: Request,
    divide: Callable[[BoxScan, tuple[ClassMeasure, ...], Request], Divided],
) -> BoxPlan:
    """Scan the table, divide its rows into classes that meet all measures, and make boxes of them.

    Requirements that cannot be met are refused.
    """
    with ExitStack() as stack:
        if is_small := source.held_rows is not None and source.held_rows <= FEW:
            stack.enter_context(few_rows(source.con))
        found = scan_values(source, policy)
        if found.is_small and not is_small:
            stack.enter_context(few_rows(source.con))
        scan = scan_points(found, policy)
        columns = describe_boxes(scan)
        refuse_names(columns, published_columns(scan))
        measures = write_measures(scan)
        if whole := [m.requirement.text for m in measures if m.kind == TABLE]:
            # A cut is judged by the classes that it makes, and this depends on the other classes, too.
            raise PolicyError(
                f"{', '.join(whole)}: {policy.method} judges one cut at a time, and this is about the table as a "
                "whole; require k, or take generalize"
            )
        worst, failing = judge(scan, measures, whole_table(scan, measures))
        if failing:
            values = {m.requirement.text: value for m, value in zip(measures, worst, strict=True)}
            each = [f"{text} is not met: it is {value_text(values[text])}" for text in failing]
            raise PolicyError(
                f"even all {scan.rows:,} rows as one class do not meet the requirements: {' and '.join(each)}. "
                "Ask for less"
            )
        divided = divide(scan, by_bounds(scan, measures), request)
        boxed = judge_boxes(scan, measures, make_boxes(scan, divided.classed, divided.cells))
    if boxed.failing:
        raise PolicyError(
            f"classes that show the same labels do not meet {', '.join(boxed.failing)} together: labels of a hierarchy "
            "stand for different values on different levels; call them something else"
        )
    return BoxPlan(policy, source, scan, measures, boxed, columns, divided)
