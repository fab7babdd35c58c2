"""Disclosure as a method."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sqlpriv.checks.verdict import Evidence
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.disclose import write
from sqlpriv.methods.disclose.plan import DisclosePlan, plan_disclosure
from sqlpriv.methods.disclose.policy import OPTIONS, ROLES, DisclosePolicy
from sqlpriv.methods.disclose.verify import LAYOUT, declared_terms, differences, verify_file, wording
from sqlpriv.methods.disclose.wording import disclosure_evidence
from sqlpriv.methods.generalized.method import GeneralizedMethod
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class Disclose(GeneralizedMethod[DisclosePolicy, DisclosePlan]):
    """Every cell at the level that is best for its record."""

    name = "disclose"
    policy = DisclosePolicy
    roles = ROLES
    options = OPTIONS
    sections = ()
    most_columns = 5
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
        """Compare the file with the private table, and its risk with the planned one."""
        write.compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold."""
        return LAYOUT

    def differences(self, file: ReleaseFile, policy: DisclosePolicy) -> Iterable[str]:
        """Where the file is not one of the policy: domains, goal and weights."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: DisclosePolicy | None = None) -> Iterable[Check]:
        """Labels, utility, and the risk where the policy names the dictionary."""
        return verify_file(file, policy)

    def wording(self, file: ReleaseFile) -> Wording:
        """What is promised, and how much is disclosed."""
        return wording(file)

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Evidence]:
        """By the risk that the file declares."""
        rows, others = file.table("published"), file.names_with_role("other")
        return disclosure_evidence(Calls(file.con), rows, others, declared_terms(file), file.parameters)

    def posterior(self, plan: DisclosePlan, file: ReleaseFile, times: float) -> None:
        """None: the method bounds no belief of a linking attacker."""
        return

    def looks_at_values(self, policy: DisclosePolicy) -> bool:
        """False: labels are chosen by the weights of cells and the dictionary."""
        return False


METHOD = Disclose()
