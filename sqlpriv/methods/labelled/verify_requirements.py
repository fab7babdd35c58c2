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
from sqlpriv.sqltext import folded
from sqlpriv.version import __version__

_PERSONS = "persons were counted, and they are not published"

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


def declared_requirement(file: ReleaseFile, row: Stated, columns: Sequence[Stated]) -> Requirement | Check:
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
    requirement = declared_requirement(file, row, columns)
    if isinstance(requirement, Check):
        return requirement
    text, measure, asked = requirement.text, requirement.measure, folded(requirement.sensitive or "")
    kind = next((str(c["type"]) for c in columns if folded(str(c["name"])) == asked), "")
    why = _why_not(file, requirement, is_whole, kind)
    if why is not None and not (why == _PERSONS and measure.worse_for_persons):
        return Check(text, None, why)
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    called = calls.need(measure.macro)
    try:
        query = measure.select(called, published(file), qis, requirement.sensitive, requirement.arguments)
        value = fetch(file.con, query)[0][0]
    except SqlprivError as error:
        return Check(text, False, str(error))
    holds, found = requirement.holds(float(value)), f"is {shown_number(float(value))}"
    if why is not None and holds:
        return Check(text, None, f"{why}; of rows it {found}")
    return Check(text, holds, found)


def _why_not(file: ReleaseFile, requirement: Requirement, is_whole: bool, kind: str) -> str | None:
    """Why the file alone cannot tell whether a requirement holds; `kind` is the type of its sensitive column."""
    measure = requirement.measure
    if file.about.get("counts") == "persons":
        return _PERSONS
    if measure.reads_tables or set(requirement.arguments) != set(measure.names):
        return "what it is judged against is not in the file"
    if measure.against_table and not is_whole:
        return "it is about the whole table, and suppressed rows are not in the file"
    if measure.by_order and "VARCHAR" in kind:
        return "the order of the values may be that of an ENUM, which is published as text"
    return None
