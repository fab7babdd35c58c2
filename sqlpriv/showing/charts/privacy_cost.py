"""What privacy costs: the error of a count against gamma, the policy's own gamma marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlpriv.facts import shown_number
from sqlpriv.showing.charts.data import Data, altair, logarithmic
from sqlpriv.showing.charts.look import BLUE, Rows
from sqlpriv.showing.charts.marks import texts
from sqlpriv.showing.charts.picture import Picture

_ERROR = "standard error, % of the rows"


def privacy_cost_picture(points: Sequence[tuple[float, float]], chosen: float) -> Picture:
    """Pairs (gamma, standard error of a count over half the domain as a share of the rows)."""
    rows = [{"gamma": gamma, _ERROR: 100 * error} for gamma, error in points]
    said = (
        "The standard error of a count over half the domain, as a share of the rows, against gamma: the largest belief "
        f"of anybody after seeing the release. The line across is this policy, at gamma = {shown_number(chosen)}."
    )
    return Picture("What privacy costs", said, rows, partial(_chart, rows, chosen))


def _chart(rows: Rows, chosen: float) -> Any:
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
