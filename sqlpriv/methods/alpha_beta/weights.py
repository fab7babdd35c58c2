"""The weights of an alpha-beta release, by its coins alone: for the writer, and for whoever verifies the file."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.rewrite.release import Weights


def make_weights(calls: Calls, coins: Mapping[str, float], slots: int, view: int) -> AllWeights:
    """The weights of these coins; all slots of a tuple count together for the domain."""
    alpha, beta = coins["alpha"], coins["beta"]
    if "rate" in coins:
        rows = calls.rows("alpha_beta_source_weights", alpha, coins["rate"], slots, beta)
        return AllWeights({}, {int(power): Weights(*values) for power, *values in rows})
    if view > 1:
        rows = calls.rows("sequence_weights", alpha, beta, coins["persist"])
    else:
        rows = calls.rows("alpha_beta_weights", alpha, beta)
    found = {r[0]: Weights(*r[1:]) for r in rows}
    domain = found.pop("domain")
    return AllWeights(found, {0: Weights(domain.weight * slots, domain.variance * slots, domain.skew * slots)})
