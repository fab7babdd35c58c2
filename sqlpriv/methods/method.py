"""The seam: what a method is to the rest of the house. Everything else treats all methods alike.

A method declares what its policy may say (roles and options, as data), and does four things: plan a release, write it,
verify it from its file, and open it for queries. publishing/path.py calls them in the one order that is safe. All other
questions (what attackers find, what could be tuned, what can be drawn) have a default: a method answers those that it
has an answer to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlpriv.checks.exposure import PublishedRows
from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError
from sqlpriv.core.facts import Facts, OnProgress
from sqlpriv.core.sqltext import counted_table
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.charts import Chart, SearchCharts
from sqlpriv.methods.lattice import Lattice
from sqlpriv.methods.learned import guesses_by_shares
from sqlpriv.methods.recheck import Recheck, guarantee_again, requirements_again
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
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Keys
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.ledger import Entry
from sqlpriv.release.ledger.entry import Spent
from sqlpriv.release.show import Wording, guarantee_of
from sqlpriv.release.verify import Check
from sqlpriv.release.write import each_row
from sqlpriv.rewrite.release import Release
from sqlpriv.risk.learned_figures import LearnedFigures
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.folded import digest_of_table
from sqlpriv.table.hierarchies import Hierarchy
from sqlpriv.table.source import Source


class CannotPublish(PolicyError):
    """Nothing can be published under a policy; `facts` say why, and what could be."""

    def __init__(self, why: str, facts: Facts) -> None:
        super().__init__(why)
        self.facts = facts


@dataclass(frozen=True)
class Request:
    """What the owner asks for besides the policy."""

    force: bool = False
    """Publish also what says nothing about the table; never what is not private."""
    time_limit: float | None = None
    """Seconds for a search."""
    on_progress: OnProgress = None
    queries: tuple[str, ...] = ()
    """For a plan: questions, to learn how far off the answers of the release will be."""


@dataclass(frozen=True)
class Edition:
    """Which release of the table this is: its number in a sequence, what its noise starts with, what came before."""

    view: int
    prefix: str
    slots: str
    """What the slots of a sequence start with: the same for all its views."""
    name: str
    earlier: tuple[Entry, ...] = ()
    total: Spent | None = None
    """What all releases of the table cost together, with this one; None where it is alone or they do not compose."""


@dataclass(frozen=True)
class Made:
    """What a file holds: its published rows; of a randomized release also the number expected, and its variance."""

    rows: int
    expected: float
    variance: float = 0.0
    room: float = 0.0
    """How far they may be off at least, where to stop for less would itself reveal something."""

    def refuse_unlikely(self) -> None:
        """Noise that was drawn rightly misses what is expected by six deviations once in 500 million releases."""
        if abs(self.rows - self.expected) > max(6 * math.sqrt(self.variance), self.room) + 0.5:
            noise, rows = "the noise was not drawn as it should be", "the table changed, or rows got lost"
            raise ReleaseError(
                f"{self.rows:,} rows came out where about {self.expected:,.0f} were to be expected: "
                f"{noise if self.variance else rows}, so nothing was published; run it again"
            )


@dataclass(frozen=True)
class Written:
    """What was published, where; `again` where it was there already."""

    output: Path
    view: int
    made: Made
    warnings: tuple[str, ...] = ()
    again: bool = False


P = TypeVar("P", bound=Policy)
"""The policy of a method."""


@dataclass(frozen=True)
class Plan(ABC, Generic[P]):
    """A release that could be made: found, judged, and not yet written. The private table is open."""

    policy: P
    source: Source

    @cached_property
    def digest(self) -> str:
        """A digest of what would be published of the table, whatever the order of its rows. Private."""
        return digest_of_table(self.source.everything)

    @abstractmethod
    def seed_parameters(self) -> Mapping[str, object]:
        """What the release is made from besides the rows and the key: the same for all views of a sequence.

        The noise is drawn from it (publishing/noise.py), and the ledger recognises the release by it. Never add to it
        or rename in it: releases of earlier versions would get other noise.
        """

    @abstractmethod
    def facts(self, written: Written | None = None) -> Facts:
        """What it guarantees and costs; with where it was written, once it was. While the table is open."""

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know before publishing."""
        return ()

    def all_warnings(self, written: Written | None) -> tuple[str, ...]:
        """The same; of a release that was written also what the ledger warns of."""
        return self.warnings() if written is None else written.warnings

    def refuse(self, request: Request) -> None:
        """Refuse what must not be published, or says nothing. By default a plan that was found may be published."""

    def refuse_after(self, earlier: Sequence[Entry]) -> None:
        """Refuse what is not sound after these releases of the table."""

    def published_rows(self) -> str | None:
        """A query for the rows that would be published; None where they are random, or no rows of people."""
        return None

    def evidence(self) -> Iterable[Evidence]:
        """What the verdict is judged by. By default what its rows show to a neighbour.

        Of a method that is differential privacy only what may be public, so that the verdict may be, too.
        """
        query, policy = self.published_rows(), self.policy
        if query is None:
            return
        with self.source.scratch.nested() as scratch:
            # Histories are read row by row.
            is_counted = policy.pseudonym is None
            rows = scratch.table(query if is_counted else each_row(self.source.con, query), "verdict")
            yield from PublishedRows(
                self.source.calls,
                counted_table(rows.name, COUNT) if COUNT in rows.columns else rows.name,
                policy.qis,
                policy.sensitive,
                policy.named("other", "published"),
                required=frozenset(r.sensitive for r in policy.requirements if r.sensitive is not None),
                others_unknown=policy.others_unknown,
                pseudonym=policy.pseudonym,
                together=next((r.threshold for r in policy.requirements if r.name == "k"), None),
            ).evidence()

    def private_evidence(self) -> Iterable[Evidence]:
        """What the verdict on the release is judged by that its file does not show, and the private table does."""
        return ()

    def spent(self) -> Spent | None:
        """What a release that is differential privacy costs, to add up with others; None: it has no such guarantee."""
        return None

    def charts(self) -> tuple[Chart, ...]:
        """What other numbers in the policy would give, to be drawn, with those of the policy marked."""
        return ()

    def search_charts(
        self, most_nodes: int, most_work: float = math.inf, on_progress: OnProgress = None
    ) -> SearchCharts | None:
        """What else a search could have chosen, to be drawn; None where nothing was searched for.

        Of more than `most_nodes` nodes, or where nodes times combinations are more than `most_work`, the lattice is
        left out: its nodes are evaluated for the chart alone.
        """
        return None


L = TypeVar("L", bound=Plan[Any])
"""The plan of a method."""

PSEUDONYM_KEY = "__priv_pseudonyms"
"""The variable of a connection that holds the key of pseudonyms while a release is written."""
LINKING = "linking"


class Method(ABC, Generic[P, L]):
    """A way to protect a table, for policies of type P, with plans of type L."""

    # What reading a policy needs to know (policy.file.Declared).
    name: str
    policy: type[P]
    roles: Mapping[str, Keys]
    options: Keys = ()
    sections: tuple[str, ...] = ("require",)

    draws: bool = False
    """Whether it randomizes, and so has a key."""
    noise_tag: str = ""
    """Under which name its noise is drawn (publishing/noise.py); its name, unless it was renamed since."""
    bounds_beliefs: bool = False
    """Whether random noise bounds what anybody comes to believe: no published row is certain to be a person's."""
    against: str = LINKING
    """What it protects against, in a word."""
    posterior_holds: str = ""
    """Of which attackers `posterior` is, in words that follow "of an attacker who": of stronger ones, too, maybe."""
    guarantee_macros: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Macros that say what a release guarantees, each with the numbers of the file that it takes, in their order. Of
    several, that one says it whose numbers a release has."""
    retraces_choice: bool = False
    """Whether `choice` says what a search took: which one it takes reveals something of the rows."""
    most_columns: int | None = None
    """How many quasi-identifiers it takes, or can choose among in a minute; None: as many as there are."""
    most_sensitive: int | None = None
    """How many sensitive columns it protects; None: as many as there are."""
    has_lattice: bool = False
    """Whether `lattice` lists the nodes that it chooses from, and a policy may name one of them."""

    @abstractmethod
    def plan(self, source: Source, policy: P, request: Request) -> L:
        """Read the table and find what would be published; nothing is written."""

    @abstractmethod
    def write(self, plan: L, edition: Edition, path: Path, request: Request) -> Made:
        """Write the release into a new file."""

    @abstractmethod
    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold; `file` says which mechanism made it, where there are several."""

    @abstractmethod
    def contents(self, file: ReleaseFile) -> Contents:
        """What this file holds besides that."""

    def differences(self, file: ReleaseFile, policy: P) -> Iterable[str]:
        """Where the file is not one of the policy, beyond what every method compares (release/verify.py)."""
        return ()

    @abstractmethod
    def verify(self, file: ReleaseFile, policy: P | None = None) -> Iterable[Check]:
        """What only the method knows of a file."""

    def guarantee(self, file: ReleaseFile) -> str:
        """What one of its releases guarantees, in a few sentences."""
        return guarantee_of(self, file)

    def wording(self, file: ReleaseFile) -> Wording:
        """What a release says of itself, in words: claims, that is."""
        return Wording()

    def rechecks(self, shown: Mapping[str, Any], catalog: str) -> Iterator[Recheck]:
        """What anybody can run on a file attached as `catalog` to check it again; `shown` is what it says of itself."""
        yield from requirements_again(shown, catalog)
        yield from guarantee_again(shown, self.guarantee_macros, "what it guarantees")

    def compare(self, plan: L, path: Path) -> None:
        """Refuse a file that is not what the plan says, by the private table. Noise leaves nothing to compare."""

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries: one file, or the views of one sequence. By default it answers none."""
        file = self.only(files)
        raise ReleaseError(f"{file.name} is a release by {self.name}, which is read as it is and answers no queries")

    def tuples_for(self, rows: int) -> int | None:
        """How many tuples `init` lets the domains have, so that noise does not drown the rows; None: no noise."""
        return None

    def refuse_queries(self, request: Request, why: str = "") -> None:
        """Refuse to foretell the errors of answers: a plan does that where random noise makes them, and only there."""
        if request.queries:
            why = why or f"a release by {self.name} adds no random noise, so there is no standard error of its answers"
            raise InputError(f"{why}; only plans by noisy_counts, alpha_beta and frapp foretell that of a query")

    def only(self, files: Sequence[ReleaseFile]) -> ReleaseFile:
        """The one file of a release that has no further views."""
        if len(files) > 1:
            raise ReleaseError(f"{files[0].name} is a release by {self.name}, which has no further views")
        return files[0]

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Evidence]:
        """What the verdict on a release is judged by: the same as that of its plan, from its file."""
        if self.bounds_beliefs:
            return
        sensitive = tuple(file.names_with_role("sensitive"))
        yield from PublishedRows(
            Calls(file.con),
            file.checked,
            tuple(file.names_with_role("quasi-identifier")),
            sensitive,
            (*file.names_with_role("other"), *file.names_with_role("published")),
            required=frozenset(str(row["sensitive"]) for row in file.requirements if row["sensitive"]),
            others_unknown=file.reasons.get("others_unknown", ""),
            labelled=frozenset(sensitive) if self.why_no_classes(file) else frozenset(),
            pseudonym=next(iter(file.names_with_role("person")), None),
            together=next((float(row["threshold"]) for row in file.requirements if row["measure"] == "k"), None),
        ).evidence()
        for column, ends in self.range_ends(file, policy).items():
            ((read_off,),) = fetch(file.con, f"SELECT count(*) FILTER (is_point IS NOT TRUE) FROM ({ends})")
            yield Evidence("range_end", float(read_off), column)

    def column_tables(self, file: ReleaseFile) -> Mapping[str, str]:
        """Of each published column, the table of the file whose cells readers see."""
        return {str(row["name"]): file.each_row for row in file.attributes}

    # What attackers find in a release.

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """Who might attack a release that bounds beliefs: what each knows and wants, prior and posterior.

        And `delta`, where there is one: the chance with which the posterior need not hold.
        """
        return ()

    def posterior(self, plan: L, file: ReleaseFile, times: float) -> float | None:
        """The worst belief of a linking attacker in a sensitive value after the release; None if it is not known.

        A linking attacker knows the quasi-identifiers of a person at least, that the person is in the table, and finds
        no value more than `times` times as likely, in odds, as if all were alike, or had their public shares.
        """
        return None

    def learned(self, plan: L, file: ReleaseFile) -> LearnedFigures | None:
        """How many people are guessed by a reader who learns from the whole release; None where it shows no classes.

        Of several sensitive columns it is the one that is guessed best.
        """
        if self.why_no_classes(file) is not None:
            return None
        calls, found = Calls(file.con), self.taught_classes(file)
        tried = [guesses_by_shares(calls, classes, name) for name, classes in found.items() if classes.columns]
        return max(tried, key=lambda figures: figures.expected_right, default=None)

    def classes(self, file: ReleaseFile) -> dict[str, PublishedClasses]:
        """By sensitive column, the classes in which an attacker finds a person's value: rows of equal labels.

        None where noise bounds beliefs.
        """
        if self.bounds_beliefs:
            return {}
        qis = tuple(file.names_with_role("quasi-identifier"))
        return {name: PublishedClasses(file.checked, qis) for name in file.names_with_role("sensitive")}

    def taught_classes(self, file: ReleaseFile) -> dict[str, PublishedClasses]:
        """By sensitive column, the classes of which the file teaches the shares of values.

        The same, and more where rows are sampled: nobody is certain to be in a class, and its shares are there to read.
        """
        return self.classes(file)

    def grouped_people(self, file: ReleaseFile, sensitive: str) -> tuple[GroupedPeople, ...]:
        """Where people and the values of a sensitive column are published apart: each way to find a person."""
        return ()

    def why_no_classes(self, file: ReleaseFile) -> str | None:
        """Why values cannot be counted in the classes of a release, where they cannot."""
        return None

    def range_ends(self, file: ReleaseFile, policy: Policy | None) -> Mapping[str, str]:
        """Of columns in ranges that the method made, a query for their closed ends: edge, is_low, is_point (whether a
        public grid or domain has it) and is_outer (whether it is the end of a domain)."""
        return {}

    def records(self, owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
        """The published rows by those of the named columns that can be compared with the cells of a person.

        `also` is a column that they must have, too. By default the cells are the values themselves.
        """
        types = owned.file.columns(SCHEMA, "published")
        return table_records(owned.file.each_row, types, [n for n in types if is_published(n, names)])

    def records_with_value(self, owned: OwnedRelease, column: str) -> Records:
        """The published rows by their quasi-identifiers, each with the value of a sensitive column that may be theirs.

        The value is in the column VALUE, as a text that NULL has, too.
        """
        records = self.records(owned, owned.file.names_with_role("quasi-identifier"))
        return records.read_from(f"(SELECT *, {value_as_text(column)} AS {VALUE} FROM {records.relation})")

    # What was chosen, and what else could be.

    def looks_at_values(self, policy: P) -> bool:
        """Whether sensitive values, besides the quasi-identifiers, decide what is published in which class."""
        return False

    def choice(self, plan: L) -> object:
        """What a search took: the same for two tables of the same people if they are published in the same classes."""
        return None

    def may_choose_otherwise(self, plan: L) -> bool:
        """Whether a search may take something else in some world, as far as is known without looking at one."""
        return True

    def chooses_alike(self, plan: L, world: Source) -> bool:
        """Whether a search takes the same in a world: the table of the plan, values dealt otherwise in its classes."""
        return self.choice(self.plan(world, plan.policy, Request())) == self.choice(plan)

    def best_for(self, plan: L, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """Options of [release] that the policy leaves open, as they are best for these queries; none if there are none.

        Read off the private table, which is open: so they reveal something of it, and whoever takes them must know.
        """
        return {}

    def lattice(
        self,
        source: Source,
        policy: P,
        *,
        only_minimal: bool = False,
        with_choice: bool = False,
        on_progress: OnProgress = None,
    ) -> Lattice:
        """The nodes that a search chooses from; those that are minimal, or all, and which one it would choose."""
        raise InputError(f"{self.name} has no lattice")

    def hierarchies(self, source: Source, policy: P) -> Sequence[Hierarchy]:
        """The hierarchies of the quasi-identifiers, as the search uses them."""
        raise InputError(f"{self.name} has no lattice")

    def at_node(self, policy: P, node: str) -> P:
        """The policy for the node that a text such as age=2,zip=1 names."""
        raise InputError(f"{self.name} has no nodes")


AnyPlan = Plan[Any]
AnyMethod = Method[Any, Any]
Methods = Mapping[str, AnyMethod]
