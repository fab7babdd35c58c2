"""Bounds over a sample of which rare classes are suppressed: confidence limits around what classes may stand for.

Every row of the table was sampled with a known probability, so how many sampled rows meet a condition is a binomial
number. It is not known exactly: labels may stand for leaves that meet the condition and others that do not, and
suppressed rows are not seen. But it lies between two numbers for certain, and confidence limits rise with it. The lower
limit at the smaller one and the upper limit at the larger one hold at least as often as they should.

A count has the limits of a binomial number (sdgs_release.sql). A sum has them as if every row added the most that
one may add: wider than need be, never narrower. Where positive and negative values meet, both parts have limits of
their own, and so have both sums of an average: each at a confidence with which all hold together. What has no such
limits has none.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.estimate.bounds import Bounds
from sqlpriv.rewrite.estimate.classes import HIGH, LOW, Classes
from sqlpriv.rewrite.estimate.forms import Linear, Ratio, times
from sqlpriv.rewrite.estimate.hard_bounds import HardFormulas, HardSums
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.sums import ESTIMATE, NoBoundsError
from sqlpriv.rewrite.estimate.texts import Texts, formula, number, squared_quantile
from sqlpriv.rewrite.release import SampledRelease

ABOVE, BELOW = "above", "below"
MOST = "most"
_INFINITE = "CAST('inf' AS DOUBLE)"
_EXTREME = {LOW: "min", HIGH: "max", MOST: "max"}


class SampledClasses(Classes):
    """What one grouping set asks of the classes of a sample: what sampled rows add at least, and at most.

    Published classes have all their sampled rows, and `hidden` ones are classes that could be there and are not: of
    each not more rows were sampled than its copies say, and maybe none. What is positive and what is negative in a sum
    is kept apart, since rows that are not seen can only add to either. `most` is the largest that one row may add: by
    the public domain, so that it does not depend on the sample.
    """

    shows_hidden = True
    _release: SampledRelease

    def text(self, kind: str, numbers: tuple[int, ...]) -> str:
        """The estimate of a sum, or what sampled rows add at least or at most to a part of it."""
        (i,) = numbers
        if kind == ESTIMATE:
            average = self._over_leaves(f"sum(weight * {self._summand(i)})")
            seen = f"sum({self._copied(average)} / c.total) FILTER (WHERE NOT c.hidden)"
            return f"coalesce({seen}, 0e0) / {number(self._release.share)}"
        part, side = kind.split()
        sign = "" if part == ABOVE else "-"
        own = self._over_leaves(f"{_EXTREME[side]}(greatest({sign}({self._summand(i)}), 0e0))")
        if side == MOST:
            return f"coalesce(max({own}), 0e0)"
        if side == HIGH and not self._release.is_closed:
            return _INFINITE
        added = self._copied(formula(f"_class_{side}", own, "c.inside", "c.leaves"))
        return f"coalesce(sum({added}){' FILTER (WHERE NOT c.hidden)' if side == LOW else ''}, 0e0)"


class SampledSums(HardSums):
    """The sums of one answer, with what is known of the sampled rows behind each."""

    release: SampledRelease

    def __init__(self, texts: Texts, joins: Joins, release: SampledRelease) -> None:
        super().__init__(texts, joins, release)

    def _classes(self, groups: list[exp.Expr], needed: tuple[int, ...]) -> Classes:
        return SampledClasses(self.release, self.joins, self.summands, groups, needed)

    def observed(self, i: int, part: str, side: str) -> str:
        """What sampled rows add to a part of a sum at least, or at most; or the most that one of them adds."""
        own = self.windowed(i)
        if own is None:
            return self._column(f"{part} {side}", i)
        plain = self._plain(i)
        if plain is None or not self._is_of_true_groups(own.frame) or not self.release.is_closed:
            raise NoBoundsError
        return self.window_column(
            f"{'max' if side == MOST else 'sum'}({self.observed(plain, part, side)}) {own.frame.sql()}"
        )

    def may_be_negative(self, i: int) -> bool:
        """Whether a row may add less than nothing."""
        return not self.counts_rows(i) and not self.never_below_zero(i)

    def _refuse_columns(self, classes: Classes) -> None:
        super()._refuse_columns(classes)
        for attribute, place in classes.mentioned[1:]:
            first = classes.mentioned[0][0]
            if any(first.name in group and attribute.name not in group for group in self.release.groups):
                refuse(
                    self.joins.names.sql, place, f"{attribute.name!r} together with {first.name!r}",
                    "they are published in groups of their own, each a sample of other rows, and the release says "
                    "nothing about them together; ask for columns of one group: " + self._groups_in_words(),
                )  # fmt: skip

    def _groups_in_words(self) -> str:
        names = [a.name for a in self.release.attributes]
        return "; ".join(", ".join(n for n in names if n in group) for group in self.release.groups)


class SampledFormulas(HardFormulas):
    """The texts of forms over a sample."""

    is_certain = False

    sums: SampledSums

    def __init__(self, sums: SampledSums, confidence: float, nonnegative: bool) -> None:
        super().__init__(sums, nonnegative)
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
        sums = self.sums
        share = number(sums.release.share)
        if sums.is_count(i):
            zz = self._zz(parts)
            low = formula("_sampled_low", sums.observed(i, ABOVE, LOW), share, zz)
            return low, formula("_sampled_high", sums.observed(i, ABOVE, HIGH), share, zz)
        if not sums.release.is_closed:
            raise NoBoundsError
        signed = sums.may_be_negative(i)
        zz = self._zz(2 * parts if signed else parts)

        def limit(part: str, side: str) -> str:
            given = sums.observed(i, part, side), sums.observed(i, part, MOST), share, zz
            return formula(f"_sampled_sum_{side}", *given)

        if not signed:
            return limit(ABOVE, LOW), limit(ABOVE, HIGH)
        ends = [self._once("q", limit(part, side)) for part in (ABOVE, BELOW) for side in (LOW, HIGH)]
        return f"{ends[0]} - {ends[3]}", f"{ends[1]} - {ends[2]}"

    def _mean(self, form: Ratio) -> Bounds:
        """The limits of both sums together; an average of a column lies within its public domain, too."""
        upper = self._linear_bounds(form.upper, parts=2)
        lower = self._linear_bounds(form.lower, parts=2)
        if not self._counts_rows(form.lower):
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
        if form.domain is not None and self.sums.release.is_closed:
            return self._ends_of(form.domain)
        upper, lower = self._as_one(form.upper), form.lower
        plain = form.upper.shift is None and form.lower.shift is None and len(upper.terms) == len(lower.terms) == 1
        if not plain or set(upper.terms.values()) | set(lower.terms.values()) != {"1"}:
            return None
        (i,), (j,) = upper.terms, lower.terms
        return ("0e0", "1e0") if self.sums.is_count(i) and self.sums.is_mean(i, j) else None

    def _quotient(self, form: Ratio) -> Bounds:
        """Where it is no average, it is not known how both sums vary together: no bounds."""
        return None
