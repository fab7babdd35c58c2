"""What methods share that publish boxes: all but how rows are divided into classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from sqlpriv.facts import Facts
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.base import OneFile
from sqlpriv.methods.labelled.answers import open_labelled, show_labelled
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_plan import BoxPlan, Told, plan_boxes
from sqlpriv.methods.labelled.box_policy import BoxPolicy
from sqlpriv.methods.labelled.box_verify import verify_boxes
from sqlpriv.methods.labelled.box_write import compare_release, write_release
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class BoxMethod(OneFile, ABC):
    """A way to divide rows into classes, each published as a box. A method says how: `divide`."""

    @abstractmethod
    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Told:
        """Write table classed; what is told of how it went."""

    def plan(self, source: Source, policy: Policy, request: Request) -> BoxPlan:
        """Divide the rows."""
        assert isinstance(policy, BoxPolicy)
        self.refuse_queries(request)
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
        return open_labelled(self.only(files))
