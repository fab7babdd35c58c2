"""What a release of every method says of itself: when, by which version, under which policy, and of which rows.

date     the day on which it was entered in the ledger
sqlpriv  the version that wrote it
policy   the public part of the policy, as JSON
digest   of the published rows, whatever their order, with their weights
tables   digests of the domains and of the public tables, by their names, as JSON
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.engine import attached, fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.facts import Facts, Line
from sqlpriv.macros.calls import Calls
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.policy.public_part import not_public, public_part
from sqlpriv.release.file import SCHEMA, WRITTEN, ReleaseFile
from sqlpriv.release.ledger.spent import Spent, posteriors, read_together, total_parts
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.digest import rows_digest

STAMPED = frozenset({"date", "policy", "digest", "tables"})
_PUBLIC = ("domain", "public")
TOGETHER = "together"
"""Where releases compose, from the second on: what all up to it cost together, as JSON."""
_VERSION = re.compile(
    r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc)[0-9]{1,4})?(\.post[0-9]{1,4})?(\.dev[0-9]{1,4})?(\+[0-9a-f.]{1,40})?"
)
"""As Python packages are numbered; nothing in it can stand for another part, so no text takes long to refuse."""


def stamp(
    con: duckdb.DuckDBPyConnection, path: Path, policy: Policy, method: Declared, date: str, total: Spent | None = None
) -> None:
    """Write it into a file that is complete but for this. `total`: what all releases up to it cost together."""
    with attached(con, path, WRITTEN, write=True, error=ReleaseError):
        file = ReleaseFile(con, WRITTEN, path.name)
        part = public_part(policy, method, [str(c["name"]) for c in file.rows("attributes")])
        digest = rows_digest(con, published(file))
        # Without coins it is called by what is published alone: a name made from the private table would let anyone
        # test a guess at it.
        said = {"date": date, "policy": json.dumps(part), "digest": digest, "tables": json.dumps(_digests(file))}
        said |= {} if "release" in file.about else {"release": digest}
        said |= {} if total is None else {TOGETHER: json.dumps(total.to_json())}
        rows = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in said.items())
        fetch(con, f"INSERT INTO {file.table('about')} VALUES {rows}")


def with_together(facts: Facts, file: ReleaseFile) -> Facts:
    """What a release says of itself, with what it and those before it let one believe together."""
    total = read_together(file.about[TOGETHER]) if TOGETHER in file.about else None
    if total is None:
        return facts
    calls = Calls(file.con)
    content = {**facts.content, TOGETHER: {**total.to_json(), "posteriors": posteriors(calls, total)}}
    return replace(facts, content=content, parts=(*facts.parts, *total_parts(calls, total)))


def stamped_line(file: ReleaseFile) -> Line:
    """Date and version, for people."""
    return Line(f"published on {file.about['date']} with sqlpriv {file.about['sqlpriv']}")


def stated_policy(file: ReleaseFile) -> Any:
    """The public part of the policy, as the file has it; None where it cannot be read."""
    try:
        return json.loads(file.about["policy"])
    except (KeyError, ValueError, RecursionError):
        return None


def check_stamp(file: ReleaseFile, method: Declared, policy: Policy | None) -> Iterator[Check]:
    """Date, version, policy and digest are some, and fit the rest of the file, and the policy if there is one."""
    yield Check("date and version are some", _is_date(file.about.get("date", "")) and _is_version(file))
    wrong = [*_misfits(file, method), *(_differs(file, method, policy) if policy is not None else ())]
    yield Check("what is told of the policy fits the release", not wrong, "; ".join(wrong))
    if TOGETHER in file.about:
        yield Check(
            "it says what releases of the table cost together",
            None if read_together(file.about[TOGETHER]) is not None else False,
            "the others are not in the file",
        )
    yield _same_tables(file)
    title = "the published rows are those of the digest"
    if any("TIME ZONE" in kind for kind in file.columns(SCHEMA, "published").values()):
        yield Check(title, None, "they read differently in every time zone")
        return
    same = rows_digest(file.con, published(file)) == file.about.get("digest")
    yield Check(title, same, "" if same else "they are others")


def _digests(file: ReleaseFile) -> dict[str, str]:
    """Digests of what is public in the file beside the rows; times that read differently in every zone have none."""
    found = {}
    for schema, table in sorted(file.tables):
        if schema in _PUBLIC and not any("TIME ZONE" in kind for kind in file.columns(schema, table).values()):
            found[f"{schema}.{table}"] = rows_digest(file.con, quoted(file.catalog, schema, table))
    return found


def _same_tables(file: ReleaseFile) -> Check:
    """Domains and public tables are those that were written: what is not in them, no answer counts."""
    title = "domains and public tables are those of their digests"
    try:
        stated = json.loads(file.about["tables"])
    except (ValueError, RecursionError):
        stated = None
    if not isinstance(stated, dict) or json.dumps(stated) != file.about["tables"]:
        return Check(title, False, "the digests cannot be read")
    found = _digests(file)
    wrong = sorted(name for name in {*found, *stated} if found.get(name) != stated.get(name))
    return Check(title, not wrong, f"{wrong[0]} is another" if wrong else "")


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_version(file: ReleaseFile) -> bool:
    return _VERSION.fullmatch(file.about.get("sqlpriv", "")) is not None


def _misfits(file: ReleaseFile, method: Declared) -> Iterator[str]:
    part = stated_policy(file)
    if json.dumps(part) != file.about.get("policy"):  # of a name that stands there twice, only the last was read
        yield "it is not written as releases write it"
        return
    strange = list(not_public(part, method))
    if strange:
        yield from strange
        return
    roles = {str(c["name"]): c["role"] for c in file.rows("attributes")}
    if {name: given["role"] for name, given in part["columns"].items()} != roles:
        yield "the columns or their roles are others"
    required = [str(r["requirement"]) for r in file.rows("requirements")] if _has(file, "requirements") else []
    if sorted(part["require"]) != sorted(required):
        yield "the requirements are others"
    yield from (f"{name} is another" for name in _other_numbers(file, part["release"]))


def _has(file: ReleaseFile, table: str) -> bool:
    return (SCHEMA, table) in file.tables


def _other_numbers(file: ReleaseFile, release: Mapping[str, Any]) -> Iterator[str]:
    """Numbers that the file states in another place, too. The d of a policy is about a row, that of a file a person."""
    for name in sorted(set(release) & set(file.parameters)):
        if name == "d" and "rows_each" in release:
            continue
        if not math.isclose(file.parameters[name], release[name], rel_tol=1e-9):
            yield name


def _differs(file: ReleaseFile, method: Declared, policy: Policy) -> Iterator[str]:
    if stated_policy(file) != public_part(policy, method, [str(c["name"]) for c in file.rows("attributes")]):
        yield "the policy says something else"
