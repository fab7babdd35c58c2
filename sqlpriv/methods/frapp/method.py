"""FRAPP as a method."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.frapp import terms
from sqlpriv.methods.frapp.policy import OPTIONS, FrappPolicy
from sqlpriv.methods.frapp.weights import make_weights
from sqlpriv.methods.frapp.write import write
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.randomized.method import Randomized
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.terms import Asked, Terms
from sqlpriv.methods.randomized.verify import Meaning
from sqlpriv.methods.randomized.weights import AllWeights, Expected, expected
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.layout import Names
from sqlpriv.release.verify import Check, is_close, same_number
from sqlpriv.table.source import Source


class Frapp(Randomized[FrappPolicy]):
    """Every record stays with `stay`, or becomes any other tuple of the domain with `move` each."""

    name = "frapp"
    policy = FrappPolicy
    options = OPTIONS
    noise_tag = "frapp"

    def tuples_for(self, rows: int) -> int | None:
        """A record may become any tuple, and the error grows with their number: few of them only."""
        return max(20, math.isqrt(rows))

    def make_terms(self, source: Source, policy: FrappPolicy, asked: Asked) -> Terms:
        """The coins for a bound, what they guarantee and cost."""
        return terms.make_terms(source, policy, asked)

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        return write(plan, edition, request)

    def stated_weights(self, calls: Calls, file: ReleaseFile) -> AllWeights:
        """What the macros give for the parameters that a file states."""
        stated = file.parameters
        return make_weights(calls, stated["stay"], stated["move"], stated["rows"])

    def expected(self, plan: RandomizedPlan) -> Expected:
        """The weights by which the private table tells the error of estimates beforehand."""
        coins, calls = plan.terms.coins, plan.source.calls
        return expected(calls, make_weights(calls, coins["stay"], coins["move"], plan.terms.rows))

    def numbers(self, file: ReleaseFile) -> Names:
        """Which numbers its files hold."""
        return Names(frozenset({"stay", "move", "rows"}))

    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether no record is believed more than gamma by these coins, and all records are there."""
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
        return Meaning(terms.promise(d, gamma, epsilon), terms.details(int(rows)), factor)


METHOD = Frapp()
