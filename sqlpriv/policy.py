"""What the owner declares: one TOML file with the roles of the columns, the requirements, and how to release.

The file is read as a whole and refused as a whole: a message names the line, what is wrong and what to write. Nothing
is guessed, because a column with the wrong role is a breach: every column of the table has to be named, and what is
not known is an error. The parts that need the data (does the column exist, is every value covered) are checked where
the data is opened.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlpriv.errors import PolicyError
from sqlpriv.policy_requirements import read_requirements
from sqlpriv.requirements import Requirement
from sqlpriv.sqltext import folded
from sqlpriv.toml_lines import line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROLES = ("identifier", "person", "quasi-identifier", "sensitive", "other", "drop")
OBJECTIVES = ("loss", "height", "precision", "discernibility", "average_class_size", "kl", "entropy")
WORKLOAD = "workload:"
# Options of DuckDB's read_csv that a policy may give; `delimiter` is the word of most other tools for `delim`.
READ_OPTIONS = ("delimiter", "delim", "header", "quote", "escape", "nullstr", "all_varchar", "dateformat",
                "timestampformat", "decimal_separator", "encoding", "skip", "comment", "types")  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column with its role; a quasi-identifier also says where its hierarchy comes from."""

    name: str
    role: str
    hierarchy: str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class Policy:
    """A policy file, read and found sensible by itself."""

    folder: Path
    source: str
    database: str | None
    read_options: Mapping[str, Any]
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

    def hierarchy(self, qi: str) -> str | tuple[str, ...]:
        """Where the hierarchy of a quasi-identifier comes from."""
        found = next(c.hierarchy for c in self.columns if c.name == qi)
        return found if found is not None else "suppression"

    def path(self, name: str) -> Path:
        """A file named in the policy, relative to its folder."""
        return self.folder / name

    def is_file(self, name: str) -> bool:
        """Whether there is such a file; what no file can be called is none."""
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False


def read_policy(path: str | Path) -> Policy:
    """Read a policy file, or say which line is wrong and why."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"there is no policy file {str(path)!r}, or it is not UTF-8 text") from None
    return parse_policy(text, file.parent, file.name)


def parse_policy(text: str, folder: Path, name: str = "policy") -> Policy:
    """Read the text of a policy; `folder` is where its file names start."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name} is not TOML: {error}") from None
    return _Reader(text, name).policy(content, folder)


class _Reader:
    """Reads the parts of one policy and points at lines."""

    def __init__(self, text: str, name: str) -> None:
        self._text_of_file = text
        self._name = name

    def fail(self, message: str, *keys: str | int) -> PolicyError:
        """An error that points at the line where the key stands."""
        return PolicyError(f"{self._name}, line {line_of(self._text_of_file, keys)}: {message}")

    def policy(self, content: Mapping[str, Any], folder: Path) -> Policy:
        self._only(content, ("table", "columns", "require", "release"), (), "section")
        table = self._section(content, "table")
        release = self._section(content, "release")
        columns = self._columns(self._section(content, "columns"))
        database = table.get("database")
        options = {k: v for k, v in table.items() if k not in {"source", "database"}}
        self._only(table, ("source", "database", *READ_OPTIONS), ("table",), "key")
        if database is not None and options:
            raise self.fail(
                f"{next(iter(options))} is for files; the source is in a database", "table", next(iter(options))
            )
        self._only(release, ("method", "objective", "suppression", "keep_suppressed", "output"), ("release",), "key")
        if release.get("method") != "generalize":
            raise self.fail('method must be "generalize"', "release", "method")
        sensitive = tuple(c.name for c in columns if c.role == "sensitive")
        requirements = read_requirements(
            content.get("require", {}), sensitive, lambda m, *k: self.fail(m, "require", *k)
        )
        if not requirements:
            raise self.fail("nothing is required: write at least k = 5", "require")
        return Policy(
            folder,
            self._text(table, "table", "source"),
            None if database is None else self._text(table, "table", "database"),
            options,
            columns,
            requirements,
            self._objective(release),
            self._share(release),
            self._flag(release, "keep_suppressed"),
            None if "output" not in release else self._text(release, "release", "output"),
        )

    def _columns(self, section: Mapping[str, Any]) -> tuple[Column, ...]:
        columns = tuple(self._column(name, given) for name, given in section.items())
        spelt = [folded(c.name) for c in columns]
        twice = [c.name for c in columns if spelt.count(folded(c.name)) > 1]
        if twice:
            raise self.fail(
                f"the column {twice[-1]!r} is named twice; DuckDB does not tell case apart", "columns", twice[-1]
            )
        if not any(c.role == "quasi-identifier" for c in columns):
            raise self.fail("no column is a quasi-identifier, so there is nothing to generalize", "columns")
        persons = [c.name for c in columns if c.role == "person"]
        if len(persons) > 1:
            raise self.fail("only one column can be the person", "columns", persons[1])
        return columns

    def _column(self, name: str, given: object) -> Column:
        keys = ("columns", name)
        if not isinstance(given, dict) or "role" not in given:
            raise self.fail(f'write {name} = {{ role = "..." }}', *keys)
        self._only(given, ("role", "hierarchy"), keys, "key")
        role, hierarchy = given["role"], given.get("hierarchy")
        if role not in ROLES:
            raise self.fail(f"{role!r} is no role; there are {', '.join(ROLES)}", *keys, "role")
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

    def _flag(self, section: Mapping[str, Any], key: str) -> bool:
        value = section.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(f"{key} must be true or false", "release", key)
        return value

    def _text(self, section: Mapping[str, Any], *keys: str) -> str:
        value = section.get(keys[-1])
        if not isinstance(value, str) or not value.strip():
            raise self.fail(f"{keys[-1]} must be given, as text", *keys)
        return value

    def _section(self, content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        section = content.get(name)
        if not isinstance(section, dict):
            raise PolicyError(f"{self._name}: the section [{name}] is missing")
        return section

    def _only(self, given: Mapping[str, Any], known: Sequence[str], where: tuple[str, ...], kind: str) -> None:
        for key in given:
            if key not in known:
                raise self.fail(f"unknown {kind} {key!r}; there are {', '.join(known)}", *where, key)
