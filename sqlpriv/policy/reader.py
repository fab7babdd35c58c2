"""What every policy file has in common: it is TOML, it names a table and every column of it, and errors name lines.

The file is read as a whole and refused as a whole: a message names the line, what is wrong and what to write. Each
family of methods reads its own columns and its own [release] on top of this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlpriv.errors import PolicyError
from sqlpriv.policy.lines import line_of
from sqlpriv.sqltext import folded

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Options of DuckDB's read_csv that a policy may give; `delimiter` is the word of most other tools for `delim`.
READ_OPTIONS = ("delimiter", "delim", "header", "quote", "escape", "nullstr", "all_varchar", "dateformat",
                "timestampformat", "decimal_separator", "encoding", "skip", "comment", "types")  # fmt: skip


class NamedColumn(Protocol):
    """A column of a policy: it has a name and a role."""

    @property
    def name(self) -> str:
        """The column's name, as the policy spells it."""

    @property
    def role(self) -> str:
        """What the column is to the release."""


ColumnLike = TypeVar("ColumnLike", bound=NamedColumn)


@dataclass(frozen=True)
class TablePolicy:
    """The private table that a policy is about, and where its files are."""

    folder: Path
    source: str
    database: str | None
    read_options: Mapping[str, Any]

    @property
    def by_text(self) -> tuple[str, ...]:
        """The columns whose values are compared as text, so that a file's 01305 must keep its zero."""
        return ()

    def path(self, name: str) -> Path:
        """A file named in the policy, relative to its folder."""
        return self.folder / name

    def is_file(self, name: str) -> bool:
        """Whether there is such a file; what no file can be called is none."""
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False


def read_file(path: str | Path) -> tuple[str, Path, str]:
    """The text of a policy file, its folder and its name."""
    file = Path(path)
    try:
        return file.read_text(encoding="utf-8-sig"), file.parent, file.name
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"there is no policy file {str(path)!r}, or it is not UTF-8 text") from None


class Reader:
    """Reads the parts of one policy and points at lines."""

    def __init__(self, text: str, name: str) -> None:
        self._text_of_file = text
        self._name = name
        try:
            self.content: Mapping[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{name} is not TOML: {error}") from None

    def fail(self, message: str, *keys: str | int) -> PolicyError:
        """An error that points at the line where the key stands."""
        return PolicyError(f"{self._name}, line {line_of(self._text_of_file, keys)}: {message}")

    def table(self, folder: Path) -> TablePolicy:
        """The section [table]."""
        table = self.section("table")
        database = table.get("database")
        options = {k: v for k, v in table.items() if k not in {"source", "database"}}
        self.only(table, ("source", "database", *READ_OPTIONS), ("table",), "key")
        if database is not None and options:
            raise self.fail(
                f"{next(iter(options))} is for files; the source is in a database", "table", next(iter(options))
            )
        source = self.text(table, "table", "source")
        return TablePolicy(folder, source, None if database is None else self.text(table, "table", "database"), options)

    def columns(self, read: Callable[[str, object], ColumnLike]) -> tuple[ColumnLike, ...]:
        """The section [columns], each of them read by `read`; no name may occur twice."""
        columns = tuple(read(name, given) for name, given in self.section("columns").items())
        spelt = [folded(c.name) for c in columns]
        twice = [c.name for c in columns if spelt.count(folded(c.name)) > 1]
        if twice:
            raise self.fail(
                f"the column {twice[-1]!r} is named twice; DuckDB does not tell case apart", "columns", twice[-1]
            )
        return columns

    def column_with_role(
        self, name: str, given: object, keys: Sequence[str], roles: Sequence[str]
    ) -> Mapping[str, Any]:
        """What the policy says of a column, which has to be one of these roles and nothing else."""
        if not isinstance(given, dict) or "role" not in given:
            raise self.fail(f'write {name} = {{ role = "..." }}', "columns", name)
        self.only(given, keys, ("columns", name), "key")
        if given["role"] not in roles:
            raise self.fail(f"{given['role']!r} is no role; there are {', '.join(roles)}", "columns", name, "role")
        return given

    def number(self, section: Mapping[str, Any], *keys: str, low: float, high: float, whole: bool = False) -> float:
        """A number above `low` and at most `high`."""
        value: Any = section.get(keys[-1])
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low < float(value) <= high or (whole and value != int(value)):
            raise self.fail(
                f"{keys[-1]} must be a {'whole ' if whole else ''}number above {low:g} and at most {high:g}", *keys
            )
        return float(value)

    def choice(self, section: Mapping[str, Any], *keys: str, of: Sequence[str]) -> str:
        """One word of a few; the first one when it is not given."""
        value = section.get(keys[-1], of[0])
        if value not in of:
            raise self.fail(f"{keys[-1]} must be one of {', '.join(of)}", *keys)
        return str(value)

    def flag(self, section: Mapping[str, Any], *keys: str) -> bool:
        """True or false; false when it is not given."""
        value = section.get(keys[-1], False)
        if not isinstance(value, bool):
            raise self.fail(f"{keys[-1]} must be true or false", *keys)
        return value

    def text(self, section: Mapping[str, Any], *keys: str) -> str:
        """A text that has to be there."""
        value = section.get(keys[-1])
        if not isinstance(value, str) or not value.strip():
            raise self.fail(f"{keys[-1]} must be given, as text", *keys)
        return value

    def section(self, name: str) -> Mapping[str, Any]:
        """A section that has to be there."""
        section = self.content.get(name)
        if not isinstance(section, dict):
            raise PolicyError(f"{self._name}: the section [{name}] is missing")
        return section

    def only(self, given: Mapping[str, Any], known: Sequence[str], where: tuple[str, ...], kind: str) -> None:
        """Refuse keys that are not known: a misspelt one would be silently ignored."""
        for key in given:
            if key not in known:
                raise self.fail(f"unknown {kind} {key!r}; there are {', '.join(known)}", *where, key)
