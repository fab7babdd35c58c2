"""Hard bounds by enumeration: every table that a generalized release may stand for is made, and asked.

A row of the release is a choice among tuples; a table is one tuple for each row. What a tuple adds to an answer is a
mapping from groups to numbers, so tables whose rows add the same are asked once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Tuple = Mapping[str, object]
Key = tuple[object, ...]
Numbers = tuple[Fraction, ...]
"""What is summed: each sum that answers are made of."""
Added = Mapping[Key, Numbers]
Adds = Callable[[Tuple], Added]
Answer = Callable[[Numbers], Fraction | None]


@dataclass(frozen=True)
class Choice:
    """The tuples that one row may stand for, and how likely each is."""

    tuples: Sequence[Tuple]
    shares: Sequence[Fraction]


@dataclass(frozen=True)
class Bounded:
    """An answer in one group: as estimated, at least and at most; None where no table has one."""

    estimate: Fraction | None
    low: Fraction | None
    high: Fraction | None


def hard_bounds(
    rows: Sequence[Choice], groups: Sequence[Key], adds: Adds, answer: Answer, width: int
) -> dict[Key, Bounded]:
    """The bounds of an answer in each group over all consistent tables; its estimate is made of estimated sums."""
    nothing = (Fraction(0),) * width
    found: dict[Key, Bounded] = {}
    added = [[adds(t) for t in row.tuples] for row in rows]
    for group in groups:
        expected = nothing
        choices: list[set[Numbers]] = []
        for row, each in zip(rows, added, strict=True):
            own = [a.get(group, nothing) for a in each]
            choices.append(set(own))
            for share, numbers in zip(row.shares, own, strict=True):
                expected = tuple(e + share * n for e, n in zip(expected, numbers, strict=True))
        answers = [a for table in _tables(choices, nothing) if (a := answer(table)) is not None]
        found[group] = Bounded(answer(expected), min(answers, default=None), max(answers, default=None))
    return found


def _tables(choices: Sequence[set[Numbers]], nothing: Numbers) -> set[Numbers]:
    """The sums of all tables. Adding row by row leaves out tables that are alike so far, and nothing else."""
    sums = {nothing}
    for own in choices:
        sums = {tuple(a + b for a, b in zip(s, n, strict=True)) for s, n in itertools.product(sums, own)}
    return sums
