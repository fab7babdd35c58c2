"""What the randomized methods share of the seam: the same roles, the same file, the same way to show and open it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.linking import generalized_records
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.noisy.attackers import Attacker, attacker_evidence, attacker_grid, worst_posterior
from sqlpriv.methods.noisy.background import declared_background, public_tables
from sqlpriv.methods.noisy.calibration import Bound, Calibration, Meaning
from sqlpriv.methods.noisy.mechanism import AllWeights, M
from sqlpriv.methods.noisy.plan import RandomizedPlan, make_plan
from sqlpriv.methods.noisy.policy import ROLES, RandomizedPolicy
from sqlpriv.methods.noisy.questions import ask, refuse_views
from sqlpriv.methods.noisy.read import declared_mechanism, file_contents, file_layout
from sqlpriv.methods.noisy.verify import (
    attacker_checks,
    check_fits,
    check_row_weights,
    check_rows,
    differences,
    same_public,
)
from sqlpriv.methods.noisy.wording import evidence_of_file, warnings_of_file, with_uncovered
from sqlpriv.methods.noisy.write import check_public
from sqlpriv.methods.records import OwnedRelease, Records
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile, written
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.read import describe
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

P = TypeVar("P", bound=RandomizedPolicy)
_MOST_VALUES = 6


class Randomized(Method[P, RandomizedPlan], Generic[P, M]):
    """A randomized method: its own noise, by mechanisms of type M, on top of what all share."""

    mechanisms: tuple[type[M], ...]
    """Those that its files may name."""

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
    def calibrate(self, source: Source, policy: P, bound: Bound) -> Calibration:
        """The noise for a bound, what it guarantees and costs."""

    @abstractmethod
    def write_tables(self, plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
        """All tables of the release, into the file that is attached."""

    @abstractmethod
    def meaning(self, calls: Calls, file: ReleaseFile, mechanism: M) -> Meaning:
        """What the numbers of a file guarantee, made by this mechanism."""

    @abstractmethod
    def own_checks(self, calls: Calls, file: ReleaseFile, mechanism: M) -> Iterator[Check]:
        """Whether the noise that a file declares keeps the bound that it declares, and can have made its rows."""

    def plan(self, source: Source, policy: P, request: Request) -> RandomizedPlan:
        """Read domains and table, and calibrate the noise."""
        plan = make_plan(source, policy, self.calibrate)
        check_public(source, policy)
        if policy.questions:
            refuse_views(plan)
        if not request.queries:
            return plan
        return replace(plan, questions=ask(plan, request.queries))

    def write(self, plan: RandomizedPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the release into a new file."""
        with written(plan.source.con, path):
            return self.write_tables(plan, edition, request)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all files of its mechanism hold."""
        return file_layout(file, self.mechanisms)

    def contents(self, file: ReleaseFile) -> Contents:
        """The view, the domains and the public tables."""
        return file_contents(file, self.mechanisms)

    def differences(self, file: ReleaseFile, policy: P) -> Iterable[str]:
        """Public tables, domains, the bound and the shares."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: P | None = None) -> Iterator[Check]:
        """Tuples, weights, attackers and the bound."""
        if policy is not None:
            yield same_public(file, policy)
        calls = Calls(file.con)
        try:
            declared = declared_mechanism(file, self.mechanisms)
            fits = check_fits(file, declared)
            yield fits
            if not fits.passed:
                return
            mechanism = declared.read(calls, file)
            weights = mechanism.weights(calls)
            yield from check_rows(file, mechanism, weights)
            yield self.check_row_weights(file, mechanism, weights)
            yield from self.own_checks(calls, file, mechanism)
            yield from attacker_checks(calls, file, self.meaning(calls, file, mechanism))
        except (SqlprivError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, SqlprivError) else "some are missing, or no numbers"
            yield Check("the parameters are those of a release", False, why)

    def check_row_weights(self, file: ReleaseFile, mechanism: M, weights: AllWeights) -> Check:
        """Whether rows weigh what the parameters make of their kind."""
        return check_row_weights(file, mechanism, weights)

    def warnings_of(self, file: ReleaseFile) -> tuple[str, ...]:
        """What a release warns its readers of."""
        return warnings_of_file(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee, and against whom."""
        about, (meaning, attackers) = file.about, self._meaning_and_attackers(file)
        listed = [a.to_json() for a in attackers]
        view = f"{file.parameters['view']:g} of {file.parameters['views']:g}"
        counts = f"count(*) of {about['table']} estimates the number of {about['counts']}; view {view}"
        numbers = ", ".join(f"{k} = {v:.6g}" for k, v in file.parameters.items())
        combinations = public_tables(file)[1]
        return Wording(
            with_uncovered(meaning.promise, attackers, file.parameters["gamma"], file.reasons.get("uncovered")),
            meaning.details,
            self.warnings_of(file),
            before_columns=(attacker_grid(listed), Line(counts)),
            after_columns=(Line(f"parameters: {numbers}"),),
            content={"attackers": listed, "columns": _columns(file), "view": view}
            | ({"combinations": combinations} if combinations else {}),
        )

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries: one file, or the views of one sequence."""
        return describe(files)

    def posterior(self, plan: RandomizedPlan, file: ReleaseFile, times: float) -> float | None:
        """The worst of the linking attackers, who know all but one column."""
        meaning, background = plan.calibration.meaning, replace(plan.calibration.background, times=times)
        return worst_posterior(plan.source.calls, background, meaning.factor, meaning.of_values)

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterator[Evidence]:
        """By its numbers and its domains, which are public."""
        yield from evidence_of_file(file)
        yield from attacker_evidence(self._meaning_and_attackers(file)[1])

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """By its numbers."""
        return [a.to_json() for a in self._meaning_and_attackers(file)[1]]

    def _meaning_and_attackers(self, file: ReleaseFile) -> tuple[Meaning, tuple[Attacker, ...]]:
        calls = Calls(file.con)
        mechanism = declared_mechanism(file, self.mechanisms).read(calls, file)
        meaning = self.meaning(calls, file, mechanism)
        return meaning, meaning.attackers(calls, declared_background(file), file.parameters["gamma"])

    def records(self, owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
        """The published rows: tuples of the domain, whose columns may be labels of a level."""
        return generalized_records(owned, names, also)


def _columns(file: ReleaseFile) -> list[dict[str, Any]]:
    """The published columns with the first values of their domains, and what their noise follows."""
    found = [dict(attribute) for attribute in file.attributes]
    for attribute in found:
        domain = quoted(file.catalog, "domain", attribute["name"])
        values = fetch(file.con, f"SELECT CAST(value AS VARCHAR) FROM {domain} LIMIT {_MOST_VALUES + 1}")
        attribute["values"] = [v[0] for v in values[:_MOST_VALUES]] + (["..."] if len(values) > _MOST_VALUES else [])
        attribute["noise"] = "by shares" if fetch(file.con, f"SELECT count(share) FROM {domain}")[0][0] else "uniform"
    return found
