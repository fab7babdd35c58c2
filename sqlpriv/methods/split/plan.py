"""A release in buckets that could be made: the table read and sorted, what is required found to hold.

`plan_buckets` is given the layout of a table, and returns the plan with the sorted rows. What differs between methods
of this family is in their `BucketRules`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sqlpriv.checks.exposure import guesses, listed, unique_columns
from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, Part, shown_number
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.generalized.scan import check_columns
from sqlpriv.methods.learned import BestGuesses, best_guesses, learned_evidence
from sqlpriv.methods.method import Plan, Written
from sqlpriv.methods.records import GroupedPeople
from sqlpriv.methods.split.arrange import arrange, compose, sort_for
from sqlpriv.methods.split.layout import BUCKET, QI, SENSITIVE, BucketLayout, Sides, side_table
from sqlpriv.methods.split.policy import PUBLISHED, BucketedPolicy
from sqlpriv.release.file import SCHEMA, open_file
from sqlpriv.release.layout import NumberNames
from sqlpriv.release.verify import Check
from sqlpriv.table.frequencies import count_persons
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

KNOWS = "all quasi-identifiers"


@dataclass(frozen=True)
class Promise:
    """What a release guarantees, in a sentence, and what one should know of it."""

    text: str
    details: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """How a method calls its buckets in views, and the view of another side than the first."""

    bucket: str
    side: str | None = None
    """What follows the table's name; None: the number of the side."""

    def view(self, table: str, number: int) -> str:
        """The name of the view of a side."""
        return table if number == 0 else f"{table}_{self.side or number + 1}"

    def statement(self, name: str, number: int, columns: Sequence[str]) -> str:
        """The statement that makes the view of a side."""
        bucket = quoted(_free_name(self.bucket, columns))
        rows = f"{SCHEMA}.{side_table(number)} AS p"
        cells = ", ".join(f"p.{quoted(c)}" for c in columns)
        if number == 0:
            return f"CREATE VIEW {name} AS SELECT p.{quoted(BUCKET)} AS {bucket}, {cells} FROM {rows}"
        count = quoted(_free_name("count", [*columns, self.bucket]))
        return (
            f"CREATE VIEW {name} AS SELECT p.{quoted(BUCKET)} AS {bucket}, {cells}, count(*) AS {count} FROM {rows} "
            f"GROUP BY p.{quoted(BUCKET)}, {cells}"
        )


def _free_name(wanted: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    used, name, number = set(map(folded, taken)), wanted, 1
    while folded(name) in used:
        number += 1
        name = f"{wanted}_{number}"
    return name


class BucketRules(ABC):
    """What is a method's own: what its buckets are called, what they guarantee, and how that is judged."""

    words: ClassVar[Words]
    numbers: ClassVar[NumberNames]
    """The numbers that its files hold."""
    chooses_groups: ClassVar[bool] = False
    """Whether the table chooses the groups of columns where the policy gives none."""

    @abstractmethod
    def measures(self, sides: Sides) -> dict[str, float]:
        """The numbers that a file declares."""

    @abstractmethod
    def promises(self, layout: BucketLayout, numbers: Mapping[str, float]) -> Promise:
        """What these numbers guarantee."""

    @abstractmethod
    def own_checks(self, sides: Sides, found: Mapping[str, float]) -> Iterator[Check]:
        """Whether the buckets of a file, of which these numbers were found, are what the promise needs."""

    def always(self, layout: BucketLayout, required: Sequence[str | None]) -> Iterator[Evidence]:
        """What the verdict is judged by, whatever the random numbers are.

        Nothing keeps a bucket from having one value alone, unless that is required; and what other buckets teach about
        people is not bounded.
        """
        bare = [c for c in layout.with_role(SENSITIVE) if c not in required]
        if bare or not layout.with_role(SENSITIVE):
            yield Evidence("nothing_required", about=", ".join(bare) or "any column")
        yield Evidence("other_groups", about=self.words.bucket)

    def why_not(self, source: Source, ordered: Relation, layout: BucketLayout) -> str | None:
        """Why these rows cannot be dealt into such buckets; None where they can."""
        return None

    def warns(self, layout: BucketLayout, groups_chosen: bool) -> tuple[str, ...]:
        """What readers of a release with these sides should know."""
        return ()


@dataclass(frozen=True)
class BucketPlan(Plan[BucketedPolicy]):
    """A policy with its table read; random numbers decide the rest."""

    layout: BucketLayout
    ordered: Relation
    """The published columns of all rows, sorted."""
    rows: int
    buckets: int
    values: Mapping[str, float]
    """What is required, and what is found."""
    numbers: Mapping[str, float]
    """Those of the numbers of the file that do not depend on chance: all of them, where values are spread."""
    is_settled: bool
    """Whether these are all."""
    rules: BucketRules
    groups_chosen: bool
    """Whether the table decided which columns stand together."""

    def seed_parameters(self) -> dict[str, object]:
        """How the table is taken apart, and what is required."""
        return {
            "sides": [list(side) for side in self.layout.sides],
            "roles": dict(self.layout.roles),
            "least": self.layout.least,
            "spread": self.layout.spread,
            "requirements": [r.text for r in self.policy.requirements],
        }

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know."""
        return self.rules.warns(self.layout, self.groups_chosen)

    def evidence(self) -> Iterator[Evidence]:
        """Of what is required, and of every bucket where chance decides nothing."""
        yield from self.rules.always(self.layout, [r.sensitive for r in self.policy.requirements])
        others, unknown = self.layout.with_role("other"), self.policy.others_unknown
        if others and unknown:
            yield Evidence("others_unknown", about=listed(others), detail=unknown)
        columns = self.layout.columns
        known = [c for c in columns if self.layout.roles[c] != SENSITIVE]
        table, sensitive = self.ordered.name, [c for c in columns if c not in known]
        yield from unique_columns(self.source.calls, table, known, sensitive)
        if self.is_settled and self.layout.spread is not None:
            with self.source.scratch.nested() as scratch:
                made = compose(self.ordered, self.layout.spread, self.buckets, scratch)
                yield from guesses(self.source.calls, made.name, [BUCKET], self.layout.spread, says=KNOWS)

    def private_evidence(self) -> Sequence[Evidence]:
        """That a reader who learns from all buckets passes the promise."""
        found, sensitive = self.learned, self.layout.spread
        return () if found is None or sensitive is None else tuple(learned_evidence(found, sensitive))

    @cached_property
    def learned(self) -> BestGuesses | None:
        """What a reader learns from all buckets, dealt as a rehearsal: that needs no file."""
        promised = self.numbers.get("posterior")
        if promised is None or self.layout.spread is None:
            return None
        sensitive, sides = self.layout.spread, self.layout.sides
        own = self.layout.side_of(sensitive)
        found_by = [s for i, s in enumerate(sides) if i != own and any(self.layout.roles[c] == QI for c in s)]
        if not found_by:
            return None
        with self.source.scratch.nested() as scratch:
            dealt = arrange(self.ordered, self.layout, self.buckets, "rehearsal", scratch).name
            ways = [GroupedPeople(dealt, side, dealt, BUCKET, promised) for side in found_by]
            return best_guesses(scratch, ways, sensitive, dealt)

    def facts(self, written: Written | None = None) -> Facts:
        """What is guaranteed, in how many buckets, and where the release is."""
        numbers = dict(self.numbers)
        if written is not None and not self.is_settled:
            with open_file(written.output) as file:
                numbers = file.parameters
        promise = self.rules.promises(self.layout, numbers)
        warnings = self.all_warnings(written)
        content: dict[str, Any] = {
            "version": __version__,
            "method": self.policy.method,
            "rows": self.rows,
            "suppressed_rows": 0,
            "classes": self.buckets,
            "loss": None,
            "guarantee": promise.text,
            "details": list(promise.details),
            "posterior": numbers.get("posterior"),
            "numbers": numbers,
            "groups": [list(side) for side in self.layout.sides],
            "requirements": [{"requirement": text, "value": value} for text, value in self.values.items()],
            "warnings": list(warnings),
            "output": None if written is None else str(written.output),
        }
        parts: list[Part] = []
        if written is not None and written.again:
            parts.append(Line("The table, the policy and the key are those of before: this is the release there was."))
        parts += [Line(promise.text), *(Line(f"- {text}", quiet=True) for text in promise.details)]
        parts += [Line(f"{text}  (is {shown_number(value)})", "holds") for text, value in self.values.items()]
        if written is not None:
            parts.append(Line(f'Ask it: sqlpriv query {written.output.name} "SELECT count(*) FROM ..."'))
        sides = " | ".join(", ".join(side) for side in self.layout.sides)
        title = f"{self.rows:,} rows in {self.buckets:,} buckets, published apart: {sides}"
        return Facts(title, content, tuple(parts), warnings)


def spelt_roles(source: Source, policy: BucketedPolicy) -> dict[str, str]:
    """The published columns in the order of the table, with their roles; every column has to be named."""
    check_columns(source, policy)
    taken = [c for c in source.columns if folded(c) == BUCKET]
    if taken:
        raise PolicyError(f"the column {taken[0]!r} is called like the numbers of buckets; give it another name")
    roles = {c.name: c.role for c in policy.columns if c.role in PUBLISHED}
    return {c: roles[c] for c in source.columns if c in roles}


def plan_buckets(
    source: Source, policy: BucketedPolicy, layout: BucketLayout, rules: BucketRules, groups_chosen: bool = False
) -> BucketPlan:
    """Read and sort the table; refuse what its buckets would not meet."""
    ordered = sort_for(source, layout)
    rows = int(ordered.written or 0)
    why_not = rules.why_not(source, ordered, layout)
    if why_not is not None:
        raise PolicyError(why_not)
    _refuse_persons(source, policy.person, rows)
    if rows < layout.least:
        raise PolicyError(
            f"{source.label} has {rows:,} rows, and a bucket needs {layout.least:,}: ask for less, or for more rows"
        )
    buckets = int(source.calls.value(f"_bucket_count({rows}, {layout.least})"))

    def judged(relation: Relation) -> Sides:
        return Sides(source.con, source.calls, layout, [relation.name] * len(layout.sides))

    # What chance cannot change: the quasi-identifiers as a whole, and the values together in a bucket where they are
    # spread. Requirements of other sensitive columns were refused.
    with source.scratch.nested() as scratch:
        composed = ordered if layout.spread is None else compose(ordered, layout.spread, buckets, scratch)
        is_settled = layout.spread is not None and layout.with_role(SENSITIVE) == [layout.spread]
        sizes = {"rows": float(rows), "buckets": float(buckets)}
        numbers = rules.measures(judged(composed)) if is_settled else sizes
        values = {}
        for required in policy.requirements:
            if required.measure.by_order and "ENUM" in source.types.get(layout.spread or "", ""):
                raise PolicyError(
                    f"{required.text} goes by the order of an ENUM, which is published as text; make it a number in a "
                    "view"
                )
            found = judged(ordered if required.sensitive is None else composed).value(required)
            values[required.text] = found
            if not required.holds(found):
                why = "quasi-identifiers are published as they are" if required.sensitive is None else "by its buckets"
                raise PolicyError(
                    f"{required.text} is not met: it is {shown_number(found)}, {why}; nothing was published"
                )
    return BucketPlan(policy, source, layout, ordered, rows, buckets, values, numbers, is_settled, rules, groups_chosen)


def _refuse_persons(source: Source, person: str | None, rows: int) -> None:
    """A person with two rows may be twice in a bucket, or be found by both: one row a person, then."""
    if person is None:
        return
    persons = count_persons(source, person)
    if persons != rows:
        raise PolicyError(
            f"{rows - persons:,} rows belong to a person who has another row, or to nobody, and buckets hide one row "
            "of a person. Make one row of each person's rows first, or drop the column to hide rows instead of people"
        )
