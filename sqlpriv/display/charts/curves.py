"""What other numbers in a policy would give, as curves; and what each column lost, as bars.

column_loss    the loss of each column by generalization, of 1 where all of it is gone
privacy_cost   the error of a count against gamma, the policy's own gamma marked
deltas         delta against epsilon, for several k and sampling probabilities, the policy's own pair marked
stubbornness   minimum epsilon against stubbornness, one line an adversary: the paper's Figure 2(a)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import shown_number
from sqlpriv.display.charts.marks import (
    BLUE,
    DASHES,
    FAINT,
    Data,
    Rows,
    altair,
    dashed,
    log_ticks,
    logarithmic,
    ring,
    texts,
)
from sqlpriv.display.charts.marks import curves as curves_of
from sqlpriv.display.charts.picture import Picture
from sqlpriv.methods.charts import Points

_ROW = 26
_ERROR = "standard error, % of the rows"
_SIGMA, _PLACE = "sigma", "place"


def column_loss_picture(rows: Rows) -> Picture:
    """Rows have column, loss and level."""
    worst = max(rows, key=lambda row: float(row["loss"]))
    said = f"How much of each column is lost, from 0 (as it was) to 1 (all of it). Most is lost of {worst['column']}."
    return Picture("Loss by column", said, rows, partial(_loss_chart, rows))


def _loss_chart(rows: Rows) -> Any:
    alt, data = altair(), Data(rows)
    encoded = {
        "y": alt.Y(data.field("column"), title=None, sort=None, axis=alt.Axis(labelLimit=200)),
        "x": alt.X(data.field("loss"), title="loss", scale=alt.Scale(domain=[0, 1])),
        "tooltip": data.tips(),
    }
    return alt.Chart(data.values).mark_bar(color=BLUE).encode(**encoded).properties(height=40 + _ROW * len(rows))


def privacy_cost_picture(points: Sequence[tuple[float, float]], chosen: float) -> Picture:
    """Pairs (gamma, standard error of a count over half the domain as a share of the rows)."""
    rows = [{"gamma": gamma, _ERROR: 100 * error} for gamma, error in points]
    said = (
        "The standard error of a count over half the domain, as a share of the rows, against gamma: the largest belief "
        f"of anybody after seeing the release. The line across is this policy, at gamma = {shown_number(chosen)}."
    )
    return Picture("What privacy costs", said, rows, partial(_cost_chart, rows, chosen))


def _cost_chart(rows: Rows, chosen: float) -> Any:
    alt, data = altair(), Data(rows)
    own = Data([{"gamma": chosen, "name": f"this policy: gamma = {shown_number(chosen)}"}])
    gammas, errors = [*(row["gamma"] for row in rows), chosen], [row[_ERROR] for row in rows]

    def across(of: Data) -> Any:
        title = "gamma: the largest belief after seeing the release"
        return logarithmic(alt.X, of.field("gamma"), title, gammas)

    up = logarithmic(alt.Y, data.field(_ERROR), _ERROR, errors)
    line = alt.Chart(data.values).mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(size=60, color=BLUE))
    drawn = line.encode(x=across(data), y=up, tooltip=data.tips())
    rule = alt.Chart(own.values).mark_rule(strokeDash=[5, 4]).encode(x=across(own))
    # The text stands on the side of the line that has more room.
    side = {"align": "right", "dx": -6} if chosen > math.sqrt(min(gammas) * max(gammas)) else {"dx": 6}
    return drawn + rule + texts(own, "name", {"x": across(own), "y": alt.value(8)}, dy=0, **side)


def deltas_picture(curves: Mapping[str, Points], chosen: tuple[float, float]) -> Picture:
    """Curves by what they are of, each of pairs (epsilon, delta); those that start with `bound` are dashed."""
    # A delta of 0 has no place on a logarithmic axis.
    rows = [{"for": name, "epsilon": e, "delta": d} for name, points in curves.items() for e, d in points if d > 0]
    if not rows:
        raise InputError("there is no delta to draw: all of them are 0")
    own = {"epsilon": chosen[0], "delta": chosen[1], "name": "this policy"}
    said = (
        "Sampled k-anonymity: delta against epsilon for other choices of k and beta. The ring is this policy, at "
        f"epsilon {shown_number(chosen[0])} and delta {shown_number(chosen[1])}."
    )
    return Picture("Delta against epsilon", said, rows, partial(_deltas_chart, rows, own))


def _deltas_chart(rows: Rows, own: Mapping[str, Any]) -> Any:
    alt, data, marked = altair(), Data(rows), Data([own])
    names = list(dict.fromkeys(row["for"] for row in rows))
    seen = [*(row["delta"] for row in rows), own["delta"]]

    def axes(of: Data) -> dict[str, Any]:
        return {
            "x": alt.X(of.field("epsilon"), title="epsilon"),
            "y": logarithmic(alt.Y, of.field("delta"), "delta", seen, format=".0e"),
        }

    dashes = [DASHES[1] if name.startswith("bound") else DASHES[0] for name in names]
    lines = (
        alt.Chart(data.values).mark_line(strokeWidth=2).encode(**axes(data), **dashed(data.field("for"), names, dashes))
    )
    # A line is pointed at as a whole: invisible points say where on it.
    pointed = alt.Chart(data.values).mark_point(size=80, opacity=0).encode(**axes(data), tooltip=data.tips())
    return lines + pointed + ring(marked, axes(marked), own["name"])


def stubbornness_picture(
    curves: Mapping[str, Sequence[tuple[float, float]]], title: str | None = None, quantity: str = "minimum epsilon"
) -> Picture:
    """Pairs (sigma, epsilon) on two logarithmic axes. An infinite sigma stands at the right edge, as ∞.

    Where epsilon is infinite there is no point; an adversary with no point at all is named in the legend as such.
    `quantity` names what else may stand on the y axis, such as the least cost that an epsilon allows.
    """
    finite = [sigma for curve in curves.values() for sigma, _ in curve if not math.isinf(sigma)]
    if not finite:
        raise InputError("there is no stubbornness to draw: every sigma was too small for the number of values")
    if not any(math.isfinite(epsilon) for curve in curves.values() for _, epsilon in curve):
        raise InputError("there is no stubbornness to draw: no epsilon holds against any adversary")
    beyond = max(finite) * 10  # where infinity is drawn
    names = {name: name if any(math.isfinite(e) for _, e in c) else f"{name} (infinite)" for name, c in curves.items()}
    rows = [
        {"adversary": names[name], _SIGMA: sigma, _PLACE: beyond if math.isinf(sigma) else sigma, quantity: epsilon}
        for name, curve in curves.items()
        for sigma, epsilon in curve
        if math.isfinite(epsilon)
    ]
    said = f"The {quantity} against how many people an adversary has seen elsewhere, a line for each adversary."
    paint = partial(_stubbornness_chart, rows, list(names.values()), (min(finite), beyond), quantity)
    numbers = [{name: value for name, value in row.items() if name != _PLACE} for row in rows]
    return Picture(title or f"{quantity.capitalize()} against stubbornness", said, numbers, paint)


def _stubbornness_chart(rows: Rows, names: Sequence[str], ends: tuple[float, float], quantity: str) -> Any:
    alt, data = altair(), Data(rows)
    smallest, beyond = ends
    endless = any(math.isinf(row[_SIGMA]) for row in rows)
    last = beyond if endless else beyond / 10
    ticks = [t for t in log_ticks(smallest, beyond / 10) if t < beyond / 2] + ([beyond] if endless else [])
    axes = {
        "x": logarithmic(
            alt.X,
            data.field(_PLACE),
            "stubbornness sigma: how many people the adversary has seen elsewhere",
            [smallest, last],
            values=ticks,
            labelExpr=f"datum.value >= {beyond / 1.01!r} ? '∞' : datum.label",
        ),
        "y": logarithmic(alt.Y, data.field(quantity), quantity, [row[quantity] for row in rows]),
    }
    lines = curves_of(data, names, "adversary", axes)
    if not endless:
        return lines
    border = Data([{_PLACE: beyond / math.sqrt(10)}])
    return alt.Chart(border.values).mark_rule(color=FAINT, strokeDash=[2, 3]).encode(x=border.field(_PLACE)) + lines
