"""A policy for one method converted into one for another, by what the methods declare: no method is known here by name.

Columns keep their roles and the keys that the other method has, too. Its [release] takes what [compare.<method>] says,
then what both methods declare as one and the same key, and the bound of a belief. What it requires is what the policy
requires, or what promises the same.

The bound of a belief is gamma: what an attacker who knows the quasi-identifiers of a person may come to believe, at
most, of a sensitive value. Randomized methods state it. Requirements promise it where they bound the share of a value
in a class; where they do not, it is assumed, and said aloud.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlpriv.checks.measures import ALPHA, DISTINCT_L
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import constant_value
from sqlpriv.policy.file import Column, Declared, MethodOverrides, Policy
from sqlpriv.policy.keys import RELEASE_KEYS, Keys
from sqlpriv.policy.require import make_requirement

GAMMA = "gamma"
ASSUMED = 0.5
_PUBLISHED = "published"
_LEVEL = "level"
_OWN_KEYS = {"method", "output", "coexists_because", "settled_beforehand"}


@dataclass(frozen=True)
class Protection:
    """The bound of a belief, where it comes from, and whether the policy states it or it is assumed."""

    gamma: float
    said: str
    assumed: bool = False


def declared_protection(policy: Policy) -> Protection:
    """What the policy promises, by its gamma or by what it requires."""
    if policy.release.get(GAMMA) is not None:
        gamma = float(policy.release[GAMMA])
        return Protection(gamma, f"gamma = {gamma:g}, as the policy states it")
    promised = [(share, r) for r in policy.requirements for share in _promised(r)]
    if promised:
        gamma, requirement = min(promised, key=lambda found: found[0])
        return Protection(gamma, f"gamma = {gamma:.6g}, which {requirement.text} promises")
    # A number of values in a class, of which each is taken to be equally likely.
    counted = [r for r in policy.requirements if r.measure.needs_sensitive and r.measure.at_most_size]
    diverse = [r for r in counted if r.threshold > 1]
    if diverse:
        most = max(diverse, key=lambda r: r.threshold)
        gamma = 1 / most.threshold
        return Protection(gamma, f"gamma = {gamma:.6g}, one in l: assumed, {most.text} bounds no belief", True)
    return Protection(ASSUMED, f"gamma = {ASSUMED:g}: assumed, the policy bounds no belief", True)


def _promised(requirement: Requirement) -> Iterator[float]:
    """The largest share of a value in a class that a requirement allows, if it bounds it below 1."""
    measure = requirement.measure
    if not measure.largest_share:
        return
    given = {**measure.defaults, **requirement.arguments, "threshold": f"CAST('{requirement.threshold!r}' AS DOUBLE)"}
    share = float(str(constant_value(inlined(measure.largest_share.format(**given)))))
    if 0 < share < 1:
        yield share


def _required_by(protection: Protection, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    """The same promise as requirements: no value has a larger share of a class, and so a class has several values."""
    values = math.ceil(1 / protection.gamma - 1e-9)
    return tuple(
        made
        for column in sensitive
        for made in (
            make_requirement(ALPHA.name, column, {}, protection.gamma),
            make_requirement(DISTINCT_L.name, column, {}, values),
        )
    )


@dataclass(frozen=True)
class Converted:
    """A policy for a method, what it promises in words, and whether some of that is assumed."""

    policy: Policy
    protection: str
    assumed: bool = False


def convert(policy: Policy, own: Declared, method: Declared, protection: Protection) -> Converted:
    """The policy for the method, or why there is none."""
    if method.name == own.name:
        return Converted(policy, _in_words(policy))
    given = policy.others.get(method.name, MethodOverrides())
    release, is_bounded = _release(policy, own, method, given, protection)
    made = method.policy(
        policy.table,
        tuple(_column(c, policy, method) for c in policy.columns),
        (given.requirements or policy.requirements) if "require" in method.sections else (),
        (given.public or policy.public) if "public" in method.sections else {},
        method.name,
        {key.name: key.default for key in (*RELEASE_KEYS, *method.options)} | release,
        frozenset(release),
    )
    if "require" in method.sections and not given.requirements:
        return _required(made, protection)
    _check(made)
    return Converted(made, protection.said if is_bounded else _in_words(made), is_bounded and protection.assumed)


def _required(made: Policy, protection: Protection) -> Converted:
    """The policy with what it requires; where that does not do, with what promises the same in other words."""
    try:
        _check(made)
    except PolicyError as why:
        known = {r.text for r in made.requirements}
        same = tuple(r for r in _required_by(protection, made.sensitive) if r.text not in known)
        more = replace(made, requirements=(*made.requirements, *same))
        try:
            _check(more)
        except PolicyError:
            raise why from None
        return Converted(more, _in_words(more), protection.assumed)
    return Converted(made, _in_words(made))


def _check(made: Policy) -> None:
    made.check(lambda message, *_: PolicyError(message))


def _in_words(policy: Policy) -> str:
    """What a policy requires; or the numbers that it states, where it requires nothing, and how long its lists are."""
    required = [r.text for r in policy.requirements]
    lists = [name for name in policy.release if name in policy.written and isinstance(policy.release[name], list)]
    numbers = [f"{name} = {policy.release[name]:g}" for name in policy.release if _is_declared(policy, name)]
    return ", ".join(required or [*numbers, *(f"{len(policy.release[name])} {name}" for name in lists)])


def _is_declared(policy: Policy, name: str) -> bool:
    value = policy.release[name]
    return name in policy.written and isinstance(value, int | float) and not isinstance(value, bool)


def _release(
    policy: Policy, own: Declared, method: Declared, given: MethodOverrides, protection: Protection
) -> tuple[dict[str, Any], bool]:
    """The keys of [release] that are given, and whether the bound of a belief had to be brought from elsewhere."""
    shared = [key for key in method.options if key in own.options and key.name in policy.written]
    release = {key.name: policy.release[key.name] for key in shared} | dict(given.release)
    needs_bound = GAMMA in {key.name for key in method.options} and GAMMA not in release
    if needs_bound:
        release[GAMMA] = protection.gamma
    missing = [key for key in method.options if key.required and key.name not in release]
    if missing:
        raise PolicyError(f"{missing[0].complain()}; write it in [compare.{method.name}]")
    return release, needs_bound


def _column(column: Column, policy: Policy, method: Declared) -> Column:
    role = _role(column, policy, method.roles)
    return Column(column.name, role, _keys(column, method.roles[role]))


def _role(column: Column, policy: Policy, roles: Mapping[str, Keys]) -> str:
    """Its own; a column of which nothing is said is wanted where no other is marked so."""
    role = column.role
    if role == _PUBLISHED and role not in roles:
        role = "other" if policy.sensitive else "sensitive"
    if role not in roles:
        raise PolicyError(f"{column.name!r} is {role}, and its columns are {', '.join(roles)}")
    return role


def _keys(column: Column, keys: Keys) -> dict[str, Any]:
    """What the policy says of the column, by the keys of the other method."""
    if keys and column.given.get(_LEVEL) is not None and _LEVEL not in {key.name for key in keys}:
        raise PolicyError(
            f"{column.name!r} is to be published as labels of a level, and this method publishes the values"
        )
    found = {key.name: column.given.get(key.name, key.default) for key in keys}
    missing = [key for key in keys if key.required and found[key.name] is None]
    if missing:
        raise PolicyError(missing[0].complain(column.name))
    return found


def policy_lines(given: Policy, converted: Converted | None) -> list[str]:
    """[release] for the method, and [require] where the policy has none yet."""
    assert converted is not None
    made = converted.policy
    lines = ["[release]", f'method = "{made.method}"']
    lines += [f"{name} = {toml(made.release[name])}" for name in sorted(made.written) if name not in _OWN_KEYS]
    if made.method in given.others and given.others[made.method].requirements:
        lines.append(f"# and [require] as [compare.{made.method}.require] has it")
    elif made.requirements != given.requirements and made.requirements:
        lines += ["[require]", *_required_lines(made.requirements)]
    if given.requirements and not made.requirements:
        lines.append(f"# and without [require], which {made.method} does not take")
    return lines


def _required_lines(requirements: tuple[Requirement, ...]) -> Iterator[str]:
    """Those that promise the same as a bound: they have a column and a number each."""
    by_name: dict[str, dict[str, float]] = {}
    for requirement in requirements:
        by_name.setdefault(requirement.name, {})[str(requirement.sensitive)] = requirement.threshold
    for name, columns in by_name.items():
        yield f"{name} = {toml(columns)}"


def toml(value: Any) -> str:
    """A value as TOML: JSON's texts, numbers and lists are, too."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(k))} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)
