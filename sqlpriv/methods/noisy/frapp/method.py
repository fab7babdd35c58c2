"""FRAPP as a method: what a policy may say, and what only its files have. Records are randomized one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.calibration import Bound, Calibration, Meaning
from sqlpriv.methods.noisy.frapp.mechanism import ROWS_ARE_PUBLIC, Replacement, calibrate, meaning
from sqlpriv.methods.noisy.frapp.write import write
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.policy import ADVERSARY, BOUND, RandomizedPolicy
from sqlpriv.policy.keys import Fail
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, same_number
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class FrappPolicy(RandomizedPolicy):
    """A policy of a FRAPP release."""

    def check(self, fail: Fail) -> None:
        """Records go anywhere with the same probability."""
        super().check(fail)
        dropping = [c.name for c in self.published if c.outside == "drop"]
        if dropping:
            raise fail(
                f"frapp reveals the number of rows, and so whether a row was dropped by {dropping[0]!r}; write "
                'outside = "other", widen the domain, or leave the rows out before', "columns", dropping[0], "outside",
            )  # fmt: skip
        if self.has_source:
            name = next(c.name for c in self.published if c.share is not None)
            raise fail(
                "noise that follows shares is for noisy_counts and one view of alpha_beta", "columns", name, "share"
            )


class Frapp(Randomized[FrappPolicy, Replacement]):
    """Every record stays with `stay`, or becomes any other tuple of the domain with `move` each."""

    name = "frapp"
    policy = FrappPolicy
    options = (*BOUND, ADVERSARY)
    noise_tag = "frapp"
    guarantee_macros = (("frapp_guarantee", ("d", "gamma", "stay", "move")),)
    mechanisms = (Replacement,)

    def tuples_for(self, rows: int) -> int | None:
        """A record may become any tuple, and the error grows with their number: few of them only."""
        return max(20, math.isqrt(rows))

    def calibrate(self, source: Source, policy: FrappPolicy, bound: Bound) -> Calibration:
        """The noise for a bound, what it guarantees and costs."""
        return calibrate(source, policy, bound)

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        return write(plan, edition, request)

    def warnings_of(self, file: ReleaseFile) -> tuple[str, ...]:
        """The number of rows is public, too."""
        return (ROWS_ARE_PUBLIC, *super().warnings_of(file))

    def own_checks(self, calls: Calls, file: ReleaseFile, mechanism: Replacement) -> Iterator[Check]:
        """Whether no record is believed more than gamma by this noise, and all records are there."""
        numbers = file.parameters
        d, gamma, stay, move, rows = (numbers[k] for k in ("d", "gamma", "stay", "move", "rows"))
        private, posterior, epsilon = calls.row("frapp_guarantee", d, gamma, stay, move)
        keeps = bool(private) and file.about["adversary"] == "independent"
        yield Check(f"a prior of {d:.4g} becomes at most {posterior:.4g} (independent adversary)", keeps)
        yield Check("a record goes somewhere", is_close(stay + (numbers["elements"] - 1) * move, 1))
        yield same_number(file, "epsilon", epsilon)
        yield Check("there are as many rows as is declared", count_rows(file) == rows)

    def meaning(self, calls: Calls, file: ReleaseFile, mechanism: Replacement) -> Meaning:
        """What the numbers of a file guarantee."""
        d, gamma, epsilon, rows = (file.parameters[k] for k in ("d", "gamma", "epsilon", "rows"))
        return meaning(calls, d, gamma, epsilon, int(rows))


METHOD = Frapp()
