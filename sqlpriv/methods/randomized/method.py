"""What the randomized methods share of the seam: the same roles, the same file, the same way to show and open it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import Line
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.cells import labelled_records
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.randomized.attackers import attacker_grid, worst_posterior
from sqlpriv.methods.randomized.file import check_public
from sqlpriv.methods.randomized.plan import RandomizedPlan, make_plan
from sqlpriv.methods.randomized.policy import ROLES, RandomizedPolicy
from sqlpriv.methods.randomized.questions import ask, refuse_views
from sqlpriv.methods.randomized.terms import Asked, Terms
from sqlpriv.methods.randomized.verify import Meaning, check_fits, check_rows, file_contents, file_layout
from sqlpriv.methods.randomized.verify_policy import differences
from sqlpriv.methods.randomized.verify_promise import attacker_checks, attackers_of, promise_of
from sqlpriv.methods.randomized.verify_public import same_public
from sqlpriv.methods.randomized.warned import warnings_of
from sqlpriv.methods.randomized.weights import AllWeights, Expected
from sqlpriv.methods.records import Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile, written
from sqlpriv.release.layout import Contents, Layout, Names
from sqlpriv.release.read import describe
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.sqltext import quoted
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
    def numbers(self, file: ReleaseFile) -> Names:
        """Which numbers its files hold."""

    @abstractmethod
    def meaning(self, calls: Calls, file: ReleaseFile) -> Meaning:
        """What the numbers of a file guarantee."""

    @abstractmethod
    def own_checks(self, calls: Calls, file: ReleaseFile) -> Iterator[Check]:
        """Whether the coins that a file declares keep the bound that it declares, and the rows are ones they make."""

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
            return self.write_tables(plan, edition, request)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of its mechanism hold."""
        return file_layout(self.numbers(file))

    def contents(self, file: ReleaseFile) -> Contents:
        """The view, the domains and the public tables."""
        return file_contents(file)

    def differences(self, file: ReleaseFile, policy: P) -> Iterable[str]:
        """Public tables, domains, the bound and the shares."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: P | None = None) -> Iterator[Check]:
        """Tuples, weights, attackers and the bound."""
        if policy is not None:
            yield same_public(file, policy)
        fits = check_fits(file)
        yield fits
        if not fits.passed:
            return
        calls = Calls(file.con)
        try:
            yield from check_rows(file, self.stated_weights(calls, file))
            yield from self.own_checks(calls, file)
            yield from attacker_checks(calls, file, self.meaning(calls, file))
        except (SqlprivError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, SqlprivError) else "some are missing, or no numbers"
            yield Check("the parameters are those of a release", False, why)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee, and against whom."""
        calls, about = Calls(file.con), file.about
        meaning = self.meaning(calls, file)
        attackers = attackers_of(calls, file, meaning)
        listed = [a.to_json() for a in attackers]
        view = f"{file.parameters['view']:g} of {file.parameters['views']:g}"
        counts = f"count(*) of {about['table']} estimates the number of {about['counts']}; view {view}"
        numbers = ", ".join(f"{k} = {v:.6g}" for k, v in file.parameters.items())
        return Wording(
            promise_of(file, meaning, attackers),
            meaning.details,
            warnings_of(file),
            before_columns=(attacker_grid(listed), Line(counts)),
            after_columns=(Line(f"parameters: {numbers}"),),
            content={"attackers": listed, "columns": _columns(file), "view": view},
        )

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries: one file, or the views of one sequence."""
        return describe(files)

    def posterior(self, plan: RandomizedPlan, file: ReleaseFile, times: float) -> float | None:
        """The worst of the linking attackers, who know all but one column."""
        factors = () if plan.terms.by_value is None else plan.terms.by_value.factors
        known = replace(plan.known, times=times)
        return worst_posterior(plan.source.calls, known, plan.terms.factor, factors)

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """By its numbers."""
        calls = Calls(file.con)
        return [a.to_json() for a in attackers_of(calls, file, self.meaning(calls, file))]

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


def _columns(file: ReleaseFile) -> list[dict[str, Any]]:
    found = [dict(attribute) for attribute in file.attributes]
    for attribute in found:
        domain = quoted(file.catalog, "domain", attribute["name"])
        values = fetch(file.con, f"SELECT CAST(value AS VARCHAR) FROM {domain} LIMIT {_MOST_VALUES + 1}")
        attribute["values"] = [v[0] for v in values[:_MOST_VALUES]] + (["..."] if len(values) > _MOST_VALUES else [])
        attribute["noise"] = "by shares" if fetch(file.con, f"SELECT count(share) FROM {domain}")[0][0] else "uniform"
    return found
