"""Whether the noise that a release of noisy counts declares keeps the bound that it declares, and can make its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.calibration import FINEST
from sqlpriv.methods.noisy.noisy_counts import wording
from sqlpriv.methods.noisy.noisy_counts.calibrate import ADVERSARY, guarantee_by_shares
from sqlpriv.methods.noisy.noisy_counts.mechanism import OneSided, OneSidedByShares, read_mechanism, read_shares
from sqlpriv.methods.noisy.read import background_of
from sqlpriv.methods.noisy.verify import Meaning
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, same_number


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound by the macros, and the number of rows."""
    mechanism, numbers = read_mechanism(calls, file), file.parameters
    if isinstance(mechanism, OneSidedByShares):
        yield from _check_shares(calls, file, mechanism)
    else:
        d, gamma = numbers["d"], numbers["gamma"]
        given = mechanism.guarantee(calls, d, gamma, int(numbers["rows_each"]))
        fine = not isinstance(mechanism, OneSided) or mechanism.q >= FINEST
        title = f"the noise keeps beliefs of at most {d:.4g} at or below {gamma:g}, also of one who knows all others"
        yield Check(title, bool(given.private) and _is_informed(file) and fine)
        yield same_number(file, "epsilon", given.replaced)
    if isinstance(mechanism, OneSided):
        mean, variance = mechanism.rows(calls, 0, numbers["elements"])
        low = mean - 9 * math.sqrt(variance) - 0.5
        yield Check("at least the noise is there", count_rows(file) >= low)


def _check_shares(calls: Calls, file: ReleaseFile, mechanism: OneSidedByShares) -> Iterator[Check]:
    """Every value has the noise that its share asks for."""
    numbers, noise = file.parameters, mechanism.by_value
    gamma, shares = numbers["gamma"], read_shares(calls, background_of(file), numbers["gamma"])
    domain = quoted(file.catalog, "domain", shares.column)
    copies = [r[0] for r in fetch(file.con, f"SELECT noise FROM {domain} ORDER BY rowid")]
    same = len(copies) == len(noise.copies) and all(map(is_close, copies, noise.copies))
    keeps = same and _is_informed(file) and numbers["rows_each"] == 1
    fine = is_close(mechanism.q, max(noise.ratios)) and min(noise.ratios) >= FINEST
    yield Check(f"the noise of every value keeps beliefs by its public share at or below {gamma:g}", keeps and fine)
    yield same_number(file, "d", shares.largest_prior)
    yield same_number(file, "epsilon", guarantee_by_shares(calls, gamma, shares, mechanism.p, noise).replaced)


def meaning(calls: Calls, file: ReleaseFile) -> Meaning:
    """What the numbers of a file guarantee."""
    mechanism, numbers, rounded = read_mechanism(calls, file), file.parameters, size_is_rounded(file)
    d, gamma, each = numbers["d"], numbers["gamma"], int(numbers["rows_each"])
    if isinstance(mechanism, OneSidedByShares):
        shares, noise = read_shares(calls, background_of(file), gamma), mechanism.by_value
        given = guarantee_by_shares(calls, gamma, shares, mechanism.p, noise)
        promise = wording.promise_by_shares(shares, gamma, given, reveals_size=rounded)
        details = wording.details_by_shares(calls, shares, reveals_size=rounded)
        return Meaning(promise, details, given.factor, noise.factors)
    given = mechanism.guarantee(calls, d, gamma, each)
    promise = wording.promise(d, gamma, given, each, reveals_size=rounded)
    return Meaning(promise, wording.details(calls, given, each, reveals_size=rounded), given.factor)


def _is_informed(file: ReleaseFile) -> bool:
    return file.about["adversary"] == ADVERSARY and file.parameters["slots"] == 1
