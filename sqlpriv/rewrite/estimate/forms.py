"""The forms that an expression over aggregates can have, and how arithmetic changes them.

Linear: a combination of sums, with the score interval. Ratio: of two linear ones, with Fieller's. Smooth: other
arithmetic, by the delta method, from derivatives that are carried along. Bounded: what has its bounds already, such as
a rounded estimate. Opaque: no sound bounds, so they are NULL. Exact: no estimate at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlpriv.rewrite.estimate.texts import ALONE


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
    """One combination of sums over another. Of an average of a column also its domain: it lies within its range."""

    upper: Linear
    lower: Linear
    domain: str | None = None


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


def times(coefficient: str, text: str) -> str:
    """coefficient * text."""
    if coefficient == "1":
        return text
    return " * ".join(part if ALONE.fullmatch(part) else f"({part})" for part in (coefficient, text))


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
