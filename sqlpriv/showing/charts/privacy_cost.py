"""What privacy costs: the error of a count against gamma, the policy's own gamma marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.showing.charts.canvas import COLOURS, INK, draw, plain_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_privacy_cost(points: Sequence[tuple[float, float]], chosen: float, path: str | Path) -> Path:
    """Pairs (gamma, standard error of a count over half the domain as a share of the rows)."""
    return draw(path, lambda figure: _paint(figure, points, chosen), width=9, height=6)


def _paint(figure: Figure, points: Sequence[tuple[float, float]], chosen: float) -> None:
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot([g for g, _ in points], [100 * e for _, e in points], color=COLOURS[0], marker="o", linewidth=2)
    axes.axvline(chosen, color=INK, linestyle="--", linewidth=1, label=f"this policy: gamma = {chosen:g}")
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    axes.set_xlabel("gamma: the largest belief after seeing the release")
    axes.set_ylabel("standard error of a count over half the domain, % of the rows")
    axes.set_title("What privacy costs")
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="best", framealpha=0.9)
