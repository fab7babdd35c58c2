"""The points of a table grouped along the line: best for k, and merged where more is required.

What is judged is what a reader sees: classes that show the same labels are one (generalized/boxes.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.methods.generalized.axes import BoxScan
from sqlpriv.methods.generalized.boxes import Boxes, boxed_rows, make_boxes
from sqlpriv.methods.generalized.evaluate import class_columns, judged_ctes
from sqlpriv.methods.generalized.hilbert.merge import merge_failing
from sqlpriv.methods.generalized.hilbert.points import line_of
from sqlpriv.methods.generalized.measures import ClassMeasure

if TYPE_CHECKING:
    from sqlpriv.methods.generalized.hilbert.merge import Flags
    from sqlpriv.udfs.line import Numbers


@dataclass(frozen=True)
class Grouped:
    """The classes, and how they came about."""

    classed: Relation
    is_best: bool
    """Whether no grouping of the line into classes of so many rows loses less, before any were merged."""
    merged: int
    """How many groups were given up for what is required beyond the number of rows."""


def group_points(scan: BoxScan, measures: Sequence[ClassMeasure]) -> Grouped:
    """Classes that meet every requirement, as all rows as one class do."""
    from sqlpriv.udfs.line import group_line

    with scan.source.scratch.nested() as scratch:
        line, placed = line_of(scan, scratch, least_rows(measures))
        found = group_line(line)

        def judge(groups: Numbers) -> Flags:
            with scratch.nested() as inner:
                boxes = make_boxes(scan, _classes(scan, inner, placed, groups), inner)
                return _failing(scan, measures, boxes, int(groups[-1]) + 1)

        groups = merge_failing(line, found.groups, judge)
        classed = _classes(scan, scan.source.scratch, placed, groups)
    return Grouped(classed, found.is_best, int(found.groups[-1] - groups[-1]))


def least_rows(measures: Sequence[ClassMeasure]) -> int:
    """How many rows a class has at least, by what is required."""
    asked = [m.requirement.threshold for m in measures if m.requirement.measure.at_most_size]
    return max(1, *(math.ceil(threshold) for threshold in [1.0, *asked]))


def _classes(scan: BoxScan, scratch: Scratch, placed: Relation, groups: Numbers) -> Relation:
    """The points in classes, by the groups of the points of the line."""
    import numpy as np
    import pyarrow as pa

    from sqlpriv.udfs.hilbert import arrow_of

    con = scan.source.con
    con.register("__groups", pa.table({"place": arrow_of(np.arange(len(groups))), "class": arrow_of(groups)}))
    classed = scratch.table(
        f"SELECT p.*, g.class FROM {scan.points} AS p JOIN {placed} AS l ON p.row = l.row "
        "JOIN __groups AS g ON l.place = g.place",
        "classed",
    )
    con.unregister("__groups")
    return classed


def _failing(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes, count: int) -> Flags:
    """Which groups fail, of those that a reader sees in a class that fails; all of these where each holds alone."""
    seen = _flags(scan, measures, boxed_rows(scan, measures, boxes), f"{boxes.relation} WHERE box", count)
    if not seen.any():
        return seen
    groups = f"SELECT class, {', '.join(class_columns(scan, measures))} FROM {boxes.classed}"
    alone = _flags(scan, measures, groups, f"{boxes.relation} WHERE class", count)
    return seen & alone if (seen & alone).any() else seen


def _flags(scan: BoxScan, measures: Sequence[ClassMeasure], rows: str, which: str, count: int) -> Flags:
    """Which groups are among classes that fail, made of these rows."""
    import numpy as np

    failing = f"SELECT class FROM {which} IN (SELECT class FROM __priv_classes WHERE fails)"
    fails = np.zeros(count, dtype=np.bool_)
    found = fetch(scan.source.con, f"WITH {judged_ctes(scan, measures, rows)} {failing}")
    fails[[int(row[0]) for row in found]] = True
    return fails
