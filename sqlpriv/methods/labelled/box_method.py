"""What methods share that publish boxes: all but how rows are divided into classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlpriv.methods.base import OneFile
from sqlpriv.methods.labelled.answers import answers_mean, open_labelled
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_plan import BoxPlan, Told, plan_boxes
from sqlpriv.methods.labelled.box_policy import WARNINGS, BoxPolicy
from sqlpriv.methods.labelled.box_verify import LAYOUT, differences, verify_boxes
from sqlpriv.methods.labelled.box_write import compare_release, write_release
from sqlpriv.methods.labelled.layout import boxes_contents
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
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

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of boxes hold."""
        return LAYOUT

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return boxes_contents(file)

    def differences(self, file: ReleaseFile, policy: Policy) -> Iterable[str]:
        """Domains, what is counted, and where the cuts come from."""
        assert isinstance(policy, BoxPolicy)
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Check]:
        """Labels, what is below them, and requirements."""
        return verify_boxes(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """Where the cuts come from, and what answers mean."""
        return Wording(warnings=(WARNINGS[file.about["cuts"]],), after_columns=answers_mean(file))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        return open_labelled(self.only(files))
