"""The keys of a policy as data: what each may be, what it is when it is not given, and what it means, in one line.

From these declarations come the reading of a file, the messages about it, and the tables of docs/policy.md. A method
says in them which roles its columns may have and which keys its [release] takes, and needs no parser of its own. Here
are also the keys that every method takes: those of the sections [table], [release], [views] and [ledger], and those of
a column's domain, so that one list of columns serves every method.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlpriv.core.errors import PolicyError, did_you_mean
from sqlpriv.core.facts import has_control_characters
from sqlpriv.core.sqltext import folded
from sqlpriv.table.domains import KINDS, Cell, Domain, Share
from sqlpriv.table.engines import ENGINES

REASONS = ("uncovered", "coexists_because", "settled_beforehand", "node_is_public", "others_unknown", "accept")
"""What an owner may give reasons for. They are the owner's own words, and are printed as such."""
_LONGEST_REASON = 2000
_RENAMED = {"beside": "coexists_because"}
"""Keys of earlier versions, and what they are called now."""
Fail = Callable[..., PolicyError]
"""Makes the error for a message and the keys it is about, so that it names the line."""


@dataclass(frozen=True)
class ValueKind:
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
    kind: ValueKind
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
    return None if has_control_characters(value) else value


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


def _connection(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"env:\w+", value) else None


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


TEXT = ValueKind("given, as text", _text)
REASON = ValueKind(
    f"a reason in one line: words, without control characters, at most {_LONGEST_REASON:,} letters", read_reason
)
FLAG = ValueKind("true or false", _flag, _flag)
FILES = ValueKind("a list of files", _texts)
GROUPS = ValueKind('two lists of columns or more, as in [["age", "zip"], ["diagnosis"]]', _groups, _groups)
"""Columns that are published together, and apart from the others."""
HIERARCHY = ValueKind("text, or a list of SQL expressions, one a level", _hierarchy, _public_hierarchy)


def number(low: float, high: float, *, whole: bool = False) -> ValueKind:
    """A number above `low` and at most `high`."""

    def read(value: Any) -> float | int | None:
        if not _is_number(value) or not low < value <= high or (whole and value != int(value)):
            return None
        return int(value) if whole else float(value)

    return ValueKind(f"a {'whole ' if whole else ''}number above {low:g} and at most {high:g}", read, read)


def share() -> ValueKind:
    """A number from 0 to below 1."""

    def read(value: Any) -> float | None:
        return float(value) if _is_number(value) and 0 <= value < 1 else None

    return ValueKind("a share: from 0 to less than 1", read, read)


def choice(*words: str) -> ValueKind:
    """One word of a few."""

    def read(value: Any) -> str | None:
        return value if isinstance(value, str) and value in words else None

    return ValueKind(f"one of {', '.join(words)}", read, read)


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
        near = did_you_mean(strange[0], published)
        raise fail(f"groups names {strange[0]!r}, which is no column that is published{near}", "release", "groups")
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
        near = did_you_mean(name, known)
        raise fail(f"unknown {kind} {name!r}; there are {', '.join(known)}{near}", *where, name)


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


_CONNECTION = ValueKind("as in env:NAME, so that no file holds a password", _connection)
_ANY = ValueKind("what DuckDB's read_csv takes", lambda value: value)
# Options of DuckDB's read_csv that a policy may give; `delimiter` is the word of most other tools for `delim`.
READ_OPTIONS = ("delimiter", "delim", "header", "quote", "escape", "nullstr", "all_varchar", "dateformat",
                "timestampformat", "decimal_separator", "encoding", "skip", "comment", "types")  # fmt: skip
TABLE_KEYS: Keys = (
    Key(
        "source",
        TEXT,
        "a file, a folder of Parquet or CSV files, or a pattern such as people/*.parquet; with `database` a table or "
        "view of it",
        required=True,
    ),
    Key("database", TEXT, "the DuckDB file that holds the source"),
    Key("name", TEXT, "what queries call the table; else the name of the file, folder or table"),
    Key("engine", choice(*ENGINES), "what reads the source: a table of that engine's catalog, or a path that it reads"),
    Key("connection", _CONNECTION, "where the engine is: the variable of the environment that holds it"),
    *(Key(name, _ANY, "as in DuckDB's read_csv; for files only") for name in READ_OPTIONS),
)
RELEASE_KEYS: Keys = (
    Key(
        "output",
        TEXT,
        "the release file, next to the policy. A .csv, .parquet or .xlsx file gets its table, with the release next "
        "to it; a folder, with / at its end, gets all tables and the release",
    ),
    Key(
        "coexists_because",
        REASON,
        "why this release may coexist with others of the same table; the ledger and the release carry it",
    ),
    Key(
        "settled_beforehand",
        REASON,
        "why neither this release nor its parameters depend on what earlier ones show: samples then share their "
        "epsilon; the ledger and the release carry it",
    ),
    Key(
        "others_unknown",
        REASON,
        "why no neighbour knows the columns with the role `other`; without it the verdict counts them as known",
    ),
    Key(
        "rows_without_person",
        choice("refuse", "drop"),
        "what becomes of rows whose person column is NULL: a method with noise needs n_public to drop them",
        "refuse",
    ),
    Key("accept", REASON, "why to publish although the verdict is no; the release carries it, the page starts with it"),
)
"""What every method takes in [release], besides `method`."""
VIEW_KEYS: Keys = (
    Key(
        "auto",
        FLAG,
        "also views of counts by each column and each small pair, and of sums and averages of numbers by each category",
        default=False,
    ),
)
"""What [views] takes besides questions by the names of their views."""
_NEIGHBOURS = {"add-remove": "added", "replace-one": "replaced"}


@dataclass(frozen=True)
class Budget:
    """Epsilon and delta, of a row or person that is added or left out, or replaced by another."""

    epsilon: float
    delta: float
    kind: str = "added"

    @property
    def neighbours(self) -> str:
        """The word of the policy for its kind."""
        return next(word for word, kind in _NEIGHBOURS.items() if kind == self.kind)


def _read_budget(value: Any) -> Budget | None:
    if not isinstance(value, Mapping) or not {"epsilon"} <= set(value) <= {"epsilon", "delta", "neighbours"}:
        return None
    neighbours = value.get("neighbours", "add-remove")
    epsilon = number(0, 1e6).read(value["epsilon"])
    delta = 0.0 if "delta" not in value else number(0, 1).read(value["delta"])
    if epsilon is None or delta is None or not isinstance(neighbours, str) or neighbours not in _NEIGHBOURS:
        return None
    return Budget(float(epsilon), float(delta), _NEIGHBOURS[neighbours])


_BUDGET = ValueKind(
    'as in { epsilon = 3, delta = 1e-5 }, with neighbours = "replace-one" where rows are replaced', _read_budget
)
LEDGER_KEYS: Keys = (
    Key("path", TEXT, "the ledger, next to the policy; else the user's own"),
    Key("budget", _BUDGET, "how much all releases of the table may cost together; releases that add up within it need "
        "no `coexists_because`, and one that would pass it is refused"),
)  # fmt: skip


def read_views(given: object, fail: Fail) -> tuple[Mapping[str, str], bool]:
    """The questions of [views] by the names of their views, and whether useful ones are added."""
    if not isinstance(given, dict):
        raise fail("[views] must be a section", "views")
    names = tuple(name for name in given if name not in {key.name for key in VIEW_KEYS})
    questions = tuple(Key(name, TEXT, "", complaint=f"{name} must be a question, as SQL text") for name in names)
    found = read_keys(given, (*VIEW_KEYS, *questions), fail, "views")
    spelt = [folded(name) for name in names]
    twice = [name for name in names if spelt.count(folded(name)) > 1]
    if twice:
        raise fail(f"the view {twice[-1]!r} is named twice; case does not matter", "views", twice[-1])
    return {name: found[name] for name in names}, found["auto"]


# More than any count of anything; the shares are divided by their sum.
_MOST_SHARE = 1e18


def _read_domain(value: Any) -> Domain | None:
    if isinstance(value, list) and value and all(isinstance(v, Cell) for v in value):
        return tuple(value)
    return value if isinstance(value, str) and value.strip() else None


def _read_share(value: Any) -> Share:
    if isinstance(value, list):
        fit = all(isinstance(s, int | float) and not isinstance(s, bool) and 0 < s <= _MOST_SHARE for s in value)
        return tuple(float(s) for s in value) if fit and value else None
    return value if isinstance(value, str) and value.strip() else None


def _public_domain(value: Any) -> str:
    """How it is given; the values of a domain that is published are in the release."""
    return public_word(value, "range", "table", "level", "active", other="table", of_list="list")


def _public_share(value: Any) -> str:
    return public_word(value, other="table", of_list="list")


_DOMAIN = ValueKind(KINDS, _read_domain, _public_domain)
_SHARE = ValueKind(
    "a list of numbers above 0, one for each of a list of values, or a column of the domain's table",
    _read_share,
    _public_share,
)
_HIERARCHY = Key(
    "hierarchy",
    HIERARCHY,
    "how its values become coarser, level by level",
    complaint="the hierarchy of {column} must be text, or a list of SQL expressions, one a level",
)
DOMAIN_KEYS: Keys = (
    Key("domain", _DOMAIN, "every value that a row could have, whether or not one has it",
        complaint=f"{{column}} needs a domain: {KINDS}"),
    Key("null", FLAG, "whether NULL is a value of the domain", False),
    Key("outside", choice("refuse", "drop", "other"), "what becomes of values outside the domain", "refuse"),
    Key("share", _SHARE, "public shares of the values",
        complaint="every share must be a number above 0: share is a list of numbers, one for each of a list of values, "
        "or a column of the domain's table"),
)  # fmt: skip
"""What a method without noise takes: not all of it has a use there."""
PERSON_KEYS: Keys = (
    Key(
        "pseudonym",
        FLAG,
        "whether the rows of a person stay together under a pseudonym, which is published in the place of the column",
        default=False,
    ),
)
"""What a method takes that may publish a person column by pseudonyms."""
_LEVEL = Key(
    "level", number(0, 99, whole=True), "publish the labels of this level of the hierarchy, and not the values"
)
NOISY_KEYS: Keys = (replace(DOMAIN_KEYS[0], required=True), *DOMAIN_KEYS[1:], _HIERARCHY, _LEVEL)
"""What a method takes that makes noise from the domain."""
NOISY_ROLES = ("quasi-identifier", "sensitive", "other", "published")
"""The roles of the columns that such a method publishes."""
COARSE_KEYS: Keys = (*DOMAIN_KEYS, _HIERARCHY)
"""All but the level, none needed: it says that values are not published, and methods without noise publish them."""
