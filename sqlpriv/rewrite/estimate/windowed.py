"""Sums over several groups of an answer: what sum(count(*)) OVER (...) adds up, with its moments.

Groups are about different rows, so the moments of a sum over groups are sums of theirs, over the groups that all of its
factors have in common. Where the variance has products of sums in it (release.cross_estimate), these products are of
the sums over all groups. Frames that cannot be compared have no such moments, and what needs them no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlpriv.rewrite.estimate.forms import times
from sqlpriv.rewrite.estimate.multiplying import Joins
from sqlpriv.rewrite.estimate.sums import SUMS, Sums
from sqlpriv.rewrite.estimate.texts import Texts, number

_FIRST = 1_000_000
"""Numbers of windowed sums begin here; those below are of plain ones."""


class NoBoundsError(Exception):
    """Two frames have groups in common that no frame is."""


@dataclass(frozen=True)
class Frame:
    """The groups that a window adds up: rows of a partition in an order, by their distance from the current one."""

    partition: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    start: float = -math.inf
    end: float = math.inf

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the partition."""
        return self.start == -math.inf and self.end == math.inf

    def sql(self) -> str:
        """As text, after OVER."""
        parts = [f"PARTITION BY {', '.join(sorted(self.partition))}"] if self.partition else []
        parts += [f"ORDER BY {', '.join(self.order)}"] if self.order else []
        if not self.is_whole:
            parts.append(f"ROWS BETWEEN {_side(self.start, 'PRECEDING')} AND {_side(self.end, 'FOLLOWING')}")
        return f"OVER ({' '.join(parts)})"

    def common(self, other: Frame) -> Frame | None:
        """The groups of both, or none."""
        if self.partition == other.partition and self.order == other.order:
            start, end = max(self.start, other.start), min(self.end, other.end)
            return Frame(self.partition, self.order, start, end) if start <= end else None
        for one, two in ((self, other), (other, self)):
            # All of a partition has the groups of a finer one in it.
            if one.is_whole and one.partition <= two.partition:
                return two
        raise NoBoundsError


@dataclass(frozen=True)
class _Windowed:
    """Terms, added up over a frame; `filled` where nothing counts as 0."""

    terms: tuple[tuple[int, str], ...]
    frame: Frame
    filled: bool = False


class WindowedSums(Sums):
    """The sums of one answer, and sums of these over its groups."""

    def __init__(self, texts: Texts, joins: Joins) -> None:
        super().__init__(texts, joins)
        self._windowed: list[_Windowed] = []
        self._texts: dict[str, str] = {}

    def over(self, terms: dict[int, str], frame: Frame, filled: bool = False) -> int:
        """The number of a combination of sums, added up over a frame."""
        made = _Windowed(tuple(terms.items()), frame, filled)
        if made not in self._windowed:
            self._windowed.append(made)
        return _FIRST + self._windowed.index(made)

    def filled(self, i: int) -> int:
        """The same with 0 where the frame is empty."""
        found = replace(self._windowed[i - _FIRST], filled=True)
        return self.over(dict(found.terms), found.frame, filled=True)

    def is_windowed(self, i: int) -> bool:
        """Whether a number is that of a sum over groups."""
        return i >= _FIRST

    def may_be_empty(self, i: int) -> bool:
        """Whether there are rows with no group in the frame."""
        if i < _FIRST or self._windowed[i - _FIRST].filled:
            return False
        frame = self._windowed[i - _FIRST].frame
        return not frame.start <= 0 <= frame.end

    def window_columns(self) -> dict[str, str]:
        """The columns to compute over the sums: their texts and names."""
        return self._texts

    def window_column(self, text: str) -> str:
        """A window function as a column beside the sums."""
        return f'"{SUMS}"."{self._texts.setdefault(text, f"x_{len(self._texts)}")}"'

    def parts_of(self, i: int) -> tuple[dict[int, str], Frame]:
        """The terms of a windowed sum, and its frame."""
        found = self._windowed[i - _FIRST]
        return dict(found.terms), found.frame

    # --- as of plain sums -------------------------------------------------------------------------

    def estimate(self, i: int) -> str:
        if i < _FIRST:
            return super().estimate(i)
        return self._added(i, super().estimate)

    def domain_total(self, i: int) -> str:
        if i < _FIRST:
            return super().domain_total(i)
        return self._added(i, super().domain_total)

    def _added(self, i: int, of: Callable[[int], str]) -> str:
        found = self._windowed[i - _FIRST]
        inner = " + ".join(times(c, of(j)) for j, c in found.terms)
        column = self.window_column(f"sum({inner}) {found.frame.sql()}")
        return f"coalesce({column}, 0e0)" if found.filled else column

    def variance(self, i: int, j: int) -> str:
        if max(i, j) < _FIRST:
            return super().variance(i, j)
        text = self.raw_variance(i, j)
        if not self.release.has_cross_terms:
            return text
        f1, f2, e1, e2 = self.domain_total(i), self.domain_total(j), self.estimate(i), self.estimate(j)
        half, square = number(self.release.cross_estimate / 2), number(self.release.cross_square)
        return f"({text} + {half} * ({f1} * ({e2}) + {f2} * ({e1})) + {square} * {f1} * {f2})"

    def raw_variance(self, i: int, j: int) -> str:
        return self._moment(super().raw_variance, i, j)

    def view_variance(self, i: int, j: int) -> str:
        return self._moment(super().view_variance, i, j)

    def third(self, i: int, j: int, k: int) -> str:
        return self._moment(super().third, i, j, k)

    def view_third(self, i: int, j: int, k: int) -> str:
        return self._moment(super().view_third, i, j, k)

    def _moment(self, of: Callable[..., str], *numbers: int) -> str:
        """A moment of sums, each of the current group or over a frame."""
        if max(numbers) < _FIRST:
            return of(*numbers)
        frames = [self._windowed[i - _FIRST].frame for i in numbers if i >= _FIRST]
        alone = len(frames) < len(numbers)
        common: Frame | None = frames[0]
        if alone:
            common = common if all(frame.start <= 0 <= frame.end for frame in frames) else None
        else:
            for frame in frames[1:]:
                common = common.common(frame) if common is not None else None
        if common is None:
            return "0e0"
        products: list[tuple[tuple[int, ...], str]] = [((), "1")]
        for i in numbers:
            terms = self._windowed[i - _FIRST].terms if i >= _FIRST else ((i, "1"),)
            products = [
                ((*before, j), c if coefficient == "1" else times(coefficient, c))
                for before, coefficient in products
                for j, c in terms
            ]
        inner = " + ".join(times(c, of(*chosen)) for chosen, c in products)
        if alone:
            return f"({inner})"
        return f"coalesce({self.window_column(f'sum({inner}) {common.sql()}')}, 0e0)"

    def counted(self, i: int) -> int:
        if i < _FIRST:
            return super().counted(i)
        found = self._windowed[i - _FIRST]
        return self.over({super().counted(found.terms[0][0]): "1"}, found.frame, found.filled)

    def is_count(self, i: int) -> bool:
        if i < _FIRST:
            return super().is_count(i)
        terms = self._windowed[i - _FIRST].terms
        return len(terms) == 1 and terms[0][1] == "1" and super().is_count(terms[0][0])

    def counts_rows(self, i: int) -> bool:
        if i < _FIRST:
            return super().counts_rows(i)
        terms = self._windowed[i - _FIRST].terms
        return len(terms) == 1 and terms[0][1] == "1" and super().counts_rows(terms[0][0])

    def never_below_zero(self, i: int) -> bool:
        if i < _FIRST:
            return super().never_below_zero(i)
        terms = self._windowed[i - _FIRST].terms
        return len(terms) == 1 and terms[0][1] == "1" and super().never_below_zero(terms[0][0])


def _side(at: float, unbounded: str) -> str:
    if math.isinf(at):
        return f"UNBOUNDED {unbounded}"
    return "CURRENT ROW" if at == 0 else f"{abs(int(at))} {'PRECEDING' if at < 0 else 'FOLLOWING'}"
