"""The policy of a randomized release: the domain of every published column, whom it is about, and how well it hides.

    [columns]
    age       = { role = "quasi-identifier", domain = "range:17..90" }
    sex       = { role = "quasi-identifier", domain = ["F", "M"], null = true }
    diagnosis = { role = "sensitive", domain = "table:codes.csv.diagnosis", outside = "other" }
    stay      = { role = "other", domain = "range:0..90", hierarchy = "ranges:10,30", level = 1 }
    [public]
    regions = "regions.csv"
    [release]
    method = "noisy_counts"
    gamma = 0.3

Roles are those of every method. An attacker may know all that is published of a person but one column, and wants a
sensitive one. The role `published` leaves that open, and counts as sensitive where no column is marked so. What
[release] takes beside this, each method says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from sqlpriv.policy.file import Column, Policy
from sqlpriv.policy.keys import FILES, NOISY_KEYS, NOISY_ROLES, REASON, Fail, Key, Keys, ValueKind, choice, number
from sqlpriv.table.domains import DeclaredColumn, domain_by_text

ROLES: Mapping[str, Keys] = {
    "quasi-identifier": NOISY_KEYS,
    "sensitive": NOISY_KEYS,
    "other": NOISY_KEYS,
    "published": NOISY_KEYS,
    "person": (),
    "identifier": (),
    "drop": (),
}
_COMBINATIONS = ValueKind("a list of names from [public]", FILES.read)
MOST_ROWS = 50_000_000


def _read_times(value: Any) -> float | None:
    return float(value) if number(0, 1e6).read(value) is not None and value >= 1 else None


_TIMES = ValueKind("a number from 1 to 1e+06", _read_times, _read_times)
CALIBRATED = ("p", "alpha", "beta")
"""Keys of [release] that give numbers of the noise, which is else calibrated to the bound."""
BOUND: Keys = (
    Key("gamma", number(0, 1), "what nobody may come to believe with more than", required=True),
    Key("attacker", choice("linking"), "whom d comes from, or is judged by: who knows all but one column", "linking"),
    Key("times", _TIMES, "how many times the odds of an even guess the attacker may believe in a value", 2.0),
    Key("d", number(0, 1), "the prior bound, given, of a row: beliefs of at most d stay at most gamma; where a person "
        "has several rows, the release states what it makes of their belief about the person"),
    Key("k", number(0, 1e18), "the prior bound, given as a multiple of the mean: d = k n / m"),
    Key("combinations", _COMBINATIONS, "public tables of what columns can have together: nothing else is possible", ()),
    Key("uncovered", REASON, "why to publish although a linking attacker is not covered; the release starts with it"),
    Key("n_public", number(0, 10**15, whole=True), "the number of rows that may be public; else rounded up"),
    Key("max_rows", number(0, 10**15, whole=True), "refuse a release that would have more rows", MOST_ROWS),
)  # fmt: skip
"""What every randomized method takes in [release]."""
ADVERSARY = Key(
    "adversary", choice("exclusive", "independent"), "whom the bound of slots and distinct tuples holds against",
    "exclusive",
)  # fmt: skip


@dataclass(frozen=True)
class RandomizedPolicy(Policy):
    """A policy of a randomized release."""

    coarsens: ClassVar[bool] = True
    has_slots: ClassVar[bool] = True
    """Whether equal rows may have slots, and views may follow each other."""
    protects_persons: ClassVar[bool] = False
    """Whether all rows of a person are protected together."""

    @cached_property
    def published(self) -> tuple[DeclaredColumn, ...]:
        """The columns that are published, in the order of the file."""
        return tuple(_published(c) for c in self.columns if c.role in NOISY_ROLES)

    @property
    def wanted(self) -> tuple[str, ...]:
        """What an attacker wants to know: the sensitive columns, or all if none is marked so."""
        return self.sensitive or self.named("published")

    @property
    def gamma(self) -> float:
        """What nobody may come to believe with more than."""
        return float(self.release["gamma"])

    @property
    def d(self) -> float | None:
        """The prior bound, if it is given as such."""
        return self.release["d"]  # type: ignore[no-any-return]

    @property
    def k(self) -> float | None:
        """The prior bound as a multiple of the mean, if it is given as such."""
        return self.release["k"]  # type: ignore[no-any-return]

    @property
    def gives_prior(self) -> bool:
        """Whether the policy gives the prior bound itself."""
        return self.d is not None or self.k is not None

    @property
    def n_public(self) -> int | None:
        """The number of rows that may be public, if it is declared."""
        return self.release["n_public"]  # type: ignore[no-any-return]

    @property
    def times(self) -> float:
        """How many times the odds of an even guess a linking attacker may believe in a value."""
        return float(self.release["times"])

    @property
    def uncovered(self) -> str | None:
        """Why to publish although a linking attacker is not covered, if the owner says so."""
        return self.release["uncovered"]  # type: ignore[no-any-return]

    @property
    def combinations(self) -> tuple[str, ...]:
        """Public tables of what is possible."""
        return tuple(self.release["combinations"])

    @property
    def max_rows(self) -> int:
        """How many rows a release may have."""
        return int(self.release["max_rows"])

    @property
    def has_source(self) -> bool:
        """Whether the noise follows a public source distribution."""
        return any(c.share is not None for c in self.published)

    @property
    def shared(self) -> str | None:
        """The wanted column whose public shares attackers know and noise follows, where it follows these alone."""
        return None

    @property
    def by_text(self) -> tuple[str, ...]:
        """Columns whose domain is not numbers or dates by what the policy says."""
        return tuple(c.name for c in self.published if domain_by_text(c.domain))

    @property
    def is_distinct(self) -> bool:
        """Whether equal rows are published, and counted, as one."""
        return False

    @property
    def views(self) -> int:
        """How many views of the table the release is the first of."""
        return 1

    @property
    def slots(self) -> int:
        """Among how many slots equal rows are distinguished."""
        return 1

    def differs(self, about: Mapping[str, str], declared: Mapping[str, float]) -> list[str]:
        """Where what a file declares is not what the policy asks for."""
        wanted: dict[str, Any] = {"gamma": self.gamma, "times": self.times, "slots": self.slots, "views": self.views}
        wanted |= {"rows_each": self.rows_each} | ({} if self.n_public is None else {"n_public": self.n_public})
        found = {"n_public": wanted.get("n_public"), **declared}
        listed = [f"{n} is {found[n]:g}, and not {wanted[n]:g}" for n in wanted if found[n] != wanted[n]]
        if about.get("table") != self.table.name:
            listed.append("it is of another table")
        if (about.get("counts") == "distinct tuples") != self.is_distinct:
            listed.append("it counts something else")
        return listed

    def check(self, fail: Fail) -> None:
        """Something is published and wanted, the prior bound is given at most once, and columns fit together."""
        if not self.published:
            raise fail("no column is published, so there is nothing to release", "columns")
        if not self.wanted:
            raise fail(
                'no column is sensitive, so there is nothing that an attacker could want; mark one: role = "sensitive"',
                "columns",
            )
        for column in self.columns:
            if column.role in NOISY_ROLES:
                _check_column(column, fail)
        if self.k is not None and self.d is not None:
            raise fail("the prior bound is given as k and as d: give one of them, or none", "release", "k")
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        if persons and not self.protects_persons:
            raise fail(
                f"{self.method} hides rows one by one, and not the rows of a person together; "
                "use noisy_counts with rows_each, or drop the column if everybody has one row",
                "columns", persons[0], "role",
            )  # fmt: skip
        unknown = [name for name in self.combinations if name not in self.public]
        if unknown:
            raise fail(f"[public] has no table {unknown[0]!r} of combinations", "release", "combinations")

    def check_size(self, fail: Fail) -> None:
        """The number of rows, where it is revealed, must be the same when one person's rows are replaced by others."""
        if not self.reveals_size:
            return
        write = "write in [release] a number of rows that may be public, as in n_public = 10000"
        dropping = [c.name for c in self.published if c.outside == "drop"]
        if dropping:
            raise fail(
                f"{self.method} with rows dropped by {dropping[0]!r} needs n_public: a number of rows made from the "
                f"table would reveal whether a row was dropped; {write}", "columns", dropping[0], "outside",
            )  # fmt: skip
        if self.rows_each > 1:
            raise fail(
                f"{self.method} with rows_each = {self.rows_each} needs n_public: the number of rows depends on how "
                f"many of them one person has, and would reveal it even rounded; {write}", "release", "rows_each",
            )  # fmt: skip

    @property
    def rows_each(self) -> int:
        """How many rows a person may have; 1 where rows are persons."""
        return 1

    @property
    def reveals_size(self) -> bool:
        """Whether the release reveals the number of rows, rounded up: something in it is made from that."""
        return False


def _published(column: Column) -> DeclaredColumn:
    """A hierarchy without a level is for methods that generalize; in the role `published` the level is 1."""
    given = dict(column.given)
    if column.role == "published" and given["hierarchy"] is not None:
        given["level"] = given["level"] or 1
    if given["level"] is None:
        given["hierarchy"] = None
    return DeclaredColumn(column.name, column.role, **given)


def _check_column(column: Column, fail: Fail) -> None:
    name, given = column.name, column.given
    domain, shares, hierarchy = given["domain"], given["share"], given["hierarchy"]
    where = ("columns", name)
    if name.startswith("__"):
        raise fail(f"{name!r} starts with two underscores, like our own columns; rename it", *where)
    is_of_list = isinstance(shares, tuple) and isinstance(domain, tuple) and len(shares) == len(domain)
    is_of_table = isinstance(shares, str) and isinstance(domain, str) and domain.startswith("table:")
    if shares is not None and not is_of_list and not is_of_table:
        raise fail(
            "share is a list of numbers, one for each of a list of values, or a column of the domain's table",
            *where,
            "share",
        )
    if hierarchy is None:
        if given["level"] is not None:
            raise fail(f"{name!r} has a level, but no hierarchy", *where, "level")
        return
    if given["level"] is None and column.role != "published":
        return
    if isinstance(domain, str) and domain.startswith("level:"):
        raise fail("the domain is a level of a hierarchy already", *where, "hierarchy")
    if shares is not None:
        raise fail("the labels of a hierarchy have no share", *where, "share")
    if isinstance(hierarchy, str) and hierarchy.startswith("bins:"):
        raise fail(
            "bins of equal frequency would be read from the private table; write ranges:5,10", *where, "hierarchy"
        )
