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

Roles are `published`, and for columns that stay inside `identifier` or `drop`. The rest of [release] is described in
docs/publish.md.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlpriv.methods.generalize.policy import RANDOMIZED
from sqlpriv.policy.reader import Reader, TablePolicy, read_file

ROLES = ("published", "identifier", "drop")
KINDS = 'a list, "range:17..90", "table:NAME.column", "level:HIERARCHY:2" or "active"'
MOST_VIEWS = 1000
MOST_SLOTS = 1_000_000
_KEYS = ("method", "k", "d", "gamma", "n_public", "adversary", "parameters", "alpha", "beta", "duplicates", "slots",
         "views", "earlier", "output")  # fmt: skip
Cell = str | int | float | bool | datetime.date | datetime.datetime


@dataclass(frozen=True)
class PublishedColumn:
    """A column with its role, and for a published one its domain: a list of values, or text that says where it is."""

    name: str
    role: str
    domain: tuple[Cell, ...] | str = ""
    null: bool = False
    outside: str = "refuse"
    share: tuple[float, ...] | str | None = None
    hierarchy: str | tuple[str, ...] | None = None
    """Published are the labels of the values of the domain, on a level of this hierarchy."""
    level: int = 1


@dataclass(frozen=True)
class NoisePolicy(TablePolicy):
    """A policy of a randomized release, read and found sensible by itself."""

    columns: tuple[PublishedColumn, ...]
    public: Mapping[str, str]
    method: str
    k: float | None
    d: float | None
    gamma: float
    n_public: int | None
    adversary: str
    choice: str
    alpha: float | None
    beta: float | None
    duplicates: str
    slots: int
    views: int
    earlier: tuple[str, ...]
    output: str | None

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        """The columns that are published, in the order of the file."""
        return tuple(c for c in self.columns if c.role == "published")

    @property
    def has_source(self) -> bool:
        """Whether the noise follows a public source distribution."""
        return any(c.share is not None for c in self.published)

    @property
    def by_text(self) -> tuple[str, ...]:
        """Columns whose domain is not numbers or dates by what the policy says."""
        return tuple(c.name for c in self.published if _goes_by_text(c.domain))


def _goes_by_text(domain: tuple[Cell, ...] | str) -> bool:
    if isinstance(domain, str):
        return not domain.startswith("range:") and domain != "active"
    return any(isinstance(value, str) for value in domain)


def read_noise_policy(path: str | Path) -> NoisePolicy:
    """Read a policy file, or say which line is wrong and why."""
    return parse_noise_policy(*read_file(path))


def parse_noise_policy(text: str, folder: Path, name: str = "policy") -> NoisePolicy:
    """Read the text of a policy; `folder` is where its file names start."""
    return _NoiseReader(text, name).policy(folder)


class _NoiseReader(Reader):
    """Reads a policy of a randomized release."""

    def policy(self, folder: Path) -> NoisePolicy:
        self.only(self.content, ("table", "columns", "public", "release"), (), "section")
        table = self.table(folder)
        release = self.section("release")
        method = release.get("method")
        if method == "generalize":
            raise self.fail("generalize is published with `sqlpriv anonymize`", "release", "method")
        if method not in RANDOMIZED:
            raise self.fail(f"method must be one of {', '.join(RANDOMIZED)}", "release", "method")
        self.only(release, _KEYS, ("release",), "key")
        columns = self.columns(self._column)
        if not any(c.role == "published" for c in columns):
            raise self.fail("no column is published, so there is nothing to release", "columns")
        policy = NoisePolicy(
            table.folder,
            table.source,
            table.database,
            table.read_options,
            columns,
            self._public(),
            str(method),
            self._given(release, "k", 1e18),
            self._given(release, "d", 1),
            self.number(release, "release", "gamma", low=0, high=1),
            None if "n_public" not in release else int(self._whole(release, "n_public", 10**15)),
            self.choice(release, "release", "adversary", of=("exclusive", "independent")),
            self.choice(release, "release", "parameters", of=("default", "paper", "tight")),
            self._given(release, "alpha", 1),
            self._given(release, "beta", 1),
            self.choice(release, "release", "duplicates", of=("slots", "distinct")),
            50 if "slots" not in release else int(self._whole(release, "slots", MOST_SLOTS)),
            1 if "views" not in release else int(self._whole(release, "views", MOST_VIEWS)),
            self._names(release, "earlier"),
            None if "output" not in release else self.text(release, "release", "output"),
        )
        self._fits_together(policy, release)
        return policy

    def _fits_together(self, policy: NoisePolicy, release: Mapping[str, Any]) -> None:
        """Refuse what each part allows and the whole does not."""
        if (policy.k is None) == (policy.d is None):
            raise self.fail("give the prior bound as k or as d, one of them", "release", "k" if policy.k else "method")
        if (policy.alpha is None) != (policy.beta is None):
            raise self.fail("alpha and beta are given together or not at all", "release", "alpha")
        if policy.alpha is not None and policy.choice != "default":
            raise self.fail("alpha and beta are given, so parameters has nothing to choose", "release", "parameters")
        if policy.choice != "default" and policy.adversary == "exclusive":
            raise self.fail(
                f'parameters = "{policy.choice}" holds against the independent adversary only; '
                'write adversary = "independent", or leave it out', "release", "parameters",
            )  # fmt: skip
        if policy.duplicates == "distinct" and "slots" in release:
            raise self.fail('slots are for duplicates = "slots"', "release", "slots")
        if policy.earlier and policy.views == 1:
            raise self.fail("earlier views belong to a sequence: say how many views it may have", "release", "earlier")
        if policy.views > 1 and policy.alpha is not None:
            raise self.fail("the parameters of a sequence are chosen by sqlpriv", "release", "alpha")
        if policy.views > 1 and policy.adversary == "exclusive":
            raise self.fail(
                'a sequence protects against the independent adversary only: write adversary = "independent"',
                "release", "adversary" if "adversary" in release else "views",
            )  # fmt: skip
        if policy.has_source:
            self._fits_source(policy)
        if policy.method == "frapp":
            self._fits_records(policy, release)

    def _fits_records(self, policy: NoisePolicy, release: Mapping[str, Any]) -> None:
        """frapp protects each record against both adversaries, and needs nothing for equal ones."""
        foreign = [key for key in ("alpha", "beta", "slots", "views", "earlier") if key in release]
        foreign += ["parameters"] * (policy.choice != "default") + ["duplicates"] * (policy.duplicates != "slots")
        if foreign:
            raise self.fail(f"{foreign[0]} is for alpha_beta; frapp randomizes record by record", "release", foreign[0])

    def _fits_source(self, policy: NoisePolicy) -> None:
        name = next(c.name for c in policy.published if c.share is not None)
        if policy.method == "frapp" or policy.views > 1 or policy.alpha is not None or policy.choice != "default":
            raise self.fail(
                "noise that follows shares is for one view of alpha_beta with its own parameters",
                "columns", name, "share",
            )  # fmt: skip
        if policy.adversary == "exclusive":
            raise self.fail(
                "noise that follows shares protects against the independent adversary only: "
                'write adversary = "independent"', "release", "adversary",
            )  # fmt: skip

    def _column(self, name: str, content: object) -> PublishedColumn:
        keys = ("role", "domain", "null", "outside", "share", "hierarchy", "level")
        given = self.column_with_role(name, content, keys, ROLES)
        role = str(given["role"])
        if role != "published":
            if len(given) > 1:
                other = next(k for k in given if k != "role")
                raise self.fail(f"only a published column has a {other}; {name!r} is {role}", "columns", name, other)
            return PublishedColumn(name, role)
        if name.startswith("__"):
            raise self.fail(f"{name!r} starts with two underscores, like our own columns; rename it", "columns", name)
        domain = given.get("domain")
        if isinstance(domain, list) and domain and all(isinstance(v, Cell) for v in domain):
            domain = tuple(domain)
        elif not isinstance(domain, str) or not domain.strip():
            raise self.fail(f"{name!r} needs a domain: {KINDS}", "columns", name)
        return PublishedColumn(
            name,
            role,
            domain,
            self.flag(given, "columns", name, "null"),
            self.choice(given, "columns", name, "outside", of=("refuse", "drop", "other")),
            self._share(name, domain, given.get("share")),
            self._hierarchy(name, domain, given),
            1
            if "level" not in given
            else int(self.number(given, "columns", name, "level", low=0, high=99, whole=True)),
        )

    def _hierarchy(
        self, name: str, domain: tuple[Cell, ...] | str, given: Mapping[str, Any]
    ) -> str | tuple[str, ...] | None:
        where = ("columns", name, "hierarchy")
        hierarchy = given.get("hierarchy")
        if hierarchy is None:
            if "level" in given:
                raise self.fail(f"{name!r} has a level, but no hierarchy", "columns", name, "level")
            return None
        if isinstance(domain, str) and domain.startswith("level:"):
            raise self.fail("the domain is a level of a hierarchy already", *where)
        if "share" in given:
            raise self.fail("the labels of a hierarchy have no share", "columns", name, "share")
        if isinstance(hierarchy, str) and hierarchy.startswith("bins:"):
            raise self.fail("bins of equal frequency would be read from the private table; write ranges:5,10", *where)
        if isinstance(hierarchy, list) and hierarchy and all(isinstance(h, str) for h in hierarchy):
            return tuple(hierarchy)
        if not isinstance(hierarchy, str) or not hierarchy.strip():
            raise self.fail(
                f"the hierarchy of {name!r} must be text, or a list of SQL expressions, one a level", *where
            )
        return hierarchy

    def _share(self, name: str, domain: tuple[Cell, ...] | str, share: object) -> tuple[float, ...] | str | None:
        where = ("columns", name, "share")
        if share is None:
            return None
        if isinstance(share, str) and isinstance(domain, str) and domain.startswith("table:"):
            return share
        if isinstance(share, list) and isinstance(domain, tuple) and len(share) == len(domain):
            if all(isinstance(s, int | float) and not isinstance(s, bool) and s > 0 for s in share):
                return tuple(float(s) for s in share)
            raise self.fail("every share must be a number above 0", *where)
        raise self.fail("share is a list of numbers beside a list of values, or a column of the domain's table", *where)

    def _public(self) -> dict[str, str]:
        public = self.content.get("public", {})
        if not isinstance(public, dict):
            raise self.fail("[public] must be a section", "public")
        return {name: self.text(public, "public", name) for name in public}

    def _names(self, release: Mapping[str, Any], key: str) -> tuple[str, ...]:
        names = release.get(key, [])
        if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
            raise self.fail(f"{key} must be a list of files", "release", key)
        return tuple(names)

    def _given(self, release: Mapping[str, Any], key: str, high: float) -> float | None:
        return None if key not in release else self.number(release, "release", key, low=0, high=high)

    def _whole(self, release: Mapping[str, Any], key: str, high: float) -> float:
        return self.number(release, "release", key, low=0, high=high, whole=True)
