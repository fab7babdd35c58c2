"""What methods in buckets share of the seam: the same file, the same way to verify, show and open it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from sqlpriv.methods.base import OneFile
from sqlpriv.methods.bucketed.answers import answers_mean, open_buckets
from sqlpriv.methods.bucketed.arrange import settle_texts
from sqlpriv.methods.bucketed.compare import compare
from sqlpriv.methods.bucketed.layout import Layout
from sqlpriv.methods.bucketed.numbers import Sides
from sqlpriv.methods.bucketed.plan import BucketPlan, Promise
from sqlpriv.methods.bucketed.policy import BucketedPolicy
from sqlpriv.methods.bucketed.verify import Judge, declared_layout, file_contents, file_layout, verify_buckets
from sqlpriv.methods.bucketed.write import Words, write
from sqlpriv.methods.labelled.leaves import read_known
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Names
from sqlpriv.release.layout import Layout as FileLayout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class Bucketed(OneFile, ABC):
    """A method that publishes columns apart: how rows go into buckets, and what that guarantees, is its own."""

    words: ClassVar[Words]
    """What its buckets and views are called."""
    numbers: ClassVar[Names]
    """The numbers that its files hold."""

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

    def warns(self, layout: Layout, groups_chosen: bool) -> tuple[str, ...]:
        """What readers of a release with these sides should know."""
        return ()

    def layout_of(self, file: ReleaseFile) -> FileLayout:
        """What all files in buckets hold."""
        return file_layout(self.numbers)

    def contents(self, file: ReleaseFile) -> Contents:
        """A table for each side, and a view of it."""
        return file_contents(file, self.words)

    def differences(self, file: ReleaseFile, policy: Policy) -> Sequence[str]:
        """Which columns stand together, the public part of the policy says."""
        return ()

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Iterator[Check]:
        """Sides, buckets, numbers and requirements."""
        chooses = any(key.name == "groups" for key in self.options)
        return verify_buckets(Judge(self.measures, self.own_checks, chooses), file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee."""
        layout = declared_layout(file)
        promise = self.promises(layout, file.parameters)
        warnings = self.warns(layout, file.about["groups_chosen"] == "yes")
        return Wording(promise.text, promise.details, warnings, after_columns=tuple(answers_mean(file)))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with all values that its bucket has."""
        return open_buckets(self.only(files))
