"""What the owner declares: one TOML file with the roles of the columns, the requirements, and how to release.

Nothing is guessed, because a column with the wrong role is a breach: every column of the table has to be named, and
what is not known is an error. The parts that need the data (does the column exist, is every value covered) are checked
where the data is opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.policy.reader import Reader, TablePolicy, read_file
from sqlpriv.policy.require import read_requirements

ROLES = ("identifier", "person", "quasi-identifier", "sensitive", "other", "drop")
OBJECTIVES = ("loss", "height", "precision", "discernibility", "average_class_size", "kl", "entropy")
WORKLOAD = "workload:"
RANDOMIZED = ("alpha_beta", "frapp")
# Hierarchies that need a number or a date, or leave it to the owner's SQL.
_TYPED = ("ranges", "dates", "bins")


@dataclass(frozen=True)
class Column:
    """A column with its role; a quasi-identifier also says where its hierarchy comes from."""

    name: str
    role: str
    hierarchy: str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class Policy(TablePolicy):
    """A policy file for generalization, read and found sensible by itself."""

    columns: tuple[Column, ...]
    requirements: tuple[Requirement, ...]
    objective: str
    suppression: float
    keep_suppressed: bool
    output: str | None

    def named(self, *roles: str) -> tuple[str, ...]:
        """The names of the columns with one of these roles, in the order of the file."""
        return tuple(c.name for c in self.columns if c.role in roles)

    @property
    def qis(self) -> tuple[str, ...]:
        """The quasi-identifiers: their order is the order of the levels in a node."""
        return self.named("quasi-identifier")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.named("sensitive")

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, if there is one."""
        return next(iter(self.named("person")), None)

    @property
    def by_text(self) -> tuple[str, ...]:
        """The quasi-identifiers whose hierarchy goes by text."""
        return tuple(q for q in self.qis if _goes_by_text(self.hierarchy(q)))

    def hierarchy(self, qi: str) -> str | tuple[str, ...]:
        """Where the hierarchy of a quasi-identifier comes from."""
        found = next(c.hierarchy for c in self.columns if c.name == qi)
        return found if found is not None else "suppression"


def _goes_by_text(hierarchy: str | tuple[str, ...]) -> bool:
    return isinstance(hierarchy, str) and hierarchy.partition(":")[0] not in _TYPED


def read_policy(path: str | Path) -> Policy:
    """Read a policy file, or say which line is wrong and why."""
    return parse_policy(*read_file(path))


def parse_policy(text: str, folder: Path, name: str = "policy") -> Policy:
    """Read the text of a policy; `folder` is where its file names start."""
    return _PolicyReader(text, name).policy(folder)


class _PolicyReader(Reader):
    """Reads a policy for generalization."""

    def policy(self, folder: Path) -> Policy:
        self.only(self.content, ("table", "columns", "require", "release"), (), "section")
        table = self.table(folder)
        release = self.section("release")
        columns = self._columns()
        if release.get("method") in RANDOMIZED:
            raise self.fail(f"{release['method']} is published with `sqlpriv publish`", "release", "method")
        self.only(release, ("method", "objective", "suppression", "keep_suppressed", "output"), ("release",), "key")
        if release.get("method") != "generalize":
            raise self.fail('method must be "generalize"', "release", "method")
        sensitive = tuple(c.name for c in columns if c.role == "sensitive")
        requirements = read_requirements(
            self.content.get("require", {}), sensitive, lambda m, *k: self.fail(m, "require", *k)
        )
        if not requirements:
            raise self.fail("nothing is required: write at least k = 5", "require")
        return Policy(
            table.folder,
            table.source,
            table.database,
            table.read_options,
            columns,
            requirements,
            self._objective(release),
            self._share(release),
            self.flag(release, "release", "keep_suppressed"),
            None if "output" not in release else self.text(release, "release", "output"),
        )

    def _columns(self) -> tuple[Column, ...]:
        columns = self.columns(self._column)
        if not any(c.role == "quasi-identifier" for c in columns):
            raise self.fail("no column is a quasi-identifier, so there is nothing to generalize", "columns")
        persons = [c.name for c in columns if c.role == "person"]
        if len(persons) > 1:
            raise self.fail("only one column can be the person", "columns", persons[1])
        return columns

    def _column(self, name: str, content: object) -> Column:
        keys = ("columns", name)
        given = self.column_with_role(name, content, ("role", "hierarchy"), ROLES)
        role, hierarchy = given["role"], given.get("hierarchy")
        if role != "quasi-identifier" and hierarchy is not None:
            raise self.fail(f"only a quasi-identifier has a hierarchy; {name!r} is {role}", *keys, "hierarchy")
        if role == "quasi-identifier" and hierarchy is None:
            raise self.fail(f'{name!r} needs a hierarchy, such as "suppression", "mask:5" or "file.csv"', *keys)
        if isinstance(hierarchy, list) and hierarchy and all(isinstance(h, str) for h in hierarchy):
            return Column(name, role, tuple(hierarchy))
        if hierarchy is not None and not (isinstance(hierarchy, str) and hierarchy.strip()):
            raise self.fail(
                f"the hierarchy of {name!r} must be text, or a list of SQL expressions, one a level", *keys, "hierarchy"
            )
        return Column(name, role, hierarchy)

    def _objective(self, release: Mapping[str, Any]) -> str:
        objective = release.get("objective", "loss")
        is_workload = isinstance(objective, str) and objective.startswith(WORKLOAD) and objective != WORKLOAD
        if objective not in OBJECTIVES and not is_workload:
            raise self.fail(
                f'{objective!r} is no objective; there are {", ".join(OBJECTIVES)} and "{WORKLOAD}queries.sql"',
                "release", "objective",
            )  # fmt: skip
        return str(objective)

    def _share(self, release: Mapping[str, Any]) -> float:
        share = release.get("suppression", 0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1 or math.isnan(share):
            raise self.fail("suppression is a share of the rows: from 0 to less than 1", "release", "suppression")
        return float(share)
