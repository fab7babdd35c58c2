"""The bounds of forms over a noisy release: confidence intervals, by the formulas of sql/estimates/estimate.sql.

A combination of sums has the score interval, the ratio of two Fieller's, other arithmetic the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement

from sqlglot import exp

from sqlpriv.core.sqltext import NUMERIC_TYPE
from sqlpriv.rewrite.estimate.bounds import Bounds, Formulas
from sqlpriv.rewrite.estimate.forms import Bounded, Exact, Form, Linear, Ratio, Smooth, add, quotient, scale, times
from sqlpriv.rewrite.estimate.noisy_sums import NoisySums
from sqlpriv.rewrite.estimate.summands import Summand, present
from sqlpriv.rewrite.estimate.texts import formula, number, widest
from sqlpriv.rewrite.syntax import without_parentheses

_MOST_TERMS_WITH_SKEW = 5


class NoisyFormulas(Formulas):
    """The texts of forms over a noisy release; `zz` is the square of the z of its intervals, as SQL text."""

    is_conservative = False
    sums: NoisySums

    def __init__(self, sums: NoisySums, zz: str, nonnegative: bool, apart: bool, deviations: bool) -> None:
        # Bounding values above and below 0 apart, and combined sums as one, takes variances that are sums over rows.
        super().__init__(sums, nonnegative, combines=apart and not sums.release.has_cross_terms)
        self.deviations = deviations
        self.zz = zz

    def half(self, form: Smooth) -> str:
        """Half the interval by the delta method."""
        return self._once("i", formula("_delta_half", self._squared(form.slopes, form.slopes), self.zz))

    def on_fisher_scale(self, form: Smooth) -> Smooth | Bounded:
        if self.deviations:
            return form
        half = self.half(form)
        ends = (formula("_fisher_bound", form.text, f"{sign}{half}") for sign in ("-", ""))
        return Bounded(formula("_clamped", form.text, "-1e0", "1e0"), *ends)

    def _around(self, centre: str, half: str) -> tuple[str, str]:
        middle, width = self._once("i", centre), self._once("i", half)
        return f"{middle} - {width}", f"{middle} + {width}"

    def _bounds(self, form: Form) -> Bounds:
        if self.deviations and isinstance(form, (Linear, Ratio)):
            form = self.smooth(form) or form
        if isinstance(form, Linear):
            low, high = self._score(form)
            return (f"greatest({low}, 0e0)", f"greatest({high}, 0e0)") if self._clamped(form) else (low, high)
        if isinstance(form, Ratio):
            low, high = self._fieller(form)
            ends = self._possible(form)
            return (low, high) if ends is None else self._within(form, ends, low, high)
        if isinstance(form, Smooth):
            middle = self._once("i", form.text)
            return f"{middle} - {self.half(form)}", f"{middle} + {self.half(form)}"
        return (form.low, form.high) if isinstance(form, Bounded) else None

    def _possible(self, form: Ratio) -> tuple[str, str] | None:
        """An average lies within the domain of its column, and a share between 0 and what it is a share of."""
        if form.domain is not None:
            return self._ends_of(form.domain)
        plain = form.upper.shift is None and form.lower.shift is None
        if not plain or len(form.upper.terms) != 1 or len(form.lower.terms) != 1:
            return None
        ((i, factor),), ((j, divisor),) = form.upper.terms.items(), form.lower.terms.items()
        if divisor != "1":
            return None
        if (ends := self._ends_of_mean(i, j)) is not None:
            low, high = (end if factor == "1" else f"({factor}) * {end}" for end in ends)
            return (low, high) if factor == "1" else (f"least({low}, {high})", f"greatest({low}, {high})")
        if not self._is_part(i, j):
            return None
        return ("0e0", "1e0") if factor == "1" else (f"least(0e0, {factor})", f"greatest(0e0, {factor})")

    def _ends_of_mean(self, i: int, j: int) -> tuple[str, str] | None:
        """Between what the sum of a column lies over a count of the rows that it sums, and perhaps of others."""
        if self.sums.windowed(i) is not None or self.sums.windowed(j) is not None or not self.sums.counts_rows(j):
            return None
        summands = self.sums.summands
        summed, counted = summands[i], summands[j]
        column = without_parentheses(summands.node(summed.factors[0])) if len(summed.factors) == 1 else None
        found = self.sums.release.attribute(column.table) if isinstance(column, exp.Column) else None
        if found is None or column is None or not NUMERIC_TYPE.fullmatch(found.type):
            return None
        there = present(column, self.sums.release)
        presence = {text for text in (*counted.filters, *summed.filters) if summands.node(text) in there}
        if not {*counted.filters} - presence <= {*summed.filters}:
            return None
        low, high = self._ends_of(found.domain)
        is_mean = {*summed.filters} - presence == {*counted.filters} - presence
        if is_mean and (presence & {*counted.filters} or not found.has_null):
            return low, high
        return f"least({low}, 0e0)", f"greatest({high}, 0e0)"

    def _is_part(self, i: int, j: int) -> bool:
        """Whether one sum is of rows that the other one counts, too, or of one of the groups that the other adds up."""
        own = self.sums.windowed(j)
        if own is not None:
            is_whole = own.frame.is_whole and own.terms == ((i, "1"),)
            return is_whole and self.sums.never_below_zero(i) and self.sums.counts_rows(j)
        if self.sums.windowed(i) is not None or not (self.sums.counts_rows(i) and self.sums.counts_rows(j)):
            return False
        return set(self.sums.summands[j].filters) <= set(self.sums.summands[i].filters)

    def _within(self, form: Ratio, ends: tuple[str, str], low: str, high: str) -> tuple[str, str]:
        ratio = self._once("r", f"({self._linear(form.upper)}) / nullif({self._linear(form.lower)}, 0e0)")
        given = ratio, self._once("b", low), self._once("b", high), *ends
        return formula("_within_low", *given), formula("_within_high", *given)

    def smooth(self, form: Form) -> Smooth | None:
        if isinstance(form, Smooth):
            return form
        if isinstance(form, Exact):
            return Smooth(form.text)
        if isinstance(form, Linear):
            return Smooth(self._linear(form), dict(form.terms))
        if isinstance(form, Ratio):
            upper, lower = self._linear(form.upper), self._linear(form.lower)
            if self.deviations:
                lower = self._once("r", formula("_divisor", lower, self._variance(form.lower, form.lower)))
            return quotient(Smooth(upper, dict(form.upper.terms)), Smooth(lower, dict(form.lower.terms)))
        return None

    def _variance(self, left: Linear, right: Linear, part: str = "all") -> str:
        return self._squared(left.terms, right.terms, part)

    def _squared(self, left: dict[int, str], right: dict[int, str], part: str = "all") -> str:
        of = self.sums.view_variance if part == "view" else self.sums.variance
        parts = [times(c, times(d, of(i, j))) for i, c in left.items() for j, d in right.items()]
        return " + ".join(parts) or "0e0"

    # --- how the variance depends on the sum ----------------------------------------------------------

    def _has_slope(self, form: Linear) -> bool:
        return 0 < len(form.terms) <= _MOST_TERMS_WITH_SKEW

    def _parts(self, form: Linear) -> tuple[str, ...]:
        """Of which variances an interval is made: where values differ in size and sign, also that of the view alone."""
        alike = self.sums.release.has_cross_terms or all(map(self.sums.is_count, form.terms))
        return ("all", "view") if len(form.terms) > 1 and self._has_slope(form) and not alike else ("all",)

    def _slope(self, form: Linear, part: str, variance: str | None = None) -> str:
        """How the variance changes with the true sum; the variance itself, where it is computed already."""
        if not self._has_slope(form):
            return "0e0"
        release = self.sums.release
        terms = form.terms.items()
        kappa = number(release.kappa) if release.kappa is not None else "1"
        if kappa != "1" and len(form.terms) == 1 and self.sums.is_count(next(iter(form.terms))):
            i, c = next(iter(terms))
            text = f"CASE WHEN {self.sums.raw_variance(i, i)} > 0 THEN {times(c, kappa)} ELSE 0e0 END"
        else:
            third = self.sums.view_third if part == "view" else self.sums.third
            second = self.sums.view_variance if part == "view" else self.sums.raw_variance
            given = None if release.has_cross_terms else variance
            squares = given or self._once("v", _power(form, 2, second))
            parts = " + ".join(times(c, times(c, second(i, i))) for i, c in terms)
            text = times(kappa, formula("_slope", _power(form, 3, third), squares, parts))
        if release.cross_estimate:
            total = " + ".join(times(c, self.sums.domain_total(i)) for i, c in terms)
            text = f"{text} + {number(release.cross_estimate)} * ({total})"
        return self._once("s", text)

    def _rows(self, form: Linear) -> str | None:
        """The variance of the count of the rows that a form is about: of its sums, the one about most rows."""
        counted = dict.fromkeys(self.sums.counted(i) for i in form.terms)
        found = [self.sums.raw_variance(i, i) for i in counted]
        return f"greatest({', '.join(found)})" if len(found) > 1 else next(iter(found), None)

    def _jump(self, form: Linear, about: Linear) -> str:
        """What one row more or less may add to the sums of a form, which is about the rows of another."""
        rows = self._rows(about)
        if rows is None:
            return "0e0"
        return self._once("s", formula("_jump", self._variance(form, form), rows, number(self.sums.release.largest)))

    # --- intervals ------------------------------------------------------------------------------------

    def _score(self, form: Linear) -> tuple[str, str]:
        one = self._as_one(form)
        if len(one.terms) == 1 and self._combines:
            ((i, coefficient),) = one.terms.items()
            if (sides := self._signed(i)) is not None:
                return self._difference(form, coefficient, *sides)
        jump = self._jump(one, form)
        found = []
        for part in self._parts(one):
            slope = self._slope(one, part)
            centre = formula("_score_centre", self._linear(form), slope, self.zz)
            half = formula("_score_half", self._variance(one, one, part), slope, jump, self.zz)
            found.append(self._around(centre, half))
        return widest(found)

    def _signed(self, i: int) -> tuple[int, int] | None:
        """The numbers of two sums whose difference a sum is: of its values above 0, and of those below.

        None where it has none below, where a row may count several times, above 0 and below, and where the sign takes
        too wide a join. A sum over groups is the difference of two such sums.
        """
        if (own := self.sums.windowed(i)) is not None:
            ((j, coefficient), *more) = own.terms
            sides = self._signed(j) if coefficient == "1" and not more else None
            if sides is None:
                return None
            return self.sums.over({sides[0]: "1"}, own.frame), self.sums.over({sides[1]: "1"}, own.frame)
        summands = self.sums.summands
        kept = summands[i]
        if self.sums.joins.multiply or self.sums.never_below_zero(i):
            return None
        node = summands.node(kept.factors[0])
        if not self._fits_together(node):
            return None
        tests = (side(this=exp.Paren(this=node.copy()), expression=exp.Literal.number(0)) for side in (exp.GT, exp.LT))
        above, below = (summands.add(Summand(node, (*map(summands.node, kept.filters), side))) for side in tests)
        return above, below

    def _difference(self, form: Linear, coefficient: str, above: int, below: int) -> tuple[str, str]:
        """The bounds of a coefficient times the difference of two sums: of values above 0, and of those below."""
        sides = []
        for side, sign in ((Linear({above: "1"}), ""), (Linear({below: "1"}), "-")):
            slope = f"{sign}{self._slope(side, 'all')}"
            half = formula("_score_half", self._variance(side, side), slope, self._jump(side, form), self.zz)
            sides += [self._once("q", half), slope]
        down = self._once("i", formula("_difference_below", *sides, self.zz))
        up = self._once("i", formula("_difference_below", *sides[2:], *sides[:2], self.zz))
        estimate = self._linear(form)
        if coefficient == "1":
            return f"{estimate} - {down}", f"{estimate} + {up}"
        ends = f"({coefficient}) * {down}", f"({coefficient}) * {up}"
        return f"{estimate} - greatest({ends[0]}, -{ends[1]})", f"{estimate} + greatest({ends[1]}, -{ends[0]})"

    def _fieller(self, form: Ratio) -> tuple[str, str]:
        upper, lower = self._linear(form.upper), self._linear(form.lower)
        ratio = self._once("r", f"({upper}) / nullif({lower}, 0e0)")
        minus = self._once("r", f"-({upper}) / nullif({lower}, 0e0)")
        # What is 0 at the estimated ratio; its slope there counts.
        tested = add(form.upper, scale(form.lower, minus))
        rows = self._rows(form.lower)
        zz = self.zz
        if rows is not None:
            zz = self._once("s", formula("_with_jump", rows, number(self.sums.release.largest), self.zz))
        found = []
        for part in self._parts(tested):
            below = self._once("r", f"greatest({self._variance(form.lower, form.lower, part)}, 0)")
            moved = (self._variance(form.upper, form.lower, part), minus, below)
            covariance = self._once("v", formula("_moved_covariance", *moved))
            variance = self._once("v", formula("_moved_variance", self._variance(form.upper, form.upper, part), *moved))
            square = self._once("q", formula("_ratio_square", lower, below, zz))
            pull = self._once("q", formula("_ratio_pull", lower, covariance, self._slope(tested, part, variance), zz))
            centre = formula("_ratio_centre", ratio, pull, square)
            found.append(self._around(centre, formula("_ratio_half", variance, pull, square, zz)))
        return widest(found)


def _power(form: Linear, degree: int, moment: Callable[..., str]) -> str:
    """The moment of a combination of sums, from the moments of the sums."""
    parts = []
    for numbers in combinations_with_replacement(form.terms, degree):
        text = moment(*numbers)
        for i in numbers:
            text = times(form.terms[i], text)
        orders = math.factorial(degree) // math.prod(math.factorial(numbers.count(i)) for i in set(numbers))
        parts.append(times(str(orders), text))
    return " + ".join(parts)
