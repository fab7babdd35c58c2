"""Cut breadth first: in every round all partitions are cut at once, so there are as many rounds as the tree is deep.

    work     the points of partitions that may still be cut: part, and what points have
    classed  the points of those that are done: row, class

A round asks for the spans of all partitions, tries their cuts (cuts.py), moves the points of those that cannot be cut
to classed, and numbers the parts of all others anew. Nothing is ever asked of one partition alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.facts import OnProgress
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.boxes import CLASSED
from sqlpriv.methods.labelled.evaluate import class_columns
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.mondrian.cuts import Cutter


def cut_in_rounds(scan: BoxScan, measures: Sequence[ClassMeasure], on_progress: OnProgress) -> int:
    """Table classed: no class has a cut left that is allowed. How many rounds it took."""
    con, cutter = scan.source.con, Cutter(scan, measures)
    columns = ["row", *(f"v{x.number}" for x in scan.axes), *class_columns(scan, measures)]
    first = f"CREATE OR REPLACE TABLE work AS SELECT CAST(0 AS BIGINT) AS part, {', '.join(columns)} FROM points"
    points, rounds, classes, parts = int(fetch(con, first)[0][0]), 0, 0, 1
    fetch(con, f"CREATE OR REPLACE TABLE {CLASSED} (row BIGINT, class BIGINT)")
    read = ", ".join(f"w.{name}" for name in columns)
    while True:
        wishes = cutter.write_wishes()
        if on_progress:
            on_progress(1 - math.log(max(cutter.largest(), 1)) / math.log(max(scan.rows, 2)))
        taken = cutter.take_cuts(points) if wishes else 0
        done = "" if not taken else " ANTI JOIN taken AS t ON w.part = t.part"
        fetch(con, f"INSERT INTO {CLASSED} SELECT w.row, {classes} + w.part FROM work AS w{done}")
        if not taken:
            break
        rounds, classes, parts = rounds + 1, classes + parts, taken * cutter.most_parts
        rows = f"SELECT {cutter.part_of('taken')} AS part, {read} FROM {cutter.source('taken')}"
        points = int(fetch(con, f"CREATE OR REPLACE TABLE work AS {rows}")[0][0])
    fetch(con, "DROP TABLE work")
    return rounds
