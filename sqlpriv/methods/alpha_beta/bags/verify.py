"""Whether the coins that a bag states keep the bound that it states, and its rows are ones that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.bags.terms import ADVERSARY, promise
from sqlpriv.methods.randomized.verify import Numbers, same_guarantee, same_number
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check


def stated_numbers(file: ReleaseFile) -> Numbers:
    """Which numbers a bag states."""
    return Numbers(frozenset({"p", "q"} if "q" in file.parameters else {"a"}), frozenset({"n_public"}))


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound by the macros, the words, and the number of rows."""
    stated = file.parameters
    d, gamma = stated["d"], stated["gamma"]
    if "q" in stated:
        worth = calls.row("bag_guarantee", d, gamma, stated["p"], stated["q"])
    else:
        worth = calls.row("signed_bag_guarantee", d, gamma, stated["a"])
    private, _, replaced, added, _ = worth
    keeps = bool(private) and file.about["adversary"] == ADVERSARY and stated["slots"] == 1
    keeps = keeps and stated.get("q", 1.0) >= 2.0**-40
    yield Check(f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g}, also of who knows all others", keeps)
    yield same_number(file, "epsilon", replaced)
    factor = calls.row("odds_factor", d, gamma)[0]
    told_size = any("rounded up" in warning for warning in file.warnings)
    yield same_guarantee(file, promise(d, gamma, factor, replaced, added, told_size))
    if "q" in stated:
        noise = calls.row("bag_rows", 0, stated["elements"], stated["p"], stated["q"])
        low = noise[0] - 9 * math.sqrt(noise[1]) - 0.5
        yield Check("at least the noise is there", count_rows(file) >= low)
