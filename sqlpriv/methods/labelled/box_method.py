"""What methods share that publish boxes: all but how rows are divided into classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path

from sqlpriv.methods.labelled.answers import answers_mean
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_plan import BoxPlan, Divided, plan_boxes
from sqlpriv.methods.labelled.box_policy import ROLES, WARNINGS, BoxPolicy
from sqlpriv.methods.labelled.box_verify import LAYOUT, differences, verify_boxes
from sqlpriv.methods.labelled.box_write import compare_release, write_release
from sqlpriv.methods.labelled.layout import boxes_contents
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.method import LabelledMethod
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class BoxMethod(LabelledMethod[BoxPolicy, BoxPlan]):
    """A way to divide rows into classes, each published as a box. A method says how: `divide`."""

    policy = BoxPolicy
    roles = ROLES

    @abstractmethod
    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Divided:
        """Put every point into a class."""

    def plan(self, source: Source, policy: BoxPolicy, request: Request) -> BoxPlan:
        """Divide the rows."""
        self.refuse_queries(request)
        return plan_boxes(source, policy, request, self.divide)

    def write(self, plan: BoxPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the boxes into a new file."""
        return write_release(plan, path)

    def compare(self, plan: BoxPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare_release(plan.scan, plan.boxed, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of boxes hold."""
        return LAYOUT

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return boxes_contents(file)

    def differences(self, file: ReleaseFile, policy: BoxPolicy) -> Iterable[str]:
        """Domains, what is counted, and where the cuts come from."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: BoxPolicy | None = None) -> Iterable[Check]:
        """Labels, what is below them, and requirements."""
        return verify_boxes(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """Where the cuts come from, and what answers mean."""
        return Wording(warnings=(WARNINGS[file.about["cuts"]],), after_columns=answers_mean(file))
