"""Figures 2 and 3 of the paper: estimates against true counts, and mean errors of all queries from a true count on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sqlpriv.display.charts import Picture, draw
from sqlpriv.display.charts.marks import COLOURS, DASHES, Data, Rows, altair, dashed, logarithmic

_FEWEST = 30  # queries that a mean is shown of
_NOT_PRIVATE = {"FRAPP": "FRAPP, comparison level: NOT private"}
_PANEL = 330
_PLACES = 300  # along an axis: of the hundreds of thousands of dots, those in one place are drawn once
_COUNT, _ERROR = "Q(I)", "mean error over the queries with Q(I) >= x"


def draw_estimates(path: Path, points: Mapping[str, Mapping[str, Any]], note: str) -> Path:
    """Figure 2: a dot for every query, x = Q(I) and y = its estimate; a perfect one lies on the line y = x."""
    low = min(float(found[name].min()) for found in points.values() for name in ("truth", "estimate"))
    high = max(float(found[name].max()) for found in points.values() for name in ("truth", "estimate"))
    dots = {_NOT_PRIVATE.get(name, name): _places(found, (high - low) / _PLACES) for name, found in points.items()}
    said = f"Every selection by up to three attributes: its true answer against the estimate from the view. {note}"
    rows = [{"release": name, **dot} for name, own in dots.items() for dot in own]
    paint = partial(_estimates, dots, [low, high])
    return draw(Picture("Figure 2", said, rows, paint, width=_PANEL * len(dots), elastic=False), path)


def _places(found: Mapping[str, Any], step: float) -> list[dict[str, float]]:
    """Where the dots are, each place once."""
    both = np.column_stack([np.asarray(found[name], dtype=float) for name in ("truth", "estimate")])
    return [{"truth": x * step, "estimate": y * step} for x, y in np.unique(np.round(both / step), axis=0).tolist()]


def _estimates(dots: Mapping[str, Rows], ends: list[float]) -> Any:
    alt, scale = altair(), altair().Scale(domain=ends, nice=False)
    panels = []
    for (name, rows), colour in zip(dots.items(), COLOURS, strict=False):
        data = Data(rows)
        marks = alt.Chart(data.values).mark_square(size=2, color=colour, opacity=1)
        axes = {
            "x": alt.X(data.field("truth"), title="true answer Q(I)", scale=scale),
            "y": alt.Y(data.field("estimate"), title="estimate from the view", scale=scale),
        }
        line = {"x": alt.XDatum(ends[0]), "x2": alt.X2Datum(ends[1])} | {
            "y": alt.YDatum(ends[0]), "y2": alt.Y2Datum(ends[1])
        }  # fmt: skip
        diagonal = alt.Chart(Data([{"end": 0}]).values).mark_rule().encode(**line)
        titled = {"title": alt.TitleParams(name, fontSize=13), "width": _PANEL, "height": _PANEL}
        panels.append((marks.encode(**axes) + diagonal).properties(**titled))
    return alt.hconcat(*panels)


def draw_cumulative(path: Path, curves: Mapping[str, Sequence[tuple[int, float, int]]], note: str) -> Path:
    """Figure 3: y is the mean error over all queries with Q(I) >= x."""
    rows = [
        {"release": _NOT_PRIVATE.get(name, name), _COUNT: max(x, 0.5), _ERROR: error}
        for name, curve in curves.items()
        for x, error, queries in curve
        if queries >= _FEWEST
    ]
    said = f"The mean error over the queries with Q(I) >= x. {note}"
    return draw(Picture("Figure 3", said, rows, partial(_cumulative, rows)), path)


def _cumulative(rows: Rows) -> Any:
    alt, data = altair(), Data(rows)
    names = list(dict.fromkeys(row["release"] for row in rows))
    axes = {
        "x": logarithmic(alt.X, data.field(_COUNT), "x (all queries are drawn at 0.5)", [row[_COUNT] for row in rows]),
        "y": logarithmic(alt.Y, data.field(_ERROR), _ERROR, [row[_ERROR] for row in rows]),
    }
    return alt.Chart(data.values).mark_line().encode(**axes, **dashed(data.field("release"), names, DASHES))
