"""Delta against epsilon, for several k and sampling probabilities; the policy's own pair is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.errors import InputError
from sqlpriv.facts import shown_number
from sqlpriv.showing.charts.data import Data, altair, logarithmic
from sqlpriv.showing.charts.look import DASHES, Rows
from sqlpriv.showing.charts.marks import dashed, ring
from sqlpriv.showing.charts.picture import Picture

Points = Sequence[tuple[float, float]]


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
    return Picture("Delta against epsilon", said, rows, partial(_chart, rows, own))


def _chart(rows: Rows, own: Mapping[str, Any]) -> Any:
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
    # A line is pointed at as a whole: points that are not seen tell where on it.
    pointed = alt.Chart(data.values).mark_point(size=80, opacity=0).encode(**axes(data), tooltip=data.tips())
    return lines + pointed + ring(marked, axes(marked), own["name"])
