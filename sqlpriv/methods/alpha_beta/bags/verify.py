"""Whether the coins that a bag states keep the bound that it states, and its rows are ones that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.bags.terms import ADVERSARY, Promised, details, judge, promise
from sqlpriv.methods.randomized.verify import Numbers, Stated, same_number
from sqlpriv.methods.randomized.verify_promise import promise_checks
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check


def stated_numbers(file: ReleaseFile) -> Numbers:
    """Which numbers a bag states."""
    return Numbers(frozenset({"p", "q"} if "q" in file.parameters else {"a"}), frozenset({"n_public"}))


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound by the macros, the words, and the number of rows."""
    stated = file.parameters
    d, gamma, each = stated["d"], stated["gamma"], int(stated["rows_each"])
    worth = judge(calls, d, gamma, stated, each)
    keeps = bool(worth.private) and file.about["adversary"] == ADVERSARY and stated["slots"] == 1
    keeps = keeps and stated.get("q", 1.0) >= 2.0**-40
    yield Check(f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g}, also of who knows all others", keeps)
    yield same_number(file, "epsilon", worth.replaced)
    told_size = any("rounded up" in warning for warning in file.warnings)
    promised = Promised(d, gamma, worth, told_size, each)
    said = Stated(promise(promised), details(calls, promised), worth.factor)
    yield from promise_checks(calls, file, said)
    if "q" in stated:
        noise = calls.row("bag_rows", 0, stated["elements"], stated["p"], stated["q"])
        low = noise[0] - 9 * math.sqrt(noise[1]) - 0.5
        yield Check("at least the noise is there", count_rows(file) >= low)
