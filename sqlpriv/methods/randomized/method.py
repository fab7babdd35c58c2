"""What the randomized methods share of the seam: the same roles, the same file, the same way to show and open it."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sqlpriv.engine import fetch
from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.cells import labelled_records
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.randomized.attackers import attacker_grid, worst_posterior
from sqlpriv.methods.randomized.file import NOISE, PUBLISHED, check_public
from sqlpriv.methods.randomized.plan import RandomizedPlan, make_plan
from sqlpriv.methods.randomized.policy import ROLES, RandomizedPolicy
from sqlpriv.methods.randomized.questions import ask, refuse_views
from sqlpriv.methods.randomized.terms import Asked, Terms
from sqlpriv.methods.randomized.verify import Judged, Numbers, verify_file
from sqlpriv.methods.randomized.weights import AllWeights, Expected
from sqlpriv.methods.records import Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile, written
from sqlpriv.release.read import describe
from sqlpriv.release.stamp import stamped_line, stated_policy
from sqlpriv.release.verify import Check, verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.source import Source

P = TypeVar("P", bound=RandomizedPolicy)
_MOST_VALUES = 6


class Randomized(Method[P, RandomizedPlan]):
    """A randomized method: its own coins and weights on top of what all share."""

    roles = ROLES
    sections = ("public",)
    draws = True
    bounds_beliefs = True
    against = "belief"
    posterior_holds = "knows all else of the person, and everybody else"

    def tuples_for(self, rows: int) -> int | None:
        """Noise on every tuple: a few for each row leave counts of some per cent readable."""
        return max(1000, 10 * rows)

    @abstractmethod
    def make_terms(self, source: Source, policy: P, asked: Asked) -> Terms:
        """The coins for a bound, what they guarantee and cost."""

    @abstractmethod
    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""

    @abstractmethod
    def stated_weights(self, calls: Calls, file: ReleaseFile) -> AllWeights:
        """What the macros give for the parameters that a file states."""

    @abstractmethod
    def expected(self, plan: RandomizedPlan) -> Expected:
        """The weights by which the private table tells the error of estimates beforehand."""

    @abstractmethod
    def numbers(self, file: ReleaseFile) -> Numbers:
        """Which numbers its files state."""

    @abstractmethod
    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether the coins that a file states keep the bound that it states, and the rows are ones they make."""

    def plan(self, source: Source, policy: P, request: Request) -> RandomizedPlan:
        """Read domains and table, and find the terms."""
        plan = make_plan(source, policy, self.make_terms)
        check_public(source, policy)
        if policy.questions:
            refuse_views(plan, self.expected(plan))
        if not request.queries:
            return plan
        return replace(plan, questions=ask(plan, self.expected(plan), request.queries))

    def write(self, plan: RandomizedPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the release into a new file."""
        with written(plan.source.con, path):
            made = self.write_tables(plan, edition, request)
            fetch(plan.source.con, f"COMMENT ON TABLE {PUBLISHED} IS {literal(NOISE)}")
            return made

    def verify(self, file: ReleaseFile, policy: P | None = None) -> Facts:
        """Judge a release from its file alone."""
        calls = Calls(file.con)

        def judge() -> Judged:
            return Judged(self.stated_weights(calls, file), tuple(self.own_checks(calls, file)))

        return verify_facts(file, verify_file(self, file, policy, lambda: self.numbers(file), judge))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries: one file, or the views of one sequence."""
        return describe(files)

    def posterior(self, plan: RandomizedPlan, file: ReleaseFile, times: float) -> float | None:
        """The worst of the linking attackers, who know all but one column."""
        factors = () if plan.terms.by_value is None else plan.terms.by_value.factors
        known = replace(plan.known, times=times)
        return worst_posterior(plan.source.calls, known, plan.terms.factor, factors)

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """As the file lists them."""
        return file.rows("attackers")

    def records(
        self,
        file: ReleaseFile,
        names: Sequence[str],
        source: Source | None,
        policy: Policy | None,
        also: str | None = None,
    ) -> Records:
        """The published rows: tuples of the domain, whose columns may be labels of a level."""
        return labelled_records(file, names, source, policy, also)

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        about, columns = file.about, _columns(file)
        public = sorted(table for schema, table in file.tables if schema == "public")
        content: dict[str, Any] = {
            **about,
            "policy": stated_policy(file),
            "details": json.loads(about["details"]),
            "attackers": file.rows("attackers"),
            "parameters": file.parameters,
            "columns": columns,
            "requirements": [],
            "public": public,
            "warnings": list(file.warnings),
        }
        names = [n for n in (columns[0] if columns else {}) if n != "position"]
        parts: list[Part] = [
            Line(about["guarantee"], "claimed"),
            *(Line(f"- {text}", quiet=True) for text in content["details"]),
            attacker_grid(content["attackers"]),
            Line(f"count(*) of {about['table']} estimates the number of {about['counts']}; view {about['view']}"),
        ]
        if "beside" in about:
            parts.append(Line(f"It stands beside other releases of the table: {about['beside']}"))
        parts.append(Grid(tuple(names), tuple(tuple(c[n] for n in names) for c in columns)))
        parts.append(stamped_line(file))
        listed = ", ".join(f"{k} = {v:.6g}" for k, v in file.parameters.items())
        parts.append(Line(f"parameters: {listed}"))
        if public:
            parts.append(Line(f"public tables: {', '.join(public)}"))
        return Facts(f"{file.name}  {about['method']}", content, tuple(parts), file.warnings)


def _columns(file: ReleaseFile) -> list[dict[str, Any]]:
    found = file.rows("attributes")
    for attribute in found:
        domain = quoted(file.catalog, "domain", attribute["name"])
        values = fetch(file.con, f"SELECT CAST(value AS VARCHAR) FROM {domain} LIMIT {_MOST_VALUES + 1}")
        attribute["values"] = [v[0] for v in values[:_MOST_VALUES]] + (["..."] if len(values) > _MOST_VALUES else [])
        attribute["noise"] = "by shares" if fetch(file.con, f"SELECT count(share) FROM {domain}")[0][0] else "uniform"
    return found
