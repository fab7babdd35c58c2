"""Methods that publish labels: what they share, and for boxes all but how rows are divided into classes.

The file alone cannot prove everything. These stay claims: a requirement that counts persons, who are not published; one
against a prior that is not in the file; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from sqlpriv.methods.generalized.boxes import compare_boxes, shown_nodes, write_boxes_file
from sqlpriv.methods.generalized.layout import COUNTED, boxes_layout, file_contents
from sqlpriv.methods.generalized.linking import (
    OF_CLASSES,
    generalized_records,
    largest_share,
    posterior_by_share,
    why_only_labels,
)
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.plan import BoxPlan, Divided, plan_boxes
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.methods.generalized.policy import ROLES, WARNINGS, BoxPolicy, GeneralizedPolicy
from sqlpriv.methods.generalized.read import open_generalized
from sqlpriv.methods.generalized.verify import check_labels, domains_beyond, judge_requirement
from sqlpriv.methods.generalized.wording import answers_mean
from sqlpriv.methods.method import Edition, L, Made, Method, Request
from sqlpriv.methods.records import Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout, one_of
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check, named_by_digest
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

P = TypeVar("P", bound=GeneralizedPolicy)


class GeneralizedMethod(Method[P, L]):
    """A method whose release is one table of labels, with what is below them."""

    posterior_holds = OF_CLASSES

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return file_contents(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        return open_generalized(self.only(files))

    def records(
        self,
        file: ReleaseFile,
        names: Sequence[str],
        source: Source | None,
        policy: Policy | None,
        also: str | None = None,
    ) -> Records:
        """The rows, with the values that each label may stand for."""
        return generalized_records(file, names, source, policy, also)

    def why_no_classes(self, file: ReleaseFile) -> str | None:
        """Sensitive values may be shown as labels."""
        return why_only_labels(file)

    def posterior(self, plan: L, file: ReleaseFile, times: float) -> float | None:
        """By the largest share of a sensitive value in a class."""
        return posterior_by_share(plan, largest_share(file), times)

    def looks_at_values(self, policy: P) -> bool:
        """Requirements on sensitive columns do."""
        return any(r.measure.needs_sensitive for r in policy.requirements)


LAYOUT = boxes_layout(
    {"cuts": one_of(*WARNINGS), "suppressed_rows": one_of("0"), "counts": COUNTED}, from_policy=("cuts",)
)


class BoxMethod(GeneralizedMethod[BoxPolicy, BoxPlan]):
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
        requirements = [m.requirement for m in plan.measures]
        nodes = shown_nodes(plan.scan, plan.boxed.classed) if plan.scan.trees else ""
        return write_boxes_file(plan.scan, plan.boxed, plan.columns, nodes, requirements, _about(plan), {}, path)

    def compare(self, plan: BoxPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare_boxes(plan.scan, plan.boxed, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of boxes hold."""
        return LAYOUT

    def differences(self, file: ReleaseFile, policy: BoxPolicy) -> Iterable[str]:
        """Domains, what is counted, and where the cuts come from."""
        return _differences(file, policy)

    def verify(self, file: ReleaseFile, policy: BoxPolicy | None = None) -> Iterable[Check]:
        """Labels, what is below them, and requirements."""
        return _verify(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """Where the cuts come from, and what answers mean."""
        return Wording(warnings=(WARNINGS[file.about["cuts"]],), after_columns=answers_mean(file))


def _about(plan: BoxPlan) -> dict[str, str]:
    counts = "persons" if plan.policy.person is not None else "rows"
    return {"cuts": plan.policy.cuts, "suppressed_rows": "0", "counts": counts}


def _verify(file: ReleaseFile) -> Iterator[Check]:
    """All checks that only releases of boxes need."""
    yield named_by_digest(file)
    yield from check_labels(file, file.attributes)
    required = file.rows("requirements")
    yield Check("something is required", bool(required))
    for row in required:
        yield judge_requirement(file, row, is_whole=True)


def _differences(file: ReleaseFile, policy: BoxPolicy) -> Iterator[str]:
    """Where the file is not one of the policy."""
    yield from domains_beyond(file, policy)
    counted = "rows" if policy.person is None else "persons"
    if file.about["counts"] != counted:
        yield f"the policy counts {counted}"
    if file.about["cuts"] != policy.cuts:
        yield f"the policy takes cuts from {policy.cuts}"
