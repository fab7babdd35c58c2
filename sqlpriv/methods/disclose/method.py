"""Disclosure as a method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlpriv.methods.base import OneFile
from sqlpriv.methods.disclose import write
from sqlpriv.methods.disclose.plan import DisclosePlan, plan_disclosure
from sqlpriv.methods.disclose.policy import ATTRIBUTES, OPTIONS, ROLES, DisclosePolicy
from sqlpriv.methods.disclose.verify import LAYOUT, differences, verify_file, wording
from sqlpriv.methods.labelled.answers import open_labelled
from sqlpriv.methods.labelled.layout import boxes_contents
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class Disclose(OneFile):
    """Every cell on the level that is best for its record."""

    against = "identification"
    posterior_holds = "holds the dictionary, and knows no more"

    def plan(self, source: Source, policy: Policy, request: Request) -> DisclosePlan:
        """Choose for every record."""
        assert isinstance(policy, DisclosePolicy)
        self.refuse_queries(request)
        return plan_disclosure(source, policy)

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the labels into a new file."""
        assert isinstance(plan, DisclosePlan)
        return write.write_release(plan, path)

    def compare(self, plan: Plan, path: Path) -> None:
        """Judge the file against the private table and the dictionary once more."""
        assert isinstance(plan, DisclosePlan)
        write.compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold."""
        return LAYOUT

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return boxes_contents(file, ATTRIBUTES)

    def differences(self, file: ReleaseFile, policy: Policy) -> Iterable[str]:
        """Domains, and what the policy asks for."""
        assert isinstance(policy, DisclosePolicy)
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Check]:
        """Labels, utility, and the risk where the policy brings the dictionary."""
        return verify_file(file, policy)

    def wording(self, file: ReleaseFile) -> Wording:
        """What is promised, and how much is disclosed."""
        return wording(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with the leaves below its labels."""
        return open_labelled(self.only(files))

    def posterior(self, plan: Plan, times: float) -> None:
        """What a linking attacker comes to believe in a value is not known: no belief is bounded here."""
        return


METHOD = Disclose("disclose", DisclosePolicy, ROLES, OPTIONS, sections=())
