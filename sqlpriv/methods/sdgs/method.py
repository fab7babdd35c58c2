"""Sampled k-anonymity as a method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.cells import labelled_records
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.records import Records
from sqlpriv.methods.sdgs import write
from sqlpriv.methods.sdgs.answers import answers_mean, open_sampled
from sqlpriv.methods.sdgs.compare import compare
from sqlpriv.methods.sdgs.groups import GROUPS
from sqlpriv.methods.sdgs.plan import SdgsPlan, make_plan
from sqlpriv.methods.sdgs.policy import OPTIONS, ROLES, SdgsPolicy
from sqlpriv.methods.sdgs.stated import stated_groups, stated_terms
from sqlpriv.methods.sdgs.told import exposure, linking_beliefs, linking_posterior, smooth_grid
from sqlpriv.methods.sdgs.verify import verify_file
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.stamp import stamped_line, stated_policy
from sqlpriv.release.verify import verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.sqltext import quoted
from sqlpriv.table.source import Source


class Sdgs(Method[SdgsPolicy, SdgsPlan]):
    """Rows sampled by coins, generalized by a node that does not depend on them, rare ones suppressed."""

    name = "sdgs"
    policy = SdgsPolicy
    roles = ROLES
    options = OPTIONS
    sections = ()
    draws = True
    noise_tag = "sdgs"
    bounds_beliefs = True
    against = "presence"
    posterior_holds = "knows all else of the person, and everybody else, in the mean over the coins"

    def plan(self, source: Source, policy: SdgsPolicy, request: Request) -> SdgsPlan:
        """Scan the table, and work out the numbers."""
        self.refuse_queries(
            request, "the error of an answer from sdgs depends on what is suppressed, so it is not told beforehand"
        )
        return make_plan(source, policy)

    def write(self, plan: SdgsPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Throw the coins, and write what they leave into a new file."""
        return write.write(plan, edition, path)

    def compare(self, plan: SdgsPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare(plan, path)

    def verify(self, file: ReleaseFile, policy: SdgsPolicy | None = None) -> Facts:
        """Judge a release from its file alone."""
        return verify_facts(file, verify_file(self, Calls(file.con), file, policy))

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        about, columns, numbers = file.about, file.rows("attributes"), file.parameters
        terms = stated_terms(Calls(file.con), file)
        points = sorted(file.rows("smooth"), key=lambda p: float(p["epsilon"]))
        content: dict[str, Any] = {
            **about,
            "policy": stated_policy(file),
            "details": json.loads(about["details"]),
            "parameters": numbers,
            "smooth": points,
            "columns": columns,
            **({GROUPS: [list(g.columns) for g in stated_groups(file)]} if GROUPS in about else {}),
            "requirements": [],
            "public": [],
        }
        names = [n for n in (columns[0] if columns else {}) if n != "position"]
        parts: list[Part] = [
            Line(about["guarantee"], "claimed"),
            *(Line(f"- {text}", quiet=True) for text in content["details"]),
        ]
        if "n_public" in numbers:
            parts.append(Line(exposure(terms, numbers["n_public"], numbers["exposed"])))
        parts.append(smooth_grid([(p["epsilon"], p["delta"], p["bound"]) for p in points], terms.groups))
        if "node_is_public" in about:
            what = "levels and groups" if terms.groups > 1 else "levels"
            parts.append(Line(f"Why the {what} do not depend on the table: {about['node_is_public']}"))
        if "beside" in about:
            parts.append(Line(f"It stands beside other releases of the table: {about['beside']}"))
        parts.append(Grid(tuple(names), tuple(tuple(c[n] for n in names) for c in columns)))
        parts += answers_mean(file)
        parts += [stamped_line(file), Line(f"Whether it holds: sqlpriv verify {file.name}")]
        return Facts(f"{file.name}  {about['method']}", content, tuple(parts))

    def posterior(self, plan: SdgsPlan, file: ReleaseFile, times: float) -> float | None:
        """The worst belief of a linking attacker in a sensitive value, where its public domain says what there is."""
        return linking_posterior(plan.source.calls, plan.terms, plan.choices, times)

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """Who knows all but one sensitive column, where its public domain says what there is."""
        calls, found = Calls(file.con), []
        terms = stated_terms(calls, file)
        for column in file.rows("attributes"):
            if column["role"] == "sensitive" and column["has_domain"]:
                name = str(column["name"])
                domain = quoted(file.catalog, "domain", name)
                size = int(fetch(file.con, f"SELECT count(*) FROM {domain}")[0][0])
                prior, posterior = linking_beliefs(calls, terms, size)
                beliefs = {"prior": prior, "posterior": posterior, "delta": terms.replaced_delta}
                found.append({"knows": f"all but {name}", "wants": name, **beliefs})
        return found

    def records(
        self,
        file: ReleaseFile,
        names: Sequence[str],
        source: Source | None,
        policy: Policy | None,
        also: str | None = None,
    ) -> Records:
        """The sampled rows, with the values that each label may stand for."""
        return labelled_records(file, names, source, policy, also)

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The sampled rows, and the classes that could be there and are not."""
        return open_sampled(self.only(files))


METHOD = Sdgs()
