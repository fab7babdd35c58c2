"""Risk by what an attacker holds: by the size of a dictionary, and as estimated with one against another."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlpriv.display.charts.data import Data, altair, lines
from sqlpriv.display.charts.disclosure import RISK, finite
from sqlpriv.display.charts.look import BLUE, RED, Rows
from sqlpriv.display.charts.marks import curves, legend
from sqlpriv.display.charts.picture import Picture

_BOUNDS = {True: "the estimate bounds the true risk", False: "the dictionaries are not in order: no bound"}


def risk_by_entries_picture(rows: Rows) -> Picture:
    """The risk by the size of the dictionary. Rows have entries and risk, and where there are several curves, curve."""
    points = finite(rows, ("entries", "risk"), "risk by the size of the dictionary")
    numbers = [{"curve": str(p.get("curve", "risk")), "entries": p["entries"], "risk": p["risk"]} for p in points]
    several = any("curve" in p for p in points)
    said = "The mean loss of a record, by how many entries the dictionary of the attacker has."
    return Picture("Risk by the size of the dictionary", said, numbers, partial(_entries_chart, numbers, several))


def risk_bound_picture(rows: Rows) -> Picture:
    """The risk estimated with one dictionary against the true risk with another: a point for each release.

    Rows have estimated, true and precedes: whether the dictionary of the estimate precedes the other one (Definition
    5), so that the estimate is a bound, and the point lies on the diagonal or above it.
    """
    points = finite(rows, ("estimated", "true"), "estimated risk")
    numbers = [{"true": p["true"], "estimated": p["estimated"], "kind": _BOUNDS[bool(p["precedes"])]} for p in points]
    said = "Each point is a release. On the dashed line or above it, the estimate is at least the true risk."
    return Picture("Estimated against true risk", said, numbers, partial(_bound_chart, numbers))


def _entries_chart(rows: Rows, several: bool) -> Any:
    alt, data = altair(), Data(rows)
    axes = {
        "x": alt.X(data.field("entries"), title="entries of the dictionary", axis=alt.Axis(format=",.0f")),
        "y": alt.Y(data.field("risk"), title=RISK),
    }
    if several:
        return curves(data, list(dict.fromkeys(row["curve"] for row in rows)), "curve", axes)
    line = alt.Chart(data.values).mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(size=60, color=BLUE))
    return line.encode(**axes, tooltip=data.tips("entries", "risk"))


def _bound_chart(rows: Rows) -> Any:
    alt, data = altair(), Data(rows)
    most = max(max(row["estimated"], row["true"]) for row in rows) or 1.0
    diagonal = Data([{"true": end, "estimated": end} for end in (0.0, most)])
    kinds = [kind for kind in _BOUNDS.values() if any(row["kind"] == kind for row in rows)]
    colours, shapes = {_BOUNDS[True]: BLUE, _BOUNDS[False]: RED}, {_BOUNDS[True]: "circle", _BOUNDS[False]: "cross"}
    kind, shared = data.field("kind"), {"legend": legend(1)}
    points = (
        alt.Chart(data.values)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X(data.field("true"), title=lines("true risk, with the dictionary that the attacker holds")),
            y=alt.Y(data.field("estimated"), title="estimated risk"),
            color=alt.Color(kind, scale=alt.Scale(domain=kinds, range=[colours[k] for k in kinds]), **shared),
            shape=alt.Shape(kind, scale=alt.Scale(domain=kinds, range=[shapes[k] for k in kinds]), **shared),
            tooltip=data.tips(),
        )
    )
    # A rule takes the ink of its page, a line would need a colour.
    ends = {"x": alt.XDatum(0), "x2": alt.X2Datum(most), "y": alt.YDatum(0), "y2": alt.Y2Datum(most)}
    return alt.Chart(diagonal.values).mark_rule(strokeDash=[5, 4]).encode(**ends) + points
