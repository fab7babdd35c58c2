"""Whether the noise that a release of noisy counts declares keeps the bound that it declares, and can make its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.calibration import FINEST
from sqlpriv.methods.noisy.noisy_counts.mechanism import NoisyCountsMechanism, OneSided, OneSidedByShares
from sqlpriv.methods.noisy.noisy_counts.plan import ADVERSARY
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, same_number


def own_checks(calls: Calls, file: ReleaseFile, mechanism: NoisyCountsMechanism) -> Iterator[Check]:
    """The bound by the macros, also against an attacker who knows all other rows; and the number of rows."""
    numbers = file.parameters
    d, gamma, each = numbers["d"], numbers["gamma"], int(numbers["rows_each"])
    is_informed = file.about["adversary"] == ADVERSARY and numbers["slots"] == 1
    is_drawn = not isinstance(mechanism, OneSided) or mechanism.least_noise >= FINEST
    given = mechanism.guarantee(calls, d, gamma, each)
    if isinstance(mechanism, OneSidedByShares):
        # Every value has the noise that its share asks for.
        noise = mechanism.by_value
        domain = quoted(file.catalog, "domain", noise.column)
        copies = [r[0] for r in fetch(file.con, f"SELECT noise FROM {domain} ORDER BY rowid")]
        same = len(copies) == len(noise.copies) and all(map(is_close, copies, noise.copies))
        keeps = same and is_informed and each == 1 and is_drawn and is_close(mechanism.q, max(noise.ratios))
        yield Check(f"the noise of every value keeps beliefs by its public share at or below {gamma:g}", keeps)
        yield same_number(file, "d", noise.largest_prior)
    else:
        title = f"the noise keeps beliefs of at most {d:.4g} at or below {gamma:g}, also of one who knows all others"
        yield Check(title, bool(given.private) and is_informed and is_drawn)
    yield same_number(file, "epsilon", given.replaced)
    if isinstance(mechanism, OneSided):
        mean, variance = mechanism.rows(calls, 0, numbers["elements"])
        low = mean - 9 * math.sqrt(variance) - 0.5
        yield Check("at least the noise is there", count_rows(file) >= low)
