"""The hard bounds of forms: exact for combinations of sums that are one sum, and for means; outwards for the rest.

A combination of sums is made one sum where that can be, since its parts are about the same rows. A ratio whose lower
sum counts the rows of the upper one is a mean. Of everything else the bounds are those of interval arithmetic, which
takes the parts as if they were about different rows: never too narrow. What has no such bounds has none.
"""

from __future__ import annotations

from typing import TypeAlias

from sqlpriv.rewrite.estimate.bounds import Bounds, Formulas
from sqlpriv.rewrite.estimate.forms import Bounded, Exact, Form, Linear, Opaque, Ratio, Smooth, times
from sqlpriv.rewrite.estimate.hard_classes import HIGH, LOW
from sqlpriv.rewrite.estimate.hard_sums import HardSums
from sqlpriv.rewrite.estimate.intervals import formula

_Pair: TypeAlias = tuple[str, str]


class HardFormulas(Formulas):
    """The texts of forms over a release without coins."""

    def __init__(self, sums: HardSums, nonnegative: bool = False) -> None:
        super().__init__(sums, "0e0", nonnegative)
        self._hard = sums

    is_hard = True
    is_certain = True

    def smooth(self, form: Form) -> Smooth | None:
        """There are no derivatives to go by."""
        return None

    def _bounds(self, form: Form) -> Bounds:
        if isinstance(form, Linear):
            return self._linear_bounds(form)
        if isinstance(form, Ratio):
            return self._mean(form) or self._quotient(form)
        return (form.low, form.high) if isinstance(form, Bounded) else None

    def _linear_bounds(self, form: Linear) -> _Pair:
        one = self._as_one(form)
        shift = [f"({form.shift})"] if form.shift is not None else []
        low, high = (
            " + ".join([*(self._hard.scaled(i, c, side) for i, c in one.terms.items()), *shift]) or "0e0"
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
        if divisor != "1" or not self._hard.is_mean(i, j):
            return None
        ends = [times(factor, self._hard.mean_bound(i, j, side)) for side in (LOW, HIGH)]
        if factor != "1":
            ends = [f"{better}({', '.join(ends)})" for better in ("least", "greatest")]
        return self._once("b", ends[0]), self._once("b", ends[1])

    def _quotient(self, form: Ratio) -> Bounds:
        """Interval arithmetic, where what is divided by is a count, or a sum of such."""
        if not all(c == "1" and self._hard.counts_rows(i) for i, c in form.lower.terms.items()):
            return None
        given = [*self._linear_bounds(form.upper), *self._linear_bounds(Linear(form.lower.terms, form.lower.shift))]
        return formula("_quotient_low", *given), formula("_quotient_high", *given)

    def without_bounds(self, form: Form) -> Form:
        """A form whose bounds would be about other tables than the consistent ones: its value alone."""
        return form if isinstance(form, Exact) else Opaque(self.value(form))
