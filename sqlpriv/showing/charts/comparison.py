"""Methods compared: the median error of each with its 90th percentile, and by the size of the true count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.comparing.measure import Measured
from sqlpriv.comparing.run import Row
from sqlpriv.errors import InputError
from sqlpriv.facts import shown_number
from sqlpriv.showing.charts.canvas import COLOURS, INK, MARKERS, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Done = tuple[Row, Measured]
_ROOM = 8.0  # for what is written beside the largest


def draw_comparison(rows: Sequence[Row], path: str | Path) -> Path:
    """Two pictures: all errors, and those of counts by size. Methods that refuse are named below."""
    done = [(row, row.measured) for row in rows if row.measured is not None]
    if not done:
        raise InputError("every method refuses, so there are no errors to draw")
    refused = [row.method for row in rows if row.measured is None]
    return draw(path, lambda figure: _paint(figure, done, refused), width=11, height=2.4 + 0.55 * len(done))


def _paint(figure: Figure, done: Sequence[Done], refused: Sequence[str]) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    _paint_errors(left, done)
    _paint_sizes(right, done)
    most = max(1.0, *(found.p90_error or 0.0 for _, found in done))
    for axes in (left, right):
        # Errors run from none to the whole table: none has its place, and the rest is told apart by its digits.
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(_tick)
        axes.set_xlim(-0.3, most * _ROOM)
        axes.grid(axis="x", alpha=0.3)
    left.set_yticks(range(len(done)), [_name(row) for row, _ in done])
    left.set_ylim(len(done) - 0.4, -0.6)
    notes = ["* chosen by the private table"] if any(row.chosen for row, _ in done) else []
    notes += [f"no release by {', '.join(refused)}"] if refused else []
    figure.supxlabel("; ".join(["|estimate - truth|, of counts in rows. For the owner alone", *notes]), fontsize=9)


def _tick(value: float, _place: int) -> str:
    return f"{value:,.0f}"


def _paint_errors(axes: Axes, done: Sequence[Done]) -> None:
    for place, (row, found) in enumerate(done):
        middle, far = found.median_error or 0.0, found.p90_error or 0.0
        axes.plot([middle, far], [place, place], color=COLOURS[0], linewidth=2)
        axes.plot([middle], [place], color=COLOURS[0], marker="o", markersize=9)
        axes.plot([far], [place], color=COLOURS[0], marker="|", markersize=14, markeredgewidth=2)
        believed = "not known" if row.posterior is None else shown_number(row.posterior, 3)
        text = f"{shown_number(middle, 3)} to {shown_number(far, 3)}; posterior {believed}"
        axes.annotate(text, (middle, place), (0, 9), textcoords="offset points", fontsize=8, color=INK)
    axes.set_title("Median error, up to the 90th percentile")


def _paint_sizes(axes: Axes, done: Sequence[Done]) -> None:
    for number, size in enumerate(done[0][1].by_size):
        errors = [found.by_size[number].median_error for _, found in done]
        known = [(e, i) for i, e in enumerate(errors) if e is not None]
        axes.plot(
            [e for e, _ in known], [i for _, i in known], linestyle="none", color=COLOURS[number],
            marker=MARKERS[number], markersize=9, label=size.size,
        )  # fmt: skip
    axes.set_title("Median error by the size of the true count")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)


def _name(row: Row) -> str:
    return f"{row.method} *" if row.chosen else row.method
