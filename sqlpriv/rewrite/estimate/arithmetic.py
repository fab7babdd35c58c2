"""Arithmetic on forms: each operation keeps the best form it can."""

from __future__ import annotations

from sqlpriv.rewrite.estimate.bounds import Formulas
from sqlpriv.rewrite.estimate.forms import (
    Bounded,
    Exact,
    Form,
    Linear,
    Opaque,
    Ratio,
    Smooth,
    add,
    product,
    quotient,
    scale,
    total,
)


class Arithmetic:
    """Adds and multiplies the forms of one answer; given what knows their values and derivatives."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas

    def sum(self, left: Form, right: Form, sign: str) -> Form:
        """left + right, or left - right."""
        factor = "1" if sign == "+" else "-1"
        if isinstance(left, Linear) and isinstance(right, Linear):
            return add(left, right, factor)
        if isinstance(left, Linear) and isinstance(right, Exact):
            return add(left, Linear({}, right.text), factor)
        if isinstance(left, Exact) and isinstance(right, Linear):
            return add(Linear({}, left.text), right, factor)
        if isinstance(right, Exact):
            return self.shifted(left, f"{sign} ({right.text})")
        if isinstance(left, Exact):
            turned = right if sign == "+" else self.scaled(right, Exact("-1", constant=True))
            return self.shifted(turned, f"+ ({left.text})")
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return self._outwards(left, right, sign)
        return total(first, second, sign)

    def _outwards(self, left: Form, right: Form, sign: str) -> Form:
        """A sum or difference by interval arithmetic, which holds for certain where the bounds of both do."""
        one, other = self._formulas.bounded(left), self._formulas.bounded(right)
        text = f"({one.text}) {sign} ({other.text})"
        if not self._formulas.is_certain or isinstance(one, Opaque) or isinstance(other, Opaque):
            return Opaque(text)
        ends = (other.low, other.high) if sign == "+" else (other.high, other.low)
        return Bounded(text, f"({one.low}) {sign} ({ends[0]})", f"({one.high}) {sign} ({ends[1]})")

    def shifted(self, form: Form, by: str) -> Form:
        """A form plus something exact, which is written with its sign."""
        if isinstance(form, Smooth):
            return Smooth(f"({form.text}) {by}", form.slopes)
        moved = self._formulas.bounded(form)
        if isinstance(moved, Opaque):
            return Opaque(f"({moved.text}) {by}")
        return Bounded(f"({moved.text}) {by}", f"({moved.low}) {by}", f"({moved.high}) {by}")

    def product(self, left: Form, right: Form) -> Form:
        """left * right."""
        if isinstance(right, Exact):
            return self.scaled(left, right)
        if isinstance(left, Exact):
            return self.scaled(right, left)
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return Opaque(f"({self._formulas.value(left)}) * ({self._formulas.value(right)})")
        return product(first, second)

    def quotient(self, left: Form, right: Form) -> Form:
        """left / right; NULL where that is a division by 0."""
        if isinstance(right, Exact):
            return self.scaled(left, Exact(f"1e0 / nullif({right.text}, 0)", right.constant))
        if isinstance(right, Linear) and isinstance(left, (Linear, Exact)):
            return Ratio(left if isinstance(left, Linear) else Linear({}, left.text), right)
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return Opaque(f"({self._formulas.value(left)}) / nullif({self._formulas.value(right)}, 0)")
        return quotient(first, second)

    def scaled(self, form: Form, by: Exact) -> Form:
        """A form times something exact."""
        if isinstance(form, Exact):
            return Exact(f"({by.text}) * ({form.text})", by.constant and form.constant)
        if isinstance(form, Linear):
            return scale(form, by.text)
        if isinstance(form, Ratio):
            return Ratio(scale(form.upper, by.text), form.lower)
        if isinstance(form, Smooth):
            return product(Smooth(by.text), form)
        if isinstance(form, Opaque):
            return Opaque(f"({by.text}) * ({form.text})")
        low, high = (f"({by.text}) * ({end})" for end in (form.low, form.high))
        return Bounded(f"({by.text}) * ({form.text})", f"least({low}, {high})", f"greatest({low}, {high})")
