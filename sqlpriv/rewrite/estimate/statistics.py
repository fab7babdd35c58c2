"""Variances, covariances, regressions and skewness: functions of a few sums, with the intervals of forms there are.

A variance is sum((x - m)^2) / n. At the estimated mean m its derivative by m is 0, so that it is the ratio of two
combinations of sums, with m as a constant, and has Fieller's interval. So are covariances and slopes. An intercept, a
skewness and a correlation have the delta method, the latter on Fisher's scale, where it is nearly normal and stays
within -1 and 1. What a regression explains, its square, has the squares of those bounds.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.aggregates import Aggregate
from sqlpriv.rewrite.estimate.bounds import Formulas
from sqlpriv.rewrite.estimate.forms import Bounded, Form, Linear, Ratio, Smooth
from sqlpriv.rewrite.estimate.summands import Summand, present
from sqlpriv.rewrite.estimate.texts import formula


def variance_below(root: exp.Expr, kind: type[exp.Expr]) -> exp.Expr:
    """The variance whose root a standard deviation is, with its FILTER."""
    if isinstance(root, exp.Filter):
        return exp.Filter(this=variance_below(root.this, kind), expression=root.expression.copy())
    return kind(this=root.this.copy())


def statistic(formulas: Formulas, node: exp.Expr, entry: Aggregate) -> Form:
    """The form of a variance, covariance, correlation or regression."""
    outside: tuple[exp.Expr, ...] = ()
    if isinstance(node, exp.Filter):
        node, outside = node.this, (node.expression.this,)
    moments = Moments(formulas, node.expression if entry.of_two else node.this, node.this, outside)
    form: Form = getattr(moments, entry.statistic)()
    return form


class Moments:
    """The sums of x, y, their squares and their product, where both are there, and the statistics made of these."""

    def __init__(self, formulas: Formulas, x: exp.Expr, y: exp.Expr, outside: tuple[exp.Expr, ...]) -> None:
        self._formulas = formulas
        release = formulas.sums.release
        self._filters = (*outside, *present(x, release), *(present(y, release) if y != x else ()))
        self._x, self._y = _double(x), _double(y)
        self.n = self._sum(None)
        self.sx, self.sy = self._sum(self._x), self._sum(self._y)
        one = Linear({self.n: "1"})
        self.mx = formulas.once_before(Ratio(Linear({self.sx: "1"}), one))
        self.my = formulas.once_before(Ratio(Linear({self.sy: "1"}), one))

    def _sum(self, node: exp.Expr | None) -> int:
        return self._formulas.sums.summands.add(Summand(node, self._filters))

    @property
    def spread(self) -> Linear:
        """The sum of (x - m)^2."""
        return self._centred(self._x, self.sx, self.mx)

    def _centred(self, node: exp.Expr, total: int, mean: str) -> Linear:
        return Linear({self._sum(_times(node, node)): "1", total: f"-2e0 * {mean}", self.n: f"{mean} * {mean}"})

    @property
    def joint(self) -> Linear:
        """The sum of (x - m)(y - m')."""
        if self.sx == self.sy:
            return self.spread
        product = self._sum(_times(self._x, self._y))
        return Linear({product: "1", self.sx: f"-{self.my}", self.sy: f"-{self.mx}", self.n: f"{self.mx} * {self.my}"})

    def variance(self) -> Ratio:
        """The mean of (x - m)^2."""
        return Ratio(self.spread, Linear({self.n: "1"}))

    def sample_variance(self) -> Ratio:
        """The same, over one row less."""
        return Ratio(self.spread, Linear({self.n: "1"}, "-1"))

    def covariance(self) -> Ratio:
        """The mean of (x - m)(y - m')."""
        return Ratio(self.joint, Linear({self.n: "1"}))

    def sample_covariance(self) -> Ratio:
        """The same, over one row less."""
        return Ratio(self.joint, Linear({self.n: "1"}, "-1"))

    def slope(self) -> Ratio:
        """By how much y rises with x."""
        return Ratio(self.joint, self.spread)

    def explained(self) -> Form:
        """The square of the correlation: its least is 0 where the bounds lie on both sides of it."""
        form = self.correlation()
        if isinstance(form, Smooth):
            own = form.text
            return Smooth(f"{own} * {own}", {i: f"2e0 * {own} * ({slope})" for i, slope in form.slopes.items()})
        bounds = (f"({form.low})", f"({form.high})")
        return Bounded(f"{form.text} * {form.text}", formula("_square_low", *bounds), formula("_square_high", *bounds))

    def correlation(self) -> Smooth | Bounded:
        """By its derivatives; on Fisher's scale, unless one deviation is asked for."""
        formulas = self._formulas
        rows = formulas.value(Linear({self.n: "1"}))
        parts = (self.joint, self.spread, self._centred(self._y, self.sy, self.my))
        joint, of_x, of_y = (formulas.once_after(f"({formulas.value(p)}) / nullif({rows}, 0e0)") for p in parts)
        value = formulas.once_last(formula("_correlation", joint, of_x, of_y))
        factors = (
            formula("_correlation", "1e0", of_x, of_y),
            f"-{value} / (2e0 * {of_x})",
            f"-{value} / (2e0 * {of_y})",
        )
        slopes: dict[int, str] = {}
        for factor, part in zip(factors, parts, strict=True):
            for i, c in part.terms.items():
                own = f"({factor}) * ({c}) / nullif({rows}, 0e0)"
                slopes[i] = f"{slopes[i]} + {own}" if i in slopes else own
        smooth = Smooth(value, {i: formulas.once_inside(s) for i, s in slopes.items()})
        return formulas.on_fisher_scale(smooth)

    def skewness(self) -> Smooth:
        """By its derivatives: of z^3 - 3 z - 1.5 G z^2 + 0.5 G, where z is x by its mean and deviation."""
        formulas, m = self._formulas, self.mx
        rows = formulas.value(Linear({self.n: "1"}))
        squares, cubes = self._sum(_times(self._x, self._x)), self._sum(_times(_times(self._x, self._x), self._x))
        third = Linear({cubes: "1", squares: f"-3e0 * {m}", self.sx: f"3e0 * {m} * {m}", self.n: f"-{m} * {m} * {m}"})
        of_x, of_cubes = (
            formulas.once_after(f"({formulas.value(part)}) / nullif({rows}, 0e0)") for part in (self.spread, third)
        )
        value = formulas.once_last(formula("_skewness", of_cubes, of_x, rows))
        scale = formulas.once_last(formula("_skewness", "1e0", of_x, rows))
        own = formulas.once_last(f"1.5e0 * {formula('_skewness', of_cubes, of_x, rows)} / {of_x}")
        slopes = {
            cubes: scale,
            squares: f"-3e0 * {m} * {scale} - {own}",
            self.sx: f"3e0 * {scale} * ({m} * {m} - {of_x}) + 2e0 * {own} * {m}",
            self.n: f"{m} * {scale} * (3e0 * {of_x} - {m} * {m}) - {own} * {m} * {m} + {value} / 2e0",
        }
        found = {i: f"({slope}) / nullif({rows}, 0e0)" for i, slope in slopes.items()}
        found[self.n] += f" + {value} * {formula('_skewness_by_rows', rows)}"
        return Smooth(value, {i: formulas.once_inside(slope) for i, slope in found.items()})

    def intercept(self) -> Form:
        """The mean of y - slope x, by its derivatives."""
        formulas = self._formulas
        rows = formulas.value(Linear({self.n: "1"}))
        spread = self.spread
        of_x = formulas.once_after(f"({formulas.value(spread)}) / nullif({rows}, 0e0)")
        slope = formulas.once_after(formulas.value(Ratio(self.joint, spread)))
        value = formulas.once_last(f"{self.my} - {slope} * {self.mx}")
        lever = formulas.once_last(f"{self.mx} / nullif({of_x}, 0e0)")
        own = f"(1e0 + {lever} * {self.mx})"
        squares, product = next(iter(spread.terms)), next(iter(self.joint.terms))
        slopes = {
            self.sy: own,
            self.n: f"-{own} * {value}",
            self.sx: f"{lever} * {value} - {own} * {slope}",
            product: f"-{lever}",
            squares: f"{lever} * {slope}",
        }
        if self.sx == self.sy:  # of x by itself
            return Smooth(value)
        return Smooth(value, {i: formulas.once_inside(f"({s}) / nullif({rows}, 0e0)") for i, s in slopes.items()})


def _double(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node.copy(), to=exp.DataType.build("double"))


def _times(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Mul(this=one.copy(), expression=other.copy())
