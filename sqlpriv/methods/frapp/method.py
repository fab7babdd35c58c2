"""FRAPP as a method."""

from __future__ import annotations

from typing import Any

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.frapp import terms
from sqlpriv.methods.frapp.policy import OPTIONS, FrappPolicy
from sqlpriv.methods.frapp.weights import make_weights
from sqlpriv.methods.frapp.write import write
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.randomized.method import Randomized
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.terms import Asked, Terms
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class Frapp(Randomized):
    """Every record stays with `stay`, or becomes any other tuple of the domain with `move` each."""

    def make_terms(self, source: Source, policy: Any, asked: Asked) -> Terms:
        """The coins for a bound, what they guarantee and cost."""
        return terms.make_terms(source, policy, asked)

    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""
        return write(plan, edition, request)

    def stated_weights(self, calls: Calls, file: ReleaseFile) -> AllWeights:
        """What the macros give for the parameters that a file states."""
        stated = file.parameters
        return make_weights(calls, stated["stay"], stated["move"], stated["rows"])

    def keeps_bound(self, calls: Calls, file: ReleaseFile) -> Check:
        """Whether no record is believed more than gamma by these coins."""
        stated = file.parameters
        private, posterior, _ = calls.row(
            "frapp_guarantee", stated["d"], stated["gamma"], stated["stay"], stated["move"]
        )
        return Check(f"a prior of {stated['d']:.4g} becomes at most {posterior:.4g}", bool(private))


METHOD = Frapp("frapp", FrappPolicy, OPTIONS)
