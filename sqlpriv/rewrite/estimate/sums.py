"""The sums that estimates need: numbered while an answer is put together, then computed in one query.

Forms and bounds name a sum by its number, and get the column that has its estimate. Sums over several groups of an
answer, as sum(count(*)) OVER (...) adds them up, have numbers too. How a sum is estimated, and what else is computed of
it, depends on the release: noisy_sums, hard_bounds, buckets and sampled_bounds each have their kind of Sums.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlpriv.rewrite.estimate.forms import times
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.summands import Summands, is_never_below_zero
from sqlpriv.rewrite.estimate.texts import Texts
from sqlpriv.rewrite.release import Release

SUMS = "__priv_s"
ESTIMATE = "e"
"""The kind of column that estimates a sum."""
_FIRST = 1_000_000
"""Numbers of windowed sums begin here; those below are of plain ones."""


class NoBoundsError(Exception):
    """There are no sound bounds: two frames have groups in common that no frame is, say."""


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

    @property
    def has_current(self) -> bool:
        """Whether the current group is in it."""
        return self.start <= 0 <= self.end

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


def _side(at: float, unbounded: str) -> str:
    if math.isinf(at):
        return f"UNBOUNDED {unbounded}"
    return "CURRENT ROW" if at == 0 else f"{abs(int(at))} {'PRECEDING' if at < 0 else 'FOLLOWING'}"


@dataclass(frozen=True)
class Windowed:
    """A combination of sums, added up over a frame; `filled` where no group at all counts as 0."""

    terms: tuple[tuple[int, str], ...]
    frame: Frame
    filled: bool = False


@dataclass(frozen=True)
class Computed:
    """The SQL of the sums, what it costs, and how it goes, for people."""

    sql: str
    cost: float
    plan: str


class Sums(ABC):
    """The sums of one answer. Given its joins, it owns its summands."""

    def __init__(self, texts: Texts, joins: Joins, release: Release) -> None:
        self.release = release
        self.joins = joins
        self.summands = Summands(texts)
        self._columns: dict[tuple[str, object], tuple[str, tuple[int, ...]]] = {}
        """What is computed: under which name, and the numbers of the summands that it is about."""
        self._windowed: list[Windowed] = []
        self.window_columns: dict[str, str] = {}
        """The columns to compute over the sums: their texts and names."""

    @abstractmethod
    def query(
        self, groups: list[exp.Expr | None], budget: float, grouping: Mapping[str, int] | None = None
    ) -> Computed:
        """One row per group, with all columns asked for and what `grouping` names; a group that is None is NULL."""

    @abstractmethod
    def _column(self, kind: str, *numbers: int) -> str:
        """The column with a number of that kind about these plain sums."""

    # --- sums over groups -------------------------------------------------------------------------

    def over(self, terms: Mapping[int, str], frame: Frame, filled: bool = False) -> int:
        """The number of a combination of sums, added up over a frame."""
        made = Windowed(tuple(terms.items()), frame, filled)
        if made not in self._windowed:
            self._windowed.append(made)
        return _FIRST + self._windowed.index(made)

    def windowed(self, i: int) -> Windowed | None:
        """The sum over groups that a number is of, None if it is one of a single group."""
        return self._windowed[i - _FIRST] if i >= _FIRST else None

    def filled(self, i: int) -> int:
        """The same with 0 where the frame is empty."""
        made = replace(self._windowed[i - _FIRST], filled=True)
        return self.over(dict(made.terms), made.frame, filled=True)

    def may_be_empty(self, i: int) -> bool:
        """Whether there are rows with no group in the frame."""
        own = self.windowed(i)
        return own is not None and not own.filled and not own.frame.has_current

    def window_column(self, text: str) -> str:
        """A window function as a column next to the sums."""
        return f'"{SUMS}"."{self.window_columns.setdefault(text, f"x_{len(self.window_columns)}")}"'

    # --- what forms ask ---------------------------------------------------------------------------

    def estimate(self, i: int) -> str:
        """The estimate of a sum."""
        return self._added(ESTIMATE, i)

    def _added(self, kind: str, i: int) -> str:
        """A column of a sum, or, over groups, the sum of these columns."""
        own = self.windowed(i)
        if own is None:
            return self._column(kind, i)
        inner = " + ".join(times(c, self._column(kind, j)) for j, c in own.terms)
        column = self.window_column(f"sum({inner}) {own.frame.sql()}")
        return f"coalesce({column}, 0e0)" if own.filled else column

    def is_count(self, i: int) -> bool:
        """Whether a summand is 0 or 1 for every row of the private table."""
        return self.counts_rows(i) and not self.joins.multiply

    def counts_rows(self, i: int) -> bool:
        """Whether a summand is a count, perhaps of joined rows."""
        plain = self._plain(i)
        return plain is not None and not self.summands[plain].factors

    def never_below_zero(self, i: int) -> bool:
        """Whether all that a summand sums is known to be at least 0."""
        plain = self._plain(i)
        return plain is not None and all(
            is_never_below_zero(self.summands.node(f), self.release) for f in self.summands[plain].factors
        )

    def _plain(self, i: int) -> int | None:
        """The one sum that is added up over groups; None where it is a combination of several."""
        own = self.windowed(i)
        if own is None:
            return i
        ((plain, coefficient), *others) = own.terms
        return plain if coefficient == "1" and not others else None
