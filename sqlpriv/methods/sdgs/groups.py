"""Vertical groups: columns that are published together, each group a relation and a sample of its own.

Classes of many columns are small, and small classes are suppressed. So the columns may be divided: of each group the
rows have these columns alone, are sampled at random, generalized, and suppressed where fewer than k are equal in these
columns. Each group by itself is a release as Theorem 1 has it, and a row is in every one of them. Samples of different
groups are independent, so that all of them together are one release after the other: epsilons and deltas add up
(priv.sdgs_groups). The division must not depend on the table: it stands in the policy, and there is no search.

One sample for all groups would not do, whatever is added up. Take a table where all rows but one are alike in two
groups, and that one is alike with them in the first alone. Then the two published counts differ by 1 exactly when it
was sampled: a chance of beta, in the place of delta. For the same reason nothing says which row of one group goes with
which of another.

A release without groups is one group of all columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields

from sqlpriv.core.sqltext import quoted
from sqlpriv.release.file import SCHEMA, WRITTEN, ReleaseFile

ROWS = "published"
GROUPS = "groups"
"""In what a file says of itself: the columns of each group, as JSON; not there where there is one group."""


@dataclass(frozen=True)
class Group:
    """Columns that are published together, in the order of the table; groups are numbered from 1 on."""

    number: int
    columns: tuple[str, ...]

    @property
    def _suffix(self) -> str:
        return "" if self.number == 1 else f"_{self.number}"

    @property
    def table(self) -> str:
        """The table of its rows in a file."""
        return ROWS if self.number == 1 else f"group{self._suffix}"

    @property
    def written(self) -> str:
        """The same in the file that is written, as SQL."""
        return quoted(WRITTEN, SCHEMA, self.table)

    @property
    def random_prefix(self) -> str:
        """What the random numbers of its rows are made from: other than those of any other group."""
        return "row|" if self.number == 1 else f"row {self.number}|"

    def view(self, table: str) -> str:
        """The view that people read: the first group has the name of the table."""
        return f"{table}{self._suffix}"


def groups_of(columns: Sequence[Sequence[str]]) -> tuple[Group, ...]:
    """The groups of these columns."""
    return tuple(Group(number, tuple(names)) for number, names in enumerate(columns, 1))


def declared_groups(file: ReleaseFile) -> tuple[Group, ...]:
    """The groups that a file declares; one of all columns, where it declares none."""
    names = [str(c["name"]) for c in file.attributes]
    return groups_of(json.loads(file.about[GROUPS]) if GROUPS in file.about else [names])


def wrong_groups(file: ReleaseFile) -> bool:
    """Whether a file does not say in which group each of its columns is, once and in the order of the columns."""
    if GROUPS not in file.about:
        return False
    names = [str(c["name"]) for c in file.attributes]
    try:
        given = json.loads(file.about[GROUPS])
    except (ValueError, RecursionError):
        return True
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(group, list) and group for group in given):
        return True
    if sorted(str(name) for group in given for name in group) != sorted(names):
        return True
    return any(group != [name for name in names if name in group] for group in given)


@dataclass(frozen=True)
class GroupFile(ReleaseFile):
    """A file as if its published rows were those of one group."""

    shown: str = ROWS

    def table(self, name: str) -> str:
        """As of any file, but for the published rows."""
        return super().table(self.shown if name == ROWS else name)

    def columns(self, schema: str, table: str) -> dict[str, str]:
        """As of any file, but for the published rows."""
        return super().columns(schema, self.shown if (schema, table) == (SCHEMA, ROWS) else table)


def file_of(file: ReleaseFile, group: Group) -> GroupFile:
    """The file as that of one group."""
    own = {f.name: getattr(file, f.name) for f in fields(ReleaseFile)}
    return GroupFile(**own, shown=group.table)
