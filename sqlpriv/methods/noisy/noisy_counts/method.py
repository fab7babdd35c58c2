"""Noisy counts as a method; whether the noise that a file declares keeps its bound, and can make its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.calibration import FINEST, Bound, Calibration, Meaning
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.noisy_counts.mechanism import (
    MECHANISMS,
    NoisyCountsMechanism,
    OneSided,
    OneSidedByShares,
)
from sqlpriv.methods.noisy.noisy_counts.plan import ADVERSARY, best_p, calibrate
from sqlpriv.methods.noisy.noisy_counts.policy import OPTIONS, NoisyCountsPolicy
from sqlpriv.methods.noisy.noisy_counts.wording import meaning_of
from sqlpriv.methods.noisy.noisy_counts.write import write
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, same_number
from sqlpriv.table.source import Source


class NoisyCounts(Randomized[NoisyCountsPolicy, NoisyCountsMechanism]):
    """How often each tuple of the domain occurs, with noise on every one."""

    name = "noisy_counts"
    policy = NoisyCountsPolicy
    options = OPTIONS
    noise_tag = "alpha_beta"
    """The name that the method had when its noise was first drawn."""
    guarantee_macros = (
        ("bag_guarantee", ("d", "gamma", "p", "q", "rows_each")),
        ("signed_bag_guarantee", ("d", "gamma", "a", "rows_each")),
    )
    mechanisms = MECHANISMS

    def calibrate(self, source: Source, policy: NoisyCountsPolicy, bound: Bound) -> Calibration:
        """The mechanism with the smaller error, what it guarantees and costs."""
        return calibrate(source, policy, bound)

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        return write(plan, edition, request)

    def best_for(self, plan: RandomizedPlan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """The p with the smallest errors."""
        p = best_p(plan, queries)
        return {} if p is None else {"p": p}

    def meaning(self, calls: Calls, file: ReleaseFile, mechanism: NoisyCountsMechanism) -> Meaning:
        """What the numbers of a file guarantee."""
        d, gamma, each = (file.parameters[name] for name in ("d", "gamma", "rows_each"))
        given = mechanism.guarantee(calls, d, gamma, int(each))
        return meaning_of(calls, mechanism, given, d, gamma, int(each), reveals_size=size_is_rounded(file))

    def own_checks(self, calls: Calls, file: ReleaseFile, mechanism: NoisyCountsMechanism) -> Iterator[Check]:
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
            title = (
                f"the noise keeps beliefs of at most {d:.4g} at or below {gamma:g}, also of one who knows all others"
            )
            yield Check(title, bool(given.private) and is_informed and is_drawn)
        yield same_number(file, "epsilon", given.replaced)
        if isinstance(mechanism, OneSided):
            mean, variance = mechanism.rows(calls, 0, numbers["elements"])
            low = mean - 9 * math.sqrt(variance) - 0.5
            yield Check("at least the noise is there", count_rows(file) >= low)


METHOD = NoisyCounts()
