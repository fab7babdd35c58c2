"""Layers that several charts have: curves told apart by name, a marked choice, texts beside points, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlpriv.core.facts import legible
from sqlpriv.display.charts.data import Data, altair
from sqlpriv.display.charts.look import COLOURS, DASHES, RED, SHAPES, cycled


def legend(columns: int = 2, **more: Any) -> Any:
    """A legend above the chart, where it takes no width, with every word of it."""
    return altair().Legend(title=None, orient="top", columns=columns, columnPadding=36, labelLimit=0, **more)


def named(field: str, names: Sequence[str], other: Any = None) -> dict[str, Any]:
    """Encodings that tell names apart, by colour and by shape; `other` is a legend in the place of the one above."""
    alt, shared = altair(), {"sort": None, "legend": other or legend()}
    return {
        "color": alt.Color(field, scale=_scale(names, COLOURS), **shared),
        "shape": alt.Shape(field, scale=_scale(names, SHAPES), **shared),
    }


def dashed(field: str, names: Sequence[str], dashes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Encodings that tell lines apart, by colour and by dashes."""
    alt, shared = altair(), {"sort": None, "legend": legend(1, symbolType="stroke", symbolSize=300)}
    return {
        "color": alt.Color(field, scale=_scale(names, COLOURS), **shared),
        "strokeDash": alt.StrokeDash(field, scale=_scale(names, dashes), **shared),
    }


def _scale(names: Sequence[str], given: Sequence[Any]) -> Any:
    return altair().Scale(domain=[legible(name) for name in names], range=cycled(given, len(names)))


def curves(data: Data, names: Sequence[str], by: str, axes: dict[str, Any]) -> Any:
    """A line with its points for each name, told apart by colour, dashes and shapes."""
    alt, field = altair(), data.field(by)
    look = named(field, names)
    # Shapes are what the legend shows: a dashed shape could not be read.
    dashes = alt.StrokeDash(field, scale=_scale(names, DASHES), sort=None, legend=None)
    lines = alt.Chart(data.values).mark_line(strokeWidth=2).encode(**axes, color=look["color"], strokeDash=dashes)
    points = alt.Chart(data.values).mark_point(filled=True, size=60, opacity=1)
    return lines + points.encode(**axes, **look, tooltip=data.tips())


def ring(data: Data, axes: dict[str, Any], name: str = "") -> Any:
    """What was chosen, ringed; the legend says so, where there is a name."""
    alt = altair()
    rings = alt.Chart(data.values).mark_point(size=260, strokeWidth=3, filled=False, opacity=1, stroke=RED)
    if not name:
        return rings.encode(**axes)
    scale = alt.Scale(domain=[name], range=[RED])
    return rings.encode(**axes, stroke=alt.Stroke(f"{data.key('name')}:N", scale=scale, legend=legend()))


def texts(data: Data, text: str, axes: dict[str, Any], **style: Any) -> Any:
    """A text beside each point."""
    placed = {"align": "left", "dx": 8, "dy": -8, "fontSize": 11} | style
    return altair().Chart(data.values).mark_text(**placed).encode(**axes, text=altair().Text(f"{data.key(text)}:N"))
