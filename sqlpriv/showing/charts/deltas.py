"""Delta against epsilon, for several k and sampling probabilities; the policy's own pair is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.showing.charts.canvas import COLOURS, INK, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = Sequence[tuple[float, float]]


def draw_deltas(curves: Mapping[str, Points], chosen: tuple[float, float], path: str | Path) -> Path:
    """Curves by what they are of, each of pairs (epsilon, delta)."""
    return draw(path, lambda figure: _paint(figure, curves, chosen), width=9, height=6)


def _paint(figure: Figure, curves: Mapping[str, Points], chosen: tuple[float, float]) -> None:
    axes = figure.subplots()
    axes.set_yscale("log")
    for i, (name, points) in enumerate(curves.items()):
        style = "--" if name.startswith("bound") else "-"
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(
            [e for e, _ in points], [d for _, d in points], color=colour, linestyle=style, linewidth=2, label=name
        )
    axes.plot(*chosen, marker="o", color=INK, linestyle="none", label="this policy")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("delta")
    axes.set_title("Sampled k-anonymity: delta against epsilon")
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="best", framealpha=0.9)
