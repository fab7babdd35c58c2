"""The bounds of forms over a sample: confidence limits of the coins around hard bounds of what labels hide.

A count has the limits of a binomial number (sdgs_release.sql). A sum has them as if every row added the most that
one may add: wider than need be, never narrower. Where positive and negative values meet, both parts have limits of
their own, and so have both sums of an average: each at a confidence with which all hold together. What has no such
limits has none.
"""

from __future__ import annotations

from sqlpriv.rewrite.estimate.bounds import Bounds
from sqlpriv.rewrite.estimate.forms import Linear, Ratio, times
from sqlpriv.rewrite.estimate.hard_bounds import HardFormulas
from sqlpriv.rewrite.estimate.hard_classes import HIGH, LOW
from sqlpriv.rewrite.estimate.intervals import formula, squared_quantile
from sqlpriv.rewrite.estimate.sampled_classes import ABOVE, BELOW, MOST
from sqlpriv.rewrite.estimate.sampled_sums import SampledSums
from sqlpriv.rewrite.estimate.texts import number
from sqlpriv.rewrite.estimate.windowed import NoBoundsError


class SampledFormulas(HardFormulas):
    """The texts of forms over a sample."""

    is_certain = False

    def __init__(self, sums: SampledSums, confidence: float, nonnegative: bool = False) -> None:
        super().__init__(sums, nonnegative)
        self._sampled = sums
        self._confidence = confidence

    def _zz(self, parts: int) -> str:
        """The square of z for limits of which so many hold together at the confidence that is asked for."""
        return squared_quantile(1 - (1 - self._confidence) / parts)

    def _linear_bounds(self, form: Linear, parts: int = 1) -> tuple[str, str]:
        one = self._as_one(form)
        if len(one.terms) > 1:
            raise NoBoundsError
        shift = form.shift if form.shift is not None else "0e0"
        if not one.terms:
            return shift, shift
        ((i, coefficient),) = one.terms.items()
        low, high = (self._once("i", end) for end in self._limits(i, parts))
        if coefficient != "1":
            ends = f"{times(coefficient, low)}, {times(coefficient, high)}"
            low, high = f"least({ends})", f"greatest({ends})"
        if form.shift is not None:
            low, high = f"{low} + ({shift})", f"{high} + ({shift})"
        return self._once("b", low), self._once("b", high)

    def _limits(self, i: int, parts: int) -> tuple[str, str]:
        """The confidence limits of a sum."""
        assert self._sampled.release.sampling is not None
        share, sums = number(self._sampled.release.sampling.share), self._sampled
        if sums.counts_single_rows(i):
            zz = self._zz(parts)
            low = formula("_sampled_low", sums.seen(i, ABOVE, LOW), share, zz)
            return low, formula("_sampled_high", sums.seen(i, ABOVE, HIGH), share, zz)
        if not sums.is_closed:
            raise NoBoundsError
        signed = sums.may_be_negative(i)
        zz = self._zz(2 * parts if signed else parts)

        def limit(part: str, side: str) -> str:
            given = sums.seen(i, part, side), sums.seen(i, part, MOST), share, zz
            return formula(f"_sampled_sum_{side}", *given)

        if not signed:
            return limit(ABOVE, LOW), limit(ABOVE, HIGH)
        ends = [self._once("q", limit(part, side)) for part in (ABOVE, BELOW) for side in (LOW, HIGH)]
        return f"{ends[0]} - {ends[3]}", f"{ends[1]} - {ends[2]}"

    def _mean(self, form: Ratio) -> Bounds:
        """The limits of both sums together; an average of a column lies within its public domain, too."""
        upper = self._linear_bounds(form.upper, parts=2)
        lower = self._linear_bounds(form.lower, parts=2)
        if not self._counts(form.lower):
            return None
        low, high = (formula(f"_quotient_{side}", *upper, *lower) for side in (LOW, HIGH))
        ends = self._range(form)
        if ends is not None:
            low, high = (
                f"least(greatest(coalesce({text}, {end}), {ends[0]}), {ends[1]})"
                for text, end in ((f"({low})", ends[0]), (f"({high})", ends[1]))
            )
        return low, high

    def _range(self, form: Ratio) -> tuple[str, str] | None:
        """Between what an average lies in any case: the ends of a public domain, or 0 and 1."""
        if form.domain is not None and self._sampled.is_closed:
            least, most = (
                self._once("r", f'(SELECT CAST({end}("value") AS DOUBLE) FROM {form.domain})') for end in ("min", "max")
            )
            return least, most
        upper, lower = self._as_one(form.upper), form.lower
        plain = form.upper.shift is None and form.lower.shift is None and len(upper.terms) == len(lower.terms) == 1
        if not plain or set(upper.terms.values()) | set(lower.terms.values()) != {"1"}:
            return None
        (i,), (j,) = upper.terms, lower.terms
        return ("0e0", "1e0") if self._sampled.counts_single_rows(i) and self._sampled.is_mean(i, j) else None

    def _counts(self, form: Linear) -> bool:
        return all(c == "1" and self._sampled.counts_rows(i) for i, c in form.terms.items())

    def _quotient(self, form: Ratio) -> Bounds:
        """Where it is no average, nothing is known of how both sums hang together: no bounds."""
        return None
