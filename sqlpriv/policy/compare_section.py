"""The section [compare] of a policy: its keys and sections for other methods.

    [compare.noisy_counts]
    gamma = 0.3                       # keys of that method's [release]
    [compare.generalize.require]      # and the sections that only that method has
    k = 5

Only `sqlpriv compare` reads it; publishing goes by [release] alone. It is checked with the rest all the same, since a
misspelt key would be silently ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.policy.keys import TEXT, Fail, Key, Keys, read_keys, refuse_unknown
from sqlpriv.policy.require import read_requirements

SECTION = "compare"


@dataclass(frozen=True)
class MethodOverrides:
    """The keys of [release] and the sections of a policy for another method than its own."""

    release: Mapping[str, Any] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()
    public: Mapping[str, str] = field(default_factory=dict)


def read_overrides(
    section: object,
    own: str,
    takes: Mapping[str, tuple[Keys, Sequence[str]]],
    sensitive: Sequence[str],
    fail: Fail,
) -> dict[str, MethodOverrides]:
    """By method; `takes` are the keys of [release] and the sections of each."""
    if not isinstance(section, dict):
        raise fail("[compare] must be a section", SECTION)
    others = [name for name in takes if name != own]
    if own in section:
        raise fail(f"the policy is one for {own}: write it in [release]", SECTION, own)
    refuse_unknown(section, others, "method", fail, SECTION, elsewhere={})
    return {name: _read(given, *takes[name], sensitive, _below(fail, name)) for name, given in section.items()}


def _below(fail: Fail, name: str) -> Fail:
    return lambda message, *keys: fail(message, SECTION, name, *keys)


def _read(given: object, keys: Keys, sections: Sequence[str], sensitive: Sequence[str], fail: Fail) -> MethodOverrides:
    if not isinstance(given, dict):
        raise fail("it must be a section, as in [compare.frapp]")
    parts: dict[str, Callable[[Any], Any]] = {
        "require": lambda value: read_requirements(value, sensitive, lambda m, *k: fail(m, "require", *k)),
        "public": lambda value: _read_public(value, fail),
    }
    own = {name: given[name] for name in given if name in sections and name in parts}
    rest = {name: value for name, value in given.items() if name not in own}
    refuse_unknown(rest, [*(k.name for k in keys), *(s for s in sections if s in parts)], "key", fail, elsewhere={})
    found = {name: parts[name](value) for name, value in own.items()}
    release = read_keys(rest, tuple(k for k in keys if k.name in rest), fail)
    return MethodOverrides(release, found.get("require", ()), found.get("public", {}))


def _read_public(given: Any, fail: Fail) -> dict[str, str]:
    if not isinstance(given, dict):
        raise fail("public must be a section", "public")
    return read_keys(given, tuple(Key(name, TEXT, "") for name in given), fail, "public")
