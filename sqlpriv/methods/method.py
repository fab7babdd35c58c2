"""The seam: what a method is to the rest of the house. Everything else treats all methods alike.

A method declares what its policy may say (roles and options, as data), and does four things: plan a release, write it,
verify it from its file, and open it for queries. publishing.py calls them in the one order that is safe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sqlpriv.errors import PolicyError, ReleaseError
from sqlpriv.facts import Facts, OnProgress
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, Layout
from sqlpriv.release.ledger import Entry
from sqlpriv.release.ledger.spent import Spent
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source


class CannotPublish(PolicyError):
    """Nothing can be published under a policy; `facts` tell a plan why, and what could be."""

    def __init__(self, why: str, facts: Facts) -> None:
        super().__init__(why)
        self.facts = facts


@dataclass(frozen=True)
class Request:
    """What the owner asks for beside the policy."""

    force: bool = False
    """Publish also what says nothing about the table; never what is not private."""
    time_limit: float | None = None
    """Seconds for a search."""
    on_progress: OnProgress = None
    queries: tuple[str, ...] = ()
    """For a plan: questions, to be told how far off the answers of the release will be."""


@dataclass(frozen=True)
class Edition:
    """Which release of the table this is: its number in a sequence, what its coins start with, what came before."""

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
    """What a file holds: its published rows; where coins decide, how many were to be expected, and their variance."""

    rows: int
    expected: float
    variance: float = 0.0
    room: float = 0.0
    """How far they may be off at least, where to stop for less would itself tell something."""

    def refuse_unlikely(self) -> None:
        """Coins that were thrown rightly miss what is expected by six deviations once in 500 million releases."""
        if abs(self.rows - self.expected) > max(6 * math.sqrt(self.variance), self.room) + 0.5:
            coins, rows = "the coins were not thrown as they should be", "the table changed, or rows got lost"
            raise ReleaseError(
                f"{self.rows:,} rows came out where about {self.expected:,.0f} were to be expected: "
                f"{coins if self.variance else rows}, so nothing was published; run it again"
            )


@dataclass(frozen=True)
class Written:
    """What was published, where; `again` where it was there already."""

    output: Path
    view: int
    made: Made
    warnings: tuple[str, ...] = ()
    again: bool = False


class Plan(Protocol):
    """A release that could be made: found, judged, and not yet written."""

    @property
    def policy(self) -> Policy:
        """The policy it follows."""

    @property
    def source(self) -> Source:
        """The open private table."""

    @property
    def digest(self) -> str:
        """A digest of what would be published of the table, whatever the order of its rows. Private."""

    def parameters(self, key: bytes) -> Mapping[str, object]:
        """What the ledger and the coins know it by: the same for all views of a sequence."""

    def warnings(self, key: bytes) -> tuple[str, ...]:
        """What the owner should know before publishing."""

    def refuse(self, request: Request) -> None:
        """Refuse what must not be published, or says nothing."""

    def facts(self, written: Written | None = None) -> Facts:
        """What it guarantees and costs; with where it was written, once it was. While the table is open."""

    def curve(self) -> list[tuple[float, float]]:
        """What privacy costs, to be drawn: pairs of the bound and the error; none where there is no such choice."""


@dataclass(frozen=True)
class Deltas:
    """Delta against epsilon, to be drawn: curves by what they are of, and the pair that the policy has."""

    curves: Mapping[str, Sequence[tuple[float, float]]]
    chosen: tuple[float, float]


@runtime_checkable
class HasDeltas(Protocol):
    """A plan whose guarantee has an epsilon and a delta, and numbers that could be chosen otherwise."""

    def deltas(self) -> Deltas:
        """What other choices would guarantee."""


@dataclass(frozen=True)
class Sweep:
    """What other thresholds would give, to be drawn: rows of c, risk, utility, and of c, attribute, level, share."""

    thresholds: Sequence[Mapping[str, Any]]
    levels: Sequence[Mapping[str, Any]]
    chosen: float


@runtime_checkable
class HasSweep(Protocol):
    """A plan that weighs a risk against a utility, by a threshold that could be chosen otherwise."""

    def sweep(self) -> Sweep:
        """What other choices would give."""


@runtime_checkable
class LooksBack(Protocol):
    """A plan that other releases of the table may speak against."""

    def refuse_after(self, earlier: Sequence[Entry]) -> None:
        """Refuse what is not sound after these releases of the table."""


@runtime_checkable
class Composes(Protocol):
    """A plan of a release that is differential privacy, and adds up with others of the table."""

    def spent(self) -> Spent | None:
        """What it costs; None where it has no such guarantee after all."""


class Method(Declared, Protocol):
    """A way to protect a table."""

    @property
    def draws(self) -> bool:
        """Whether it throws coins, and so has a key."""

    def tuples_for(self, rows: int) -> int | None:
        """How many tuples `init` lets the domains have, so that noise does not drown the rows; None: no noise."""

    def plan(self, source: Source, policy: Policy, request: Request) -> Plan:
        """Read the table and find what would be published; nothing is written."""

    def write(self, plan: Plan, edition: Edition, path: Path, request: Request) -> Made:
        """Write the release into a new file."""

    def compare(self, plan: Plan, path: Path) -> None:
        """Refuse a file that is not what the plan says, by the private table."""

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold; `file` says which mechanism made it, where there are several."""

    def contents(self, file: ReleaseFile) -> Contents:
        """What this file holds beside that."""

    def differences(self, file: ReleaseFile, policy: Policy) -> Iterable[str]:
        """Where the file is not one of the policy, beyond what every method compares (release/verify.py)."""

    def verify(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Check]:
        """What only the method knows of a file."""

    def wording(self, file: ReleaseFile) -> Wording:
        """What a release says of itself, in words: claims, that is."""

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        """The release for queries: one file, or the views of one sequence."""


@runtime_checkable
class Attacked(Protocol):
    """What a method says of attackers where several are compared, if its releases are more than classes of labels."""

    @property
    def against(self) -> str:
        """What it protects against, in a word."""

    @property
    def posterior_holds(self) -> str:
        """Of which attackers the posterior is, in words that follow "of one who": of stronger ones, too, maybe."""

    def posterior(self, plan: Plan, times: float) -> float | None:
        """The worst belief of a linking attacker in a sensitive value after the release; None if it is not known.

        A linking attacker knows the quasi-identifiers of a person at least, that the person is in the table, and finds
        no value more than `times` times as likely, in odds, as if all were alike, or had their public shares.
        """


@runtime_checkable
class BoundsBeliefs(Protocol):
    """A method whose coins bound what anybody comes to believe: no row of its releases is certain to be a person's."""

    def attackers(self, file: ReleaseFile) -> Sequence[Mapping[str, Any]]:
        """Who might attack a release, as its file says: what each knows and wants, prior and posterior.

        And `delta`, where there is one: the chance with which the posterior need not hold.
        """


@runtime_checkable
class Searches(Protocol):
    """A method that takes the best of several ways to publish: which one it takes tells something of the rows."""

    def looks_at_values(self, policy: Policy) -> bool:
        """Whether sensitive values decide, beside the quasi-identifiers, which attackers may know."""

    def choice(self, plan: Plan) -> object:
        """What was taken: the same for two tables of the same people where they are published in the same classes."""


@runtime_checkable
class Tuned(Protocol):
    """A method whose policies may leave a choice that is best made by the questions of a workload."""

    def best_for(self, plan: Plan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
        """Options of [release] that the policy leaves open, as they are best for these queries; none if there are none.

        Read off the private table, which is open: so they tell of it, and whoever takes them must know that.
        """


Methods = Mapping[str, Method]
