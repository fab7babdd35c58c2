"""Disclosure as a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.facts import Facts
from sqlpriv.methods.disclose import write
from sqlpriv.methods.disclose.plan import DisclosePlan, plan_disclosure
from sqlpriv.methods.disclose.policy import OPTIONS, ROLES, DisclosePolicy
from sqlpriv.methods.disclose.verify import show_file, verify_file
from sqlpriv.methods.labelled.answers import open_labelled
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Keys
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Disclose:
    """Every cell on the level that is best for its record."""

    name: str = "disclose"
    policy: type[Policy] = DisclosePolicy
    sections: tuple[str, ...] = ()
    draws: bool = False
    against: str = "identification"
    posterior_holds: str = "holds the dictionary, and knows no more"

    @property
    def roles(self) -> Mapping[str, Keys]:
        """Which roles its columns may have, and with which keys."""
        return ROLES

    @property
    def options(self) -> Keys:
        """Its keys of [release]."""
        return OPTIONS

    def tuples_for(self, rows: int) -> None:
        """There is no noise, and no domain to make it from."""
        return

    def plan(self, source: Source, policy: Policy, request: Request) -> DisclosePlan:
        """Choose for every record."""
        assert isinstance(policy, DisclosePolicy)
        if request.queries:
            raise InputError(
                "a release by disclose throws no coins, so there is no standard error of its answers; only plans by "
                "alpha_beta and frapp tell that of a query"
            )
        return plan_disclosure(source, policy)

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the labels into a new file."""
        assert isinstance(plan, DisclosePlan)
        return write.write_release(plan, path)

    def compare(self, plan: Plan, path: Path) -> None:
        """Judge the file against the private table and the dictionary once more."""
        assert isinstance(plan, DisclosePlan)
        write.compare(plan, path)

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Facts:
        """Judge a release from its file alone."""
        return verify_facts(file, verify_file(self, file, policy))

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        return show_file(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with the leaves below its labels."""
        if len(files) > 1:
            raise ReleaseError(f"{files[0].name} is a release by {self.name}, of which there are no further views")
        return open_labelled(files[0])

    def posterior(self, plan: Plan, times: float) -> None:
        """What a linking attacker comes to believe in a value is not known: no belief is bounded here."""
        return


METHOD = Disclose()
