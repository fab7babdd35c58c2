"""Judge a release in buckets from its file alone: tables, sizes, order, numbers, requirements, and what it promises.

What the file cannot tell: that its rows are those of the private table, and that coins decided which bucket a row is
in. Publishing compares the first; the second is the program's word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.bucketed.layout import BUCKET, Layout, can_judge, side_table
from sqlpriv.methods.bucketed.numbers import Sides
from sqlpriv.methods.bucketed.plan import Measures, Promises
from sqlpriv.methods.bucketed.policy import PUBLISHED
from sqlpriv.methods.bucketed.write import ATTRIBUTES, Words, side_digests
from sqlpriv.methods.labelled.order import check_order
from sqlpriv.methods.labelled.stated import REQUIREMENTS
from sqlpriv.methods.labelled.verify_requirements import declared_requirement, follows_policy
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import STAMPED, check_stamp, stated_policy
from sqlpriv.release.verify import Check, check_columns, check_tables
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.version import __version__

_ABOUT = frozenset({
    "format", "sqlpriv", "method", "table", "guarantee", "details", "spread", "sides", "suppressed_rows", "release",
    "warnings", *STAMPED,
})  # fmt: skip
_NAME = re.compile(r"[0-9a-f]{32}")
_TWIN = "__priv_twin"
Stated = Mapping[str, Any]


@dataclass(frozen=True)
class Judge:
    """What judging needs to know of a method."""

    method: Declared
    calls: Calls
    words: Words
    measures: Measures
    promises: Promises
    own_checks: Callable[[Sides, Mapping[str, float]], Iterator[Check]]
    may_warn: Callable[[Layout], tuple[str, ...]]
    """All that a release with these sides may warn of."""


def verify_file(judge: Judge, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks of a release in buckets."""
    unread = _unread(file)
    if unread:
        yield Check("the release says what it holds", False, unread)
        return
    columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
    layout = stated_layout(file, columns)
    tables = _check_tables(judge, file, layout)
    yield tables
    if not tables.passed:
        return
    if policy is not None:
        yield from _follows(file, policy, columns)
    kinds = {str(c["name"]): str(c["type"]) for c in columns}
    declared = [_check_side(file, i, side, kinds) for i, side in enumerate(layout.sides)]
    yield from declared
    if not all(check.passed for check in declared):
        return
    yield _shows_sides(judge, file, layout)
    beyond = set(file.warnings) - set(judge.may_warn(layout))
    yield Check("it warns of what its sides make known", not beyond, "it says something else" if beyond else "")
    yield from check_stamp(file, judge.method, policy)
    yield _given_sides(file, layout)
    sides = [file.table(side_table(i)) for i in range(len(layout.sides))]
    yield _same_digests(file, sides, kinds)
    yield _buckets(file, sides)
    for i, side in enumerate(layout.sides):
        yield check_order(file, side_table(i), {BUCKET: "BIGINT", **{c: kinds[c] for c in side}})
    asked = Sides(file.con, judge.calls, layout, sides)
    yield from _numbers(judge, file, asked)
    for row in file.rows("requirements"):
        yield _requirement(file, row, columns, asked)


# -------------------- what there is


def _unread(file: ReleaseFile) -> str:
    """Why the release cannot be judged at all; empty where it can."""
    wanted = {"attributes": ATTRIBUTES, "requirements": REQUIREMENTS, "parameters": ("name", "value")}
    for table, names in wanted.items():
        if (SCHEMA, table) not in file.tables:
            return f"{SCHEMA}.{table} is missing"
        if tuple(file.columns(SCHEMA, table)) != names:
            return f"{SCHEMA}.{table} has other columns than it should"
    listed = [str(r["name"]) for r in file.rows("about")]
    strange = sorted(set(listed) - _ABOUT - {"beside"}) + [n for n in listed if listed.count(n) > 1]
    if strange or list(file.columns(SCHEMA, "about")) != ["name", "value"]:
        return f"{SCHEMA}.about says more than it should"
    lacking = sorted(_ABOUT - set(listed))
    if lacking:
        return f"{SCHEMA}.about says nothing of {lacking[0]}"
    if file.about["suppressed_rows"] != "0" or not _NAME.fullmatch(file.about["release"]):
        return f"{SCHEMA}.about does not say what a release says"
    numbers = file.rows("parameters")
    if len({r["name"] for r in numbers}) < len(numbers) or any(not math.isfinite(r["value"]) for r in numbers):
        return f"{SCHEMA}.parameters has a name twice, or no number"
    columns = file.rows("attributes")
    positions = sorted(int(c["position"]) for c in columns)
    numbered = sorted({int(c["side"]) for c in columns})
    if not columns or positions != list(range(len(columns))) or numbered != list(range(1, len(numbered) + 1)):
        return f"{SCHEMA}.attributes does not number the columns and their sides"
    if any(c["role"] not in PUBLISHED for c in columns) or len(numbered) < 2:
        return f"{SCHEMA}.attributes has a role that is not published, or one side alone"
    spread = file.about["spread"]
    if spread and not any(c["name"] == spread and c["role"] == "sensitive" for c in columns):
        return f"{SCHEMA}.about spreads a column that is not there"
    return ""


def stated_layout(file: ReleaseFile, columns: Sequence[Stated]) -> Layout:
    """The layout as a file states it."""
    sides: dict[int, list[str]] = {}
    for c in columns:
        sides.setdefault(int(c["side"]), []).append(str(c["name"]))
    roles = {str(c["name"]): str(c["role"]) for c in columns}
    least = int(file.parameters.get("l", file.parameters.get("bucket", 1)))
    return Layout(tuple(tuple(sides[i]) for i in sorted(sides)), roles, least, file.about["spread"] or None)


def _check_tables(judge: Judge, file: ReleaseFile, layout: Layout) -> Check:
    table, count = file.about["table"], len(layout.sides)
    own = ["attributes", "parameters", "requirements", *map(side_table, range(count))]
    views = [("main", judge.words.view(table, i)) for i in range(count)]
    comments = {
        view: judge.words.comment(table, i, side, count)
        for i, (view, side) in enumerate(zip(views, layout.sides, strict=True))
    }
    return check_tables(file, [(SCHEMA, name) for name in own], views, comments)


def _check_side(file: ReleaseFile, number: int, side: Sequence[str], kinds: Mapping[str, str]) -> Check:
    """A side has its columns and no others."""
    expected = {BUCKET: "BIGINT", **{c: kinds[c] for c in side}}
    if number == 0:
        return check_columns(file, expected)
    same = list(file.columns(SCHEMA, side_table(number)).items()) == list(expected.items())
    return Check(f"{side_table(number)} has the columns that are declared", same, "" if same else "it has others")


def _shows_sides(judge: Judge, file: ReleaseFile, layout: Layout) -> Check:
    """The views are those that are written; compared by their SQL, never run."""
    table, wrong = file.about["table"], []
    fetch(file.con, f"ATTACH ':memory:' AS {_TWIN}")
    try:
        fetch(file.con, f"CREATE SCHEMA {_TWIN}.{SCHEMA}")
        for i, side in enumerate(layout.sides):
            view, own = judge.words.view(table, i), side_table(i)
            fetch(file.con, f"CREATE TABLE {quoted(_TWIN, SCHEMA, own)} AS FROM {file.table(own)} LIMIT 0")
            fetch(file.con, judge.words.statement(quoted(_TWIN, "main", view), i, side))
            here = f"FROM duckdb_views() WHERE schema_name = 'main' AND view_name = {literal(view)} AND database_name ="
            found, wanted = (fetch(file.con, f"SELECT sql {here} {literal(c)}") for c in (file.catalog, _TWIN))
            wrong += [view] if found != wanted else []
    finally:
        fetch(file.con, f"DETACH {_TWIN}")
    return Check("the views show the sides", not wrong, f"main.{wrong[0]} is another view" if wrong else "")


# -------------------- with the policy


def _follows(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    yield from follows_policy(file, policy, columns)
    same = folded(file.about["table"]) == folded(policy.table.name) and file.about.get("beside") == policy.beside
    yield Check("the table is that of the policy", same)


def _given_sides(file: ReleaseFile, layout: Layout) -> Check:
    """Where the policy says which columns stay together, they do."""
    part = stated_policy(file)
    given = part.get("release", {}).get("groups") if isinstance(part, dict) else None
    sides = [{folded(c) for c in side} for side in layout.sides]
    same = given is None or [{folded(c) for c in group} for group in given] == sides
    return Check("columns stand together as the policy says", same)


# -------------------- rows


def _same_digests(file: ReleaseFile, sides: Sequence[str], kinds: Mapping[str, str]) -> Check:
    title = "the other sides are those of their digests"
    if any("TIME ZONE" in kind for kind in kinds.values()):
        return Check(title, None, "they read differently in every time zone")
    same = side_digests(file.con, sides) == file.about["sides"]
    return Check(title, same, "" if same else "they are others")


def _buckets(file: ReleaseFile, sides: Sequence[str]) -> Check:
    """Buckets are numbered from 0, and have as many rows on every side."""
    counts = [f"SELECT {quoted(BUCKET)} AS b, count(*) AS n FROM {side} GROUP BY 1" for side in sides]
    first = fetch(file.con, f"SELECT count(*), min(b), max(b) FROM ({counts[0]})")[0]
    numbered = first[0] > 0 and first[1:] == (0, first[0] - 1)
    unlike = [
        fetch(file.con, f"SELECT count(*) FROM ({one} EXCEPT {other})")[0][0]
        for count in counts[1:]
        for one, other in ((counts[0], count), (count, counts[0]))
    ]
    found = "" if numbered else "they are not numbered from 0"
    found = found or ("" if not any(unlike) else f"{max(unlike):,} buckets have other sizes on another side")
    return Check("every bucket has as many rows on every side", not found, found)


# -------------------- numbers


def _numbers(judge: Judge, file: ReleaseFile, asked: Sides) -> Iterator[Check]:
    """The numbers that the file states are those of its buckets, and its promise is what they guarantee."""
    try:
        found = judge.measures(asked)
    except SqlprivError as error:
        yield Check("the numbers can be computed again", False, str(error))
        return
    stated = file.parameters
    yield from judge.own_checks(asked, found)
    wrong = sorted(set(found) ^ set(stated)) + [n for n in found if n in stated and not _same(found[n], stated[n])]
    yield Check(
        "the numbers that are stated are those of the buckets", not wrong, "" if not wrong else f"not {wrong[0]}"
    )
    if wrong:
        return
    promise = judge.promises(asked.layout, stated)
    same = file.about["guarantee"] == promise.text and file.about["details"] == json.dumps(promise.details)
    own_version = file.about["sqlpriv"] == __version__
    yield Check(
        promise.text, same or (None if not own_version else False), "" if same else "the file says something else"
    )


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


def _requirement(file: ReleaseFile, row: Stated, columns: Sequence[Stated], asked: Sides) -> Check:
    """Judge a requirement that the file states by its buckets."""
    required = declared_requirement(file, row, columns)
    if isinstance(required, Check):
        return required
    if not can_judge(required):
        return Check(required.text, False, "it cannot be judged by buckets")
    try:
        value = asked.value(required)
    except SqlprivError as error:
        return Check(required.text, False, str(error))
    return Check(required.text, required.holds(value), f"is {shown_number(value)}")
