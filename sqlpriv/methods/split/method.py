"""What methods in buckets share of the seam: the same file, the same way to verify, show and open it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.generalized.columns import read_known
from sqlpriv.methods.generalized.linking import OF_CLASSES, posterior_by_share
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.records import VALUE, Classes, Records, is_published, table_records, value_as_text
from sqlpriv.methods.split.answers import answers_mean, open_buckets
from sqlpriv.methods.split.arrange import settle_texts
from sqlpriv.methods.split.compare import compare
from sqlpriv.methods.split.layout import BUCKET, Layout, side_table
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.plan import BucketPlan, Promise
from sqlpriv.methods.split.policy import ROLES, BucketedPolicy
from sqlpriv.methods.split.verify import Judge, declared_layout, file_contents, file_layout, verify_buckets
from sqlpriv.methods.split.write import Words, write
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Names
from sqlpriv.release.layout import Layout as FileLayout
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

P = TypeVar("P", bound=BucketedPolicy)


class Bucketed(Method[P, BucketPlan]):
    """A method that publishes columns apart: how rows go into buckets, and what that guarantees, is its own."""

    roles = ROLES
    draws = True
    posterior_holds = OF_CLASSES
    words: Words
    """What its buckets and views are called."""
    numbers: ClassVar[Names]
    """The numbers that its files hold."""

    @abstractmethod
    def make_plan(self, source: Source, policy: P) -> BucketPlan:
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

    def plan(self, source: Source, policy: P, request: Request) -> BucketPlan:
        """Read the table and see which buckets it makes."""
        self.refuse_queries(request, f"a release by {self.name} has hard bounds and no standard error")
        settle_texts(source)
        found = self.make_plan(source, policy)
        read_known(
            source, policy, found.layout.columns
        )  # a domain has no use here, but what is outside it must not go out
        return found

    def write(self, plan: BucketPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Throw the coins and write the release into a new file."""
        return write(plan, edition, path, self.words)

    def compare(self, plan: BucketPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
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

    def differences(self, file: ReleaseFile, policy: P) -> Sequence[str]:
        """Which columns stand together, the public part of the policy says."""
        return ()

    def verify(self, file: ReleaseFile, policy: P | None = None) -> Iterator[Check]:
        """Sides, buckets, numbers and requirements."""
        chooses = any(key.name == "groups" for key in self.options)
        return verify_buckets(Judge(self.measures, self.own_checks, chooses), file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee."""
        layout = declared_layout(file)
        promise = self.promises(layout, file.parameters)
        warnings = self.warns(layout, file.about["groups_chosen"] == "yes")
        return Wording(promise.text, promise.details, warnings, after_columns=tuple(answers_mean(file)))

    def posterior(self, plan: BucketPlan, file: ReleaseFile, times: float) -> float | None:
        """By the largest share of a sensitive value in a bucket, of which the numbers tell."""
        numbers = plan.numbers if plan.is_settled else file.parameters
        return posterior_by_share(plan, numbers.get("posterior"), times)

    def classes(self, file: ReleaseFile) -> dict[str, Classes]:
        """A value is one of its bucket, among those rows there that have the quasi-identifiers beside it."""
        columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
        qis = [c for c in columns if c["role"] == "quasi-identifier"]
        found = {}
        for column in (c for c in columns if c["role"] == "sensitive"):
            known = [str(c["name"]) for c in qis if c["side"] == column["side"]]
            found[str(column["name"])] = Classes(file.table(_side_table(column)), (BUCKET, *known))
        return found

    def records(
        self,
        file: ReleaseFile,
        names: Sequence[str],
        source: Source | None,
        policy: Policy | None,
        also: str | None = None,
    ) -> Records:
        """The rows of the side that has most of the columns; they show values."""
        rows = [row for row in file.rows("attributes") if is_published(str(row["name"]), names)]
        sides = [int(row["side"]) for row in rows]
        best = max(sorted(set(sides)), key=sides.count, default=1)
        table = side_table(best - 1)
        there = [str(row["name"]) for row in rows if int(row["side"]) == best]
        return table_records(file.table(table), file.columns(SCHEMA, table), there)

    def records_with_value(
        self, file: ReleaseFile, column: str, source: Source | None, policy: Policy | None
    ) -> Records:
        """A person is found in one side; any value that another side has in the same bucket may be theirs."""
        rows = {str(row["name"]): row for row in file.rows("attributes")}
        qis = [name for name, row in rows.items() if row["role"] == "quasi-identifier"]
        records = self.records(file, qis, source, policy)
        table = _side_table(rows[column])
        own, value = file.table(table), f"{value_as_text(column)} AS {VALUE}"
        if own == records.relation:
            return records.read_from(f"(SELECT *, {value} FROM {own})")
        beside = [q for q in qis if rows[q]["side"] == rows[column]["side"]]
        bucket = quoted(BUCKET)
        shown = ", ".join([bucket, *map(quoted, beside), value])
        known = ", ".join([bucket, *(quoted(c.name) for c in records.cells)])
        joined = (
            f"(SELECT DISTINCT * FROM (SELECT {known} FROM {records.relation}) JOIN (SELECT DISTINCT {shown} "
            f"FROM {own}) USING ({bucket}))"
        )
        return Records(joined, (*records.cells, *table_records(own, file.columns(SCHEMA, table), beside).cells))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with all values that its bucket has."""
        return open_buckets(self.only(files))


def _side_table(column: Mapping[str, Any]) -> str:
    """The table of the side in which a column stands."""
    return side_table(int(column["side"]) - 1)
