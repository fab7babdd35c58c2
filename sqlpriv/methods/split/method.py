"""What methods in buckets share of the seam: the same file, the same way to verify, show and open it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlpriv.checks.exposure import guesses, listed, unique_columns
from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.columns import read_public_columns
from sqlpriv.methods.generalized.linking import OF_CLASSES, posterior_by_share
from sqlpriv.methods.method import Edition, Made, Method, Request
from sqlpriv.methods.recheck import Recheck, file_table, requirement_again
from sqlpriv.methods.records import (
    VALUE,
    GroupedPeople,
    OwnedRelease,
    PublishedClasses,
    Records,
    is_published,
    table_records,
    value_as_text,
)
from sqlpriv.methods.split.layout import BUCKET, QI, SENSITIVE, side_table
from sqlpriv.methods.split.plan import KNOWS, BucketPlan, BucketRules
from sqlpriv.methods.split.policy import ROLES, BucketedPolicy
from sqlpriv.methods.split.verify import declared_layout, file_contents, file_layout, verify_buckets
from sqlpriv.methods.split.write import compare, write_release
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.read import public_tables
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Attribute, Cuts, PublicFacts, Release, Side, SplitRelease
from sqlpriv.risk.learned_figures import LearnedFigures
from sqlpriv.table.frequencies import read_values
from sqlpriv.table.source import Source

_ANSWERS = (
    "Answers of `sqlpriv query {}` have hard bounds: no table that this release may stand for lies outside them. What "
    "asks of columns of one side alone is exact; else a row has each value of its bucket as likely as the bucket has "
    "it."
)
P = TypeVar("P", bound=BucketedPolicy)


class Bucketed(Method[P, BucketPlan], BucketRules):
    """A method that publishes columns apart: how rows go into buckets, and what that guarantees, is its own."""

    roles = ROLES
    most_sensitive = 1
    draws = True
    posterior_holds = f"{OF_CLASSES}, and learns nothing from the other buckets"

    @abstractmethod
    def make_plan(self, source: Source, policy: P) -> BucketPlan:
        """Find the sides and the buckets; refuse what cannot be met."""

    def plan(self, source: Source, policy: P, request: Request) -> BucketPlan:
        """Read the table and see which buckets it makes."""
        self.refuse_queries(request, f"a release by {self.name} has hard bounds and no standard error")
        if source.texts:
            source.scratch.drop(read_values(source, list(source.texts)))
        found = self.make_plan(source, policy)
        read_public_columns(
            source, policy, found.layout.columns
        )  # a domain has no use here, but what is outside it must not go out
        return found

    def write(self, plan: BucketPlan, edition: Edition, path: Path, request: Request) -> Made:
        """Deal the rows at random and write the release into a new file."""
        return write_release(plan, edition, path)

    def compare(self, plan: BucketPlan, path: Path) -> None:
        """Judge the file against the private table once more."""
        compare(plan, path)

    def layout_of(self, file: ReleaseFile) -> Layout:
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
        return verify_buckets(self, file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What its numbers guarantee."""
        layout = declared_layout(file)
        promise = self.promises(layout, file.parameters)
        warnings = self.warns(layout, file.about["groups_chosen"] == "yes")
        return Wording(promise.text, promise.details, warnings, after_columns=(Line(_ANSWERS.format(file.name)),))

    def column_tables(self, file: ReleaseFile) -> Mapping[str, str]:
        """Each in that of its side."""
        sides = declared_layout(file).sides
        return {column: file.table(side_table(number)) for number, side in enumerate(sides) for column in side}

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterator[Evidence]:
        """Of what is required, and of every bucket as it was drawn."""
        layout = declared_layout(file)
        yield from self.always(layout, [row["sensitive"] for row in file.requirements])
        calls, unknown = Calls(file.con), file.reasons.get("others_unknown", "")
        others = [] if unknown else layout.with_role("other")
        if unknown and layout.with_role("other"):
            yield Evidence("others_unknown", about=listed(layout.with_role("other")), detail=unknown)
        for number, side in enumerate(layout.sides):
            known = [c for c in side if layout.roles[c] != SENSITIVE]
            yield from unique_columns(calls, file.table(side_table(number)), known, [c for c in side if c not in known])
        for column in layout.with_role(SENSITIVE):
            number, classes = layout.classes_of(column)
            classes += [c for c in layout.sides[number] if c in others]
            yield from guesses(calls, file.table(side_table(number)), classes, column, says=KNOWS)

    def rechecks(self, shown: Mapping[str, Any], catalog: str) -> Iterator[Recheck]:
        """The sizes of buckets in every side, and sensitive values in the classes of their own side."""
        by_side: dict[int, list[Mapping[str, Any]]] = {}
        for column in shown["columns"]:
            by_side.setdefault(int(column["side"]), []).append(column)
        where: dict[str, PublishedClasses] = {}
        for place, number in enumerate(sorted(by_side)):
            table = file_table(catalog, side_table(place))
            classes = (BUCKET, *(str(c["name"]) for c in by_side[number] if c.get("role") == QI))
            where |= {str(c["name"]): PublishedClasses(table, classes) for c in by_side[number]}
            counted = f"SELECT count(*) AS n FROM {table} GROUP BY {quoted(BUCKET)}"
            yield Recheck("rows of the smallest bucket, alike for all sides", f"SELECT min(n) FROM ({counted})")
        for required in shown.get("requirements") or ():
            classes_there = where.get(str(required["sensitive"]))
            if classes_there is None:
                yield Recheck(f"{required['requirement']}: sqlpriv verify judges it")
            else:
                yield requirement_again(required, classes_there)

    def posterior(self, plan: BucketPlan, file: ReleaseFile, times: float) -> float | None:
        """By the largest share of a sensitive value in a bucket, which is among the numbers.

        It is not known where a reader who learns from all buckets passes that.
        """
        if plan.private_evidence():
            return None
        numbers = plan.numbers if plan.is_settled else file.parameters
        return posterior_by_share(plan, numbers.get("posterior"), times)

    def learned(self, plan: BucketPlan, file: ReleaseFile) -> LearnedFigures | None:
        """From all buckets together."""
        return None if plan.learned is None else plan.learned.figures

    def classes(self, file: ReleaseFile) -> dict[str, PublishedClasses]:
        """A value is one of its bucket, among those rows there that have its quasi-identifiers."""
        layout = declared_layout(file)
        found = {}
        for column in layout.with_role(SENSITIVE):
            side, classes = layout.classes_of(column)
            found[column] = PublishedClasses(file.table(side_table(side)), tuple(classes))
        return found

    def grouped_people(self, file: ReleaseFile, sensitive: str) -> tuple[GroupedPeople, ...]:
        """A person is found in any other side that has quasi-identifiers."""
        layout = declared_layout(file)
        own = layout.side_of(sensitive)
        values, promised = file.table(side_table(own)), float(file.parameters.get("posterior", 1.0))
        return tuple(
            GroupedPeople(file.table(side_table(i)), columns, values, BUCKET, promised)
            for i, columns in enumerate(layout.sides)
            if i != own and any(layout.roles[c] == QI for c in columns)
        )

    def records(self, owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
        """The rows of the side that has most of the columns; they show values."""
        sides = declared_layout(owned.file).sides
        there = [[c for c in side if is_published(c, names)] for side in sides]
        best = max(range(len(sides)), key=lambda i: len(there[i]))
        table = side_table(best)
        return table_records(owned.file.table(table), owned.file.columns(SCHEMA, table), there[best])

    def records_with_value(self, owned: OwnedRelease, column: str) -> Records:
        """A person is found in one side; any value that another side has in the same bucket may be theirs."""
        file, layout = owned.file, declared_layout(owned.file)
        side, (_, *others) = layout.classes_of(column)
        records = self.records(owned, layout.with_role(QI))
        own, value = file.table(side_table(side)), f"{value_as_text(column)} AS {VALUE}"
        if own == records.relation:
            return records.read_from(f"(SELECT *, {value} FROM {own})")
        bucket = quoted(BUCKET)
        shown = ", ".join([bucket, *map(quoted, others), value])
        known = ", ".join([bucket, *(quoted(c.name) for c in records.cells)])
        joined = (
            f"(SELECT DISTINCT * FROM (SELECT {known} FROM {records.relation}) JOIN (SELECT DISTINCT {shown} "
            f"FROM {own}) USING ({bucket}))"
        )
        cells = table_records(own, file.columns(SCHEMA, side_table(side)), others).cells
        return Records(joined, (*records.cells, *cells))

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """Every row with all values that its bucket has."""
        return open_buckets(self.only(files))


# -------------------- for queries


def open_buckets(file: ReleaseFile) -> Release:
    """What rewriting knows of the columns of a release, its sides and their rows."""
    layout = declared_layout(file)
    sides = tuple(Side(file.table(side_table(i)), frozenset(names)) for i, names in enumerate(layout.sides))
    sizes = f"SELECT count(*) AS n FROM {sides[0].relation} GROUP BY {quoted(BUCKET)}"
    rows, largest = fetch(file.con, f"SELECT sum(n), max(n) FROM ({sizes})")[0]
    return SplitRelease(
        table=file.about["table"],
        attributes=tuple(
            _attribute(file, name, str(column["type"]), sides[layout.side_of(name)].relation)
            for name, column in ((str(c["name"]), c) for c in file.attributes)
        ),
        public=public_tables(file.con, file.catalog, "public"),
        facts=PublicFacts(file.con),
        rows=OneSide(sides, int(rows)).relation,
        sides=sides,
        bucket=BUCKET,
        size=int(rows),
        largest_bucket=int(largest),
    )


@dataclass(frozen=True)
class OneSide:
    """The rows of one side, whose columns are published together: they are what they show."""

    sides: tuple[Side, ...]
    rows: int

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf, of columns of one side: every class has one leaf."""
        one = "1 AS __leaves, 1e0 AS __weight, 1e0 AS __total, false AS __hidden"
        if not mentioned:
            return f"SELECT 0 AS __unit, {self.rows} AS __copies, {one}"
        side = next(s for s in self.sides if mentioned <= s.columns)
        cells = ", ".join(quoted(c) for c in sorted(mentioned))
        classes = f"SELECT {cells}, count(*) AS copies FROM {side.relation} GROUP BY ALL"
        return f"SELECT {cells}, row_number() OVER () AS __unit, copies AS __copies, {one} FROM ({classes})"


def _attribute(file: ReleaseFile, name: str, kind: str, table: str) -> Attribute:
    value = quoted(name)
    size, nulls = fetch(file.con, f"SELECT count(DISTINCT {value}), count(*) - count({value}) FROM {table}")[0]
    domain = f"(SELECT DISTINCT {value} AS value FROM {table})"
    return Attribute(name, kind, max(size + (nulls > 0), 1), domain, nulls > 0)
