"""The values of forms, and their bounds: what to compute for each, in the words of sql/estimates/estimate.sql.

What several bounds use is computed once, in layers below the SELECT list: planning long texts takes DuckDB longer than
summing a million rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import TypeAlias

from sqlpriv.rewrite.estimate.combined import combined, signed
from sqlpriv.rewrite.estimate.forms import (
    Bounded,
    Exact,
    Form,
    Linear,
    Opaque,
    Ratio,
    Smooth,
    add,
    quotient,
    scale,
    times,
)
from sqlpriv.rewrite.estimate.intervals import ALONE, formula, widest
from sqlpriv.rewrite.estimate.sums import SUMS
from sqlpriv.rewrite.estimate.texts import number
from sqlpriv.rewrite.estimate.windowed import NoBoundsError, WindowedSums

Bounds: TypeAlias = tuple[str, str] | None
_MOST_TERMS_WITH_SKEW = 5


class Formulas:
    """The texts of forms: their values and their bounds."""

    is_hard = False
    """Whether bounds are no less than they say: then nothing may be bounded that is only nearly so."""
    is_certain = False
    """Whether they hold for certain, and so all of them together."""

    def __init__(
        self, sums: WindowedSums, zz: str, nonnegative: bool = False, apart: bool = True, deviations: bool = False
    ) -> None:
        self.sums = sums
        self.deviations = deviations
        self._apart = apart and not sums.release.has_cross_terms
        self.zz = zz
        self.nonnegative = nonnegative
        layers = ("m", "c", "d", "r", "v", "s", "q", "i", "b")
        self._layers: dict[str, dict[str, str]] = {layer: {} for layer in layers}
        """In this order: means; what is centred by them, and made of that; ratios; moments at them; slopes, jumps,
        quantiles; quadratic equations; centres, halves; bounds."""

    def layered(self, source: str) -> str:
        """The sums, with the intervals beside them."""
        for layer in (self.sums.window_columns(), *self._layers.values()):
            if layer:
                listed = ", ".join(f"{text} AS {name}" for text, name in layer.items())
                source = f'SELECT *, {listed} FROM ({source}) AS "{SUMS}"'
        return source

    def _once(self, layer: str, text: str) -> str:
        if ALONE.fullmatch(text):
            return text
        known = self._layers[layer]
        return f'"{SUMS}"."{known.setdefault(text, f"{layer}_{len(known)}")}"'

    def once_before(self, form: Ratio) -> str:
        """A ratio as a constant that other forms may use."""
        return self._once("m", self.value(form))

    def once_after(self, text: str) -> str:
        """A text over such constants."""
        return self._once("c", text)

    def once_last(self, text: str) -> str:
        """A text over such texts."""
        return self._once("d", text)

    def once_inside(self, text: str) -> str:
        """A text over all these."""
        return self._once("r", text)

    def half(self, form: Smooth) -> str:
        """Half the interval by the delta method."""
        return self._once("i", formula("_delta_half", self._squared(form.slopes, form.slopes), self.zz))

    def _around(self, centre: str, half: str) -> tuple[str, str]:
        middle, width = self._once("i", centre), self._once("i", half)
        return f"{middle} - {width}", f"{middle} + {width}"

    def value(self, form: Form) -> str:
        """The estimate."""
        if isinstance(form, Linear):
            text = self._linear(form)
            return f"greatest({text}, 0e0)" if self._clamped(form) else text
        if isinstance(form, Ratio):
            return f"({self._linear(form.upper)}) / nullif({self._linear(form.lower)}, 0e0)"
        return form.text

    def bounds(self, form: Form) -> Bounds:
        """Its bounds, if it has sound ones."""
        try:
            return self._bounds(form)
        except NoBoundsError:
            return None

    def _bounds(self, form: Form) -> Bounds:
        if self.deviations and isinstance(form, (Linear, Ratio)):
            form = self.smooth(form) or form
        if isinstance(form, Linear):
            low, high = self._score(form)
            return (f"greatest({low}, 0e0)", f"greatest({high}, 0e0)") if self._clamped(form) else (low, high)
        if isinstance(form, Ratio):
            low, high = self._fieller(form)
            return (low, high) if form.domain is None else self._within(form, form.domain, low, high)
        if isinstance(form, Smooth):
            middle = self._once("i", form.text)
            return f"{middle} - {self.half(form)}", f"{middle} + {self.half(form)}"
        return (form.low, form.high) if isinstance(form, Bounded) else None

    def _within(self, form: Ratio, domain: str, low: str, high: str) -> tuple[str, str]:
        ends = [self._once("r", f'(SELECT CAST({end}("value") AS DOUBLE) FROM {domain})') for end in ("min", "max")]
        ratio = self._once("r", f"({self._linear(form.upper)}) / nullif({self._linear(form.lower)}, 0e0)")
        given = ratio, self._once("b", low), self._once("b", high), *ends
        return formula("_within_low", *given), formula("_within_high", *given)

    def bounded(self, form: Form) -> Bounded | Opaque:
        """The form with its bounds worked out."""
        bounds = self.bounds(form)
        return Opaque(self.value(form)) if bounds is None else Bounded(self.value(form), *bounds)

    def smooth(self, form: Form) -> Smooth | None:
        """The form with its derivatives, if it has any."""
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

    def _clamped(self, form: Linear) -> bool:
        return self.nonnegative and form.shift is None and all(
            self.sums.counts_rows(i) and coefficient == "1" for i, coefficient in form.terms.items()
        )  # fmt: skip

    def _linear(self, form: Linear) -> str:
        parts = [times(c, self.sums.estimate(i)) for i, c in form.terms.items()]
        return " + ".join([*parts, *([form.shift] if form.shift is not None else [])]) or "0e0"

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
            known = None if release.has_cross_terms else variance
            squares = known or self._once("v", _power(form, 2, second))
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
        if len(one.terms) == 1 and self._apart:
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
        """A sum as the difference of two, as `signed`; a sum over groups as the difference of two such sums."""
        if not self.sums.is_windowed(i):
            return signed(self.sums, i)
        terms, frame = self.sums.parts_of(i)
        ((j, coefficient), *more) = terms.items()
        sides = signed(self.sums, j) if coefficient == "1" and not more else None
        return (
            None if sides is None else (self.sums.over({sides[0]: "1"}, frame), self.sums.over({sides[1]: "1"}, frame))
        )

    def _as_one(self, form: Linear) -> Linear:
        """A combination of sums as the one sum that it is, if it can be computed as such."""
        if len(form.terms) < 2 or not self._apart or any(map(self.sums.is_windowed, form.terms)):
            return form
        found = combined(self.sums, form.terms)
        return form if found is None else Linear({found: "1"})

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
