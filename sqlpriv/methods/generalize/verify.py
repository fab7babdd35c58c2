"""Judge a generalized release from its file alone: tables, columns, labels, and every requirement that it states.

What the file alone cannot tell stays a claim: a requirement that counts persons, who are not published; one against a
population or prior that is not in the file; one against the shares of the whole table, where rows were suppressed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.checks.requirements import Requirement
from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalize.policy import GeneralizePolicy
from sqlpriv.policy.file import Policy
from sqlpriv.policy.require import make_requirement
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.verify import Check, check_columns, check_tables, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP

# Judged against the shares of the whole table: known from the published rows only when none was suppressed.
_AGAINST_THE_TABLE = frozenset({"t", "t_ordered", "beta", "enhanced_beta", "delta"})
# What needs something that is not in the file, or a set of classes that suppression takes away.
_NOT_IN_THE_FILE = frozenset({"k_map", "journalist", "delta_presence", "t_hierarchical"})
_PERSONS = "persons were counted, and they are not published"
# A class has no more persons than rows, nor more values of theirs: what fails for rows fails for persons.
_FEWER_PERSONS = frozenset({"k", "distinct_l"})


def verify_file(calls: Calls, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks of a generalized release."""
    columns = file.rows("attributes")
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    if isinstance(policy, GeneralizePolicy):
        yield _follows(policy, [str(c["name"]) for c in columns])
    own = ("attributes", "parameters", "published", "requirements", *(f"hierarchy_{q}" for q in qis))
    tables = check_tables(file, [*((SCHEMA, t) for t in own), ("main", file.about["table"])])
    yield tables
    if not tables.passed:
        return
    yield check_columns(file, {str(c["name"]): str(c["type"]) for c in columns})
    for qi in qis:
        yield _labelled(file, qi)
    judged = _judged(file, qis)
    for row in file.rows("requirements"):
        yield _requirement(calls, file, row, qis, judged)


def _follows(policy: GeneralizePolicy, columns: list[str]) -> Check:
    wanted = {folded(c) for c in policy.named("quasi-identifier", "sensitive", "other")}
    beyond = [c for c in columns if folded(c) not in wanted]
    found = f"{beyond[0]!r} is not published by the policy" if beyond else ""
    return Check("no column beyond the policy", not beyond and len(columns) == len(wanted), found)


def _labelled(file: ReleaseFile, qi: str) -> Check:
    """Every published value of a quasi-identifier is a label of its hierarchy, on the level that is stated."""
    hierarchy = quoted(file.catalog, SCHEMA, f"hierarchy_{qi}")
    kept = f" AND p.value IS DISTINCT FROM {literal(TOP)}" if _has_stars(file) else ""
    outside = fetch(
        file.con,
        f"SELECT count(*) FROM (SELECT DISTINCT CAST({quoted(qi)} AS VARCHAR) AS value FROM {published(file)}) AS p "
        f"WHERE p.value IS NOT NULL AND NOT EXISTS (FROM {hierarchy} AS h WHERE h.value = p.value){kept}",
    )[0][0]
    found = f"{outside:,} are not" if outside else ""
    return Check(f"every value of {qi!r} is a label of its level", outside == 0, found)


def _has_stars(file: ReleaseFile) -> bool:
    return file.about.get("kept_suppressed") == "yes"


def _judged(file: ReleaseFile, qis: list[str]) -> str:
    """The rows that requirements are about: suppressed rows that were kept are told by their stars."""
    if not _has_stars(file):
        return published(file)
    stars = " AND ".join(f"{quoted(q)} IS NOT DISTINCT FROM {literal(TOP)}" for q in qis)
    fetch(
        file.con,
        f"CREATE OR REPLACE TEMP VIEW __priv_judged AS SELECT * FROM {published(file)} WHERE NOT ({stars})",
    )
    return "__priv_judged"


def _requirement(calls: Calls, file: ReleaseFile, row: Mapping[str, Any], qis: list[str], judged: str) -> Check:
    """Judge a requirement as the file states it; its text is made anew, so that it cannot say more than is judged."""
    arguments = json.loads(row["arguments"])
    requirement = make_requirement(row["measure"], row["sensitive"], arguments, float(row["threshold"]))
    text = requirement.text
    if text != row["requirement"]:
        return Check(str(row["requirement"]), False, f"the file judges it as {text}")
    why = _why_not(file, requirement)
    if why is not None and not (why == _PERSONS and requirement.name in _FEWER_PERSONS):
        return Check(text, None, why)
    measure = requirement.measure
    given: list[object] = [judged, qis]
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


def _why_not(file: ReleaseFile, requirement: Requirement) -> str | None:
    """Why the file alone cannot tell whether a requirement holds."""
    name = requirement.name
    if file.about.get("counts") == "persons":
        return _PERSONS
    known = set(requirement.measure.extra or {})
    if name in _NOT_IN_THE_FILE or set(requirement.arguments) - known or set(known) - set(requirement.arguments):
        return "what it is judged against is not in the file"
    if name in _AGAINST_THE_TABLE and file.about.get("suppressed_rows") != "0":
        return "it is about the whole table, and suppressed rows are not in the file"
    return None
