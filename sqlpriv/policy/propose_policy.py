"""`sqlpriv init`: propose a policy for a table, and write the file that a person then reviews.

What a policy needs, its method declares: requirements where it takes [require], hierarchies or domains for its columns,
and those of its options that are worth a decision, each with what it means.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Protocol

from sqlpriv.core.errors import InputError, InternalError, did_you_mean
from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.policy.file import Declared
from sqlpriv.policy.keys import RELEASE_KEYS
from sqlpriv.policy.propose_domains import with_domains
from sqlpriv.policy.propose_levels import few_columns, few_sensitive, small_lattice
from sqlpriv.policy.propose_roles import GAMMA, TIMES, UNDECIDED, K, Proposal
from sqlpriv.policy.table_profile import TableProfile, profile_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_WIDTH = 120
_Line = tuple[str, object, str]
"""A key, its value, and its comment."""
_HEAD = """\
# Proposed by `sqlpriv init` from {rows:,} rows, by counts and names alone. Review every role: you know the people.
"""
_ROLES = """\
#   identifier, person, drop   never published; person says whose row it is, and counts people instead of rows
#   quasi-identifier           what others may know of a person; generalized by its hierarchy
#   sensitive                  what nobody shall learn of a person; published, and protected by the requirements
#   other                      published as it is
#   ?                          for you to decide; until then the policy is refused
"""
_ROLES_APART = """\
#   identifier, person, drop   never published; person says whose row it is, and nobody may have two
#   quasi-identifier           what others may know of a person; published as it is
#   sensitive                  what nobody shall learn of a person; published apart from what others may know
#   other                      published as it is
#   ?                          for you to decide; until then the policy is refused
"""
_ROLES_WITH_NOISE = """\
#   identifier, person, drop   never published; person says whose row it is, and hides all rows of a person together
#   quasi-identifier, other    what others may know of a person; published among noise
#   sensitive                  what nobody shall learn of a person, whatever else they know; published among noise
#   published                  published among noise, and taken for sensitive where no column is marked so
#   ?                          for you to decide; until then the policy is refused
# A domain is every value that a row could have, whether or not one has it. The release shows it, so it must be public.
"""
_PROPOSED: Mapping[str, Any] = {
    "objective": "loss",
    "suppression": 0.05,
    "gamma": GAMMA,
    "attacker": "linking",
    "times": TIMES,
}
"""What is proposed for options, wherever a method has them."""
_LEAST_L = 2
_MOST_NAMED = 3
_CUTS = "mondrian"
_WITHOUT_NOISE = ("generalize", _CUTS)
"""The methods that most tables can be published by: they are tried where others are refused."""
_READ_OFF = "; read off the table and rounded up: replace it by a public one"


class Proposable(Declared, Protocol):
    """What proposing a policy needs to know of a method, beside what it declares."""

    @property
    def most_sensitive(self) -> int | None:
        """How many sensitive columns it protects; None: as many as there are."""

    @property
    def has_lattice(self) -> bool:
        """Whether it searches the levels of all quasi-identifiers together."""

    @property
    def most_columns(self) -> int | None:
        """How many quasi-identifiers it takes, or can choose among in a minute; None: as many as there are."""

    def tuples_for(self, rows: int) -> int | None:
        """How many tuples the domains may have together, so that noise does not drown the rows; None: no noise."""


@dataclass(frozen=True)
class ProposedPolicy:
    """A proposed policy."""

    rows: int
    table: Mapping[str, Any]
    columns: tuple[Proposal, ...]
    require: Mapping[str, Any]
    options: tuple[_Line, ...]
    """The keys of [release], with what they mean."""
    is_noisy: bool
    is_coarsened: bool
    """Whether quasi-identifiers have hierarchies."""
    why: str | None = None
    """Why this method, if none was named."""
    few_texts: Mapping[str, int] = field(default_factory=dict)
    """Columns of text in which all values but these few are numbers."""
    missing: tuple[str, ...] = ()
    """Words of the file that are read as missing values."""
    tried: tuple[str, ...] = ()
    """Proposals before this one, each with why `sqlpriv plan` refused it."""
    refused: str | None = None
    """Why `sqlpriv plan` refuses even this one, where it does."""

    @property
    def release(self) -> dict[str, Any]:
        """How to release."""
        return {key: value for key, value, _ in self.options}

    @property
    def summary(self) -> str:
        """The method, with how many columns and which requirements, in a few words."""
        number = sum(c.role == "quasi-identifier" for c in self.columns)
        required = [f"l = {least}" for least in sorted(set(self.require.get("distinct_l", {}).values()))]
        columns = f"{number} quasi-identifier{'' if number == 1 else 's'}"
        return f"{self.release['method']} with {' and '.join([columns, *required])}"

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns whose owner has to decide before the policy can be read."""
        return tuple(c.name for c in self.columns if c.role == UNDECIDED)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the proposal lacks, and only its reader can add."""
        roles = {c.role for c in self.columns}
        found = []
        if self.undecided:
            names = ", ".join(self.undecided)
            found.append(f"Decide on the role of {names}: until then `sqlpriv plan` refuses the policy.")
        if self.refused is not None:
            found.append(f"`sqlpriv plan` refuses this policy, and every other that was tried: {self.refused}")
        is_open = self.is_noisy and bool(self.undecided)
        if self.is_noisy and not is_open and not roles & {"sensitive", "published"}:
            found.append("No column has enough values to be hidden by noise from one who knows all else.")
        elif not is_open and "sensitive" not in roles:
            else_ = "; until then all that can be is taken for it" if self.is_noisy else " and a distinct_l"
            found.append(f'No column looks sensitive; if one is, give it role = "sensitive"{else_}.')
        if not self.is_noisy and "quasi-identifier" not in roles:
            found.append("No column looks like a quasi-identifier, and a release needs one: name it.")
        if self.missing:
            words = ", ".join(map(repr, self.missing))
            found.append(f"Among numbers there is {words}, read as a missing value: see nullstr in [table].")
        for name, number in self.few_texts.items():
            words = "one value that is" if number == 1 else f"{number} values that are"
            found.append(
                f"{name!r} has numbers and {words} none, as 'unknown' is, so it is text. If that means missing, "
                'say so in [table], as in nullstr = ["", "unknown"], and run init again.'
            )
        return tuple(found)

    def facts(self) -> Facts:
        """The proposed roles, and why: names, reasons and counts, no values."""
        columns = [{"name": c.name, "reason": c.reason, "hierarchy": None, **c.given} for c in self.columns]
        content = {"rows": self.rows, "table": self.table, "columns": columns, "require": self.require}
        content |= {"release": self.release, "why": self.why, "tried": self.tried, "notes": self.notes}
        headings = ("column", "role", "domain" if self.is_noisy else "hierarchy", "why")
        rows = tuple(
            (c.name, c.role, _shown_domain(c) if self.is_noisy else c.hierarchy, c.reason) for c in self.columns
        )
        parts: list[Part] = [Grid(headings, rows, folded=headings)]
        if self.why:
            parts.append(Line(f"Proposed is {self.release['method']}: {self.why}."))
        parts += [Line(why, "tried") for why in self.tried]
        if self.require:
            required = [f"k = {self.require['k']}"] if "k" in self.require else []
            required += [f"distinct_l = {n} for {name}" for name, n in self.require.get("distinct_l", {}).items()]
            parts.append(Line(f"Required: {'; '.join(required)}"))
        return Facts(f"{self.table['source']}: {self.rows:,} rows", content, tuple(parts), self.notes)

    @property
    def _roles(self) -> str:
        if self.is_noisy:
            return _ROLES_WITH_NOISE
        return _ROLES if self.is_coarsened else _ROLES_APART

    def to_toml(self) -> str:
        """The policy file, with the reason behind each column and the meaning of each option."""
        text = _HEAD.format(rows=self.rows) + "".join(_above(f"Tried before: {why}") for why in self.tried)
        text += self._roles
        text += _section("table", [(key, value, "") for key, value in self.table.items()])
        text += _section("columns", [(c.name, c.given, c.reason) for c in self.columns])
        if self.require:
            text += _section("require", [(key, value, "") for key, value in self.require.items()])
        return text + _section("release", self.options)


def _shown_domain(c: Proposal) -> str | None:
    if c.domain is None:
        return None
    domain = c.domain if isinstance(c.domain, str) else "true, false"
    return f"{domain}, by {c.hierarchy}" if c.hierarchy else domain


def propose_policy(
    data: Any,
    database: Path | None,
    folder: Path,
    methods: Mapping[str, Proposable],
    method: str | None = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> ProposedPolicy:
    """Propose a policy for a table, whose file will be in `folder`; without `method`, the method is proposed, too.

    The data may be rows of a program, which the policy then calls by `name`. `options` are those of read_csv. Whether
    the policy runs is not looked at: that takes a plan (publishing/proposing.py).
    """
    require_method(method, methods)
    return next(drafts(profile_table(data, database, folder, name, options or {}), methods, method))


def require_method(method: str | None, methods: Mapping[str, Proposable]) -> None:
    """Refuse a method that there is not."""
    if method is not None and method not in methods:
        near = did_you_mean(method, methods)
        raise InputError(f"there is no method {method!r}; there are {', '.join(methods)}{near}")


def drafts(profile: TableProfile, methods: Mapping[str, Proposable], method: str | None) -> Iterator[ProposedPolicy]:
    """Proposals for a table, the most useful one first; each after it asks or publishes less, or is of another method.

    They start with the method that is named. `sqlpriv init` takes the first that `sqlpriv plan` accepts.
    """
    if method is not None:
        yield from _less_and_less(profile, methods[method])
    best = _best(profile, methods)
    if best.release["method"] != method:
        yield from _less_and_less(profile, methods[best.release["method"]], best)
    for other in _WITHOUT_NOISE:
        if other not in {method, best.release["method"]}:
            why = "other methods were tried, and refused"
            yield from (replace(draft, why=why) for draft in _less_and_less(profile, methods[other]))


def _less_and_less(
    profile: TableProfile, method: Proposable, first: ProposedPolicy | None = None
) -> Iterator[ProposedPolicy]:
    """A proposal; then with l = 2; then with half as many quasi-identifiers as before, down to one."""
    draft = _propose(profile, method)
    why = first.why if first else None
    yield replace(draft, why=why)
    levels = draft.require.get("distinct_l", {})
    if any(number > _LEAST_L for number in levels.values()):
        draft = replace(draft, require={**draft.require, "distinct_l": dict.fromkeys(levels, _LEAST_L)}, why=why)
        yield draft
    number = sum(c.role == "quasi-identifier" for c in draft.columns)
    while number > 1:
        number //= 2
        less = _propose(profile, method, most=number)
        require = {**less.require, **({"distinct_l": draft.require["distinct_l"]} if levels else {})}
        yield replace(less, require=require, why=why)


def _best(profile: TableProfile, methods: Mapping[str, Proposable]) -> ProposedPolicy:
    """The first method with noise where all it needs is known and few columns are left out; else the first without.

    Without noise, that is the search of a lattice where all quasi-identifiers fit into one, and else cuts.
    """
    drafted = [_propose(profile, method) for method in methods.values()]
    noisy = next(d for d in drafted if d.is_noisy)
    plain = next(d for d in drafted if not d.is_noisy)
    against = _against_noise(profile, noisy)
    if against is None:
        tuples = prod(c.choices for c in noisy.columns if c.domain is not None)
        why = f"few columns with small domains, {tuples:,} tuples for {profile.rows:,} rows"
        return replace(noisy, why=f"{why}, so that counts can be estimated while no row is published as it is")
    asked, fitting = (sum(p.role == "quasi-identifier" for p in ps) for ps in (profile.proposals, plain.columns))
    cut = next((d for d in drafted if d.release["method"] == _CUTS), None)
    if fitting < asked and cut is not None:
        return replace(cut, why=f"{asked} quasi-identifiers make a lattice too large to search; {against}")
    return replace(plain, why=against)


def _against_noise(profile: TableProfile, noisy: ProposedPolicy) -> str | None:
    """Why the table is not one for noise, if so."""
    blank = [c.name for c, p in zip(noisy.columns, profile.proposals, strict=True) if c.role == UNDECIDED != p.role]
    if blank:
        more = f" and {len(blank) - 1} more" if len(blank) > 1 else ""
        return f"noise needs a public list of the values of {blank[0]!r}{more}, which is not known"
    lost = [
        p.name
        for p, c in zip(profile.proposals, noisy.columns, strict=True)
        if p.role in {"quasi-identifier", "sensitive"} and c.domain is None
    ]
    if lost:
        shown = ", ".join(repr(name) for name in lost[:_MOST_NAMED])
        more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        return f"with noise {shown}{more} would be left out"
    if not any(c.role in {"sensitive", "published"} for c in noisy.columns):
        return "no column has enough values to be hidden by noise from one who knows all else"
    return None


def _propose(profile: TableProfile, method: Proposable, most: int | None = None) -> ProposedPolicy:
    """The proposal for a method, with at most so many quasi-identifiers."""
    columns, tuples = profile.proposals, method.tuples_for(profile.rows)
    fewest_values = {c.name: c.values for c in profile.profiles}
    limits = [limit for limit in (most, method.most_columns) if limit is not None]
    if limits:
        columns = few_columns(columns, fewest_values, min(limits))
    if method.most_sensitive is not None:
        columns = few_sensitive(columns, method.most_sensitive, method.name)
    if method.has_lattice and method.policy.coarsens:
        columns = small_lattice(columns, fewest_values)
    if tuples is not None:
        of_persons = "rows_each" in {key.name for key in method.options}
        fewest = profile.fewest_of_persons if of_persons else profile.fewest
        rows_each = profile.rows_each if of_persons else None
        columns = with_domains(profile.profiles, profile.proposals, profile.lists, fewest, rows_each, tuples)
    is_coarsened = method.policy.coarsens
    if not is_coarsened:
        columns = tuple(replace(c, hierarchy=None) for c in columns)
    require: dict[str, Any] = {}
    if "require" in method.sections:
        levels = {c.name: c.distinct_l for c in columns if c.distinct_l is not None}
        # Where quasi-identifiers stay as they are, hardly any class has k rows.
        require = {**({"k": K} if is_coarsened else {}), **({"distinct_l": levels} if levels else {})}
    options = _options(profile, method, columns)
    return ProposedPolicy(
        profile.rows, profile.table, columns, require, options, tuples is not None, is_coarsened,
        few_texts=profile.few_texts,
        missing=profile.missing,
    )  # fmt: skip


def _options(profile: TableProfile, method: Declared, columns: tuple[Proposal, ...]) -> tuple[_Line, ...]:
    """The keys of [release] that are worth a decision, with what they mean by the method's own words."""
    proposed = {key: (value, "") for key, value in _PROPOSED.items()}
    own = {key.name: key.proposed for key in method.options if key.proposed is not None}
    qis = [c.name for c in columns if c.role == "quasi-identifier"]
    proposed |= {name: (make(qis), "") for name, make in own.items()}
    if any(c.role == "person" for c in columns) and not own:
        proposed["rows_each"] = (profile.rows_each, _READ_OFF)
        if profile.rows_each > 1:
            proposed["n_public"] = (profile.public_rows, _READ_OFF)
    person = next((c for c, p in zip(profile.profiles, columns, strict=True) if p.role == "person"), None)
    if person is not None and person.present < person.rows:
        nobody = f"; {person.rows - person.present:,} rows are without one"
        proposed["rows_without_person"] = ("drop", nobody)
        proposed["n_public"] = (profile.public_rows, _READ_OFF)
    meaning = {key.name: key.help for key in (*method.options, *RELEASE_KEYS)}
    taken = [(key, value, meaning[key] + more) for key, (value, more) in proposed.items() if key in meaning]
    output = next(key.help for key in RELEASE_KEYS if key.name == "output")
    return (("method", method.name, ""), *taken, ("output", profile.output, output))


def check_target(policy: Path, data: Any, database: Path | None, force: bool) -> None:
    """Refuse early to overwrite a file: the data always, another policy unless `force`."""
    if not policy.parent.is_dir():
        raise InputError(f"there is no folder {str(policy.parent)!r} for {policy.name}; make it first")
    if policy.is_dir():
        raise InputError(f"{str(policy)!r} is a folder; name a file, such as policy.toml")
    if policy.exists():
        private = database or (Path(data) if isinstance(data, str) else None)
        if private is not None and private.exists() and policy.samefile(private):
            raise InputError(f"{policy.name} is the data itself; name another file with --output")
        if not force:
            raise InputError(f"{policy.name} exists; name another file with --output, or replace it with --force")


def write_policy(proposed: ProposedPolicy, policy: Path) -> None:
    """Write the file whole or not at all, and only if it reads back as what was proposed."""
    text = proposed.to_toml()
    wanted = {"table": proposed.table, "columns": {c.name: c.given for c in proposed.columns}}
    wanted |= {"release": proposed.release} | ({"require": proposed.require} if proposed.require else {})
    if tomllib.loads(text) != wanted:
        raise InternalError("the proposed policy does not read back as it was meant; nothing was written")
    unfinished = policy.with_name(f".{policy.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(policy)
    except OSError:
        raise InputError(f"{policy.name} cannot be written in {str(policy.parent)!r}; is it writable?") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _section(name: str, entries: Sequence[_Line]) -> str:
    """A section; comments follow their entries, below each other, or above them where that would be too wide."""
    written = [(_key(key), _value(value), comment) for key, value, comment in entries]
    if not any(comment for _, _, comment in written):
        return f"\n[{name}]\n" + "".join(f"{key} = {value}\n" for key, value, _ in written)
    wide, long = (max(len(entry[part]) for entry in written) for part in (0, 1))
    beside = [f"{key:<{wide}} = {value:<{long}}  # {comment}" if comment else f"{key:<{wide}} = {value}"
              for key, value, comment in written]  # fmt: skip
    if max(len(line) for line in beside) <= _WIDTH:
        return f"\n[{name}]\n" + "\n".join(beside) + "\n"
    return f"\n[{name}]\n" + "".join(f"{_above(comment)}{key} = {value}\n" for key, value, comment in written)


def _above(comment: str) -> str:
    """A comment of as many lines as it needs; a word is never broken."""
    lines = textwrap.wrap(comment, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def _key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: object) -> str:
    """A text, number, truth value, list or inline table."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    """A TOML string: JSON escapes the same characters in the same way, all but DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
