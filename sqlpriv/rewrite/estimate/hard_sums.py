"""Sums over a release without coins: the estimate of each, and the least and greatest that any consistent table has.

Consistent is every table that has, for each published row, some leaf below each of its labels, and for each suppressed
row any tuple of the domain, each row on its own. So low and high of a sum are sums over rows of the least and greatest
that a row adds, over the JOINT leaves of the columns that the query mentions: exact for counts and sums. The estimate
takes all leaves of a row as equally likely, or by public shares.

1. `Release.rows(columns)` lists for each class of rows its leaves, of the columns mentioned alone.
2. These are joined, filtered and grouped as the query says; a class has in each group its leaves inside, and what they
   add at least, at most and on average. Where a row may meet several joined rows, each leaf is summed up first.
3. Classes are summed with their copies. A leaf outside the group adds 0 (bounds.sql, _class_low and _class_high).
4. A mean is greatest where all rows that must be in it have their largest value, and of those that may be the largest:
   sorted by it, one of the beginnings of the list. So only finitely many means matter, and a window finds them all.
5. Where a suppressed row may have values that no list has, it adds between 0 and 1 to a count, anything to a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import ClassVar

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.estimate.bucket_classes import classes_of
from sqlpriv.rewrite.estimate.forms import times
from sqlpriv.rewrite.estimate.hard_classes import HIGH, LOW, MEAN, Classes
from sqlpriv.rewrite.estimate.sums import SUMS, Computed
from sqlpriv.rewrite.estimate.windowed import NoBoundsError, WindowedSums


class HardSums(WindowedSums):
    """The sums of one answer with their hard bounds, each a column of one query."""

    classes: ClassVar[Callable[..., Classes]] = staticmethod(classes_of)
    """What makes the query over classes."""

    def bound(self, i: int, side: str) -> str:
        """The least or greatest of a sum over all consistent tables."""
        if not self.is_windowed(i):
            return self._column(side, i)
        terms, frame = self.parts_of(i)
        # Only frames that no empty group changes are those of the true answer, which has no empty groups.
        if frame.start != -inf or frame.end < 0 or self._groups_may_be_unlisted():
            raise NoBoundsError
        inner = " + ".join(self.scaled(j, c, side) for j, c in terms.items())
        return self.window_column(f"sum({inner}) {frame.sql()}")

    def scaled(self, i: int, coefficient: str, side: str) -> str:
        """A coefficient times a sum, at least or at most."""
        if coefficient == "1":
            return self.bound(i, side)
        ends = (times(coefficient, self.bound(i, each)) for each in (LOW, HIGH))
        return f"{'least' if side == LOW else 'greatest'}({', '.join(ends)})"

    def mean_bound(self, upper: int, lower: int, side: str) -> str:
        """The least or greatest mean of what one sum adds, over the rows that another one counts."""
        return self._column(f"{MEAN}{side}", upper, lower)

    def is_mean(self, upper: int, lower: int) -> bool:
        """Whether one sum over another is a mean: the lower counts rows, and the upper is of no others."""
        if self.joins.multiply or self.is_windowed(upper) or self.is_windowed(lower) or not self.is_count(lower):
            return False
        return set(self.summands[lower].filters) <= set(self.summands[upper].filters)

    def _column(self, kind: str, *numbers: int) -> str:
        """As of all sums; of a mean it matters which of the two is which."""
        name, _ = self._columns.setdefault((kind, numbers), (f"x{len(self._columns)}", numbers))
        return f'"{SUMS}"."{name}"'

    # --- the query --------------------------------------------------------------------------------

    def query(
        self, groups: list[exp.Expr | None], budget: float, grouping: Mapping[str, int] | None = None
    ) -> Computed:
        """One row per group that is possible, with all columns asked for; a group that is None is NULL here."""
        present = [g for g in groups if g is not None]
        asked = [(kind, numbers) for (kind, _), (_, numbers) in self._columns.items()]
        needed = dict.fromkeys(i for _, numbers in asked for i in numbers)
        classes = self.classes(self.release, self.joins, self.summands, present, tuple(needed))
        self._refuse_hidden(classes)
        names = [name for name, _ in self._columns.values()]
        listed = [f"{classes.text(*each)} AS {name}" for each, name in zip(asked, names, strict=True)]
        place = iter(range(len(present)))
        keys = [f"NULL AS g{i}" if g is None else f"c.k{next(place)} AS g{i}" for i, g in enumerate(groups)]
        marks = [f"{value} AS {name}" for name, value in (grouping or {}).items()]
        sql = f"SELECT {', '.join([*keys, *listed, *marks]) or '1 AS nothing'} FROM ({classes.sql(budget)}) AS c"
        if present:
            sql += f" GROUP BY {', '.join(f'c.k{i}' for i in range(len(present)))}"
        return Computed(sql, classes.cost, classes.plan)

    def _refuse_hidden(self, classes: Classes) -> None:
        for attribute, place in classes.mentioned:
            if attribute.why_not is not None:
                refuse(self.joins.names.sql, place, f"the column {attribute.name!r}", attribute.why_not)
        for attribute, place in classes.mentioned[1:]:
            first = classes.mentioned[0][0]
            if any(first.name in group and attribute.name not in group for group in self.release.apart):
                refuse(
                    self.joins.names.sql, place, f"{attribute.name!r} together with {first.name!r}",
                    "they are published in groups of their own, each a sample of other rows, so that nothing is "
                    "known of them together; ask for columns of one group: " + self._groups_in_words(),
                )  # fmt: skip

    def _groups_in_words(self) -> str:
        names = [a.name for a in self.release.attributes]
        return "; ".join(", ".join(n for n in names if n in group) for group in self.release.apart)

    def _groups_may_be_unlisted(self) -> bool:
        keys = {c.table for keys in self.joins.groupings for key in keys for c in key.find_all(exp.Column)}
        return self.release.suppressed > 0 and any(a.unlisted and a.name in keys for a in self.release.attributes)
