"""Judge what a release requires of its classes, by its rows, with the macros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import folded
from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.requirements import declared_requirement
from sqlpriv.release.verify import Check, published

_PERSONS = "persons were counted, and they are not published"

Declared = Mapping[str, Any]
"""A row of the table attributes, or of another small table of the file."""


def checked_requirement(file: ReleaseFile, row: Declared) -> Requirement | Check:
    """A requirement as the file declares it, or why it cannot be judged."""
    requirement = declared_requirement(row)
    if requirement is None:
        return Check(str(row["measure"]), False, "this version does not know how to judge it")
    asked = folded(requirement.sensitive or "")
    sensitive = [c for c in file.attributes if folded(str(c["name"])) == asked and c["role"] == "sensitive"]
    if requirement.measure.needs_sensitive and not sensitive:
        return Check(requirement.text, False, f"{requirement.sensitive!r} is not a sensitive column")
    return requirement


def judge_requirement(file: ReleaseFile, row: Declared, is_whole: bool) -> Check:
    """Judge a requirement that the file declares by its published rows; `is_whole`: whether no row is missing."""
    requirement, columns = checked_requirement(file, row), file.attributes
    if isinstance(requirement, Check):
        return requirement
    text, measure, asked = requirement.text, requirement.measure, folded(requirement.sensitive or "")
    kind = next((str(c["type"]) for c in columns if folded(str(c["name"])) == asked), "")
    why = _why_not(file, requirement, is_whole, kind)
    if why is not None and not (why == _PERSONS and measure.worse_for_persons):
        return Check(text, None, why)
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    called = Calls(file.con).need(measure.macro)
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
