"""Figures 2 and 3 of the paper: estimates against true counts, and mean errors of all queries from a true count on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlpriv.showing.charts.canvas import COLOURS, FAINT, INK, draw, plain_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEWEST = 30  # queries that a mean is shown of
_NOT_PRIVATE = {"FRAPP": "FRAPP, comparison level: NOT private"}


def draw_estimates(path: Path, points: Mapping[str, Mapping[str, Any]], note: str) -> Path:
    """Figure 2: a dot for every query, x = Q(I) and y = its estimate; a perfect one lies on the line y = x."""

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(points), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (name, found), colour in zip(panels, points.items(), COLOURS, strict=False):
            # Hundreds of thousands of dots become one embedded picture; text and axes stay vectors.
            panel.plot(found["truth"], found["estimate"], ".", markersize=2, color=colour, rasterized=True)
            panel.axline((0, 0), slope=1, color=INK, linewidth=0.8)
            panel.set_title(_NOT_PRIVATE.get(name, name))
            panel.set_xlabel("true answer Q(I)")
        panels[0].set_ylabel("estimate from the view")
        figure.suptitle(f"Figure 2: every selection by up to three attributes\n{note}")

    return draw(path, paint, height=5.0)


def draw_cumulative(path: Path, curves: Mapping[str, Sequence[tuple[int, float, int]]], note: str) -> Path:
    """Figure 3: y is the mean error over all queries with Q(I) >= x."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
            shown = [(max(x, 0.5), error) for x, error, queries in curve if queries >= _FEWEST]
            axes.plot(*zip(*shown, strict=True), color=colour, label=_NOT_PRIVATE.get(name, name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        axes.grid(color=FAINT, linewidth=0.3)
        axes.set_xlabel("x (all queries are drawn at 0.5)")
        axes.set_ylabel("mean error over the queries with Q(I) >= x")
        axes.legend(frameon=False)
        axes.set_title(f"Figure 3: mean error over the queries with Q(I) >= x\n{note}")

    return draw(path, paint, width=9.0, height=6.0)
