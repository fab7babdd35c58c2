"""What a policy would publish otherwise than a release: by the public part of both, and by their numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlpriv.checks.verdict import judge
from sqlpriv.core.facts import Facts, Grid, Line
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyPlan
from sqlpriv.policy.file import public_part
from sqlpriv.publishing.released import method_of
from sqlpriv.publishing.verdicts import file_evidence
from sqlpriv.release.file import count_rows, open_file, readable

_UNPUBLISHED = frozenset({"identifier", "drop"})
_NOTHING: Mapping[str, Any] = {"require": [], "release": {}, "columns": {}}
Difference = tuple[str, object, object]
"""What differs, what it is in the release, and what it would be."""


def with_differences(facts: Facts, plan: AnyPlan, release: Path) -> Facts:
    """The facts of a plan, with what would differ from a release."""
    found = list(_differences(facts, plan, release))
    content = {**facts.content, "against": [{"what": w, "release": a, "plan": b} for w, a, b in found]}
    if not found:
        return replace(facts, content=content, parts=(Line(f"Nothing would differ from {release.name}."), *facts.parts))
    rows = tuple((what, _shown(before), _shown(now)) for what, before, now in found)
    grid = Grid(("what would differ", release.name, "this plan"), rows, folded=(release.name, "this plan"))
    return replace(facts, content=content, parts=(grid, *facts.parts))


def _differences(facts: Facts, plan: AnyPlan, release: Path) -> Iterator[Difference]:
    policy, content = plan.policy, facts.content
    person = set() if policy.pseudonym else set(policy.named("person"))
    published = [c.name for c in policy.columns if c.role not in _UNPUBLISHED and c.name not in person]
    with readable(release), open_file(release) as file:
        then: dict[str, Any] = {"method": file.about["method"], "table": file.about["table"]}
        then |= _flat(file.policy or _NOTHING) | {f"reason: {name}": text for name, text in file.reasons.items()}
        then["verdict"] = judge(file_evidence(method_of(file), file)).word
        rows, node = count_rows(file), file.about.get("node")
    now: dict[str, Any] = {"method": policy.method, "table": policy.table.name}
    now |= _flat(public_part(policy, METHODS[policy.method], published))
    now |= {f"reason: {name}": text for name, text in policy.reasons.items()}
    now["verdict"] = content["verdict"]["word"] if "verdict" in content else None
    if plan.published_rows() is not None and "rows" in content:
        left_out = 0 if content.get("kept_suppressed") else content.get("suppressed_rows", 0)
        then["published rows"], now["published rows"] = rows, content["rows"] - left_out
    if node is not None and "node" in content:
        then |= {f"level of {name}": level for name, level in json.loads(node).items()}
        now |= {f"level of {name}": level for name, level in content["node"].items()}
    for what in {**then, **now}:
        if then.get(what) != now.get(what):
            yield what, then.get(what), now.get(what)


def _flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """The public part of a policy, a line each."""
    found: dict[str, Any] = {f"required: {text}": "yes" for text in part["require"]}
    found |= {f"[release] {key}": value for key, value in part["release"].items()}
    for name, given in part["columns"].items():
        found |= {f"{name}: {key}": value for key, value in given.items()}
    return found


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
