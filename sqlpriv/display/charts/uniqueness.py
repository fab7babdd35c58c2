"""By which columns people can be found: how many are alone in each, and in small sets of them."""

from __future__ import annotations

from functools import partial
from textwrap import fill
from typing import Any

from sqlpriv.core.facts import legible, shown_number
from sqlpriv.display.charts.marks import BLUE, FAINT, Data, Rows, altair, from_none, legend, texts
from sqlpriv.display.charts.picture import Picture
from sqlpriv.risk.find import Findings

_LETTERS = 38
_BAR, _GAP = 16, 14


def uniqueness_picture(found: Findings) -> Picture:
    """Bars for the columns and the sets that are shown: who is alone, and who is so only by all columns of a set."""
    top, own = found.options.top, "only together"
    by = [*found.singles[:top], *[one for one in found.sets if one.special][:top]]
    rows = [
        {"columns": _label(one.columns), "people": float(number), "alone": kind, "shown": shown_number(number)}
        for one in by
        for kind, number in (("alone", one.uniques), (own, one.special))
        if kind == "alone" or len(one.columns) > 1
    ]
    said = f"How many {found.people} no other shares the values of these columns with, of {found.found.people:,}."
    flat = [{**row, "columns": str(row["columns"]).replace("\n", " ")} for row in rows]
    numbers = [{name: value for name, value in row.items() if name != "shown"} for row in flat]
    return Picture(found.title, said, numbers, partial(_chart, rows, found.people))


def _label(columns: tuple[str, ...]) -> str:
    return fill(legible(", ".join(columns)), _LETTERS)


def _chart(rows: Rows, people: str) -> Any:
    alt, data = altair(), Data(rows, breaks=["columns"])
    kinds = list(dict.fromkeys(row["alone"] for row in rows))
    labels = list(dict.fromkeys(row["columns"] for row in rows))
    lines = max(label.count("\n") + 1 for label in labels)
    wrapped = alt.Axis(labelLimit=0, labelExpr="split(datum.label, '\\n')", labelLineHeight=13, labelPadding=8)
    axes = {
        "y": alt.Y(data.field("columns"), sort=None, title=None, axis=wrapped, scale=alt.Scale(paddingInner=0.25)),
        "yOffset": alt.YOffset(data.field("alone"), sort=kinds, scale=alt.Scale(domain=kinds)),
        "x": from_none(alt.X, data.field("people"), people, max(row["people"] for row in rows), room=5),
    }
    colours = alt.Scale(domain=kinds, range=[FAINT, BLUE][: len(kinds)])
    coloured = alt.Color(data.field("alone"), scale=colours, legend=legend(1))
    bars = alt.Chart(data.values).mark_bar(height={"band": 0.9})
    drawn = bars.encode(**axes, color=coloured, tooltip=data.tips("columns", "people", "alone"))
    step = max(_BAR * len(kinds), 14 * lines) + _GAP
    return (drawn + texts(data, "shown", axes, dx=4, dy=0)).properties(height=step * len(labels))
