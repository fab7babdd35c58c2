"""What attacks find: numbers of people, those of the private table and those of what is attacked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from textwrap import fill
from typing import Any

from sqlpriv.attacks.findings import AttackFinding, NotRun
from sqlpriv.attacks.findings import Figure as Number
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import legible, shown_number
from sqlpriv.display.charts.marks import BLUE, FAINT, Data, Rows, altair, from_none, legend, texts
from sqlpriv.display.charts.picture import Picture

_HERE, _RAW = "here", "private table"
_LETTERS = 38  # of a line of a label: longer ones would leave no room for bars on a phone
_BAR, _GAP = 16, 14


def attacks_picture(title: str, found: Sequence[AttackFinding | NotRun]) -> Picture:
    """Bars for every number of people that an attack gave."""
    rows = [
        {"attack": _label(one, number), "people": float(value), "in": where, "shown": shown_number(value)}
        for one in found
        if isinstance(one, AttackFinding)
        for number in one.figures
        if number.is_drawn
        for where, value in ((_HERE, number.value), (_RAW, number.raw))
        if value is not None
    ]
    if not rows:
        raise InputError("no attack that was run counts people, so there is nothing to draw")
    compared = " and, for comparison, in the private table as it was" if any(row["in"] == _RAW for row in rows) else ""
    said = f"How many people each attack reaches here{compared}. For the owner alone."
    flat = [{name: " ".join(str(v).split()) if name == "attack" else v for name, v in row.items()} for row in rows]
    numbers = [{name: value for name, value in row.items() if name != "shown"} for row in flat]
    return Picture(title, said, numbers, partial(_chart, rows))


def _label(finding: AttackFinding, number: Number) -> str:
    parts = (finding.case, finding.about, number.words)
    return fill(legible(f"{finding.attack}: {', '.join(filter(None, parts))}"), _LETTERS)


def _chart(rows: Rows) -> Any:
    alt, data = altair(), Data(rows, breaks=["attack"])
    sides = [side for side in (_HERE, _RAW) if any(row["in"] == side for row in rows)]
    labels = list(dict.fromkeys(row["attack"] for row in rows))
    lines = max(label.count("\n") + 1 for label in labels)
    step = max(_BAR * len(sides), 14 * lines) + _GAP
    wrapped = alt.Axis(labelLimit=0, labelExpr="split(datum.label, '\\n')", labelLineHeight=13, labelPadding=8)
    axes = {
        "y": alt.Y(data.field("attack"), sort=None, title=None, axis=wrapped, scale=alt.Scale(paddingInner=0.25)),
        "yOffset": alt.YOffset(data.field("in"), sort=sides, scale=alt.Scale(domain=sides)),
        "x": from_none(alt.X, data.field("people"), "people", max(row["people"] for row in rows), room=5),
    }
    colours = alt.Scale(domain=sides, range=[BLUE, FAINT][: len(sides)])
    coloured = alt.Color(data.field("in"), scale=colours, legend=legend(1))
    bars = alt.Chart(data.values).mark_bar(height={"band": 0.9})
    drawn = bars.encode(**axes, color=coloured, tooltip=data.tips("attack", "people", "in"))
    return (drawn + texts(data, "shown", axes, dx=4, dy=0)).properties(height=step * len(labels))
