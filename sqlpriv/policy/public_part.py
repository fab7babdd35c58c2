"""The part of a policy that its release carries: roles of published columns, requirements and options, where they
differ from the defaults.

A key that is a file or a text of the owner is never in it (keys.py declares which keys may be): no path, no key, no
ledger, no place of a table, no value. Columns that are not published are not named. The owner's reasons, the names of
public tables and the node are stored in the release separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.core.sqltext import folded
from sqlpriv.policy.file import Column, Declared, Policy
from sqlpriv.policy.keys import Keys
from sqlpriv.policy.sections import RELEASE_KEYS

_PARTS = {"columns": dict, "require": list, "release": dict}


def public_part(policy: Policy, method: Declared, published: Sequence[str]) -> dict[str, Any]:
    """The public part of a policy, as JSON has it; `published` are the columns of the release."""
    shown = {folded(name): name for name in published}
    return {
        "columns": {shown[folded(c.name)]: _column(c, method) for c in policy.columns if folded(c.name) in shown},
        "require": [r.text for r in policy.requirements],
        "release": _given(policy.release, (*RELEASE_KEYS, *method.options)),
    }


def _column(column: Column, method: Declared) -> dict[str, Any]:
    return {"role": column.role, **_given(column.given, method.roles[column.role])}


def _given(given: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    return {
        k.name: k.kind.public(given[k.name])
        for k in keys
        if k.kind.public and given.get(k.name) not in (None, k.default)
    }


def not_public(part: object, method: Declared) -> Iterator[str]:
    """What is wrong with a public part, as a file declares it: names and words that no key of the method has."""
    if not isinstance(part, dict) or {k: type(v) for k, v in part.items()} != _PARTS:
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
