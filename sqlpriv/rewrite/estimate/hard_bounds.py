"""Hard bounds over a release without noise: no table that the release may stand for lies outside them.

Such a table has, for each published row, some leaf below each of its labels, and for each suppressed row any tuple of
the domain, each row on its own. So low and high of a sum are sums over rows of the least and greatest that a row adds,
over the JOINT leaves of the columns that the query mentions. They are exact for counts and sums. The estimate takes
all leaves of a row as equally likely, or by public shares. The query over classes (classes.py) says how they are
computed.

A combination of sums is made one sum where that can be, since its parts are about the same rows. A ratio whose lower
sum counts the rows of the upper one is a mean. Of everything else the bounds are those of interval arithmetic, which
takes the parts as if they were about different rows: never too narrow. What has no such bounds has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.estimate.bounds import Bounds, Formulas
from sqlpriv.rewrite.estimate.classes import HIGH, LOW, MEAN, Classes
from sqlpriv.rewrite.estimate.forms import Bounded, Form, Linear, Ratio, times
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.sums import SUMS, Computed, Frame, NoBoundsError, Sums
from sqlpriv.rewrite.estimate.texts import Texts, formula
from sqlpriv.rewrite.release import ClassRelease


class HardSums(Sums):
    """The sums of one answer with their hard bounds, each a column of one query."""

    release: ClassRelease

    def __init__(self, texts: Texts, joins: Joins, release: ClassRelease) -> None:
        super().__init__(texts, joins, release)

    def _classes(self, groups: list[exp.Expr], needed: tuple[int, ...]) -> Classes:
        """The query over classes in these groups, about the summands of these numbers."""
        return Classes(self.release, self.joins, self.summands, groups, needed)

    def bound(self, i: int, side: str) -> str:
        """The least or greatest of a sum over all consistent tables."""
        own = self.windowed(i)
        if own is None:
            return self._column(side, i)
        if not self._is_of_true_groups(own.frame):
            raise NoBoundsError
        inner = " + ".join(self.scaled(j, c, side) for j, c in own.terms)
        return self.window_column(f"sum({inner}) {own.frame.sql()}")

    def _is_of_true_groups(self, frame: Frame) -> bool:
        """Whether no empty group changes what a frame adds up: the true answer has no empty groups."""
        keys = {c.table for keys in self.joins.groupings for key in keys for c in key.find_all(exp.Column)}
        unlisted = self.release.suppressed > 0 and any(a.unlisted and a.name in keys for a in self.release.attributes)
        return frame.start == -inf and frame.end >= 0 and not unlisted

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
        windowed = self.windowed(upper) is not None or self.windowed(lower) is not None
        if windowed or not self.is_count(lower):
            return False
        return set(self.summands[lower].filters) <= set(self.summands[upper].filters)

    def _column(self, kind: str, *numbers: int) -> str:
        """Of a mean it matters which of the two sums is which."""
        name, _ = self._columns.setdefault((kind, numbers), (f"x{len(self._columns)}", numbers))
        return f'"{SUMS}"."{name}"'

    # --- the query --------------------------------------------------------------------------------

    def query(
        self, groups: list[exp.Expr | None], budget: float, grouping: Mapping[str, int] | None = None
    ) -> Computed:
        """One row per group that is possible."""
        present = [g for g in groups if g is not None]
        columns = [(kind, numbers) for (kind, _), (_, numbers) in self._columns.items()]
        needed = dict.fromkeys(i for _, numbers in columns for i in numbers)
        classes = self._classes(present, tuple(needed))
        self._refuse_columns(classes)
        warnings = self.joins.names.warnings
        warnings += (w for w in classes.without_bounds() if w not in warnings)
        names = [name for name, _ in self._columns.values()]
        listed = [f"{classes.text(*each)} AS {name}" for each, name in zip(columns, names, strict=True)]
        place = iter(range(len(present)))
        keys = [f"NULL AS g{i}" if g is None else f"c.k{next(place)} AS g{i}" for i, g in enumerate(groups)]
        marks = [f"{value} AS {name}" for name, value in (grouping or {}).items()]
        sql = f"SELECT {', '.join([*keys, *listed, *marks]) or '1 AS nothing'} FROM ({classes.sql(budget)}) AS c"
        if present:
            sql += f" GROUP BY {', '.join(f'c.k{i}' for i in range(len(present)))}"
        return Computed(sql, classes.cost, classes.plan)

    def _refuse_columns(self, classes: Classes) -> None:
        """Refuse what the query mentions and cannot be asked of this release."""
        for attribute, place in classes.mentioned:
            if attribute.why_not is not None:
                refuse(self.joins.names.sql, place, f"the column {attribute.name!r}", attribute.why_not)


class HardFormulas(Formulas):
    """The texts of forms over a release without noise."""

    is_certain = True
    sums: HardSums

    def _bounds(self, form: Form) -> Bounds:
        if isinstance(form, Linear):
            return self._linear_bounds(form)
        if isinstance(form, Ratio):
            return self._mean(form) or self._quotient(form)
        return (form.low, form.high) if isinstance(form, Bounded) else None

    def _linear_bounds(self, form: Linear) -> tuple[str, str]:
        one = self._as_one(form)
        shift = [f"({form.shift})"] if form.shift is not None else []
        low, high = (
            " + ".join([*(self.sums.scaled(i, c, side) for i, c in one.terms.items()), *shift]) or "0e0"
            for side in (LOW, HIGH)
        )
        return self._once("b", low), self._once("b", high)

    def _mean(self, form: Ratio) -> Bounds:
        """The bounds of a mean, times a factor that is the same for all rows."""
        upper = self._as_one(form.upper)
        plain = form.upper.shift is None and form.lower.shift is None
        if not plain or len(upper.terms) != 1 or len(form.lower.terms) != 1:
            return None
        ((i, factor),), ((j, divisor),) = upper.terms.items(), form.lower.terms.items()
        if divisor != "1" or not self.sums.is_mean(i, j):
            return None
        ends = [times(factor, self.sums.mean_bound(i, j, side)) for side in (LOW, HIGH)]
        if factor != "1":
            ends = [f"{better}({', '.join(ends)})" for better in ("least", "greatest")]
        return self._once("b", ends[0]), self._once("b", ends[1])

    def _quotient(self, form: Ratio) -> Bounds:
        """Interval arithmetic, where what is divided by is a count, or a sum of such."""
        if not self._counts_rows(form.lower):
            return None
        given = [*self._linear_bounds(form.upper), *self._linear_bounds(form.lower)]
        return formula("_quotient_low", *given), formula("_quotient_high", *given)
