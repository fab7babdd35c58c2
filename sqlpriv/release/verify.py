"""Judge a release from its file alone: one verifier for the files of every method.

It compares a file with what its method declares (layout.py), with the digests of its rows, and with the policy where
that is given, and then asks the method for what only it knows. Whatever a file can hold is compared with what it should
hold: what nobody looks at could carry anything out. A check is verified, or it fails, or it cannot be known from the
file and stays a claim (`passed` is None).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.policy.file import Declared, Policy, not_public, public_part
from sqlpriv.policy.keys import REASONS, read_reason
from sqlpriv.release.digest import table_digest
from sqlpriv.release.file import COPIES, NO_SENSE, SCHEMA, ReleaseFile, declared_requirement, required_texts
from sqlpriv.release.layout import ABOUT, TOGETHER, Contents, Layout, Stored, plain_json
from sqlpriv.release.ledger.entry import read_together
from sqlpriv.release.views import TABLE, declared_views
from sqlpriv.release.write import in_order, table_digests

_TWIN = "__priv_twin"
_SCHEMAS = frozenset({SCHEMA, "main", "domain", "public"})
_UNPUBLISHED = frozenset({"identifier", "person", "drop"})
_FIXED = "the tables that describe the release have the columns of their kind"
_CONTENTS = "the file holds the tables of its method and nothing else"
_WHOLE_TYPES = frozenset({"BIGINT", "HUGEINT", "INTEGER"})


@dataclass(frozen=True)
class Check:
    """One thing that a release says or should keep to. `passed` is None where the file alone cannot tell."""

    check: str
    passed: bool | None
    found: str = ""


def check_all(title: str, wrong: Iterable[str]) -> Check:
    """A check that holds where nothing is wrong."""
    listed = list(wrong)
    return Check(title, not listed, "; ".join(listed))


class Verifiable(Declared, Protocol):
    """What verifying needs to know of a method."""

    def layout_of(self, file: ReleaseFile) -> Layout:
        """What all its files hold; `file` says which mechanism made it, where there are several."""

    def contents(self, file: ReleaseFile) -> Contents:
        """What this file holds besides that. Asked only once the fixed tables are right."""

    def differences(self, file: ReleaseFile, policy: Policy) -> Iterable[str]:
        """Where the file is not one of the policy, beyond columns, roles, requirements, reasons and the table."""

    def verify(self, file: ReleaseFile, policy: Policy | None) -> Iterable[Check]:
        """What only the method knows."""


def file_checks(method: Verifiable, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """From the outside inwards; what makes no sense without a check before it is asked only where that holds."""
    try:
        layout = method.layout_of(file)
    except (*NO_SENSE, SqlprivError):
        yield Check(_FIXED, False, "what they hold makes no sense")
        return
    for fixed in (_check_fixed_tables, _check_values):
        found = fixed(file, layout)
        yield found
        if not found.passed:
            return
    try:
        contents = method.contents(file)
    except (*NO_SENSE, SqlprivError):  # a table that is named, and is not there
        yield Check(_CONTENTS, False, "what it declares is not there, or makes no sense")
        return
    tables = _check_contents(file, layout, contents)
    yield tables
    if not tables.passed:
        return
    if policy is not None:
        policy = policy.spelt_as(str(c["name"]) for c in file.attributes)
        yield check_all("it is a release of the policy", _not_of_policy(method, file, policy))
    yield check_all("the public part of the policy fits the release", _policy_misfits(file, method, layout, policy))
    if TOGETHER in file.about:
        makes_sense = read_together(file.about[TOGETHER]) is not None
        title = "it says what all releases of the table cost together"
        yield Check(title, None if makes_sense else False, "the others are not in the file")
    yield from _check_digests(file, contents)
    yield from _check_copies(file)
    yield _check_shown(file, contents)
    if contents.are_sorted:
        yield from (_check_order(file, rows) for rows in contents.rows)
    yield from method.verify(file, policy)


# -------------------- the layout


def _check_fixed_tables(file: ReleaseFile, layout: Layout) -> Check:
    wrong = []
    for table, columns in layout.fixed_tables.items():
        if (SCHEMA, table) not in file.tables:
            wrong.append(f"{SCHEMA}.{table} is missing")
        elif (SCHEMA, table) in file.views or not _fits(file.columns(SCHEMA, table), columns):
            wrong.append(f"{SCHEMA}.{table} has other columns, or types")
    return check_all(_FIXED, wrong)


def _fits(found: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """The same columns in the same order; in tables that describe, how wide a whole number is does not matter."""
    return list(found) == list(wanted) and all(
        kind == wanted[name] or {kind, wanted[name]} <= _WHOLE_TYPES for name, kind in found.items()
    )


def _check_values(file: ReleaseFile, layout: Layout) -> Check:
    """Names are known and stand once, their values are ones that they may have, and columns are numbered."""
    always, may = {**ABOUT, **layout.about}, {**layout.about_if_any, TOGETHER: plain_json}
    about, numbers, reasons = (file.rows(table) for table in ("about", "parameters", "reasons"))
    wrong = [*_wrong_names("about", about, always, may)]
    for row in about:
        name, value = row["name"], row["value"]
        allowed = always.get(name) or may.get(name)
        if allowed is not None and not (isinstance(value, str) and allowed(value)):
            wrong.append(f"{name} is none that a release may have")
    wrong += _wrong_names("parameters", numbers, layout.numbers.always, layout.numbers.may)
    wrong += [f"{r['name']} is no number" for r in numbers if r["value"] is None or r["value"] != r["value"]]
    wrong += _wrong_names("reasons", reasons, (), REASONS)
    wrong += [f"the reason for {r['name']} is no reason in words" for r in reasons if read_reason(r["text"]) is None]
    listed = file.rows("attributes")
    if not listed or sorted(c["position"] for c in listed if c["position"] is not None) != [*range(len(listed))]:
        wrong.append(f"{SCHEMA}.attributes does not number the columns")
    spelt = [folded(str(c["name"])) for c in listed]
    wrong += [f"the column {name!r} is there twice" for name in sorted({n for n in spelt if spelt.count(n) > 1})]
    wrong += [f"the column {str(c['name'])!r} is none of this method" for c in listed if not layout.is_attribute(c)]
    return check_all("every name, word and number is one that the method declares", wrong)


def _wrong_names(
    table: str, rows: Sequence[Mapping[str, Any]], always: Iterable[str], may: Iterable[str]
) -> Iterator[str]:
    found, needed = [str(row["name"]) for row in rows], set(always)
    yield from (f"{SCHEMA}.{table} has an unknown {n!r}" for n in sorted(set(found) - needed - set(may)))
    yield from (f"{SCHEMA}.{table} has no {n!r}" for n in sorted(needed - set(found)))
    yield from (f"{SCHEMA}.{table} has {n!r} twice" for n in sorted({n for n in found if found.count(n) > 1}))


def _check_contents(file: ReleaseFile, layout: Layout, contents: Contents) -> Check:
    """No table or view beyond those of the method, none missing, each of its kind; nothing else that holds a value."""
    stored = (*contents.rows, *contents.tables)
    shown = {*(("main", v.name) for v in contents.views), *(("main", v.name) for v in declared_views(file))}
    tables = {*((SCHEMA, name) for name in layout.fixed_tables), *((t.schema, t.name) for t in stored)}
    tables |= {(SCHEMA, TABLE)} & file.tables
    wrong = [f"{s}.{t} is there, and should not be" for s, t in sorted(file.tables - tables - shown)]
    wrong += [f"{s}.{t} is missing" for s, t in sorted((tables | shown) - file.tables)]
    wrong += [f"{s}.{t} is a view, and should be a table" for s, t in sorted(file.views & tables)]
    wrong += [f"{s}.{t} is a table, and should be a view" for s, t in sorted((shown & file.tables) - file.views)]
    wrong += [f"{what} is there, and should not be" for what in _beside_tables(file)]
    if wrong:
        return check_all(_CONTENTS, wrong)
    for table in stored:
        columns = file.columns(table.schema, table.name)
        if list(columns.items()) != list(table.columns.items()):
            extra = [c for c in columns if c not in table.columns]
            differs = f"{extra[0]!r} should not be there" if extra else "columns differ"
            wrong.append(f"{table.schema}.{table.name}: {differs}")
    return check_all(_CONTENTS, wrong)


def _beside_tables(file: ReleaseFile) -> list[str]:
    """What can hold values and is no table or view: schemas, macros, types, sequences, comments, rules of tables."""
    of_file = f"database_name = {literal(file.catalog)}"
    queries = (
        f"SELECT 'schema ' || schema_name FROM duckdb_schemas() WHERE {of_file} AND NOT internal "
        f"AND schema_name NOT IN ({', '.join(map(literal, sorted(_SCHEMAS)))})",
        "SELECT DISTINCT 'macro ' || schema_name || '.' || function_name FROM duckdb_functions() "
        f"WHERE {of_file} AND function_type LIKE '%macro%'",
        f"SELECT 'type ' || schema_name || '.' || type_name FROM duckdb_types() WHERE {of_file} AND NOT internal",
        f"SELECT 'sequence ' || schema_name || '.' || sequence_name FROM duckdb_sequences() WHERE {of_file}",
        f"SELECT 'index ' || schema_name || '.' || index_name FROM duckdb_indexes() WHERE {of_file}",
        *(
            f"SELECT DISTINCT 'comment on ' || schema_name || '.' || {kind}_name FROM duckdb_{of}() "
            f"WHERE {of_file} AND comment IS NOT NULL"
            for kind, of in (("table", "columns"), ("table", "tables"), ("view", "views"))
        ),
        f"SELECT 'comment on ' || schema_name FROM duckdb_schemas() WHERE {of_file} AND comment IS NOT NULL",
        "SELECT DISTINCT 'default of ' || schema_name || '.' || table_name FROM duckdb_columns() "
        f"WHERE {of_file} AND column_default IS NOT NULL",
        "SELECT DISTINCT 'constraint on ' || schema_name || '.' || table_name FROM duckdb_constraints() "
        f"WHERE {of_file}",
    )
    return sorted(str(row[0]) for sql in queries for row in fetch(file.con, sql))


def _check_copies(file: ReleaseFile) -> Iterator[Check]:
    """Of a counted table: the digest is of all rows, so a kind that is there twice would have the same one."""
    if file.copies is None:
        return
    published = file.table("published")
    types = file.columns(SCHEMA, "published")
    by = in_order([c for c in types if c != COPIES], types)
    kinds = f"SELECT count(*) AS n, count({COPIES}) AS known, min({COPIES}) AS least FROM {published} GROUP BY {by}"
    wrong = fetch(file.con, f"SELECT count(*) FROM ({kinds}) WHERE (n = 1 AND known = 1 AND least >= 1) IS NOT TRUE")
    yield Check("every kind of row is there once, with its number", not wrong[0][0])


def _check_shown(file: ReleaseFile, contents: Contents) -> Check:
    """The views of the rows are those that are written; compared by their SQL, never run."""
    con, wrong, stored = file.con, [], (*contents.rows, *contents.tables)
    fetch(con, f"ATTACH ':memory:' AS {_TWIN}")
    try:
        for schema in sorted({t.schema for t in stored if t.schema != "main"}):
            fetch(con, f"CREATE SCHEMA {quoted(_TWIN, schema)}")
        for table in stored:
            empty = f"AS FROM {quoted(file.catalog, table.schema, table.name)} LIMIT 0"
            fetch(con, f"CREATE TABLE {quoted(_TWIN, table.schema, table.name)} {empty}")
        for view in contents.views:
            fetch(con, view.statement(quoted(_TWIN, "main", view.name)))
            named = f"FROM duckdb_views() WHERE schema_name = 'main' AND view_name = {literal(view.name)}"
            found = fetch(con, f"SELECT sql {named} AND database_name = {literal(file.catalog)}")
            if found != fetch(con, f"SELECT sql {named} AND database_name = {literal(_TWIN)}"):
                wrong.append(f"main.{view.name} is another view")
    finally:
        fetch(con, f"DETACH {_TWIN}")
    return check_all("the views in main show the published rows", wrong)


def _check_order(file: ReleaseFile, rows: Stored) -> Check:
    """The rows of a table stand in the order of its columns, and no other."""
    title = f"the order of the rows of {rows.name} reveals nothing"
    if any("TIME ZONE" in kind for kind in rows.columns.values()):
        return Check(title, None, "times read differently in every time zone")
    by = in_order(tuple(rows.columns), rows.columns)
    places = f"row_number() OVER (ORDER BY rowid) AS here, row_number() OVER (ORDER BY {by}, rowid) AS sorted"
    moved = f"SELECT count(*) FROM (SELECT {places} FROM {file.table(rows.name)}) WHERE here <> sorted"
    # That no row is before the one above it is seen while rows stream by; to count what is moved they are all sorted.
    above = f"SELECT row({by}) AS own, lag(row({by})) OVER () AS above FROM {file.table(rows.name)}"
    falls = fetch(file.con, f"SELECT count(*) FROM ({above}) WHERE own < above")[0][0]
    wrong = fetch(file.con, moved)[0][0] if falls else 0
    return Check(title, not wrong, f"{wrong:,} are not where their values put them" if wrong else "")


# -------------------- the policy


def _not_of_policy(method: Verifiable, file: ReleaseFile, policy: Policy) -> Iterator[str]:
    """No column beyond the policy, each in its role; its requirements, its reasons, and what the method compares."""
    roles = {str(c["name"]): c["role"] for c in file.attributes}
    wanted = {c.name: c.role for c in policy.columns if c.role not in _UNPUBLISHED or c.name == policy.pseudonym}
    yield from (f"{name!r} is not published by the policy" for name in roles if name not in wanted)
    yield from (f"{name!r} is missing" for name in wanted if name not in roles)
    yield from (
        f"{n!r} is {role}, by the policy {wanted[n]}" for n, role in roles.items() if wanted.get(n, role) != role
    )
    if folded(file.about["table"]) != folded(policy.table.name):
        yield f"the table of the policy is {policy.table.name!r}"
    declared = _declared_texts(file)
    required = required_texts(policy.requirements)
    yield from (f"{text} is not declared" for text in required if text not in declared)
    yield from (f"{text} is not required by the policy" for text in declared if text not in required)
    given = policy.reasons
    yield from (f"{n} is not what the policy says" for n, text in file.reasons.items() if given.get(n) != text)
    # A reason for attackers who are not covered is left out where all are.
    yield from (f"{n} of the policy is missing" for n in given if n not in file.reasons and n != "uncovered")
    yield from method.differences(file, policy)


def _declared_texts(file: ReleaseFile) -> list[str]:
    """The requirements of a file; an empty text for one that this version does not know."""
    requirements = (declared_requirement(row) for row in file.requirements)
    return [r.text if r else "" for r in requirements]


def _policy_misfits(file: ReleaseFile, method: Declared, layout: Layout, policy: Policy | None) -> Iterator[str]:
    """The public part of the policy has the columns, roles, requirements and numbers of the rest of the file."""
    part = file.policy
    strange = list(not_public(part, method))
    if strange:
        yield from strange
        return
    roles = {str(c["name"]): c["role"] for c in file.attributes}
    if {name: given["role"] for name, given in part["columns"].items()} != roles:
        yield "the columns or their roles are others"
    if sorted(part["require"]) != sorted(_declared_texts(file)):
        yield "the requirements are others"
    release = part["release"]
    for name in sorted(set(release) & set(file.parameters)):
        # The d of a policy is about a row, that of a file about a person.
        is_of_a_row = name == "d" and "rows_each" in release
        if not is_of_a_row and not is_close(file.parameters[name], release[name]):
            yield f"{name} is another"
    defaults = {key.name: key.default for key in method.options}
    for name in layout.from_policy:
        if file.about[name] != release.get(name, defaults[name]):
            yield f"{name} is another"
    if policy is not None and part != public_part(policy, method, list(roles)):
        yield "the policy says something else"


# -------------------- the digests


def _check_digests(file: ReleaseFile, contents: Contents) -> Iterator[Check]:
    """Rows, domains and public tables are those that were written: what is not in them, no answer counts."""
    title = "the published rows are those of the digest"
    if any("TIME ZONE" in kind for kind in file.columns(SCHEMA, "published").values()):
        yield Check(title, None, "they read differently in every time zone")
    else:
        same = table_digest(file.con, file.table("published"), file.copies) == file.about["digest"]
        yield Check(title, same, "" if same else "they are others")
    listed = [(str(r["name"]), str(r["digest"])) for r in file.rows("digests")]
    declared, found = dict(listed), table_digests(file, contents)
    wrong = [] if len(declared) == len(listed) else ["a table has two digests"]
    wrong += [f"{n} is another" for n in sorted({*found, *declared}) if found.get(n) != declared.get(n)]
    yield check_all("domains, public tables and other rows are those of their digests", wrong)


# -------------------- for methods


def is_close(found: float | None, wanted: float) -> bool:
    """The same number, but for the last digits; also where numbers are tiny, since domains are large."""
    return found is not None and math.isclose(found, wanted, rel_tol=1e-9)


def same_number(file: ReleaseFile, name: str, wanted: float) -> Check:
    """Whether a number that others decide is the one that follows from them."""
    return Check(f"{name} is the one that the others make", is_close(file.parameters[name], wanted))


def named_by_digest(file: ReleaseFile) -> Check:
    """Without noise a release has its digest for an ID: one made from the table would let anyone test a guess."""
    same = file.about["release"] == file.about["digest"]
    return Check("the release ID matches its rows", same, "" if same else "its digest is another")


def published(file: ReleaseFile) -> str:
    """The published rows, as SQL."""
    return file.table("published")
