"""The weights of a FRAPP release, by its coins and its number of rows, which it publishes."""

from __future__ import annotations

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.rewrite.release import Weights


def make_weights(calls: Calls, stay: float, move: float, rows: float) -> AllWeights:
    """Records land somewhere, so the counts of two tuples are not independent: the cross terms say how."""
    found = {r[0]: r[1:] for r in calls.rows("frapp_weights", stay, move, rows)}
    view, domain = (Weights(*found[source][:3]) for source in ("view", "domain"))
    return AllWeights({"view": view}, {0: domain}, *found["view"][3:5])
