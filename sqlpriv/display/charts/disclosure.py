"""What disclosure risks: against utility, with the frontier; by the size of the dictionary that an attacker holds; as
estimated with one dictionary against the true risk with another. And how much of each attribute is disclosed.

The rows are those of the tables in Facts, by the names of their columns. None of them holds a value of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import legible, shown_number
from sqlpriv.display.charts.marks import (
    BLUE,
    COLOURS,
    FAINT,
    ORANGE,
    RED,
    Data,
    Rows,
    altair,
    apart,
    curves,
    cycled,
    lines,
    ring,
    styled,
    texts,
)
from sqlpriv.display.charts.picture import Picture

_RISK = "risk: mean loss of a record"
_UTILITY = "utility: mean steps of a record below the tops of its hierarchies"
_ACROSS = 2  # panels next to each other
_PANEL = 280
_BOUNDS = {True: "the estimate bounds the true risk", False: "the dictionaries are not in order: no bound"}


def disclosure_picture(rows: Rows, chosen: float | None = None) -> Picture:
    """Risk against utility, a point for each threshold c, the frontier a line, the chosen threshold ringed.

    Rows have c, risk and utility. Infinite risks, those of prohibited cells, are counted below the title.
    """
    points = _finite(rows, ("risk", "utility"), "disclosure")
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


def risk_by_entries_picture(rows: Rows) -> Picture:
    """The risk by the size of the dictionary. Rows have entries and risk, and where there are several curves, curve."""
    points = _finite(rows, ("entries", "risk"), "risk by the size of the dictionary")
    numbers = [{"curve": str(p.get("curve", "risk")), "entries": p["entries"], "risk": p["risk"]} for p in points]
    several = any("curve" in p for p in points)
    said = "The mean loss of a record, by how many entries the dictionary of the attacker has."
    return Picture("Risk by the size of the dictionary", said, numbers, partial(_entries_chart, numbers, several))


def risk_bound_picture(rows: Rows) -> Picture:
    """The risk estimated with one dictionary against the true risk with another: a point for each release.

    Rows have estimated, true and precedes: whether the dictionary of the estimate precedes the other one (Definition
    5), so that the estimate is a bound, and the point lies on the diagonal or above it.
    """
    points = _finite(rows, ("estimated", "true"), "estimated risk")
    numbers = [{"true": p["true"], "estimated": p["estimated"], "kind": _BOUNDS[bool(p["precedes"])]} for p in points]
    said = "Each point is a release. On the dashed line or above it, the estimate is at least the true risk."
    return Picture("Estimated against true risk", said, numbers, partial(_bound_chart, numbers))


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


def _finite(rows: Rows, names: Sequence[str], what: str) -> list[Mapping[str, Any]]:
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
    padded = alt.Scale(padding=20, nice=False)  # room for names next to the outermost points
    kinds = [name for name in names if any(row["kind"] == name for row in rows)]
    looks = {names[0]: (BLUE, "circle"), names[1]: (ORANGE, "square"), names[2]: (RED, "diamond")}
    axes = {
        "x": alt.X(data.field("utility"), scale=padded, title=lines(_UTILITY)),
        "y": alt.Y(data.field("risk"), scale=padded, title=_RISK),
    }
    dots = (
        alt.Chart(data.values)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            **axes,
            **styled(data.field("kind"), {name: looks[name] for name in kinds}, 3),
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


def _entries_chart(rows: Rows, several: bool) -> Any:
    alt, data = altair(), Data(rows)
    axes = {
        "x": alt.X(data.field("entries"), title="entries of the dictionary", axis=alt.Axis(format=",.0f")),
        "y": alt.Y(data.field("risk"), title=_RISK),
    }
    if several:
        return curves(data, list(dict.fromkeys(row["curve"] for row in rows)), "curve", axes)
    line = alt.Chart(data.values).mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(size=60, color=BLUE))
    return line.encode(**axes, tooltip=data.tips("entries", "risk"))


def _bound_chart(rows: Rows) -> Any:
    alt, data = altair(), Data(rows)
    most = max(max(row["estimated"], row["true"]) for row in rows) or 1.0
    diagonal = Data([{"true": end, "estimated": end} for end in (0.0, most)])
    looks = {_BOUNDS[True]: (BLUE, "circle"), _BOUNDS[False]: (RED, "cross")}
    styles = {kind: look for kind, look in looks.items() if any(row["kind"] == kind for row in rows)}
    points = (
        alt.Chart(data.values)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X(data.field("true"), title=lines("true risk, with the dictionary that the attacker holds")),
            y=alt.Y(data.field("estimated"), title="estimated risk"),
            **styled(data.field("kind"), styles, 1),
            tooltip=data.tips(),
        )
    )
    # A rule takes the ink of its page, a line would need a colour.
    ends = {"x": alt.XDatum(0), "x2": alt.X2Datum(most), "y": alt.YDatum(0), "y2": alt.Y2Datum(most)}
    return alt.Chart(diagonal.values).mark_rule(strokeDash=[5, 4]).encode(**ends) + points
