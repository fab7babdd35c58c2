"""The weights of a bag, by its coins alone: for the writer, and for whoever verifies the file."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.rewrite.release import Weights


def is_bag(coins: Mapping[str, float]) -> bool:
    """Whether coins, or the parameters of a file, are those of a bag."""
    return "q" in coins or "a" in coins


def make_weights(calls: Calls, coins: Mapping[str, float], *, by_shares: bool = False) -> AllWeights:
    """The weights of these coins: one for every row of the view, or in a signed bag one for each sign.

    Where noise follows shares, a tuple of the domain weighs by powers of its noise.
    """
    if by_shares:
        (_, _, *view), *domain = calls.rows("bag_share_weights", coins["p"])
        return AllWeights({"view": Weights(*view)}, {int(power): Weights(*rest) for _, power, *rest in domain})
    if "q" in coins:
        rows = calls.rows("bag_weights", coins["p"], coins["q"])
    else:
        rows = calls.rows("signed_bag_weights", coins["a"])
    found = {source: Weights(*weights) for source, *weights in rows}
    return AllWeights({k: w for k, w in found.items() if k != "domain"}, {0: found["domain"]})
