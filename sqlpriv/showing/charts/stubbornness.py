"""Minimum epsilon against stubbornness, one line an adversary: the paper's Figure 2(a)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.errors import InputError
from sqlpriv.showing.charts.data import Data, altair, log_ticks, logarithmic
from sqlpriv.showing.charts.look import FAINT, Rows
from sqlpriv.showing.charts.marks import curves as drawn_curves
from sqlpriv.showing.charts.picture import Picture

_SIGMA, _PLACE = "sigma", "place"


def stubbornness_picture(
    curves: Mapping[str, Sequence[tuple[float, float]]], title: str | None = None, quantity: str = "minimum epsilon"
) -> Picture:
    """Pairs (sigma, epsilon) on two logarithmic axes. An infinite sigma stands at the right edge, as ∞.

    Where epsilon is infinite there is no point; an adversary with no point at all is named in the legend as such.
    `quantity` names what else may stand on the y axis, such as the least cost that an epsilon allows.
    """
    finite = [sigma for curve in curves.values() for sigma, _ in curve if not math.isinf(sigma)]
    if not finite:
        raise InputError("there is no stubbornness to draw: every sigma was too small for the number of values")
    if not any(math.isfinite(epsilon) for curve in curves.values() for _, epsilon in curve):
        raise InputError("there is no stubbornness to draw: no epsilon holds against any adversary")
    beyond = max(finite) * 10  # where infinity is drawn
    names = {name: name if any(math.isfinite(e) for _, e in c) else f"{name} (infinite)" for name, c in curves.items()}
    rows = [
        {"adversary": names[name], _SIGMA: sigma, _PLACE: beyond if math.isinf(sigma) else sigma, quantity: epsilon}
        for name, curve in curves.items()
        for sigma, epsilon in curve
        if math.isfinite(epsilon)
    ]
    said = f"The {quantity} against how many people an adversary has seen elsewhere, a line for each adversary."
    paint = partial(_chart, rows, list(names.values()), (min(finite), beyond), quantity)
    told = [{name: value for name, value in row.items() if name != _PLACE} for row in rows]
    return Picture(title or f"{quantity.capitalize()} against stubbornness", said, told, paint)


def _chart(rows: Rows, names: Sequence[str], ends: tuple[float, float], quantity: str) -> Any:
    alt, data = altair(), Data(rows)
    smallest, beyond = ends
    endless = any(math.isinf(row[_SIGMA]) for row in rows)
    last = beyond if endless else beyond / 10
    ticks = [t for t in log_ticks(smallest, beyond / 10) if t < beyond / 2] + ([beyond] if endless else [])
    axes = {
        "x": logarithmic(
            alt.X,
            data.field(_PLACE),
            "stubbornness sigma: how many people the adversary has seen elsewhere",
            [smallest, last],
            values=ticks,
            labelExpr=f"datum.value >= {beyond / 1.01!r} ? '∞' : datum.label",
        ),
        "y": logarithmic(alt.Y, data.field(quantity), quantity, [row[quantity] for row in rows]),
    }
    lines = drawn_curves(data, names, "adversary", axes)
    if not endless:
        return lines
    border = Data([{_PLACE: beyond / math.sqrt(10)}])
    return alt.Chart(border.values).mark_rule(color=FAINT, strokeDash=[2, 3]).encode(x=border.field(_PLACE)) + lines
