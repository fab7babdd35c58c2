"""Cut breadth first: in every round one cut of all partitions is tried at once (cuts.py), by one query.

Where points are few, to read and plan a query takes longer than to answer it: then all rounds are one query, which
repeats itself. Else there is one query a round, so that what does not fit into memory is on disk in between, and one
hears how far it is. Rows that are near each other in memory are near each other in the cuts, once they are sorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.facts import OnProgress
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.boxes import CLASSED
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.mondrian.cuts import Cutter

_SORTED = (6, 12)
"""After which rounds the points are sorted by their partitions."""


def cut_in_rounds(scan: BoxScan, measures: Sequence[ClassMeasure], on_progress: OnProgress) -> int:
    """Table classed: no class has a cut left that is allowed. How many rounds it took."""
    cutter = Cutter(scan, measures)
    if scan.is_small:
        work = f"{cutter.start()} UNION ALL ({cutter.round()})"
        rounds = f"WITH RECURSIVE copies AS MATERIALIZED ({cutter.copies()}), work AS ({work}) {cutter.finished()}"
        fetch(scan.source.con, f"CREATE OR REPLACE TABLE {CLASSED} AS {rounds}")
    else:
        _cut_by_steps(scan, cutter, on_progress)
    return int(fetch(scan.source.con, f"SELECT max(round) - 1 FROM {CLASSED}")[0][0])


def _cut_by_steps(scan: BoxScan, cutter: Cutter, on_progress: OnProgress) -> None:
    con, rounds, expected = scan.source.con, 0, math.log2(scan.rows)
    fetch(con, f"CREATE OR REPLACE TABLE copies AS {cutter.copies()}")
    left = int(fetch(con, f"CREATE OR REPLACE TABLE work AS {cutter.start()}")[0][0])
    fetch(con, f"CREATE OR REPLACE TABLE {CLASSED} AS {cutter.finished()}")
    while left:
        order = " ORDER BY piece" if rounds in _SORTED else ""
        left = int(fetch(con, f"CREATE OR REPLACE TABLE work AS {cutter.round()}{order}")[0][0])
        left -= int(fetch(con, f"INSERT INTO {CLASSED} {cutter.finished()}")[0][0])
        rounds += 1
        if on_progress:
            on_progress(min(rounds / expected, 0.99))
    fetch(con, "DROP TABLE work")
