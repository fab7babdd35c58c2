"""The weights of an alpha-beta release, by its coins alone: for the writer, and for whoever verifies the file."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.randomized.file import WEIGHTS
from sqlpriv.methods.randomized.weights import AllWeights, Expected
from sqlpriv.release.file import double
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


def expected_by_share(calls: Calls, coins: Mapping[str, float], slots: int) -> Expected:
    """The weights that tell the error beforehand, where noise follows shares: a row has those of its tuple's noise."""
    alpha, rate = double(coins["alpha"]), double(coins["rate"])
    noise, weight = f"_source_noise({rate}, {slots}, __share)", f"_source_weight({alpha})"
    view = (weight, f"_source_variance({alpha}, {noise})", f"_source_skew({alpha}, {noise})")
    rows = calls.rows("expected_source_weights", coins["alpha"], coins["rate"], slots, coins["beta"])
    return Expected(
        {part: inlined(f"_of_a_row({number}, {weight})") for part, number in zip(WEIGHTS, view, strict=True)},
        {int(power): Weights(*numbers) for power, *numbers in rows},
    )
