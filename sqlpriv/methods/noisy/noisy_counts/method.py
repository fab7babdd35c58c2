"""Noisy counts as a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.calibration import Bound, Calibration, Meaning
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.noisy_counts.mechanism import MECHANISMS, NoisyCountsMechanism
from sqlpriv.methods.noisy.noisy_counts.plan import best_p, calibrate
from sqlpriv.methods.noisy.noisy_counts.policy import OPTIONS, NoisyCountsPolicy
from sqlpriv.methods.noisy.noisy_counts.verify import own_checks
from sqlpriv.methods.noisy.noisy_counts.wording import meaning_of
from sqlpriv.methods.noisy.noisy_counts.write import write
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class NoisyCounts(Randomized[NoisyCountsPolicy, NoisyCountsMechanism]):
    """How often each tuple of the domain occurs, with noise on every one."""

    name = "noisy_counts"
    policy = NoisyCountsPolicy
    options = OPTIONS
    noise_tag = "alpha_beta"
    """The name that the method had when its noise was first drawn."""
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
        """Whether the noise keeps the bound, and can have made the rows."""
        return own_checks(calls, file, mechanism)


METHOD = NoisyCounts()
