"""The points of a table grouped along the line: best for k, and merged where more is required.

The best grouping of the line knows k alone. A group that fails another requirement takes the neighbour with which it
loses least; groups pair off, so that where all of a stretch fail it is halved and not made one. After some rounds a
group that still fails takes more and more neighbours at once, so that there are never many rounds.

Classes are judged as a reader sees them: those that show the same labels are one (generalized/boxes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.boxes import Boxes, Cells, boxed_rows, make_boxes
from sqlpriv.methods.generalized.evaluate import class_columns, judged_ctes
from sqlpriv.methods.generalized.hilbert.curve import BATCH, line_of
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.points import BoxScan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sqlpriv.udfs.line import AnyLine, Numbers

    Flags = npt.NDArray[np.bool_]

Judge = Callable[["Numbers"], "Flags"]
"""Which groups fail, by the group of every point."""

_PART = 250_000
"""About how many points are read at once."""
_PATIENT = 30
"""After how many rounds groups that fail take several neighbours."""


@dataclass(frozen=True)
class Grouped:
    """The classes, and how they came about."""

    classed: Relation
    is_best: bool
    """Whether no grouping of the line into classes of so many rows loses less, before any were merged."""
    merged: int
    """How many groups were given up for other requirements than the number of rows."""
    cells: Cells


def group_points(scan: BoxScan, measures: Sequence[ClassMeasure]) -> Grouped:
    """Classes that meet every requirement, as all rows as one class do."""
    from sqlpriv.udfs.line import group_line

    cells = snapped(scan, least_rows(measures))
    with scan.source.scratch.nested() as scratch:
        line, placed = line_of(scan, scratch, least_rows(measures))
        found = group_line(line)

        def judge(groups: Numbers) -> Flags:
            with scratch.nested() as inner:
                boxes = make_boxes(scan, _classes(scan, inner, placed, groups), cells, inner)
                return _failing(scan, measures, boxes, int(groups[-1]) + 1)

        groups = merge_failing(line, found.groups, judge)
        classed = _classes(scan, scan.source.scratch, placed, groups)
    return Grouped(classed, found.is_best, int(found.groups[-1] - groups[-1]), cells)


def snapped(scan: BoxScan, people: int) -> Cells:
    """The cells of groups: from the last point at or below their rows to the first above them.

    An end needs so many people beyond it, else the cell goes on to the end of the axis. Rows stand at points already.
    """
    lower, upper, joins = {}, {}, []
    for axis in scan.ordered:
        a = axis.number
        assert scan.after is not None
        joins.append(f" LEFT JOIN {scan.after.name} AS u{a} ON u{a}.axis = {a} AND u{a}.value = s.high{a}")
        first, last = _limits(scan, axis, people)
        lower[a] = "CAST(NULL AS DOUBLE)" if first is None else f"CASE WHEN s.low{a} > {first!r} THEN s.low{a} END"
        upper[a] = "CAST(NULL AS DOUBLE)" if last is None else f"CASE WHEN u{a}.after <= {last!r} THEN u{a}.after END"
    return Cells(lower, upper, joins="".join(joins))


def _limits(scan: BoxScan, axis: Axis, people: int) -> tuple[float | None, float | None]:
    """The least point with so many people at or below it, and the greatest with as many at or above it.

    A person with several rows is where the first of them is met.
    """
    v, found = f"v{axis.number}", []
    for end, order in (("min", "ASC"), ("max", "DESC")):
        each = f"SELECT {v} AS v, n FROM {scan.points.name}"
        if scan.policy.person:
            each = f"SELECT {end}({v}) AS v, 1 AS n FROM {scan.points.name} GROUP BY holder"
        at = f"SELECT v, sum(n) AS n FROM ({each}) WHERE v IS NOT NULL GROUP BY v"
        counted = f"SELECT v, sum(n) OVER (ORDER BY v {order}) AS people FROM ({at})"
        ((limit,),) = fetch(scan.source.con, f"SELECT {end}(v) FROM ({counted}) WHERE people >= {people}")
        found.append(None if limit is None else float(limit))
    return found[0], found[1]


def least_rows(measures: Sequence[ClassMeasure]) -> int:
    """The least number of rows of a class, by the requirements."""
    thresholds = [m.requirement.threshold for m in measures if m.requirement.measure.at_most_size]
    return max(1, *(math.ceil(threshold) for threshold in [1.0, *thresholds]))


def _classes(scan: BoxScan, scratch: Scratch, placed: Relation, groups: Numbers) -> Relation:
    """The points in classes, by the groups of the points of the line."""
    import numpy as np
    import pyarrow as pa

    from sqlpriv.udfs.hilbert import arrow_of

    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    stops = np.append(starts[1:], len(groups))
    runs = scratch.arrow(pa.table({"start": arrow_of(starts), "stop": arrow_of(stops)}), "runs").name
    places = f"SELECT unnest(range(start, stop)) AS place, row_number() OVER (ORDER BY start) - 1 AS class FROM {runs}"
    return scratch.table(
        f"SELECT p.*, g.class FROM {scan.points.name} AS p JOIN {placed.name} AS l ON p.row = l.row "
        f"JOIN ({places}) AS g ON l.place = g.place",
        "classed",
    )


def _failing(scan: BoxScan, measures: Sequence[ClassMeasure], boxes: Boxes, count: int) -> Flags:
    """Which groups fail, of those that a reader sees in a class that fails; all of these where each holds alone."""
    seen = _flags(scan, measures, boxed_rows(scan, measures, boxes), f"{boxes.relation.name} WHERE box", count)
    if not seen.any():
        return seen
    groups = f"SELECT class, {', '.join(class_columns(scan, measures))} FROM {boxes.classed.name}"
    alone = _flags(scan, measures, groups, f"{boxes.relation.name} WHERE class", count)
    return seen & alone if (seen & alone).any() else seen


def _flags(scan: BoxScan, measures: Sequence[ClassMeasure], rows: str, which: str, count: int) -> Flags:
    """Which groups are among classes that fail, made of these rows."""
    import numpy as np

    failing = f"SELECT class FROM {which} IN (SELECT class FROM __priv_classes WHERE fails)"
    fails = np.zeros(count, dtype=np.bool_)
    with scan.source.scratch.nested() as scratch:
        found = scratch.table(f"WITH {judged_ctes(scan, measures, rows)} {failing}", "failing")
        for first in range(0, found.written or 0, BATCH):
            batch = f"SELECT class FROM {found.name} WHERE rowid >= {first} AND rowid < {first + BATCH}"
            fails[[int(row[0]) for row in fetch(scan.source.con, batch)]] = True
    return fails


def merge_failing(line: AnyLine, groups: Numbers, judge: Judge) -> Numbers:
    """The groups with those that fail merged with neighbours, until all hold or all of the line is one group."""
    import numpy as np

    rounds = 0
    while True:
        fails = judge(groups)
        if not fails.any() or len(fails) == 1:
            return groups
        rounds += 1
        joins = _joins(line, groups, fails, 2 ** max(0, rounds - _PATIENT))
        # Group i + 1 stays apart from group i unless they are joined.
        numbers = np.concatenate([[0], np.cumsum(~joins)])
        groups = numbers[groups]


def _joins(line: AnyLine, groups: Numbers, fails: Flags, reach: int) -> Flags:
    """Of every two groups that follow each other, whether they are merged."""
    import numpy as np

    added = added_losses(line, groups)
    joins = np.zeros(len(fails) - 1, dtype=np.bool_)
    if reach > 1:
        for group in np.flatnonzero(fails):
            joins[max(0, group - reach) : group + reach] = True
        return joins
    sides = np.concatenate([[np.inf], added, [np.inf]])
    failing = np.flatnonzero(fails)
    cheaper = failing - (sides[failing] < sides[failing + 1])
    is_taken = np.zeros(len(fails), dtype=np.bool_)
    for join in cheaper[np.argsort(added[cheaper], kind="stable")]:
        if not is_taken[join] and not is_taken[join + 1]:
            joins[join] = is_taken[join] = is_taken[join + 1] = True
    # A group that failed next to a pair, and found no partner, waits for the next round.
    return joins


def added_losses(line: AnyLine, groups: Numbers) -> npt.NDArray[np.float64]:
    """What it costs more to have two groups that follow each other as one."""
    import numpy as np

    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    ends = np.append(starts[1:], len(groups))
    # Groups that begin near each other are read together.
    runs = np.split(np.arange(len(starts)), np.flatnonzero(np.diff(starts // _PART)) + 1)
    boxes = [line.part(int(starts[r[0]]), int(ends[r[-1]])).boxed(starts[r] - starts[r[0]]) for r in runs]
    sizes = np.concatenate([box.rows for box in boxes])
    apart, together = np.zeros(len(starts)), np.zeros(len(starts) - 1)
    for a, dimension in enumerate(boxes[0].dimensions):
        low = np.concatenate([box.dimensions[a].low for box in boxes])
        high = np.concatenate([box.dimensions[a].high for box in boxes])
        apart += dimension.extents(low, high)
        together += dimension.extents(np.minimum(low[:-1], low[1:]), np.maximum(high[:-1], high[1:]))
    lost = sizes * apart
    more: npt.NDArray[np.float64] = (sizes[:-1] + sizes[1:]) * together - lost[:-1] - lost[1:]
    return more
