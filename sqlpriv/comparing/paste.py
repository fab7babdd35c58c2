"""The lines of a policy that make it one for another method, to be pasted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.comparing.turn import Turned
from sqlpriv.policy.file import Policy


def policy_lines(given: Policy, turned: Turned | None) -> list[str]:
    """[release] for the method, and [require] where the policy has none yet."""
    assert turned is not None
    made = turned.policy
    lines = ["[release]", f'method = "{made.method}"']
    lines += [f"{name} = {toml(made.release[name])}" for name in sorted(made.written) if name not in _OWN]
    if made.method in given.others and given.others[made.method].requirements:
        lines.append(f"# and [require] as [compare.{made.method}.require] has it")
    elif made.requirements != given.requirements and made.requirements:
        lines += ["[require]", *_required(made.requirements)]
    if given.requirements and not made.requirements:
        lines.append(f"# and without [require], which {made.method} does not take")
    return lines


_OWN = {"method", "output", "coexists_because"}


def _required(requirements: tuple[Requirement, ...]) -> Iterator[str]:
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
