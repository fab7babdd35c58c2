"""The keys of a column's domain: every value that a row could have, for the methods that make noise from it.

Other methods take these keys, too, so that one list of columns serves every method; where labels are published, a
domain says which values are below them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlpriv.policy.keys import FLAG, HIERARCHY, Key, Keys, Kind, choice, number, public_word
from sqlpriv.table.domains import KINDS, Cell, Domain, Share

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


_DOMAIN = Kind(KINDS, _read_domain, _public_domain)
_SHARE = Kind(
    "a list of numbers above 0 beside a list of values, or a column of the domain's table", _read_share, _public_share
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
        complaint="every share must be a number above 0: share is a list of numbers beside a list of values, "
        "or a column of the domain's table"),
)  # fmt: skip
"""What a method without noise takes: not all of it has a use there."""
_LEVEL = Key(
    "level", number(0, 99, whole=True), "publish the labels of this level of the hierarchy, and not the values"
)
NOISY_KEYS: Keys = (replace(DOMAIN_KEYS[0], required=True), *DOMAIN_KEYS[1:], _HIERARCHY, _LEVEL)
"""What a method takes that makes noise from the domain."""
NOISY_ROLES = ("quasi-identifier", "sensitive", "other", "published")
"""The roles of the columns that such a method publishes."""
COARSE_KEYS: Keys = (*DOMAIN_KEYS, _HIERARCHY)
"""All but the level, none needed: it says that values are not published, and methods without noise publish them."""
