"""What methods in buckets share of the seam: the same file, the same way to verify, show and open it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.base import OneFile
from sqlpriv.methods.bucketed.answers import answers_mean, open_buckets
from sqlpriv.methods.bucketed.arrange import settle_texts
from sqlpriv.methods.bucketed.compare import compare
from sqlpriv.methods.bucketed.layout import Layout
from sqlpriv.methods.bucketed.numbers import Sides
from sqlpriv.methods.bucketed.plan import BucketPlan, Promise
from sqlpriv.methods.bucketed.policy import BucketedPolicy
from sqlpriv.methods.bucketed.verify import Judge, verify_file
from sqlpriv.methods.bucketed.write import Words, write
from sqlpriv.methods.labelled.leaves import read_known
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.stamp import stamped_line, stated_policy
from sqlpriv.release.verify import Check, verify_facts
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class Bucketed(OneFile, ABC):
    """A method that publishes columns apart: how rows go into buckets, and what that guarantees, is its own."""

    words: ClassVar[Words]
    """What its buckets and views are called."""

    @abstractmethod
    def make_plan(self, source: Source, policy: BucketedPolicy) -> BucketPlan:
        """Find the sides and the buckets; refuse what cannot be met."""

    @abstractmethod
    def measures(self, sides: Sides) -> dict[str, float]:
        """The numbers that a file states."""

    @abstractmethod
    def promises(self, layout: Layout, numbers: Mapping[str, float]) -> Promise:
        """What these numbers guarantee."""

    @abstractmethod
    def own_checks(self, sides: Sides, stated: Mapping[str, float]) -> Iterator[Check]:
        """Whether the buckets of a file are what the promise needs."""

    def plan(self, source: Source, policy: Policy, request: Request) -> BucketPlan:
        """Read the table and see which buckets it makes."""
        assert isinstance(policy, BucketedPolicy)
        self.refuse_queries(request, f"a release by {self.name} has hard bounds and no standard error")
        settle_texts(source)
        found = self.make_plan(source, policy)
        read_known(found, found.layout.columns)  # a domain has no use here, but what is outside it must not go out
        return found

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Throw the coins and write the release into a new file."""
        assert isinstance(plan, BucketPlan)
        return write(plan, edition, path, self.words)

    def compare(self, plan: Plan, path: Path) -> None:
        """Judge the file against the private table once more."""
        assert isinstance(plan, BucketPlan)
        compare(plan, path)

    def may_warn(self, layout: Layout) -> tuple[str, ...]:
        """All that a release with these sides may warn of."""
        return ()

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Facts:
        """Judge a release from its file alone."""
        judge = Judge(self, Calls(file.con), self.words, self.measures, self.promises, self.own_checks, self.may_warn)
        return verify_facts(file, verify_file(judge, file, policy))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with all values that its bucket has."""
        return open_buckets(self.only(files))

    def show(self, file: ReleaseFile) -> Facts:
        """What a release says of itself."""
        about, columns, requirements = file.about, file.rows("attributes"), file.rows("requirements")
        content: dict[str, Any] = {
            **about,
            "policy": stated_policy(file),
            "details": json.loads(about["details"]),
            "parameters": file.parameters,
            "columns": columns,
            "requirements": requirements,
            "public": [],
            "warnings": list(file.warnings),
        }
        names = [n for n in (columns[0] if columns else {}) if n != "position"]
        parts: list[Part] = [Line(about["guarantee"], "claimed")]
        parts += [Line(f"- {text}", quiet=True) for text in content["details"]]
        parts += [Line(f"{r['requirement']}: {r['guarantee']}", "claimed") for r in requirements]
        if "beside" in about:
            parts.append(Line(f"It stands beside other releases of the table: {about['beside']}"))
        parts.append(Grid(tuple(names), tuple(tuple(c[n] for n in names) for c in columns)))
        parts += answers_mean(file)
        parts += [stamped_line(file), Line(f"Whether it holds: sqlpriv verify {file.name}")]
        return Facts(f"{file.name}  {about['method']}", content, tuple(parts), file.warnings)
