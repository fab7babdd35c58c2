"""What attacks find: numbers of people, those of the private table beside those of what is attacked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from sqlpriv.attacking.findings import Figure as Number
from sqlpriv.attacking.findings import Finding, NotRun
from sqlpriv.errors import InputError
from sqlpriv.facts import shown_number
from sqlpriv.showing.charts.canvas import COLOURS, FAINT, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bar = tuple[str, Number]
_HIGH = 0.38


def draw_attacks(title: str, found: Sequence[Finding | NotRun], path: str | Path) -> Path:
    """Bars for every number of people that an attack gave."""
    bars = [
        (_label(f, number), number) for f in found if isinstance(f, Finding) for number in f.figures if number.is_drawn
    ]
    if not bars:
        raise InputError("no attack that was run counts people, so there is nothing to draw")
    return draw(path, lambda figure: _paint(figure, title, bars), width=11, height=1.6 + 0.6 * len(bars))


def _label(finding: Finding, number: Number) -> str:
    parts = (finding.case, finding.about, number.words)
    return fill(f"{finding.attack}: {', '.join(filter(None, parts))}", 52)


def _paint(figure: Figure, title: str, bars: Sequence[Bar]) -> None:
    axes = figure.subplots()
    has_raw = any(number.raw is not None for _, number in bars)
    _paint_row(axes, [number.value for _, number in bars], 0.0 if not has_raw else -_HIGH / 2, COLOURS[0], "here")
    if has_raw:
        _paint_row(axes, [number.raw for _, number in bars], _HIGH / 2, FAINT, "private table")
    axes.set_yticks(range(len(bars)), [label for label, _ in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    # From nobody to everybody: nobody has a place, and the rest is told apart by its digits.
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, max(1.0, *(max(n.value or 0.0, n.raw or 0.0) for _, n in bars)) * 4)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_title(title)
    axes.set_xlabel("people. For the owner alone")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _paint_row(axes: Axes, values: Sequence[float | None], shift: float, colour: str, label: str) -> None:
    places = [i + shift for i in range(len(values))]
    axes.barh(places, [value or 0.0 for value in values], height=_HIGH, color=colour, label=label)
    for place, value in zip(places, values, strict=True):
        if value is not None:
            axes.annotate(
                shown_number(value), (value, place), (3, 0), textcoords="offset points", va="center", fontsize=8
            )
