"""Sampled k-anonymity as a method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.linking import generalized_records
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.recheck import Recheck, call, file_table, guarantee_again
from sqlpriv.methods.records import OwnedRelease, PublishedClasses, Records
from sqlpriv.methods.sdgs.answers import answers_mean, open_sampled
from sqlpriv.methods.sdgs.groups import GROUPS, declared_groups, groups_of
from sqlpriv.methods.sdgs.plan import SdgsPlan, make_plan
from sqlpriv.methods.sdgs.policy import OPTIONS, ROLES, SdgsPolicy
from sqlpriv.methods.sdgs.terms import declared_terms, linking_beliefs, linking_posterior
from sqlpriv.methods.sdgs.verify import LAYOUT, differences, file_contents, verify_file
from sqlpriv.methods.sdgs.wording import details, exposure, promise, smooth_grid, terms_evidence
from sqlpriv.methods.sdgs.write import compare, write_release
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class Sdgs(Method[SdgsPolicy, SdgsPlan]):
    """Rows sampled at random, generalized by a node that does not depend on them, rare ones suppressed."""

    name = "sdgs"
    policy = SdgsPolicy
    roles = ROLES
    options = OPTIONS
    sections = ()
    draws = True
    noise_tag = "sdgs"
    guarantee_macros = (("sdgs_delta", ("k", "beta", "epsilon")),)
    bounds_beliefs = True
    against = "presence"
    posterior_holds = "knows all else of the person, and everybody else, on average over the random sample"

    def plan(self, source: Source, policy: SdgsPolicy, request: Request) -> SdgsPlan:
        """Scan the table, and work out the numbers."""
        self.refuse_queries(
            request, "the error of an answer from sdgs depends on what is suppressed, so it is not known beforehand"
        )
        return make_plan(source, policy)

    def write(self, plan: SdgsPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Draw the sample, and write it into a new file."""
        return write_release(plan, edition, path)

    def compare(self, plan: SdgsPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold."""
        return LAYOUT

    def contents(self, file: ReleaseFile) -> Contents:
        """The rows of each group, and the tables of their labels."""
        return file_contents(file)

    def differences(self, file: ReleaseFile, policy: SdgsPolicy) -> Iterable[str]:
        """Domains, levels, groups and numbers."""
        return differences(file, policy)

    def verify(self, file: ReleaseFile, policy: SdgsPolicy | None = None) -> Iterable[Check]:
        """The guarantee, levels, labels, and the size of every class."""
        return verify_file(file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee, and what answers mean."""
        numbers, terms = file.parameters, declared_terms(Calls(file.con), file)
        points = sorted(file.rows("smooth"), key=lambda p: float(p["epsilon"]))
        content: dict[str, Any] = {"smooth": points}
        if GROUPS in file.about:
            content[GROUPS] = [list(g.columns) for g in declared_groups(file)]
        exposed = [Line(exposure(terms, numbers["n_public"], numbers["exposed"]))] if "n_public" in numbers else []
        smooth = smooth_grid([(p["epsilon"], p["delta"], p["bound"]) for p in points], terms.groups)
        return Wording(
            promise(terms),
            details(terms),
            before_columns=(*exposed, smooth),
            after_columns=tuple(answers_mean(file)),
            content=content,
        )

    def rechecks(self, shown: Mapping[str, Any], catalog: str) -> Iterator[Recheck]:
        """That each published row is there k times, and what that guarantees, of one group and of all together."""
        numbers, groups = shown.get("parameters") or {}, groups_of(shown.get(GROUPS) or [()])
        if "k" in numbers:
            for group in groups:
                counted = f"SELECT count(*) AS n FROM {file_table(catalog, group.table)} GROUP BY ALL"
                says = f"every row is there so often at least: k = {numbers['k']:g}"
                yield Recheck(says, f"SELECT min(n) FROM ({counted})")
        of_one = "of one group" if len(groups) > 1 else "what it guarantees"
        yield from guarantee_again(shown, self.guarantee_macros, of_one)
        if len(groups) > 1 and {"epsilon", "delta"} <= set(numbers):
            together = call("sdgs_groups", numbers["epsilon"], numbers["delta"], len(groups))
            yield Recheck("of all groups together", together)

    def posterior(self, plan: SdgsPlan, file: ReleaseFile, times: float) -> float | None:
        """The worst belief of a linking attacker in a sensitive value, where its public domain says what there is."""
        return linking_posterior(plan.source.calls, plan.terms, plan.choices, times)

    def column_tables(self, file: ReleaseFile) -> Mapping[str, str]:
        """Each in that of its group."""
        if GROUPS not in file.about:
            return super().column_tables(file)
        return {column: file.table(group.table) for group in declared_groups(file) for column in group.columns}

    def taught_classes(self, file: ReleaseFile) -> dict[str, PublishedClasses]:
        """Those of the sample, by the quasi-identifiers that are published with the column."""
        tables, qis = self.column_tables(file), tuple(file.names_with_role("quasi-identifier"))
        return {
            name: PublishedClasses(tables[name], tuple(q for q in qis if tables[q] == tables[name]))
            for name in file.names_with_role("sensitive")
        }

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Evidence]:
        """By its numbers, which are public."""
        terms, exposed = declared_terms(Calls(file.con), file), file.parameters.get("exposed")
        return terms_evidence(terms, exposed, is_public="node_is_public" in file.reasons)

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """The attacker who knows all but one sensitive column, where that column has a public domain."""
        calls, found = Calls(file.con), []
        terms = declared_terms(calls, file)
        for column in file.rows("attributes"):
            if column["role"] == "sensitive" and column["has_domain"]:
                name = str(column["name"])
                domain = quoted(file.catalog, "domain", name)
                size = int(fetch(file.con, f"SELECT count(*) FROM {domain}")[0][0])
                prior, posterior = linking_beliefs(calls, terms, size)
                beliefs = {"prior": prior, "posterior": posterior, "delta": terms.replaced_delta}
                found.append({"knows": f"all but {name}", "wants": name, **beliefs})
        return found

    def records(self, owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
        """The sampled rows, with the values that each label may stand for."""
        return generalized_records(owned, names, also)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The sampled rows, and the classes that could be there and are not."""
        return open_sampled(self.only(files))


METHOD = Sdgs()
