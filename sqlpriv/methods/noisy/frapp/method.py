"""FRAPP as a method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.calibration import Bound, Calibration
from sqlpriv.methods.noisy.frapp.mechanism import Replacement, calibrate
from sqlpriv.methods.noisy.frapp.policy import OPTIONS, FrappPolicy
from sqlpriv.methods.noisy.frapp.wording import ROWS_ARE_PUBLIC, details, promise
from sqlpriv.methods.noisy.frapp.write import write
from sqlpriv.methods.noisy.mechanism import Mechanism
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.verify import Meaning
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, same_number
from sqlpriv.table.source import Source


class Frapp(Randomized[FrappPolicy]):
    """Every record stays with `stay`, or becomes any other tuple of the domain with `move` each."""

    name = "frapp"
    policy = FrappPolicy
    options = OPTIONS
    noise_tag = "frapp"
    guarantee_macros = (("frapp_guarantee", ("d", "gamma", "stay", "move")),)
    mechanisms: ClassVar[tuple[type[Mechanism], ...]] = (Replacement,)

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

    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether no record is believed more than gamma by this noise, and all records are there."""
        numbers = file.parameters
        d, gamma, stay, move, rows = (numbers[k] for k in ("d", "gamma", "stay", "move", "rows"))
        private, posterior, epsilon = calls.row("frapp_guarantee", d, gamma, stay, move)
        keeps = bool(private) and file.about["adversary"] == "independent"
        yield Check(f"a prior of {d:.4g} becomes at most {posterior:.4g} (independent adversary)", keeps)
        yield Check("a record goes somewhere", is_close(stay + (numbers["elements"] - 1) * move, 1))
        yield same_number(file, "epsilon", epsilon)
        yield Check("there are as many rows as is declared", count_rows(file) == rows)

    def meaning(self, calls: Calls, file: ReleaseFile) -> Meaning:
        """What the numbers of a file guarantee."""
        d, gamma, epsilon, rows = (file.parameters[k] for k in ("d", "gamma", "epsilon", "rows"))
        factor = float(calls.value(f"exp({epsilon!r})"))
        return Meaning(promise(d, gamma, epsilon), details(int(rows)), factor)


METHOD = Frapp()
