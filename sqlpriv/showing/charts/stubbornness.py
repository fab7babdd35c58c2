"""Minimum epsilon against stubbornness, one line an adversary: the paper's Figure 2(a)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.errors import InputError
from sqlpriv.showing.charts.canvas import COLOURS, MARKERS, draw, plain_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", "--", "-.", ":")


def draw_stubbornness(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    path: str | Path,
    title: str | None = None,
    quantity: str = "minimum epsilon",
) -> Path:
    """Pairs (sigma, epsilon) on two logarithmic axes. An infinite sigma stands at the right edge, as ∞.

    Where epsilon is infinite there is no point; an adversary with no point at all is named in the legend as such.
    `quantity` names what else may stand on the y axis, such as the least cost that an epsilon allows.
    """
    finite = [sigma for curve in curves.values() for sigma, _ in curve if not math.isinf(sigma)]
    if not finite:
        raise InputError("there is no stubbornness to draw: every sigma was too small for the number of values")
    if not any(math.isfinite(epsilon) for curve in curves.values() for _, epsilon in curve):
        raise InputError("there is no stubbornness to draw: no epsilon holds against any adversary")
    text = title or f"{quantity.capitalize()} against stubbornness"
    return draw(path, lambda figure: _paint(figure, curves, (min(finite), max(finite)), text, quantity))


def _paint(
    figure: Figure,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    sigmas: tuple[float, float],
    title: str,
    quantity: str,
) -> None:
    smallest, largest = sigmas
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    beyond = largest * 10  # where infinity is drawn
    for i, (name, curve) in enumerate(curves.items()):
        points = [(beyond if math.isinf(s) else s, e) for s, e in curve if not math.isinf(e)]
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        label = name if points else f"{name} (infinite)"
        axes.plot(
            [s for s, _ in points],
            [e for _, e in points],
            color=colour,
            linestyle=_DASHES[i % len(_DASHES)],
            marker=marker,
            linewidth=2,
            label=label,
        )
    powers = range(math.floor(math.log10(smallest)), math.ceil(math.log10(largest)) + 1)
    ticks, names = [10.0**p for p in powers], [f"1e{p}" for p in powers]
    if any(math.isinf(s) for curve in curves.values() for s, _ in curve):
        ticks, names = [*(t for t in ticks if t < beyond), beyond], [*names[: len(ticks)], "∞"]
        axes.axvline(beyond / math.sqrt(10), color="#BBBBBB", linestyle=":")
    axes.set_xticks(ticks, names)
    plain_numbers(axes.yaxis)
    axes.set_xlabel("stubbornness sigma: how many people the adversary has seen elsewhere")
    axes.set_ylabel(quantity)
    axes.grid(alpha=0.3, which="both")
    axes.set_title(title)
    axes.legend(loc="best", framealpha=0.9)
