"""Disclosure as a method."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.facts import Facts
from sqlpriv.methods.disclose import write
from sqlpriv.methods.disclose.plan import DisclosePlan, plan_disclosure
from sqlpriv.methods.disclose.policy import OPTIONS, ROLES, DisclosePolicy
from sqlpriv.methods.disclose.verify import show_file, verify_file
from sqlpriv.methods.labelled.method import LabelledMethod
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import verify_facts
from sqlpriv.table.source import Source


class Disclose(LabelledMethod[DisclosePolicy, DisclosePlan]):
    """Every cell on the level that is best for its record."""

    name = "disclose"
    policy = DisclosePolicy
    roles = ROLES
    options = OPTIONS
    sections = ()
    against = "identification"
    posterior_holds = "holds the dictionary, and knows no more"

    def plan(self, source: Source, policy: DisclosePolicy, request: Request) -> DisclosePlan:
        """Choose for every record."""
        self.refuse_queries(request)
        return plan_disclosure(source, policy)

    def write(self, plan: DisclosePlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the labels into a new file."""
        return write.write_release(plan, path)

    def compare(self, plan: DisclosePlan, path: Path) -> None:
        """Judge the file against the private table and the dictionary once more."""
        write.compare(plan, path)

    def verify(self, file: ReleaseFile, policy: DisclosePolicy | None = None) -> Facts:
        """Judge a release from its file alone."""
        return verify_facts(file, verify_file(self, file, policy))

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        return show_file(file)

    def posterior(self, plan: DisclosePlan, file: ReleaseFile, times: float) -> None:
        """What a linking attacker comes to believe in a value is not known: no belief is bounded here."""
        return

    def looks_at_values(self, policy: DisclosePolicy) -> bool:
        """Labels are chosen by weights of cells and by what is in the dictionary, for one attacker."""
        return False


METHOD = Disclose()
