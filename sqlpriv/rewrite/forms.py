"""The forms that an expression over aggregates can have, and the interval that each of them gets.

Linear: a combination of sums, with the score interval. Ratio: of two linear ones, with Fieller's. Smooth: other
arithmetic, by the delta method, from derivatives that are carried along. Bounded: what has its bounds already, such as
a rounded estimate. Opaque: no sound bounds, so they are NULL. Exact: no estimate at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlpriv.rewrite.estimate import SUMS, Sums
from sqlpriv.rewrite.intervals import formula
from sqlpriv.rewrite.texts import number

Bounds: TypeAlias = tuple[str, str] | None
_MOST_TERMS_WITH_SKEW = 5


@dataclass(frozen=True)
class Exact:
    """Group keys and constants; a constant is the same in every group."""

    text: str
    constant: bool = False


@dataclass(frozen=True)
class Linear:
    """A combination of sums, by their number, plus something exact."""

    terms: dict[int, str]
    shift: str | None = None


@dataclass(frozen=True)
class Ratio:
    """One combination of sums over another."""

    upper: Linear
    lower: Linear


@dataclass(frozen=True)
class Smooth:
    """Any differentiable function of sums: its text, and its derivative by each sum."""

    text: str
    slopes: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bounded:
    """Text with bounds as text."""

    text: str
    low: str
    high: str


@dataclass(frozen=True)
class Opaque:
    """Computed from estimates, without bounds."""

    text: str


Form: TypeAlias = Exact | Linear | Ratio | Smooth | Bounded | Opaque


class Formulas:
    """The texts of forms: their values and their bounds."""

    def __init__(self, sums: Sums, zz: str, nonnegative: bool = False) -> None:
        self.sums = sums
        self.zz = zz
        self.nonnegative = nonnegative
        self.intervals: dict[tuple[str, str], int] = {}
        """Centre and half of every interval, computed once, below the SELECT list."""

    def layered(self, source: str) -> str:
        """The sums, with the intervals beside them."""
        if not self.intervals:
            return source
        listed = ", ".join(f"{c} AS c{i}, {h} AS h{i}" for (c, h), i in self.intervals.items())
        return f'SELECT *, {listed} FROM ({source}) AS "{SUMS}"'

    def _around(self, centre: str, half: str) -> tuple[str, str]:
        number = self.intervals.setdefault((centre, half), len(self.intervals))
        return tuple(f'"{SUMS}"."c{number}" {sign} "{SUMS}"."h{number}"' for sign in "-+")  # type: ignore[return-value]

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
        if isinstance(form, Linear):
            slope = self._slope(form)
            centre = formula("_score_centre", self._linear(form), slope, self.zz)
            low, high = self._around(centre, formula("_score_half", self._variance(form, form), slope, self.zz))
            return (f"greatest({low}, 0e0)", f"greatest({high}, 0e0)") if self._clamped(form) else (low, high)
        if isinstance(form, Ratio):
            return self._fieller(form)
        if isinstance(form, Smooth):
            return self._around(form.text, formula("_delta_half", self._propagated(form), self.zz))
        return (form.low, form.high) if isinstance(form, Bounded) else None

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
            return quotient(Smooth(upper, dict(form.upper.terms)), Smooth(lower, dict(form.lower.terms)))
        return None

    def _clamped(self, form: Linear) -> bool:
        return self.nonnegative and form.shift is None and all(
            self.sums.is_count(i) and coefficient == "1" for i, coefficient in form.terms.items()
        )  # fmt: skip

    def _linear(self, form: Linear) -> str:
        parts = [_times(c, self.sums.estimate(i)) for i, c in form.terms.items()]
        return " + ".join([*parts, *([form.shift] if form.shift is not None else [])]) or "0e0"

    def _variance(self, left: Linear, right: Linear) -> str:
        return self._squared(left.terms, right.terms)

    def _propagated(self, form: Smooth) -> str:
        return self._squared(form.slopes, form.slopes)

    def _squared(self, left: dict[int, str], right: dict[int, str], raw: bool = False) -> str:
        of = self.sums.raw_variance if raw else self.sums.variance
        parts = [_times(c, _times(d, of(i, j))) for i, c in left.items() for j, d in right.items()]
        return " + ".join(parts) or "0e0"

    def _slope(self, form: Linear) -> str:
        """How the variance changes with the true sum."""
        if not form.terms or len(form.terms) > _MOST_TERMS_WITH_SKEW:
            return "0e0"
        release = self.sums.release
        terms = form.terms.items()
        if len(form.terms) == 1 and release.kappa is not None and self.sums.is_count(next(iter(form.terms))):
            i, c = next(iter(terms))
            text = f"CASE WHEN {self.sums.raw_variance(i, i)} > 0 THEN {_times(c, number(release.kappa))} ELSE 0e0 END"
        else:
            cubes = [
                _times(c, _times(d, _times(e, self.sums.third(i, j, k))))
                for i, c in terms for j, d in terms for k, e in terms
            ]  # fmt: skip
            text = formula("_slope", " + ".join(cubes), self._squared(form.terms, form.terms, raw=True))
        if release.cross_estimate:
            total = " + ".join(_times(c, self.sums.domain_total(i)) for i, c in terms)
            text = f"{text} + {number(release.cross_estimate)} * ({total})"
        return text

    def _fieller(self, form: Ratio) -> tuple[str, str]:
        upper, lower = self._linear(form.upper), self._linear(form.lower)
        covariance, below = self._variance(form.upper, form.lower), self._variance(form.lower, form.lower)
        centre = formula("_ratio_centre", upper, lower, covariance, below, self.zz)
        above = self._variance(form.upper, form.upper)
        return self._around(centre, formula("_ratio_half", upper, lower, above, covariance, below, self.zz))


def _times(coefficient: str, text: str) -> str:
    return text if coefficient == "1" else f"({coefficient}) * ({text})"


def add(left: Linear, right: Linear, sign: str = "1") -> Linear:
    """left + sign * right."""
    terms = dict(left.terms)
    for i, c in right.terms.items():
        scaled = c if sign == "1" else f"-({c})"
        terms[i] = f"({terms[i]}) + ({scaled})" if i in terms else scaled
    shifts = [left.shift] if left.shift is not None else []
    if right.shift is not None:
        shifts.append(right.shift if sign == "1" else f"-({right.shift})")
    return Linear(terms, " + ".join(f"({s})" for s in shifts) or None)


def scale(form: Linear, factor: str) -> Linear:
    """form * factor."""
    return Linear(
        {i: factor if c == "1" else f"({factor}) * ({c})" for i, c in form.terms.items()},
        None if form.shift is None else f"({factor}) * ({form.shift})",
    )


def total(left: Smooth, right: Smooth, sign: str) -> Smooth:
    """left + right or left - right."""
    slopes = dict(left.slopes)
    for i, d in right.slopes.items():
        slopes[i] = f"({slopes.get(i, '0e0')}) {sign} ({d})"
    return Smooth(f"({left.text}) {sign} ({right.text})", slopes)


def product(left: Smooth, right: Smooth) -> Smooth:
    """left * right."""
    slopes = {i: f"({d}) * ({right.text})" for i, d in left.slopes.items()}
    for i, d in right.slopes.items():
        own = f"({left.text}) * ({d})"
        slopes[i] = f"{slopes[i]} + {own}" if i in slopes else own
    return Smooth(f"({left.text}) * ({right.text})", slopes)


def quotient(left: Smooth, right: Smooth) -> Smooth:
    """left / right; NULL where that is a division by 0."""
    below = f"nullif({right.text}, 0e0)"
    slopes = {i: f"({d}) / {below}" for i, d in left.slopes.items()}
    for i, d in right.slopes.items():
        own = f"({left.text}) * ({d}) / ({below} * {below})"
        slopes[i] = f"{slopes.get(i, '0e0')} - {own}"
    return Smooth(f"({left.text}) / {below}", slopes)
