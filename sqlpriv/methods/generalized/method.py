"""Methods that publish labels: what they share, and for boxes all but how rows are divided into classes.

The file alone cannot prove everything. These stay claims: a requirement that counts persons, who are not published; one
against a prior that is not in the file; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sqlpriv.methods.generalized.box_files import compare_boxes, write_boxes_file
from sqlpriv.methods.generalized.boxes import shown_nodes
from sqlpriv.methods.generalized.grid import closed_ends
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
from sqlpriv.methods.generalized.policy import BOX_ROLES, BoxPolicy, GeneralizedPolicy
from sqlpriv.methods.generalized.pseudonyms import check_pseudonyms
from sqlpriv.methods.generalized.read import open_generalized
from sqlpriv.methods.generalized.verify import check_labels, check_requirements, differs_in_persons, domains_beyond
from sqlpriv.methods.generalized.wording import CUT_WARNINGS, answers_mean
from sqlpriv.methods.generalized.write import may_be_counted
from sqlpriv.methods.method import Edition, L, Made, Method, Request
from sqlpriv.methods.records import OwnedRelease, Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout, one_of
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check, named_by_digest
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

P = TypeVar("P", bound=GeneralizedPolicy)
BOX_LAYOUT = boxes_layout(
    {"cuts": one_of(*CUT_WARNINGS), "suppressed_rows": one_of("0"), "counts": COUNTED}, from_policy=("cuts",)
)


class GeneralizedMethod(Method[P, L]):
    """A method whose release is one table of labels, with the values below them."""

    posterior_holds = OF_CLASSES

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return file_contents(file)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        return open_generalized(self.only(files))

    def records(self, owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
        """The rows, with the values that each label may stand for."""
        return generalized_records(owned, names, also)

    def range_ends(self, file: ReleaseFile, policy: Policy | None) -> Mapping[str, str]:
        """As labels have them."""
        return closed_ends(file, policy)

    def why_no_classes(self, file: ReleaseFile) -> str | None:
        """Sensitive values may be shown as labels."""
        return why_only_labels(file)

    def posterior(self, plan: L, file: ReleaseFile, times: float) -> float | None:
        """By the largest share of a sensitive value in a class: of a label, nobody knows which value it stands for."""
        if self.why_no_classes(file):
            return None
        return posterior_by_share(plan, largest_share(file), times)

    def looks_at_values(self, policy: P) -> bool:
        """Requirements on sensitive columns do."""
        return any(r.measure.needs_sensitive for r in policy.requirements)


class BoxMethod(GeneralizedMethod[BoxPolicy, BoxPlan]):
    """A way to divide rows into classes, each published as a box. A method says how: `divide`."""

    policy = BoxPolicy
    roles = BOX_ROLES

    @abstractmethod
    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Divided:
        """Put every point into a class."""

    def plan(self, source: Source, policy: BoxPolicy, request: Request) -> BoxPlan:
        """Divide the rows."""
        self.refuse_queries(request)
        return plan_boxes(source, policy, request, self.divide)

    def write(self, plan: BoxPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the boxes into a new file."""
        policy, scan = plan.policy, plan.scan
        counts = "rows" if policy.person is None else "persons"
        about = {"cuts": policy.cuts, "suppressed_rows": "0", "counts": counts}
        nodes = shown_nodes(scan, plan.boxed.classed, plan.divided.cells) if scan.trees else ""
        return write_boxes_file(
            scan, plan.boxed, plan.columns, nodes, policy.requirements, about, {}, path, may_count=may_be_counted(scan)
        )

    def compare(self, plan: BoxPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare_boxes(plan.scan, plan.boxed, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of boxes hold."""
        return BOX_LAYOUT

    def differences(self, file: ReleaseFile, policy: BoxPolicy) -> Iterable[str]:
        """Domains, what is counted, and where the cuts come from."""
        yield from domains_beyond(file, policy)
        yield from differs_in_persons(file, policy)
        if file.about["cuts"] != policy.cuts:
            yield f"the policy takes cuts from {policy.cuts}"

    def verify(self, file: ReleaseFile, policy: BoxPolicy | None = None) -> Iterable[Check]:
        """Labels, the values below them, and requirements."""
        yield named_by_digest(file)
        yield from check_labels(file, file.attributes)
        yield from check_pseudonyms(file)
        yield from check_requirements(file, is_whole=True)

    def wording(self, file: ReleaseFile) -> Wording:
        """Where the cuts come from, and what answers mean."""
        return Wording(warnings=(CUT_WARNINGS[file.about["cuts"]],), after_columns=answers_mean(file))
