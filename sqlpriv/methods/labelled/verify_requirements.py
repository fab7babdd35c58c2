"""Judge what a release requires of its classes, by its rows, with the macros."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.requirements import declared_requirement
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal

# Judged against the values of the whole table: known from the published rows only when none was suppressed.
_AGAINST_THE_TABLE = frozenset({"t", "t_ordered", "beta", "enhanced_beta", "delta", "epsilon_class2"})
# What needs something that is not in the file, or a set of classes that suppression takes away.
_NOT_IN_THE_FILE = frozenset(
    {"k_map", "journalist", "delta_presence", "t_hierarchical", "epsilon_class1", "epsilon_class3"}
)
_PERSONS = "persons were counted, and they are not published"
# A class has no more persons than rows, nor more values of theirs: what fails for rows fails for persons.
_FEWER_PERSONS = frozenset({"k", "distinct_l"})

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
    if why is not None and not (why == _PERSONS and requirement.name in _FEWER_PERSONS):
        return Check(text, None, why)
    given: list[object] = [published(file), [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]]
    given += [requirement.sensitive] if measure.needs_sensitive else []
    given += [requirement.arguments[name] for name in measure.extra or {}]
    listed = ", ".join(literal(a) for a in given)
    try:
        value = fetch(file.con, f"SELECT {measure.column} FROM {Calls(file.con).need(measure.macro)}({listed})")[0][0]
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
