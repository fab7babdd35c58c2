"""What methods share that publish boxes: all but how rows are divided into classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.facts import Facts
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.answers import open_labelled, show_labelled
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_plan import BoxPlan, Told, plan_boxes
from sqlpriv.methods.labelled.box_policy import ROLES, BoxPolicy
from sqlpriv.methods.labelled.box_verify import verify_boxes
from sqlpriv.methods.labelled.box_write import compare_release, write_release
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Keys
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class BoxMethod(ABC):
    """A way to divide rows into classes, each published as a box. A method says how: `divide`."""

    name: str
    policy: type[Policy]
    options: Keys
    sections: tuple[str, ...] = ("require",)
    draws: bool = False

    @property
    def roles(self) -> Mapping[str, Keys]:
        """Which roles its columns may have, and with which keys."""
        return ROLES

    def tuples_for(self, rows: int) -> None:
        """There is no noise, and no domain to make it from."""
        return

    @abstractmethod
    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Told:
        """Write table classed; what is told of how it went."""

    def plan(self, source: Source, policy: Policy, request: Request) -> BoxPlan:
        """Divide the rows."""
        assert isinstance(policy, BoxPolicy)
        if request.queries:
            raise InputError(
                f"a release by {self.name} throws no coins, so there is no standard error of its answers; only plans "
                "by alpha_beta and frapp tell that of a query"
            )
        return plan_boxes(source, policy, request, self.divide)

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the boxes into a new file."""
        assert isinstance(plan, BoxPlan)
        return write_release(plan, path)

    def compare(self, plan: Plan, path: Path) -> None:
        """Judge the file against the private table once more."""
        assert isinstance(plan, BoxPlan)
        compare_release(plan.scan, path)

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Facts:
        """Judge a release from its file alone."""
        return verify_facts(file, verify_boxes(self, Calls(file.con), file, policy))

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        return show_labelled(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        if len(files) > 1:
            raise ReleaseError(f"{files[0].name} is a release by {self.name}, of which there are no further views")
        return open_labelled(files[0])
