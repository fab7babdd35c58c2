"""Methods compared: the median error of each with its 90th percentile, and by the size of the true count."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlpriv.comparison.run import MethodResult
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import shown_number
from sqlpriv.display.charts.marks import BLUE, Data, Rows, altair, from_none, named, texts
from sqlpriv.display.charts.picture import Picture

_PANEL, _ROW = 380, 46
_MEDIAN, _P90, _LABEL, _SIZE = "median error", "90th percentile", "label", "size of the true count"


def comparison_picture(rows: Sequence[MethodResult]) -> Picture:
    """Two panels: all errors, and those of counts by size. Methods that refuse are named below the title."""
    done = [(row, row.measured) for row in rows if row.measured is not None]
    if not done:
        raise InputError("every method refuses, so there are no errors to draw")
    errors = [
        {"method": row.name, _MEDIAN: found.median_error or 0.0, _P90: found.p90_error or 0.0, _LABEL: _label(row)}
        for row, found in done
    ]
    sizes = [
        {"method": row.name, _SIZE: size.size, _MEDIAN: size.median_error}
        for row, found in done
        for size in found.by_size
        if size.median_error is not None
    ]
    refused = [row.method for row in rows if row.measured is None]
    notes = ["* is chosen by the private table."] if any(row.chosen for row, _ in done) else []
    notes += [f"There is no release by {', '.join(refused)}."] if refused else []
    said = " ".join(["How far estimates are from the truth, of counts in rows.", *notes, "For the owner alone."])
    paint = partial(_chart, errors, sizes)
    return Picture("Errors of methods compared", said, errors, paint, width=2 * _PANEL, elastic=False)


def _label(row: MethodResult) -> str:
    found = row.measured
    assert found is not None
    believed = "not known" if row.posterior is None else shown_number(row.posterior, 3)
    ends = (shown_number(error or 0.0, 3) for error in (found.median_error, found.p90_error))
    return f"{' to '.join(ends)}; posterior {believed}"


def _chart(errors: Rows, sizes: Rows) -> Any:
    most = max(max(row[_MEDIAN], row[_P90]) for row in errors)
    left = _errors(errors, most)
    # Where no question is a count, there are no sizes to list errors by.
    panels = (left, _sizes(sizes, [row["method"] for row in errors], most)) if sizes else (left,)
    return altair().hconcat(*panels, spacing=24)


def _across(of: Data, name: str, most: float) -> Any:
    return from_none(altair().X, of.field(name), "|estimate - truth|", most, room=2)


def _panel(chart: Any, title: str, rows: int) -> Any:
    return chart.properties(width=_PANEL, height=_ROW * rows, title=altair().TitleParams(title, fontSize=13))


def _errors(rows: Rows, most: float) -> Any:
    alt, data = altair(), Data(rows)
    up = alt.Y(data.field("method"), sort=None, title=None, axis=alt.Axis(labelLimit=0))
    middle, far = _across(data, _MEDIAN, most), _across(data, _P90, most)
    base = alt.Chart(data.values)
    lines = base.mark_rule(color=BLUE, strokeWidth=2).encode(y=up, x=middle, x2=alt.X2(data.key(_P90)))
    ends = base.mark_tick(color=BLUE, thickness=2, size=14).encode(y=up, x=far)
    points = base.mark_point(filled=True, color=BLUE, size=90, opacity=1)
    dots = points.encode(y=up, x=middle, tooltip=data.tips("method", _MEDIAN, _P90))
    # The text starts at the left edge, above its line: next to a large error there would be no room for it.
    words = texts(data, _LABEL, {"y": up, "x": alt.value(4)}, dx=0, dy=-14)
    return _panel(lines + ends + dots + words, "Median error, up to the 90th percentile", len(rows))


def _sizes(rows: Rows, methods: Sequence[str], most: float) -> Any:
    alt, data = altair(), Data(rows)
    names = list(dict.fromkeys(row[_SIZE] for row in rows))
    axis = alt.Axis(labels=False, ticks=False)
    up = alt.Y(data.field("method"), sort=list(methods), scale=alt.Scale(domain=list(methods)), title=None, axis=axis)
    points = alt.Chart(data.values).mark_point(filled=True, size=90, opacity=1)
    look = named(data.field(_SIZE), names, other=alt.Legend(title=_SIZE, orient="right", labelLimit=0))
    drawn = points.encode(y=up, x=_across(data, _MEDIAN, most), **look, tooltip=data.tips())
    return _panel(drawn, "Median error by the size of the true count", len(methods))
