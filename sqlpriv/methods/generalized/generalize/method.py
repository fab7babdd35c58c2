"""Full-domain generalization as a method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlpriv.core.facts import OnProgress
from sqlpriv.methods.generalized.generalize import write
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, lattice_of, minimal_nodes, stubbornness_curves
from sqlpriv.methods.generalized.generalize.plan import GeneralizePlan, best_node, make_plan, prepare
from sqlpriv.methods.generalized.generalize.policy import OPTIONS, ROLES, WORKLOAD, GeneralizePolicy
from sqlpriv.methods.generalized.generalize.search import search
from sqlpriv.methods.generalized.generalize.verify import LAYOUT, differences, verify_file
from sqlpriv.methods.generalized.generalize.write import compare
from sqlpriv.methods.generalized.method import GeneralizedMethod
from sqlpriv.methods.generalized.scan import scan_table
from sqlpriv.methods.generalized.wording import answers_mean
from sqlpriv.methods.lattice import Lattice
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.table.hierarchies import Hierarchy
from sqlpriv.table.source import Source

_SIGMAS = [*(10.0**e for e in range(1, 9)), math.inf]


class Generalize(GeneralizedMethod[GeneralizePolicy, GeneralizePlan]):
    """Every quasi-identifier on one level of its hierarchy, rows of classes that fail left out."""

    name = "generalize"
    policy = GeneralizePolicy
    roles = ROLES
    options = OPTIONS
    retraces_choice = True
    has_lattice = True

    def plan(self, source: Source, policy: GeneralizePolicy, request: Request) -> GeneralizePlan:
        """Search the lattice for the best node."""
        self.refuse_queries(request)
        return make_plan(source, policy, request)

    def write(self, plan: GeneralizePlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the node into a new file."""
        return write.write(plan, path)

    def compare(self, plan: GeneralizePlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold."""
        return LAYOUT

    def differences(self, file: ReleaseFile, policy: GeneralizePolicy) -> Iterable[str]:
        """Domains, persons, suppression and the node."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: GeneralizePolicy | None = None) -> Iterable[Check]:
        """Levels, labels, suppressed rows and requirements."""
        return verify_file(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What answers mean; what it guarantees, its requirements say."""
        return Wording(after_columns=answers_mean(file))

    def best_for(self, plan: GeneralizePlan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """The node with the smallest error."""
        node = best_node(plan, queries, request)
        return {} if node is None else {"node": node}

    def looks_at_values(self, policy: GeneralizePolicy) -> bool:
        """Requirements on sensitive columns do, and so may a workload."""
        return policy.objective.startswith(WORKLOAD) or super().looks_at_values(policy)

    def choice(self, plan: GeneralizePlan) -> object:
        """The node, and how many rows and classes it leaves."""
        return plan.best.node, plan.best.outcome.suppressed, plan.best.outcome.classes

    def may_choose_otherwise(self, plan: GeneralizePlan) -> bool:
        """Whether any node may be better in another world."""
        return plan.retrace is None or plan.retrace.is_open

    def chooses_alike(self, plan: GeneralizePlan, world: Source) -> bool:
        """Whether no other node is better there; only nodes are looked at that may be."""
        return super().chooses_alike(plan, world) if plan.retrace is None else plan.retrace.chooses_alike(world)

    def lattice(
        self,
        source: Source,
        policy: GeneralizePolicy,
        *,
        only_minimal: bool = False,
        with_choice: bool = False,
        on_progress: OnProgress = None,
    ) -> Lattice:
        """The nodes; with the choice also the epsilons that the chosen one, or the top, needs for each adversary."""
        scan, measures, objective, _ = prepare(source, policy)
        rows = (minimal_nodes if only_minimal else all_nodes)(scan, measures, on_progress)
        lattice = lattice_of(scan, measures, rows)
        if not with_choice:
            return lattice
        best = search(scan, measures, objective).best
        node = None if best is None else best.node
        bounded = {m.requirement.sensitive for m in measures if m.requirement.measure.adversary is not None}
        curves = {
            column: stubbornness_curves(scan, node or scan.heights, column, _SIGMAS)
            for column in policy.sensitive
            if column in bounded
        }
        return replace(lattice, chosen=node, stubbornness=curves)

    def hierarchies(self, source: Source, policy: GeneralizePolicy) -> Sequence[Hierarchy]:
        """The hierarchies of the quasi-identifiers."""
        return scan_table(source, policy).hierarchies

    def at_node(self, policy: GeneralizePolicy, node: str) -> GeneralizePolicy:
        """The policy for a node."""
        return policy.with_node(node)


METHOD = Generalize()
