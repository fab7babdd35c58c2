"""What the file of a release holds, declared as data: names, flags and numbers, tables, and the owner's reasons.

A method declares a `Layout` (what is the same in all its files) and says for one file which `Contents` follow from it
(a table for each column, say). Writing fills the layout, verifying compares a file with it (verify.py). A file holds no
sentence of ours: what people read is made from these names and numbers when they read it.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlpriv.core.facts import has_control_characters

Allowed = Callable[[str], bool]
"""Whether a text of table `about` is one that its name may have."""

_VERSION = re.compile(
    r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc)[0-9]{1,4})?(\.post[0-9]{1,4})?(\.dev[0-9]{1,4})?(\+[0-9a-f.]{1,40})?"
)
"""As Python packages are numbered; no part can match in two ways, so no text takes long to refuse."""


def one_of(*words: str) -> Allowed:
    """One word of a closed list."""
    return lambda text: text in words


def whole(text: str) -> bool:
    """A whole number of at least 0."""
    return text.isascii() and text.isdecimal()


def name(text: str) -> bool:
    """The name of a table or column: anything that does not steer a terminal."""
    return bool(text) and not has_control_characters(text)


def plain_json(text: str) -> bool:
    """JSON as Python writes it: nothing is in it twice, and nothing is passed over by reading it."""
    try:
        return json.dumps(json.loads(text)) == text
    except (ValueError, RecursionError):
        return False


def hex_digits(text: str) -> bool:
    """A digest, or a name made from one."""
    return re.fullmatch(r"[0-9a-f-]{1,80}", text) is not None


def _date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


flag = one_of("yes", "no")

ABOUT: Mapping[str, Allowed] = {
    "format": whole,
    "sqlpriv": lambda text: _VERSION.fullmatch(text) is not None,
    "method": name,
    "table": name,
    "release": hex_digits,
    "date": _date,
    "policy": plain_json,
    "digest": hex_digits,
}
"""What every release says of itself; `digest` is that of table published, `release` the ID in the ledger."""
TOGETHER = "together"
"""Optional, where releases compose, from the second on: what all up to it cost together, as JSON."""
COMMON_TABLES: Mapping[str, Mapping[str, str]] = {
    "about": {"name": "VARCHAR", "value": "VARCHAR"},
    "parameters": {"name": "VARCHAR", "value": "DOUBLE"},
    "reasons": {"name": "VARCHAR", "text": "VARCHAR"},
    "digests": {"name": "VARCHAR", "digest": "VARCHAR"},
}
REQUIREMENTS: Mapping[str, str] = {
    "measure": "VARCHAR",
    "sensitive": "VARCHAR",
    "arguments": "VARCHAR",
    "threshold": "DOUBLE",
}
"""The columns of table requirements, of methods that require something of classes."""


@dataclass(frozen=True)
class NumberNames:
    """Names of numbers: those that are always there, and those that may be."""

    always: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Layout:
    """What all files of a method have in common."""

    attributes: Mapping[str, str]
    """The columns of table attributes with their types; `position`, `name`, `type` and `role` are among them."""
    about: Mapping[str, Allowed] = field(default_factory=dict)
    """What it says of itself besides ABOUT."""
    about_if_any: Mapping[str, Allowed] = field(default_factory=dict)
    numbers: NumberNames = NumberNames()
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tables that every file has, each with its columns and their types."""
    is_attribute: Callable[[Mapping[str, Any]], bool] = lambda row: True
    """Whether a row of table attributes is one that the method writes."""
    requires: bool = False
    """Whether it has a table of requirements."""
    from_policy: tuple[str, ...] = ()
    """Words of table about that are keys of [release], too: the public part of the policy has the same ones."""

    @property
    def fixed_tables(self) -> dict[str, Mapping[str, str]]:
        """All tables whose columns are known without looking into the file."""
        own = {"attributes": self.attributes} | ({"requirements": REQUIREMENTS} if self.requires else {})
        return {**COMMON_TABLES, **own, **self.tables}


@dataclass(frozen=True)
class Stored:
    """A table of a file, with its columns and their types."""

    schema: str
    name: str
    columns: Mapping[str, str]
    has_digest: bool = False
    """Whether it is compared with a digest, besides domains, public tables and rows, which always are."""


@dataclass(frozen=True)
class ShownAs:
    """A view in schema main through which people read published rows."""

    name: str
    statement: Callable[[str], str]
    """From its full name, as SQL, to the statement that makes it."""


@dataclass(frozen=True)
class Contents:
    """What one file holds besides the fixed tables."""

    rows: tuple[Stored, ...]
    """The published rows. They are compared with their digests; the first is table published."""
    tables: tuple[Stored, ...] = ()
    views: tuple[ShownAs, ...] = ()
    are_sorted: bool = True
    """Whether rows are sorted by what they show, so that their order says nothing."""
