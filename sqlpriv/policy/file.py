"""What the owner declares: one TOML file with the roles of the columns, the requirements, and how to release.

Nothing is guessed, because a column with the wrong role is a breach: every column of the table has to be named, and
what is not known is an error. The file is read as a whole and refused as a whole: a message names the line, what is
wrong and what to write. What a method takes, it declares (keys.py); what needs the data (does the column exist, is
every value covered) is checked where the data is opened.

A release carries the public part of its policy: roles of published columns, requirements and options, where they differ
from the defaults. A key that is a file or a text of the owner is never in it (keys.py declares which keys may be): no
path, no key, no ledger, no place of a table, no value. Columns that are not published are not named. The owner's
reasons, the names of public tables and the node are stored in the release separately.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import InputError, PolicyError, did_you_mean
from sqlpriv.core.sqltext import folded
from sqlpriv.policy.keys import (
    LEDGER_KEYS,
    READ_OPTIONS,
    REASONS,
    RELEASE_KEYS,
    TABLE_KEYS,
    TEXT,
    Budget,
    Fail,
    Key,
    Keys,
    read_keys,
    read_views,
    refuse_unknown,
)
from sqlpriv.policy.line_numbers import line_of
from sqlpriv.policy.output import release_name
from sqlpriv.policy.require import make_requirement, read_requirements
from sqlpriv.table.engines import engine_table
from sqlpriv.table.source import TableReference

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


P = TypeVar("P", bound="Policy")
_DATA = frozenset({".csv", ".tsv", ".parquet", ".json", ".xlsx", ".xls", ".ods", ".sav", ".dta", ".sas7bdat"})
_LATER = frozenset({"pseudonym", "importance", "max_level"})
_UNREAD = ("identifier", "drop")
_OF_PATTERNS = ("drop", "identifier", "quasi-identifier", "other")
"""Roles that a pattern may give: what is required, or counted by, has a name."""
_PATTERN = "*"
UNDECIDED = "?"
"""The role of a column that its owner still has to decide on."""
_MEANINGS = {
    "drop": "it is left out",
    "identifier": "it names people, and is left out",
    "quasi-identifier": "others may know it of a person",
    "sensitive": "nobody shall learn it of a person",
    "published": "it is published among noise",
    "other": "it is published as it is, and counts as known",
}


@dataclass(frozen=True)
class Column:
    """A column with its role, and the values of the keys of that role."""

    name: str
    role: str
    given: Mapping[str, Any]

    @property
    def seed(self) -> list[str]:
        """What a release is known by of it: never changed, so a key that came later is there only where it is used."""
        return [self.role, *(str(value) for key, value in self.given.items() if value or key not in _LATER)]


@dataclass(frozen=True)
class MethodOverrides:
    """The keys of [release] and the sections of a policy for another method than its own."""

    release: Mapping[str, Any] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()
    public: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Policy:
    """A policy file, read and found sensible by itself. Each method has a subclass with its own words for it."""

    coarsens: ClassVar[bool] = False
    """Whether hierarchies have a use: values are published coarser than they are."""
    table: TableReference
    columns: tuple[Column, ...]
    requirements: tuple[Requirement, ...]
    public: Mapping[str, str]
    method: str
    release: Mapping[str, Any]
    """The keys of [release], defaults filled in."""
    written: frozenset[str]
    """The keys of [release] that the file has."""
    ledger: str | None = None
    """The ledger that the policy names, relative to its folder."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """The queries of [views], by the names of the views."""
    auto_views: bool = False
    """Whether useful views are added to them."""
    others: Mapping[str, MethodOverrides] = field(default_factory=dict)
    """The section [compare], by method: `sqlpriv compare` reads it, and publishing goes by [release] alone."""
    budget: Budget | None = None
    """How much all releases of the table may cost together."""
    patterns: tuple[Column, ...] = ()
    """Roles of columns by patterns of their names, for columns that have no entry of their own."""

    def holding(self, data: Any) -> Policy:
        """The policy for rows that a program holds, in the place of the file or the table that it names."""
        return self if data is None else replace(self, table=replace(self.table, held=data))

    def spelt_as(self: P, columns: Iterable[str]) -> P:
        """The policy with its columns spelt as a table spells them: DuckDB ignores case, and nobody after this must.

        A column that the table has not keeps its name. Columns that only a pattern names get an entry of their own.
        """
        spelling = {folded(name): name for name in columns}
        own = {c.name: spelling.get(folded(c.name), c.name) for c in self.columns}
        required = (
            r if r.sensitive is None else make_requirement(r.name, own[r.sensitive], r.arguments, r.threshold)
            for r in self.requirements
        )
        columns_spelt = tuple(replace(c, name=own[c.name]) for c in self.columns)
        spelt = replace(self, columns=columns_spelt, requirements=tuple(required))
        return spelt._with_patterns(spelling) if self.patterns else spelt

    def _with_patterns(self: P, spelling: Mapping[str, str]) -> P:
        """The policy with an entry for each column that fits a pattern: the first that it fits."""
        named = {folded(c.name) for c in self.columns}
        found = []
        for key, name in spelling.items():
            fitting = next((c for c in self.patterns if _fits(key, c.name)), None)
            if key not in named and fitting is not None:
                found.append(replace(fitting, name=name))
        whole = replace(self, columns=(*self.columns, *found), patterns=())
        whole.check(lambda message, *_: PolicyError(message))
        return whole

    def named(self, *roles: str) -> tuple[str, ...]:
        """The names of the columns with one of these roles, in the order of the file."""
        return tuple(c.name for c in self.columns if c.role in roles)

    @cached_property
    def qis(self) -> tuple[str, ...]:
        """The quasi-identifiers: their order is the order of the levels in a node."""
        return self.named("quasi-identifier")

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.named("sensitive")

    @cached_property
    def person(self) -> str | None:
        """The column that says whose row it is, if there is one."""
        return next(iter(self.named("person")), None)

    @cached_property
    def pseudonym(self) -> str | None:
        """The person column, where pseudonyms are published in its place."""
        return next((c.name for c in self.columns if c.role == "person" and c.given.get("pseudonym")), None)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The columns that a method reads: all but those that no release has, nor counts by."""
        return tuple(c.name for c in self.columns if c.role not in _UNREAD)

    @property
    def output(self) -> str | None:
        """The release file, by what the policy names."""
        named = self.release["output"]
        return release_name(named) if named else None

    @property
    def coexists_because(self) -> str | None:
        """Why the release may coexist with others of the same table, if the owner says so."""
        return self.release["coexists_because"]  # type: ignore[no-any-return]

    @property
    def settled_beforehand(self) -> str | None:
        """Why neither the release nor its parameters depend on what earlier ones show, if the owner says so."""
        return self.release["settled_beforehand"]  # type: ignore[no-any-return]

    @property
    def drops_nobodys_rows(self) -> bool:
        """Whether rows without a person are left out, and not refused."""
        return self.release.get("rows_without_person") == "drop"

    @property
    def others_unknown(self) -> str:
        """Why no neighbour knows the columns with the role `other`, if the owner says so."""
        return self.release.get("others_unknown") or ""

    @property
    def accept(self) -> str:
        """Why the release may go out although the verdict is no, if the owner says so."""
        return self.release.get("accept") or ""

    @cached_property
    def reasons(self) -> dict[str, str]:
        """The reasons that the owner gives to readers, by what they are for."""
        return {name: text for name in REASONS if (text := self.release.get(name))}

    @property
    def by_text(self) -> tuple[str, ...]:
        """The columns whose values are compared as text, so that a file's 01305 must keep its zero."""
        return ()

    def check(self, fail: Fail) -> None:
        """Refuse what each key allows and the whole does not."""


class Declared(Protocol):
    """What reading a policy needs to know of a method."""

    @property
    def name(self) -> str:
        """The word of [release] method."""

    @property
    def policy(self) -> type[Policy]:
        """How the method reads the policy."""

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections it takes besides [table], [columns] and [release]."""

    @property
    def roles(self) -> Mapping[str, Keys]:
        """Which roles its columns may have, and with which keys."""

    @property
    def options(self) -> Keys:
        """Its keys of [release], besides those of every method."""


Methods = Mapping[str, Declared]


def read_policy_file(path: str | Path, methods: Methods) -> Policy:
    """Read a policy file, or say which line is wrong and why."""
    file = Path(path)
    if file.suffix.lower() in _DATA and file.is_file():
        raise PolicyError(
            f"{file.name} is a table, and a policy is expected: `sqlpriv init {file.name}` writes one for you to review"
        )
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"there is no policy file {str(path)!r}, or it is not UTF-8 text") from None
    return parse_policy(text, file.parent, methods, file.name)


def parse_policy(text: str, folder: Path, methods: Methods, name: str = "policy") -> Policy:
    """Read the text of a policy; `folder` is where its file names start."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name} is not TOML: {error}") from None
    return _Reader(content, name, lambda keys: f"line {line_of(text, keys)}", methods).policy(folder)


def policy_of(content: Mapping[str, Any], folder: Path, methods: Methods, name: str) -> Policy:
    """The policy whose sections a program holds; a message names the key instead of a line."""
    return _Reader(content, name, lambda keys: ".".join(map(str, keys)) or "the policy", methods).policy(folder)


@dataclass(frozen=True)
class _Reader:
    """Reads the parts of one policy and says where in it something is wrong."""

    content: Mapping[str, Any]
    name: str
    place: Callable[[tuple[str | int, ...]], str]
    methods: Methods

    def policy(self, folder: Path) -> Policy:
        """The policy, as its method reads it."""
        release = self._section("release")
        method = self._method(release)
        known = ("table", "columns", *method.sections, "views", "ledger", "release", "compare")
        refuse_unknown(self.content, known, "section", self._fail, elsewhere=self._others(lambda m: m.sections))
        table = self._table(folder)
        options = (*RELEASE_KEYS, *method.options)
        others = self._others(lambda m: tuple(k.name for k in m.options))
        allowed = ("method", *(k.name for k in options))
        refuse_unknown(release, allowed, "key", self._fail, "release", elsewhere=others)
        columns = self._columns(method)
        sensitive = tuple(c.name for c in columns if c.role == "sensitive")
        ledger = self._ledger()
        policy = method.policy(
            table,
            tuple(c for c in columns if not _is_pattern(c)),
            self._requirements(self.content, method, sensitive, self._fail),
            self._public(self.content, self._fail),
            method.name,
            read_keys(release, options, self._fail, "release"),
            frozenset(release),
            ledger["path"],
            *read_views(self.content.get("views", {}), self._fail),
            self._overrides(method.name, sensitive),
            budget=ledger["budget"],
            patterns=tuple(c for c in columns if _is_pattern(c)),
        )
        if not policy.patterns:
            policy.check(self._fail)
        if policy.drops_nobodys_rows:
            self._check_dropped(policy)
        return policy

    def _check_dropped(self, policy: Policy) -> None:
        """Rows can be without a person where there are persons; how many are left then depends on the table."""
        where = ("release", "rows_without_person")
        if policy.person is None:
            raise self._fail("rows_without_person is about a column with the role person, and there is none", *where)
        if "n_public" in policy.release and policy.release["n_public"] is None:
            raise self._fail(
                "how many rows are left without those of nobody depends on the table, and may not be published: "
                "declare n_public, a number that is known without it",
                *where,
            )

    def _fail(self, message: str, *keys: str | int) -> PolicyError:
        """An error that points at where the key stands."""
        return PolicyError(f"{self.name}, {self.place(keys)}: {message}")

    def _method(self, release: Mapping[str, Any]) -> Declared:
        method = release.get("method")
        if not isinstance(method, str) or method not in self.methods:
            near = did_you_mean(method, self.methods)
            raise self._fail(f"method must be one of {', '.join(self.methods)}{near}", "release", "method")
        return self.methods[method]

    def _table(self, folder: Path) -> TableReference:
        table = self._section("table")
        refuse_unknown(table, [k.name for k in TABLE_KEYS], "key", self._fail, "table", elsewhere={})
        found = read_keys(table, TABLE_KEYS, self._fail, "table")
        options = {k: v for k, v in table.items() if k in READ_OPTIONS}
        if found["database"] is not None and options:
            name = next(iter(options))
            raise self._fail(f"{name} is for files; the source is in a database", "table", name)
        engine = None if found["engine"] == "duckdb" else found["engine"]
        own = [name for name in ("database", *options) if table.get(name) is not None]
        if engine is not None and own:
            raise self._fail(f"{own[0]} is for DuckDB, and {engine} reads the source; leave one out", "table", own[0])
        try:
            engine_table(engine, found["source"], folder, None, found["connection"])
        except InputError as error:
            raise self._fail(str(error), "table", "connection") from None
        return TableReference(
            folder,
            found["source"],
            found["database"],
            options,
            given_name=found["name"],
            engine=engine,
            connection=found["connection"],
        )

    def _columns(self, method: Declared) -> tuple[Column, ...]:
        section = self._section("columns")
        undecided = [n for n, given in section.items() if isinstance(given, dict) and given.get("role") == UNDECIDED]
        if undecided:
            choices = "; ".join(f"{role}: {meaning}" for role, meaning in _MEANINGS.items() if role in method.roles)
            names = ", ".join(map(repr, undecided))
            raise self._fail(f"decide what {names} may be. {choices}", "columns", undecided[0], "role")
        columns = tuple(self._column(method, name, given) for name, given in section.items())
        spelt = [folded(c.name) for c in columns]
        twice = [c.name for c in columns if spelt.count(folded(c.name)) > 1]
        if twice:
            raise self._fail(f"the column {twice[-1]!r} is named twice; DuckDB ignores case", "columns", twice[-1])
        return columns

    def _column(self, method: Declared, name: str, given: object) -> Column:
        where = ("columns", name)
        if not isinstance(given, dict) or "role" not in given:
            raise self._fail(f'write {name} = {{ role = "..." }}', *where)
        role = given["role"]
        if not isinstance(role, str) or role not in method.roles:
            other = self._others(lambda m: tuple(m.roles)).get(str(role))
            what = f"{role!r} is a role for {', '.join(other)}" if other else f"{role!r} is no role"
            near = "" if other else did_you_mean(role, method.roles)
            raise self._fail(f"{what}; there are {', '.join(method.roles)}{near}", *where, "role")
        keys = method.roles[role]
        for key in given:
            having = [r for r, of_role in method.roles.items() if key in {k.name for k in of_role}]
            if key != "role" and having and role not in having:
                raise self._fail(f"{name!r} is {role}; only {_listed(having)} columns have a {key}", *where, key)
        if _PATTERN in name and (role not in _OF_PATTERNS or (name == _PATTERN and role not in _UNREAD)):
            allowed = _UNREAD if name == _PATTERN else _OF_PATTERNS
            raise self._fail(
                f"{name!r} is a pattern of names, and gives them one of {', '.join(allowed)}: name each column that is "
                f"{role}",
                *where, "role",
            )  # fmt: skip
        others = self._others(lambda m: tuple(dict.fromkeys(k.name for of in m.roles.values() for k in of)))
        refuse_unknown(given, ["role", *(k.name for k in keys)], "key", self._fail, *where, elsewhere=others)
        return Column(name, role, read_keys(given, keys, self._fail, *where))

    def _requirements(
        self, given: Mapping[str, Any], method: Declared, sensitive: tuple[str, ...], fail: Fail
    ) -> tuple[Requirement, ...]:
        if "require" not in method.sections:
            return ()
        return read_requirements(given.get("require", {}), sensitive, lambda m, *k: fail(m, "require", *k))

    def _public(self, given: Mapping[str, Any], fail: Fail) -> dict[str, str]:
        public = given.get("public", {})
        if not isinstance(public, dict):
            raise fail("[public] must be a section", "public")
        return read_keys(public, tuple(Key(name, TEXT, "") for name in public), fail, "public")

    def _overrides(self, own: str, sensitive: tuple[str, ...]) -> dict[str, MethodOverrides]:
        """The section [compare]: for other methods than its own, keys of their [release] and sections that they have.

        [compare.noisy_counts] with gamma = 0.3, or [compare.generalize.require] with k = 5. It is checked with the rest
        of the policy, since a misspelt key would be silently ignored.
        """
        section = self.content.get("compare", {})
        if not isinstance(section, dict):
            raise self._fail("[compare] must be a section", "compare")
        if own in section:
            raise self._fail(f"the policy is one for {own}: write it in [release]", "compare", own)
        refuse_unknown(section, [m for m in self.methods if m != own], "method", self._fail, "compare", elsewhere={})
        return {name: self._override(self.methods[name], given, sensitive) for name, given in section.items()}

    def _override(self, method: Declared, given: object, sensitive: tuple[str, ...]) -> MethodOverrides:
        def fail(message: str, *keys: str | int) -> PolicyError:
            return self._fail(message, "compare", method.name, *keys)

        if not isinstance(given, dict):
            raise fail("it must be a section, as in [compare.frapp]")
        sections = [name for name in method.sections if name in {"require", "public"}]
        rest = {key: value for key, value in given.items() if key not in sections}
        refuse_unknown(rest, [*(k.name for k in method.options), *sections], "key", fail, elsewhere={})
        return MethodOverrides(
            read_keys(rest, tuple(k for k in method.options if k.name in rest), fail),
            self._requirements(given, method, sensitive, fail),
            self._public(given, fail) if "public" in sections else {},
        )

    def _ledger(self) -> Mapping[str, Any]:
        if "ledger" not in self.content:
            return {key.name: key.default for key in LEDGER_KEYS}
        given = self._section("ledger")
        refuse_unknown(given, [k.name for k in LEDGER_KEYS], "key", self._fail, "ledger", elsewhere={})
        if not given:
            raise self._fail("[ledger] says nothing; give its path, a budget, or leave it out", "ledger")
        return read_keys(given, LEDGER_KEYS, self._fail, "ledger")

    def _section(self, name: str) -> Mapping[str, Any]:
        section = self.content.get(name)
        if not isinstance(section, dict):
            raise PolicyError(f"{self.name}: the section [{name}] is missing")
        return section

    def _others(self, words: Any) -> dict[str, list[str]]:
        """Which methods know a word."""
        found: dict[str, list[str]] = {}
        for method in self.methods.values():
            for word in words(method):
                found.setdefault(word, []).append(method.name)
        return found


def _is_pattern(column: Column) -> bool:
    return _PATTERN in column.name


def _fits(name: str, pattern: str) -> bool:
    """Whether a folded name is one of a pattern, in which a star stands for any characters."""
    return re.fullmatch(".*".join(map(re.escape, folded(pattern).split(_PATTERN))), name, re.DOTALL) is not None


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def public_part(policy: Policy, method: Declared, published: Sequence[str]) -> dict[str, Any]:
    """The public part of a policy, as JSON has it; `published` are the columns of the release."""
    return {
        "columns": {
            c.name: {"role": c.role, **_given(c.given, method.roles[c.role])}
            for c in policy.columns
            if c.name in published
        },
        "require": [r.text for r in policy.requirements],
        "release": _given(policy.release, (*RELEASE_KEYS, *method.options)),
    }


def _given(given: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    return {
        k.name: k.kind.public(given[k.name])
        for k in keys
        if k.kind.public and given.get(k.name) not in (None, k.default)
    }


def not_public(part: object, method: Declared) -> Iterator[str]:
    """What is wrong with a public part, as a file declares it: names and words that no key of the method has."""
    parts = {"columns": dict, "require": list, "release": dict}
    if not isinstance(part, dict) or {k: type(v) for k, v in part.items()} != parts:
        yield "it has other parts"
        return
    if not all(isinstance(text, str) for text in part["require"]):
        yield "a requirement is no text"
    yield from (f"release: {why}" for why in _strange(part["release"], (*RELEASE_KEYS, *method.options)))
    for name, given in part["columns"].items():
        role = given.get("role") if isinstance(given, dict) else None
        if not isinstance(role, str) or role not in method.roles:
            yield f"{name!r} has no role"
            continue
        rest = {k: v for k, v in given.items() if k != "role"}
        yield from (f"{name!r}: {why}" for why in _strange(rest, method.roles[role]))


def _strange(given: Mapping[str, Any], keys: Keys) -> Iterator[str]:
    known = {k.name: k.kind.public for k in keys if k.kind.public}
    for name, value in given.items():
        public = known.get(name)
        if public is None:
            yield "it holds a key that no release carries"
        elif public(value) != value or isinstance(public(value), bool) != isinstance(value, bool):
            yield f"{name} is none"
