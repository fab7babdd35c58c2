"""What disclosure risks: against utility, with the frontier; how much of each attribute is disclosed.

The rows are those of the tables in Facts, by the names of their columns. None of them holds a value of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import legible, shown_number
from sqlpriv.display.charts.data import Data, altair, apart, lines
from sqlpriv.display.charts.look import BLUE, COLOURS, FAINT, ORANGE, RED, Rows, cycled
from sqlpriv.display.charts.marks import legend, ring, texts
from sqlpriv.display.charts.picture import Picture

RISK = "risk: mean loss of a record"
_UTILITY = "utility: mean steps of a record below the tops of its hierarchies"
_ACROSS = 2  # panels beside each other
_PANEL = 280


def disclosure_picture(rows: Rows, chosen: float | None = None) -> Picture:
    """Risk against utility, a point for each threshold c, the frontier a line, the chosen threshold ringed.

    Rows have c, risk and utility. Infinite risks, those of prohibited cells, are counted below the title.
    """
    points = finite(rows, ("risk", "utility"), "disclosure")
    best = frontier(points)
    left_out = len(rows) - len(points)
    said = [f"Each point is a threshold c; {len(best)} of {len(points)} are on the frontier, beaten by none in both."]
    said += [f"The ring is the chosen one, c = {_number(p['c'])}." for p in points if p["c"] == chosen]
    said += [f"{left_out:,} with an infinite risk are left out."] if left_out else []
    paint = partial(_frontier_chart, points, best, chosen)
    numbers = [{name: row[name] for name in ("c", "risk", "utility")} for row in points]
    return Picture("Risk against utility", " ".join(said), numbers, paint)


def disclosure_levels_picture(rows: Rows) -> Picture:
    """The share of records whose attribute is disclosed at each level, by the threshold c: a panel an attribute.

    Rows have c, attribute, level (steps below the top, 0: nothing is disclosed) and share.
    """
    if not rows:
        raise InputError("there are no levels to draw")
    said = (
        "The share of the records whose attribute is disclosed at each level, by the threshold c. A level is how many "
        "steps below the top of its hierarchy an attribute is disclosed; at level 0 it is suppressed."
    )
    paint = partial(_levels_chart, rows)
    return Picture("How much is disclosed of each attribute", said, rows, paint, width=2 * _PANEL, elastic=False)


def frontier(rows: Rows) -> list[Mapping[str, Any]]:
    """The rows that no other beats in risk and utility, by utility.

    >>> rows = [{"c": 1, "risk": 3, "utility": 5}, {"c": 2, "risk": 4, "utility": 5}, {"c": 3, "risk": 1, "utility": 2}]
    >>> [row["c"] for row in frontier(rows)]
    [3, 1]
    """
    kept: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: (-row["utility"], row["risk"])):
        if not kept or row["risk"] < kept[-1]["risk"]:
            kept.append(row)
    return kept[::-1]


def finite(rows: Rows, names: Sequence[str], what: str) -> list[Mapping[str, Any]]:
    """The rows that have a place in a picture; some must."""
    found = [row for row in rows if all(row[name] is not None and math.isfinite(row[name]) for name in names)]
    if not found:
        raise InputError(f"there is no {what} to draw: no figure is finite")
    return found


def _number(value: Any) -> str:
    return shown_number(float(value), 3)


def _frontier_chart(points: Rows, best: Rows, chosen: float | None) -> Any:
    alt = altair()
    kept = {row["c"] for row in best}
    own = [p for p in points if p["c"] == chosen]
    named = {row["c"] for row in apart([*own, *best], "utility", "risk")}
    names = ("a threshold c", f"frontier ({len(best)})", f"chosen: c = {_number(chosen or 0)}")
    rows = [
        {
            "c": float(p["c"]), "risk": p["risk"], "utility": p["utility"],
            "kind": names[2] if p["c"] == chosen else names[1] if p["c"] in kept else names[0],
            "name": f"c = {_number(p['c'])}" if p["c"] in named else "",
        }
        for p in points
    ]  # fmt: skip
    data = Data(rows)
    padded = alt.Scale(padding=20, nice=False)  # room for names beside the outermost points
    kinds = [name for name in names if any(row["kind"] == name for row in rows)]
    looks = {names[0]: (BLUE, "circle"), names[1]: (ORANGE, "square"), names[2]: (RED, "diamond")}
    axes = {
        "x": alt.X(data.field("utility"), scale=padded, title=lines(_UTILITY)),
        "y": alt.Y(data.field("risk"), scale=padded, title=RISK),
    }
    kind = data.field("kind")
    coloured = alt.Scale(domain=kinds, range=[looks[name][0] for name in kinds])
    shaped = alt.Scale(domain=kinds, range=[looks[name][1] for name in kinds])
    dots = (
        alt.Chart(data.values)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            **axes,
            color=alt.Color(kind, scale=coloured, legend=legend(3)),
            shape=alt.Shape(kind, scale=shaped, legend=legend(3)),
            tooltip=data.tips("c", "risk", "utility"),
        )
    )
    joined = Data([{"utility": p["utility"], "risk": p["risk"]} for p in best])
    line = alt.Chart(joined.values).mark_line(color=ORANGE, strokeWidth=2)
    layers = line.encode(**_placed(joined)) + dots
    if own:
        ringed = Data([{"utility": p["utility"], "risk": p["risk"]} for p in own])
        layers += ring(ringed, _placed(ringed))
    return layers + texts(data, "name", axes, dx=10, dy=12)


def _placed(data: Data) -> dict[str, Any]:
    return {"x": data.field("utility"), "y": data.field("risk")}


def _levels_chart(rows: Rows) -> Any:
    attributes = list(dict.fromkeys(str(row["attribute"]) for row in rows))
    levels = sorted({int(row["level"]) for row in rows})
    panels = [_levels_of(name, [row for row in rows if row["attribute"] == name], levels) for name in attributes]
    return altair().concat(*panels, columns=_ACROSS, spacing=24)


def _levels_of(attribute: str, rows: Rows, levels: Sequence[int]) -> Any:
    alt = altair()
    names = {level: "0, suppressed" if level == 0 else str(level) for level in levels}
    shares = [
        {"threshold c": _number(r["c"]), "level": names[int(r["level"])], "step": int(r["level"]), "share": r["share"]}
        for r in rows
    ]
    data = Data(shares)
    order = list(dict.fromkeys(row["threshold c"] for row in shares))
    colours = [FAINT if level == 0 else cycled(COLOURS[:6], level)[-1] for level in levels]
    slanted = alt.Axis(labelAngle=0 if max(map(len, order)) < 4 else -45)
    encoded = {
        "x": alt.X(f"{data.key('threshold c')}:N", sort=order, title="threshold c", axis=slanted),
        "y": alt.Y(data.field("share"), title="share of the records", scale=alt.Scale(domain=[0, 1], nice=False)),
        "order": alt.Order(data.field("step")),
        "color": alt.Color(
            f"{data.key('level')}:N",
            scale=alt.Scale(domain=list(names.values()), range=colours),
            legend=alt.Legend(title="level", orient="right", labelLimit=0),
        ),
        "tooltip": data.tips("threshold c", "level", "share"),
    }
    title = alt.TitleParams(legible(attribute), fontSize=13)
    return alt.Chart(data.values).mark_bar().encode(**encoded).properties(width=_PANEL, height=190, title=title)
