"""Judge what a release states of its rows and classes: by its policy, and by its rows, with the macros."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.stated import guarantee
from sqlpriv.policy.file import Policy
from sqlpriv.policy.require import make_requirement
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal
from sqlpriv.version import __version__

# Judged against the values of the whole table: known from the published rows only when none was suppressed.
_AGAINST_THE_TABLE = frozenset({"t", "t_ordered", "beta", "enhanced_beta", "delta", "epsilon_class2"})
# What needs something that is not in the file, or a set of classes that suppression takes away.
_NOT_IN_THE_FILE = frozenset(
    {"k_map", "journalist", "delta_presence", "t_hierarchical", "epsilon_class1", "epsilon_class3"}
)
_PERSONS = "persons were counted, and they are not published"
# A class has no more persons than rows, nor more values of theirs: what fails for rows fails for persons.
_FEWER_PERSONS = frozenset({"k", "distinct_l"})

Stated = Mapping[str, Any]
"""A row of the table attributes, or of another small table of the file."""


def follows_policy(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    """Columns and requirements are those of the policy."""
    wanted = {folded(c.name): c.role for c in policy.columns if c.role in {"quasi-identifier", "sensitive", "other"}}
    roles = {folded(str(c["name"])): c["role"] for c in columns}
    wrong = [f"{name!r} is not published by the policy" for name in roles if name not in wanted]
    wrong += [f"{name!r} is missing" for name in wanted if name not in roles]
    wrong += [f"{n!r} is {role}, by the policy {wanted[n]}" for n, role in roles.items() if wanted.get(n, role) != role]
    yield Check("no column beyond the policy, each in its role", not wrong, "; ".join(wrong))
    stated = [str(r["requirement"]) for r in file.rows("requirements")]
    required = [r.text for r in policy.requirements]
    wrong = [f"{text} is not stated" for text in required if text not in stated]
    wrong += [f"{text} is not required by the policy" for text in stated if text not in required]
    yield Check("the requirements are those of the policy", not wrong, "; ".join(wrong))


def stated_requirement(file: ReleaseFile, row: Stated, columns: Sequence[Stated]) -> Requirement | Check:
    """A requirement as the file states it; its text is made anew, so that it cannot say more than is judged."""
    stated = str(row["requirement"])
    try:
        arguments = json.loads(row["arguments"])
        requirement = make_requirement(row["measure"], row["sensitive"], arguments, float(row["threshold"]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return Check(stated, False, "this version does not know how to judge it")
    text, measure = requirement.text, requirement.measure
    if text != stated:
        return Check(stated, False, f"the file judges it as {text}")
    if file.about.get("sqlpriv") == __version__ and row["guarantee"] != guarantee(measure.macro):
        return Check(text, False, "it does not guarantee what the file says")
    asked = folded(requirement.sensitive or "")
    sensitive = [c for c in columns if folded(str(c["name"])) == asked and c["role"] == "sensitive"]
    if measure.needs_sensitive and not sensitive:
        return Check(text, False, f"{requirement.sensitive!r} is not a sensitive column")
    return requirement


def judge_requirement(calls: Calls, file: ReleaseFile, row: Stated, columns: Sequence[Stated], is_whole: bool) -> Check:
    """Judge a requirement that the file states by its published rows; `is_whole`: whether no row is missing."""
    requirement = stated_requirement(file, row, columns)
    if isinstance(requirement, Check):
        return requirement
    text, measure, asked = requirement.text, requirement.measure, folded(requirement.sensitive or "")
    kind = next((str(c["type"]) for c in columns if folded(str(c["name"])) == asked), "")
    why = _why_not(file, requirement, is_whole, kind)
    if why is not None and not (why == _PERSONS and requirement.name in _FEWER_PERSONS):
        return Check(text, None, why)
    given: list[object] = [published(file), [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]]
    given += [requirement.sensitive] if measure.needs_sensitive else []
    given += [requirement.arguments[name] for name in measure.extra or {}]
    listed = ", ".join(literal(a) for a in given)
    try:
        value = fetch(file.con, f"SELECT {measure.column} FROM {calls.need(measure.macro)}({listed})")[0][0]
    except SqlprivError as error:
        return Check(text, False, str(error))
    holds, found = requirement.holds(float(value)), f"is {shown_number(float(value))}"
    if why is not None and holds:
        return Check(text, None, f"{why}; of rows it {found}")
    return Check(text, holds, found)


def _why_not(file: ReleaseFile, requirement: Requirement, is_whole: bool, kind: str) -> str | None:
    """Why the file alone cannot tell whether a requirement holds; `kind` is the type of its sensitive column."""
    name = requirement.name
    if file.about.get("counts") == "persons":
        return _PERSONS
    known = set(requirement.measure.extra or {})
    if name in _NOT_IN_THE_FILE or set(requirement.arguments) - known or set(known) - set(requirement.arguments):
        return "what it is judged against is not in the file"
    if name in _AGAINST_THE_TABLE and not is_whole:
        return "it is about the whole table, and suppressed rows are not in the file"
    if name == "t_ordered" and "VARCHAR" in kind:
        return "the order of the values may be that of an ENUM, which is published as text"
    return None
