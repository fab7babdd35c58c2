"""Whether the coins that a bag states keep the bound that it states, and its rows are ones that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.engine import Row, fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.bags import shares
from sqlpriv.methods.alpha_beta.bags.terms import ADVERSARY, Promised, Worth, details, judge, judge_shares, promise
from sqlpriv.methods.randomized.stated import shared_columns
from sqlpriv.methods.randomized.terms import FINEST, NoiseByValue
from sqlpriv.methods.randomized.verify import Meaning
from sqlpriv.methods.randomized.verify_promise import known_of
from sqlpriv.methods.randomized.warned import size_is_rounded
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.layout import Names
from sqlpriv.release.verify import Check, is_close, same_number
from sqlpriv.sqltext import quoted


def declared_numbers(file: ReleaseFile) -> Names:
    """Which numbers a bag holds."""
    return Names(frozenset({"p", "q"} if "q" in file.parameters else {"a"}) | {"n_public"})


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound by the macros, and the number of rows."""
    if shared_columns(file):
        yield from _checks_by_shares(calls, file)
        return
    numbers, worth = file.parameters, _worth(calls, file)
    d, gamma = numbers["d"], numbers["gamma"]
    keeps = bool(worth.private) and _is_bag(file) and numbers.get("q", 1.0) >= FINEST
    yield Check(f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g}, also of who knows all others", keeps)
    yield same_number(file, "epsilon", worth.replaced)
    if "q" in numbers:
        yield _rows(file, calls.row("bag_rows", 0, numbers["elements"], numbers["p"], numbers["q"]))


def _worth(calls: Calls, file: ReleaseFile) -> Worth:
    numbers = file.parameters
    return judge(calls, numbers["d"], numbers["gamma"], numbers, int(numbers["rows_each"]))


def _checks_by_shares(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The same where noise follows public shares: every value has the noise that its share asks for."""
    numbers = file.parameters
    if known_of(file).shared is None or numbers["rows_each"] != 1:
        yield Check("noise follows the shares of a sensitive column", False)
        return
    found, noise, worth = _by_shares(calls, file)
    gamma, copies = numbers["gamma"], _noise_column(file, found.column)
    same = len(copies) == len(noise.copies) and all(map(is_close, copies, noise.copies))
    keeps = same and _is_bag(file) and is_close(numbers["q"], max(noise.ratios)) and min(noise.ratios) >= FINEST
    yield Check(f"the noise of every value keeps beliefs by its public share at or below {gamma:g}", keeps)
    yield same_number(file, "d", found.largest_prior)
    yield same_number(file, "epsilon", worth.replaced)
    yield _rows(file, calls.row("bag_share_rows", 0, numbers["elements"], numbers["p"], noise.ratios))


def _by_shares(calls: Calls, file: ReleaseFile) -> tuple[shares.Shares, NoiseByValue, Worth]:
    """What the public shares of a file come to, the noise they ask for, and what that keeps."""
    gamma, p = file.parameters["gamma"], file.parameters["p"]
    found = shares.read_shares(calls, known_of(file), gamma)
    noise = shares.noise_of(calls, found, p)
    return found, noise, judge_shares(calls, gamma, found, p, noise)


def meaning(calls: Calls, file: ReleaseFile) -> Meaning:
    """What the numbers of a file guarantee."""
    gamma, rounded = file.parameters["gamma"], size_is_rounded(file)
    if shared_columns(file):
        found, noise, worth = _by_shares(calls, file)
        promised = shares.promise(found, gamma, (worth.replaced, None if rounded else worth.added))
        return Meaning(promised, shares.details(calls, found, told_size=rounded), worth.factor, noise.factors)
    worth = _worth(calls, file)
    given = Promised(file.parameters["d"], gamma, worth, rounded, int(file.parameters["rows_each"]))
    return Meaning(promise(given), details(calls, given), worth.factor)


def _is_bag(file: ReleaseFile) -> bool:
    return file.about["adversary"] == ADVERSARY and file.parameters["slots"] == 1


def _noise_column(file: ReleaseFile, column: str) -> list[float | None]:
    domain = quoted(file.catalog, "domain", column)
    return [r[0] for r in fetch(file.con, f"SELECT noise FROM {domain} ORDER BY rowid")]


def _rows(file: ReleaseFile, noise: Row) -> Check:
    low = noise[0] - 9 * math.sqrt(noise[1]) - 0.5
    return Check("at least the noise is there", count_rows(file) >= low)
