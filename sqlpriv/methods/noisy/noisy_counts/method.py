"""Noisy counts as a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.calibration import Bound, Calibration
from sqlpriv.methods.noisy.mechanism import Mechanism
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.noisy_counts import verify
from sqlpriv.methods.noisy.noisy_counts.best_p import best_p
from sqlpriv.methods.noisy.noisy_counts.calibrate import calibrate
from sqlpriv.methods.noisy.noisy_counts.mechanism import MECHANISMS
from sqlpriv.methods.noisy.noisy_counts.policy import OPTIONS, NoisyCountsPolicy
from sqlpriv.methods.noisy.noisy_counts.write import write
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.verify import Meaning
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class NoisyCounts(Randomized[NoisyCountsPolicy]):
    """How often each tuple of the domain occurs, with noise on every one."""

    name = "noisy_counts"
    policy = NoisyCountsPolicy
    options = OPTIONS
    noise_tag = "alpha_beta"
    """The name that the method had when its noise was first drawn."""
    guarantee_macros = (
        ("bag_guarantee", ("d", "gamma", "p", "q")),
        ("signed_bag_guarantee", ("d", "gamma", "a")),
    )
    mechanisms: ClassVar[tuple[type[Mechanism], ...]] = MECHANISMS

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

    def meaning(self, calls: Calls, file: ReleaseFile) -> Meaning:
        """What the numbers of a file guarantee."""
        return verify.meaning(calls, file)

    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether the noise keeps the bound, also against an attacker who knows all other rows."""
        return verify.own_checks(calls, file)


METHOD = NoisyCounts()
