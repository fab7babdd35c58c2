"""Whether the coins that a bag states keep the bound that it states, and its rows are ones that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.engine import Row, fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.bags import shares
from sqlpriv.methods.alpha_beta.bags.terms import ADVERSARY, Promised, details, judge, judge_shares, promise
from sqlpriv.methods.randomized.stated import is_close, shared_columns
from sqlpriv.methods.randomized.terms import FINEST
from sqlpriv.methods.randomized.verify import Numbers, Stated, same_number
from sqlpriv.methods.randomized.verify_promise import known_of, promise_checks
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import quoted


def stated_numbers(file: ReleaseFile) -> Numbers:
    """Which numbers a bag states."""
    return Numbers(frozenset({"p", "q"} if "q" in file.parameters else {"a"}), frozenset({"n_public"}))


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound by the macros, the words, and the number of rows."""
    if shared_columns(file):
        yield from _checks_by_shares(calls, file)
        return
    stated = file.parameters
    d, gamma, each = stated["d"], stated["gamma"], int(stated["rows_each"])
    worth = judge(calls, d, gamma, stated, each)
    keeps = bool(worth.private) and _is_bag(file) and stated.get("q", 1.0) >= FINEST
    yield Check(f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g}, also of who knows all others", keeps)
    yield same_number(file, "epsilon", worth.replaced)
    promised = Promised(d, gamma, worth, _told_size(file), each)
    said = Stated(promise(promised), details(calls, promised), worth.factor)
    yield from promise_checks(calls, file, said)
    if "q" in stated:
        yield _rows(file, calls.row("bag_rows", 0, stated["elements"], stated["p"], stated["q"]))


def _checks_by_shares(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The same where noise follows public shares: every value has the noise that its share asks for."""
    stated, known = file.parameters, known_of(file)
    if known.shared is None or stated["rows_each"] != 1:
        yield Check("noise follows the shares of a sensitive column", False)
        return
    gamma, p = stated["gamma"], stated["p"]
    found = shares.read_shares(calls, known, gamma)
    noise = shares.noise_of(calls, found, p)
    copies = _noise_column(file, found.column)
    same = len(copies) == len(noise.copies) and all(map(is_close, copies, noise.copies))
    keeps = same and _is_bag(file) and is_close(stated["q"], max(noise.ratios)) and min(noise.ratios) >= FINEST
    yield Check(f"the noise of every value keeps beliefs by its public share at or below {gamma:g}", keeps)
    yield same_number(file, "d", found.largest_prior)
    worth = judge_shares(calls, gamma, found, p, noise)
    yield same_number(file, "epsilon", worth.replaced)
    told = _told_size(file)
    words = shares.promise(found, gamma, (worth.replaced, None if told else worth.added))
    said = Stated(words, shares.details(calls, found, told_size=told), worth.factor, noise.factors)
    yield from promise_checks(calls, file, said)
    yield _rows(file, calls.row("bag_share_rows", 0, stated["elements"], p, noise.ratios))


def _is_bag(file: ReleaseFile) -> bool:
    return file.about["adversary"] == ADVERSARY and file.parameters["slots"] == 1


def _told_size(file: ReleaseFile) -> bool:
    return any("rounded up" in warning for warning in file.warnings)


def _noise_column(file: ReleaseFile, column: str) -> list[float | None]:
    domain = quoted(file.catalog, "domain", column)
    return [r[0] for r in fetch(file.con, f"SELECT noise FROM {domain} ORDER BY rowid")]


def _rows(file: ReleaseFile, noise: Row) -> Check:
    low = noise[0] - 9 * math.sqrt(noise[1]) - 0.5
    return Check("at least the noise is there", count_rows(file) >= low)
