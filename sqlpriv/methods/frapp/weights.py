"""The weights of a FRAPP release, by its coins and its number of rows, which it publishes."""

from __future__ import annotations

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.rewrite.release import Weights


def make_weights(calls: Calls, stay: float, move: float, rows: float) -> AllWeights:
    """Records land somewhere, so the counts of two tuples are not independent: the cross terms say how."""
    found = {source: Weights(*weights) for source, *weights in calls.rows("frapp_weights", stay, move, rows)}
    crossed = calls.row("frapp_cross_terms", stay, move, rows)
    return AllWeights({"view": found["view"]}, {0: found["domain"]}, *crossed)
