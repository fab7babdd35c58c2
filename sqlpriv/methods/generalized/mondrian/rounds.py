"""Cut breadth first: in every round one cut of all partitions is tried at once (cuts.py), by one query.

Where points are few, to read and plan a query takes longer than to answer it: then all rounds are one query, which
repeats itself. Else there is one query a round, so that what does not fit into memory is on disk in between, and one
hears how far it is. Rows that are near each other in memory are near each other in the cuts, once they are sorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import OnProgress
from sqlpriv.core.relation import Relation
from sqlpriv.methods.generalized.axes import BoxScan
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.mondrian.cuts import COPIES, WORK, Cutter

_SORTED = (6, 12)
"""After which rounds the points are sorted by their partitions."""


def cut_in_rounds(scan: BoxScan, measures: Sequence[ClassMeasure], on_progress: OnProgress) -> tuple[Relation, int]:
    """The points in classes, none of which has a cut left that is allowed; and how many rounds it took."""
    cutter = Cutter(scan, measures)
    if scan.is_small:
        work = f"{cutter.start()} UNION ALL ({cutter.round()})"
        steps = f"{COPIES} AS MATERIALIZED ({cutter.copies()}), {WORK} AS ({work})"
        classed = scan.source.scratch.table(f"WITH RECURSIVE {steps} {cutter.finished()}", "classed")
    else:
        classed = _cut_by_steps(scan, cutter, on_progress)
    return classed, int(fetch(scan.source.con, f"SELECT max(round) - 1 FROM {classed}")[0][0])


def _cut_by_steps(scan: BoxScan, cutter: Cutter, on_progress: OnProgress) -> Relation:
    con, rounds, expected = scan.source.con, 0, math.log2(scan.rows)
    with scan.source.scratch.nested() as scratch:
        copies = scratch.table(cutter.copies(), "copies").name
        work = scratch.table(cutter.start(), "work")
        classed = scan.source.scratch.table(cutter.finished(work.name), "classed")
        left = work.written or 0
        while left:
            order = " ORDER BY piece" if rounds in _SORTED else ""
            last, work = work, scratch.table(f"{cutter.round(work.name, copies)}{order}", "work")
            scratch.drop(last)
            left = (work.written or 0) - int(fetch(con, f"INSERT INTO {classed} {cutter.finished(work.name)}")[0][0])
            rounds += 1
            if on_progress:
                on_progress(min(rounds / expected, 0.99))
    return classed
