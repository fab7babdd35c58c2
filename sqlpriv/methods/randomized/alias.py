"""Draw a value by public shares from one 60-bit word: the alias method, in whole numbers.

The word modulo the size picks a cell, the rest of the word decides between the cell's own value and the one it lends
its room to. What is drawn then has not quite the shares asked for, but shares that are known exactly, and these are the
ones that the release states and the estimator uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_WORD = 2**60


@dataclass(frozen=True)
class Alias:
    """An alias table: below `cuts` a cell is its own value, else that of `others`; and the shares that this makes."""

    cuts: tuple[int, ...]
    others: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def pick(self) -> str:
        """SQL for the number drawn; {} stands for the word."""
        size = len(self.cuts)
        if len(set(self.shares)) == 1 and all(other == i for i, other in enumerate(self.others)):
            return f"{{}} % {size}"
        cell = f"1 + {{}} % {size}"
        return (
            f"CASE WHEN {{}} // {size} < {_list(self.cuts)}[{cell}] THEN {{}} % {size} "
            f"ELSE {_list(self.others)}[{cell}] END"
        )


def _list(numbers: Sequence[int]) -> str:
    return f"CAST([{', '.join(map(str, numbers))}] AS BIGINT[])"


def make_alias(shares: Sequence[float] | None, size: int) -> Alias:
    """The alias table of some shares, which need not add up to 1; all equal when there are none.

    >>> [str(s) for s in make_alias(None, 4).shares]
    ['1/4', '1/4', '1/4', '1/4']
    """
    room = _WORD // size
    whole = [Fraction(s) for s in shares] if shares is not None else [Fraction(1)] * size
    total = sum(whole, Fraction(0))
    wanted = [round(s / total * size * room) for s in whole]
    wanted[0] += size * room - sum(wanted)
    cuts, others = [room] * size, list(range(size))
    small = [i for i, w in enumerate(wanted) if w < room]
    large = [i for i, w in enumerate(wanted) if w > room]
    left = list(wanted)
    while small and large:
        low, high = small.pop(), large[-1]
        cuts[low], others[low] = left[low], high
        left[high] -= room - left[low]
        if left[high] <= room:
            large.pop()
            if left[high] < room:
                small.append(high)
    drawn = [0] * size
    for i, (cut, other) in enumerate(zip(cuts, others, strict=True)):
        drawn[i] += cut
        drawn[other] += room - cut
    return Alias(tuple(cuts), tuple(others), tuple(Fraction(d, size * room) for d in drawn))
