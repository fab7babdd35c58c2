"""The policy of a randomized release: the domain of every published column, and how well a person is hidden.

    [columns]
    age  = { role = "published", domain = "range:17..90" }
    sex  = { role = "published", domain = ["F", "M"], null = true }
    city = { role = "published", domain = "table:cities.csv.name", share = "share", outside = "other" }
    stay = { role = "published", domain = "range:0..90", hierarchy = "ranges:10,30", level = 1 }
    [public]
    regions = "regions.csv"
    [release]
    method = "alpha_beta"
    k = 10
    gamma = 0.2

Roles are `published`, and for columns that stay inside `identifier` or `drop`. What [release] takes beside this, each
method says.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.policy.file import Column, Policy
from sqlpriv.policy.keys import FLAG, HIERARCHY, Fail, Key, Keys, Kind, choice, number

# More than any count of anything; the shares are divided by their sum.
_MOST_SHARE = 1e18
KINDS = 'a list, "range:17..90", "table:NAME.column", "level:HIERARCHY:2" or "active"'
Cell = str | int | float | bool | datetime.date | datetime.datetime
Domain = tuple[Cell, ...] | str
Share = tuple[float, ...] | str | None


def _read_domain(value: Any) -> Domain | None:
    if isinstance(value, list) and value and all(isinstance(v, Cell) for v in value):
        return tuple(value)
    return value if isinstance(value, str) and value.strip() else None


def _read_share(value: Any) -> Share:
    if isinstance(value, list):
        fit = all(isinstance(s, int | float) and not isinstance(s, bool) and 0 < s <= _MOST_SHARE for s in value)
        return tuple(float(s) for s in value) if fit and value else None
    return value if isinstance(value, str) and value.strip() else None


_DOMAIN = Kind(KINDS, _read_domain)
_SHARE = Kind("a list of numbers above 0 beside a list of values, or a column of the domain's table", _read_share)
ROLES: Mapping[str, Keys] = {
    "published": (
        Key("domain", _DOMAIN, "every value that a row could have, whether or not one has it", required=True,
            complaint=f"{{column}} needs a domain: {KINDS}"),
        Key("null", FLAG, "whether NULL is a value of the domain", False),
        Key("outside", choice("refuse", "drop", "other"), "what becomes of values outside the domain", "refuse"),
        Key("share", _SHARE, "public shares of the values, which the noise then follows",
            complaint="every share must be a number above 0: share is a list of numbers beside a list of values, "
            "or a column of the domain's table"),
        Key("hierarchy", HIERARCHY, "publish the labels of the values by this hierarchy",
            complaint="the hierarchy of {column} must be text, or a list of SQL expressions, one a level"),
        Key("level", number(0, 99, whole=True), "the level of the hierarchy that is published; 1 if it is not given"),
    ),
    "identifier": (),
    "drop": (),
}  # fmt: skip
BOUND: Keys = (
    Key("gamma", number(0, 1), "what nobody may come to believe with more than", required=True),
    Key("d", number(0, 1), "the prior bound: beliefs of at most d stay at most gamma"),
    Key("k", number(0, 1e18), "the prior bound as a multiple of the mean: d = k n / m"),
    Key("n_public", number(0, 10**15, whole=True), "the number of rows that may be told; else rounded up"),
    Key("adversary", choice("exclusive", "independent"), "whom the bound holds against", "exclusive"),
)
"""What every randomized method takes in [release]."""


@dataclass(frozen=True)
class PublishedColumn:
    """A published column with its domain: a list of values, or text that says where it is."""

    name: str
    domain: Domain
    null: bool
    outside: str
    share: Share
    hierarchy: str | tuple[str, ...] | None
    """Published are the labels of the values of the domain, on a level of this hierarchy."""
    level: int | None


@dataclass(frozen=True)
class RandomizedPolicy(Policy):
    """A policy of a randomized release."""

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        """The columns that are published, in the order of the file."""
        return tuple(PublishedColumn(c.name, **c.given) for c in self.columns if c.role == "published")

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
    def n_public(self) -> int | None:
        """The number of rows that may be told, if it is declared."""
        return self.release["n_public"]  # type: ignore[no-any-return]

    @property
    def adversary(self) -> str:
        """Whom the bound holds against."""
        return str(self.release["adversary"])

    @property
    def has_source(self) -> bool:
        """Whether the noise follows a public source distribution."""
        return any(c.share is not None for c in self.published)

    @property
    def by_text(self) -> tuple[str, ...]:
        """Columns whose domain is not numbers or dates by what the policy says."""
        return tuple(c.name for c in self.published if _goes_by_text(c.domain))

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
        """Among how many slots equal rows are told apart."""
        return 1

    def differs(self, about: Mapping[str, str], stated: Mapping[str, float]) -> list[str]:
        """Where what a file states is not what the policy asks for."""
        asked: dict[str, Any] = {"gamma": self.gamma, "slots": self.slots, "views": self.views}
        asked |= {name: value for name, value in (("d", self.d), ("n_public", self.n_public)) if value is not None}
        found = {"views": 1.0, "n_public": asked.get("n_public"), **stated}
        listed = [f"{name} is {found[name]:g}, and not {asked[name]:g}" for name in asked if found[name] != asked[name]]
        if about.get("table") != self.table.name:
            listed.append("it is of another table")
        if (about.get("counts") == "distinct tuples") != self.is_distinct:
            listed.append("it counts something else")
        return listed

    def check(self, fail: Fail) -> None:
        """Something is published, the prior bound is given once, and columns fit together."""
        if not self.published:
            raise fail("no column is published, so there is nothing to release", "columns")
        for column in self.columns:
            if column.role == "published":
                _check_column(column, fail)
        if (self.k is None) == (self.d is None):
            raise fail("give the prior bound as k or as d, one of them", "release", "k" if self.k else "method")


def _goes_by_text(domain: Domain) -> bool:
    if isinstance(domain, str):
        return not domain.startswith("range:") and domain != "active"
    return any(isinstance(value, str) for value in domain)


def _check_column(column: Column, fail: Fail) -> None:
    name, given = column.name, column.given
    domain, shares, hierarchy = given["domain"], given["share"], given["hierarchy"]
    where = ("columns", name)
    if name.startswith("__"):
        raise fail(f"{name!r} starts with two underscores, like our own columns; rename it", *where)
    beside_list = isinstance(shares, tuple) and isinstance(domain, tuple) and len(shares) == len(domain)
    beside_table = isinstance(shares, str) and isinstance(domain, str) and domain.startswith("table:")
    if shares is not None and not beside_list and not beside_table:
        raise fail(
            "share is a list of numbers beside a list of values, or a column of the domain's table", *where, "share"
        )
    if hierarchy is None:
        if given["level"] is not None:
            raise fail(f"{name!r} has a level, but no hierarchy", *where, "level")
        return
    if isinstance(domain, str) and domain.startswith("level:"):
        raise fail("the domain is a level of a hierarchy already", *where, "hierarchy")
    if shares is not None:
        raise fail("the labels of a hierarchy have no share", *where, "share")
    if isinstance(hierarchy, str) and hierarchy.startswith("bins:"):
        raise fail(
            "bins of equal frequency would be read from the private table; write ranges:5,10", *where, "hierarchy"
        )
