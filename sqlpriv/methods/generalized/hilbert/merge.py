"""Merge groups of a line that do not hold what is required with a neighbour, until all hold.

The best grouping of the line knows k alone. A group that fails takes the neighbour with which it loses least; groups
pair off, so that where all of a stretch fail it is halved and not made one. After some rounds a group that still fails
takes more and more neighbours at once, so that there are never many rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sqlpriv.udfs.line import Line, Numbers

    Flags = npt.NDArray[np.bool_]

Judge = Callable[["Numbers"], "Flags"]
"""Which groups fail, by the group of every point."""

_PATIENT = 30
"""After how many rounds groups that fail take several neighbours."""


def merge_failing(line: Line, groups: Numbers, judge: Judge) -> Numbers:
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


def _joins(line: Line, groups: Numbers, fails: Flags, reach: int) -> Flags:
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
    # What failed beside a pair, and found nobody, waits for the next round.
    return joins


def added_losses(line: Line, groups: Numbers) -> npt.NDArray[np.float64]:
    """What it costs more to have two groups that follow each other as one."""
    import numpy as np

    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.add.reduceat(line.rows, starts)
    apart, together = np.zeros(len(starts)), np.zeros(len(starts) - 1)
    for dimension in line.dimensions:
        low, high = np.minimum.reduceat(dimension.low, starts), np.maximum.reduceat(dimension.high, starts)
        apart += dimension.extents(low, high)
        together += dimension.extents(np.minimum(low[:-1], low[1:]), np.maximum(high[:-1], high[1:]))
    lost = sizes * apart
    return (sizes[:-1] + sizes[1:]) * together - lost[:-1] - lost[1:]
