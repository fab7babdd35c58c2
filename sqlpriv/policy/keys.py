"""The keys of a policy as data: what each may be, what it is when it is not given, and what it means, in one line.

From these declarations come the reading of a file, the messages about it, and the tables of docs/policy.md; a method
says in them which roles its columns may have and which keys its [release] takes, and needs no parser of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import steers
from sqlpriv.core.sqltext import folded

REASONS = ("uncovered", "coexists_because", "node_is_public", "accept")
"""What an owner may give reasons for. They are the owner's own words, and are printed as such."""
_LONGEST_REASON = 2000
_RENAMED = {"beside": "coexists_because"}
"""Keys of earlier versions, and what they are called now."""
Fail = Callable[..., PolicyError]
"""Makes the error for a message and the keys it is about, so that it names the line."""


@dataclass(frozen=True)
class Kind:
    """What a value may be, in words that follow "must be", and how it is read: None where it does not fit."""

    words: str
    read: Callable[[Any], Any]
    public: Callable[[Any], Any] | None = None
    """The value as a release carries it, unchanged if applied twice; None where no release carries it: a path."""


@dataclass(frozen=True)
class Key:
    """A key: its kind, its default, and what it means.

    `complaint` replaces the kind's words in a message; {column} in it stands for the column that the key is about.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    required: bool = False
    complaint: str | None = None
    proposed: Callable[[Sequence[str]], Any] | None = None
    """What `init` proposes for it, from the names of the quasi-identifiers, where every policy needs a value."""

    def complain(self, *where: str) -> str:
        """The message about a value that does not fit, or is missing."""
        words = self.complaint or f"{self.name} must be {self.kind.words}"
        return words.replace("{column}", repr(where[-1]) if where else "")


Keys = tuple[Key, ...]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def read_reason(value: Any) -> str | None:
    """What an owner says to readers of a release goes to their terminals, and nothing in it may steer those."""
    if not isinstance(value, str) or len(value) > _LONGEST_REASON or not any(c.isalpha() for c in value):
        return None
    return None if steers(value) else value


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(_text(v) is not None for v in value) else None


def _hierarchy(value: Any) -> str | tuple[str, ...] | None:
    return _texts(value) or None if isinstance(value, list) else _text(value)


def _groups(value: Any) -> list[list[str]] | None:
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(group, list) and group for group in value):
        return None
    names = [name for group in value for name in group]
    return value if all(isinstance(name, str) and name.strip() for name in names) else None


def public_word(value: Any, *words: str, other: str, of_list: str) -> str:
    """The word that a text starts with, up to a colon, if it is one of those; a file or a name is `other`."""
    if not isinstance(value, str):
        return of_list
    word = value.partition(":")[0]
    return word if word in {*words, of_list} else other


def _public_hierarchy(value: Any) -> str:
    known = ("ranges", "mask", "dates", "bins", "tree", "suppression")
    return public_word(value, *known, other="table", of_list="expressions")


TEXT = Kind("given, as text", _text)
REASON = Kind(
    f"a reason in one line: words, without control characters, at most {_LONGEST_REASON:,} letters", read_reason
)
FLAG = Kind("true or false", _flag, _flag)
FILES = Kind("a list of files", _texts)
GROUPS = Kind('two lists of columns or more, as in [["age", "zip"], ["diagnosis"]]', _groups, _groups)
"""Columns that are published together, and apart from the others."""
HIERARCHY = Kind("text, or a list of SQL expressions, one a level", _hierarchy, _public_hierarchy)


def number(low: float, high: float, *, whole: bool = False) -> Kind:
    """A number above `low` and at most `high`."""

    def read(value: Any) -> float | int | None:
        if not _is_number(value) or not low < value <= high or (whole and value != int(value)):
            return None
        return int(value) if whole else float(value)

    return Kind(f"a {'whole ' if whole else ''}number above {low:g} and at most {high:g}", read, read)


def share() -> Kind:
    """A number from 0 to below 1."""

    def read(value: Any) -> float | None:
        return float(value) if _is_number(value) and 0 <= value < 1 else None

    return Kind("a share: from 0 to less than 1", read, read)


def choice(*words: str) -> Kind:
    """One word of a few."""

    def read(value: Any) -> str | None:
        return value if isinstance(value, str) and value in words else None

    return Kind(f"one of {', '.join(words)}", read, read)


def read_keys(given: Mapping[str, Any], keys: Keys, fail: Fail, *where: str) -> dict[str, Any]:
    """The values of a section or a column by the names of its keys, defaults where they are not given."""
    found = {}
    for key in keys:
        if key.name not in given:
            if key.required:
                raise fail(key.complain(*where), *where, key.name)
            found[key.name] = key.default
            continue
        value = key.kind.read(given[key.name])
        if value is None:
            raise fail(key.complain(*where), *where, key.name)
        found[key.name] = value
    return found


def check_groups(groups: Sequence[Sequence[str]], published: Sequence[str], fail: Fail) -> None:
    """Every column that is published is in one group, and nothing else is in any."""
    named = [folded(name) for group in groups for name in group]
    wanted = {folded(name): name for name in published}
    strange = [name for group in groups for name in group if folded(name) not in wanted]
    if strange:
        raise fail(f"groups names {strange[0]!r}, which is no column that is published", "release", "groups")
    missing = [name for key, name in wanted.items() if named.count(key) != 1]
    if missing:
        raise fail(f"{missing[0]!r} must be in one of the groups, and in one only", "release", "groups")


def refuse_unknown(
    given: Iterable[str],
    known: Sequence[str],
    kind: str,
    fail: Fail,
    *where: str,
    elsewhere: Mapping[str, Sequence[str]],
) -> None:
    """Refuse what is not known: a misspelt key would be silently ignored. `elsewhere`: which methods do know it."""
    for name in given:
        if name in known:
            continue
        if _RENAMED.get(name) in known:
            raise fail(f'{kind} {name!r} has another name now: write {_RENAMED[name]} = "..."', *where, name)
        if name in elsewhere:
            raise fail(
                f"{kind} {name!r} is for {', '.join(elsewhere[name])}; here are {', '.join(known)}", *where, name
            )
        raise fail(f"unknown {kind} {name!r}; there are {', '.join(known)}", *where, name)


def key_table(keys: Keys) -> str:
    """The keys as a table in Markdown."""
    rows = [f"| `{k.name}` | {k.kind.words} | {_default(k)} | {k.help} |" for k in keys]
    return "\n".join(["| key | what it may be | without it | what it means |", "|---|---|---|---|", *rows])


def _default(key: Key) -> str:
    if key.required:
        return "an error"
    if key.default is None or key.default == ():
        return "none"
    return f"`{str(key.default).lower() if isinstance(key.default, bool) else key.default}`"
