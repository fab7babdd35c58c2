"""The values of forms, and what every kind of bounds has: layers of columns, and sums made of other sums.

A release has one kind of bounds: noisy_bounds, hard_bounds or sampled_bounds. What several bounds use is computed once,
in layers below the SELECT list: planning long texts takes DuckDB longer than summing a million rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from sqlglot import exp, parse_one

from sqlpriv.rewrite.estimate.forms import Bounded, Form, Linear, Opaque, Ratio, Smooth, times
from sqlpriv.rewrite.estimate.summands import Summand
from sqlpriv.rewrite.estimate.sums import SUMS, NoBoundsError, Sums
from sqlpriv.rewrite.estimate.texts import ALONE, formula

Bounds: TypeAlias = tuple[str, str] | None
_MOST_TOGETHER = 1e6


class Formulas(ABC):
    """The texts of forms: their values and their bounds."""

    is_conservative = True
    """Whether bounds are never narrower than they say: then nothing may be bounded that is only nearly so."""
    is_certain = False
    """Whether they hold for certain, and so all of them together."""
    deviations = False
    """Whether bounds are to reach one standard deviation to each side."""

    def __init__(self, sums: Sums, nonnegative: bool, combines: bool = True) -> None:
        self.sums = sums
        self._nonnegative = nonnegative
        self._combines = combines
        """Whether a combination of sums may be computed as one sum."""
        layers = ("m", "c", "d", "r", "v", "s", "q", "i", "b")
        self._layers: dict[str, dict[str, str]] = {layer: {} for layer in layers}
        """In this order: means; what is centred by them, and made of that; ratios; moments at them; slopes, jumps,
        quantiles; quadratic equations; centres, halves; bounds."""

    def layered(self, source: str) -> str:
        """The sums, with the intervals next to them."""
        for layer in (self.sums.window_columns, *self._layers.values()):
            if layer:
                listed = ", ".join(f"{text} AS {name}" for text, name in layer.items())
                source = f'SELECT *, {listed} FROM ({source}) AS "{SUMS}"'
        return source

    def _once(self, layer: str, text: str) -> str:
        if ALONE.fullmatch(text):
            return text
        texts = self._layers[layer]
        return f'"{SUMS}"."{texts.setdefault(text, f"{layer}_{len(texts)}")}"'

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

    # --- values and bounds ----------------------------------------------------------------------------

    def value(self, form: Form) -> str:
        """The estimate."""
        if isinstance(form, Linear):
            text = self._linear(form)
            return f"greatest({text}, 0e0)" if self._clamped(form) else text
        if isinstance(form, Ratio):
            return f"({self._linear(form.upper)}) / nullif({self._linear(form.lower)}, 0e0)"
        return form.text

    def shown(self, form: Form) -> str:
        """The estimate for a reader: an average or a share lies within what is possible, as its bounds do."""
        ends = None if self.deviations or not isinstance(form, Ratio) else self._possible(form)
        return self.value(form) if ends is None else formula("_clamped", self._once("r", self.value(form)), *ends)

    def _possible(self, form: Ratio) -> tuple[str, str] | None:
        """Between what a ratio lies in any case, where its estimate may lie elsewhere."""
        return None

    def is_never_below_zero(self, form: Form) -> bool:
        """Whether the true value is 0 or more, whatever the estimate is."""
        if not isinstance(form, Linear) or form.shift is not None:
            return False
        return all(c == "1" and self.sums.never_below_zero(i) for i, c in form.terms.items())

    def bounds(self, form: Form) -> Bounds:
        """Its bounds, if it has sound ones."""
        try:
            return self._bounds(form)
        except NoBoundsError:
            return None

    @abstractmethod
    def _bounds(self, form: Form) -> Bounds:
        """The bounds of a form; raises NoBoundsError or gives None where it has no sound ones."""

    def bounded(self, form: Form) -> Bounded | Opaque:
        """The form with its bounds worked out."""
        bounds = self.bounds(form)
        return Opaque(self.value(form)) if bounds is None else Bounded(self.value(form), *bounds)

    def smooth(self, form: Form) -> Smooth | None:
        """The form with its derivatives, where bounds go by these."""
        return None

    def on_fisher_scale(self, form: Smooth) -> Smooth | Bounded:
        """A correlation with the bounds that it has on Fisher's scale, where bounds go by derivatives."""
        return form

    def _clamped(self, form: Linear) -> bool:
        return self._nonnegative and self.is_never_below_zero(form)

    def _counts_rows(self, form: Linear) -> bool:
        """Whether it is a sum of counts, but for something exact."""
        return all(c == "1" and self.sums.counts_rows(i) for i, c in form.terms.items())

    def _linear(self, form: Linear) -> str:
        parts = [times(c, self.sums.estimate(i)) for i, c in form.terms.items()]
        return " + ".join([*parts, *([form.shift] if form.shift is not None else [])]) or "0e0"

    def _ends_of(self, domain: str) -> tuple[str, str]:
        """The least and the greatest value of a public domain."""
        ends = (f'(SELECT CAST({end}("value") AS DOUBLE) FROM {domain})' for end in ("min", "max"))
        low, high = (self._once("r", end) for end in ends)
        return low, high

    # --- sums made of others --------------------------------------------------------------------------

    def _as_one(self, form: Linear) -> Linear:
        """A combination of sums as the one sum that it is, if it can be computed as such."""
        windowed = any(self.sums.windowed(i) is not None for i in form.terms)
        if len(form.terms) < 2 or not self._combines or windowed:
            return form
        found = self._combined(form.terms)
        return form if found is None else Linear({found: "1"})

    def _combined(self, terms: Mapping[int, str]) -> int | None:
        """The number of the summand that is a combination of others.

        None where a coefficient differs by group, and where that ties too many attributes together.
        """
        summands = self.sums.summands
        parts: list[exp.Expr] = []
        for i, text in terms.items():
            coefficient = parse_one(text, dialect="duckdb")
            if coefficient.find(exp.Column, exp.Query) is not None:
                return None
            kept = summands[i]
            value = summands.node(kept.factors[0]).copy() if kept.factors else exp.Literal.number(1)
            if kept.filters:
                value = exp.Case(ifs=[exp.If(this=exp.and_(*map(summands.node, kept.filters)), true=value)])
            double = exp.Cast(this=value, to=exp.DataType.build("double"))
            filled = exp.Coalesce(this=double, expressions=[exp.Literal.number(0)])
            parts.append(exp.Mul(this=exp.Paren(this=coefficient), expression=filled))
        total = parts[0]
        for part in parts[1:]:
            total = exp.Add(this=total, expression=part)
        return summands.add(Summand(total)) if self._fits_together(total) else None

    def _fits_together(self, node: exp.Expr) -> bool:
        """Whether the attributes of an expression have few combinations: it is no product or sum of smaller ones."""
        named = {c.table for c in node.find_all(exp.Column)}
        return prod(a.size for a in self.sums.release.attributes if a.name in named) <= _MOST_TOGETHER
