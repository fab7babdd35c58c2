"""Full-domain generalization as a method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.methods.base import OneFile
from sqlpriv.methods.generalize import write
from sqlpriv.methods.generalize.best import best_node
from sqlpriv.methods.generalize.compare import compare
from sqlpriv.methods.generalize.plan import GeneralizePlan, make_plan
from sqlpriv.methods.generalize.policy import OPTIONS, ROLES, WORKLOAD, GeneralizePolicy
from sqlpriv.methods.generalize.verify import LAYOUT, differences, verify_file
from sqlpriv.methods.labelled.answers import answers_mean, open_labelled
from sqlpriv.methods.labelled.layout import labels_contents
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class Generalize(OneFile):
    """Every quasi-identifier on one level of its hierarchy, rows of classes that fail left out."""

    def plan(self, source: Source, policy: Policy, request: Request) -> GeneralizePlan:
        """Search the lattice for the best node."""
        assert isinstance(policy, GeneralizePolicy)
        self.refuse_queries(request)
        return make_plan(source, policy, request)

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the node into a new file."""
        assert isinstance(plan, GeneralizePlan)
        return write.write(plan, path)

    def compare(self, plan: Plan, path: Path) -> None:
        """Judge the file against the private table once more."""
        assert isinstance(plan, GeneralizePlan)
        compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold."""
        return LAYOUT

    def contents(self, file: ReleaseFile) -> Contents:
        """Rows, and the tables of their labels."""
        return labels_contents(file)

    def differences(self, file: ReleaseFile, policy: Policy) -> Iterable[str]:
        """Domains, persons, suppression and the node."""
        assert isinstance(policy, GeneralizePolicy)
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Check]:
        """Levels, labels, suppressed rows and requirements."""
        return verify_file(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What answers mean; what it guarantees, its requirements say."""
        return Wording(after_columns=answers_mean(file))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Each class of rows with the leaves below its labels."""
        return open_labelled(self.only(files))

    def best_for(self, plan: Plan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """The node with the smallest error."""
        assert isinstance(plan, GeneralizePlan)
        node = best_node(plan, queries, request)
        return {} if node is None else {"node": node}

    def looks_at_values(self, policy: Policy) -> bool:
        """Requirements on sensitive columns do, and so may a workload."""
        assert isinstance(policy, GeneralizePolicy)
        asked = policy.objective.startswith(WORKLOAD)
        return asked or any(r.measure.needs_sensitive for r in policy.requirements)

    def choice(self, plan: Plan) -> object:
        """The node, and how many rows and classes it leaves."""
        assert isinstance(plan, GeneralizePlan)
        return plan.best.node, plan.best.outcome.suppressed, plan.best.outcome.classes


METHOD = Generalize("generalize", GeneralizePolicy, ROLES, OPTIONS)
