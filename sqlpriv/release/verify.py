"""What verifying a release has in common: a list of checks, each with what was found, and facts of them.

A check is verified from the file alone, or it fails, or it cannot be known from the file and stays a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlpriv.engine import fetch
from sqlpriv.facts import Facts, Line
from sqlpriv.macros.catalog import SCHEMA as MACROS
from sqlpriv.macros.catalog import macros
from sqlpriv.macros.statements import comment_on
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.views import TABLE, stated_views
from sqlpriv.sqltext import literal
from sqlpriv.version import __version__


@dataclass(frozen=True)
class Check:
    """One thing that a release says or should keep to. `passed` is None where the file alone cannot tell."""

    check: str
    passed: bool | None
    found: str = ""


def verify_facts(file: ReleaseFile, checks: Iterable[Check]) -> Facts:
    """The checks as facts."""
    listed = tuple(checks)
    passed = all(c.passed is not False for c in listed)
    marks = {True: "verified", False: "FAILS", None: "claimed"}
    lines = tuple(Line(c.check + (f" ({c.found})" if c.found else ""), marks[c.passed]) for c in listed)
    content = {
        "release": file.name,
        "method": file.about.get("method"),
        "passed": passed,
        "checks": [asdict(c) for c in listed],
    }
    said = "holds what it says" if passed else "does NOT hold what it says"
    return Facts(f"{file.name}: {said}, as far as the file alone can tell", content, lines, passed=passed)


def check_tables(
    file: ReleaseFile,
    expected: Iterable[tuple[str, str]],
    views: Iterable[tuple[str, str]] = (),
    comments: Mapping[tuple[str, str], str] | None = None,
) -> Check:
    """No table or view beyond those that the method writes, and none missing; nothing else that could hold a value."""
    shown, found = {*views, *(("main", v.name) for v in stated_views(file))}, file.views
    wanted = {(SCHEMA, "about"), *expected, *shown, *({(SCHEMA, TABLE)} & file.tables)}
    listed = [f"{s}.{t} is there, and should not be" for s, t in sorted(file.tables - wanted)]
    listed += [f"{s}.{t} is missing" for s, t in sorted(wanted - file.tables)]
    listed += [f"{s}.{t} is a view, and should be a table" for s, t in sorted((found - shown) & wanted)]
    listed += [f"{s}.{t} is a table, and should be a view" for s, t in sorted((shown - found) & file.tables)]
    schemas = fetch(
        file.con,
        f"SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND database_name = {literal(file.catalog)}",
    )
    known = {SCHEMA, MACROS, "main", "domain", "public"}
    listed += [f"schema {s} is there, and should not be" for (s,) in sorted(schemas) if s not in known]
    listed += [f"{what} is there, and should not be" for what in (*_strange_macros(file), *_beside_tables(file))]
    listed += [f"comment on {schema}.{name} is another" for schema, name in _wrong_comments(file, comments or {})]
    return Check("the file holds the tables of its method and no others", not listed, "; ".join(listed))


def _beside_tables(file: ReleaseFile) -> list[str]:
    """What can hold values and is no table or macro: types, sequences, indexes, comments, rules of tables."""
    of_file = f"database_name = {literal(file.catalog)}"
    asked = (
        f"SELECT 'type ' || schema_name || '.' || type_name FROM duckdb_types() WHERE {of_file} AND NOT internal",
        f"SELECT 'sequence ' || schema_name || '.' || sequence_name FROM duckdb_sequences() WHERE {of_file}",
        f"SELECT 'index ' || schema_name || '.' || index_name FROM duckdb_indexes() WHERE {of_file}",
        "SELECT DISTINCT 'comment on ' || schema_name || '.' || table_name FROM duckdb_columns() "
        f"WHERE {of_file} AND comment IS NOT NULL",
        f"SELECT 'comment on ' || schema_name FROM duckdb_schemas() WHERE {of_file} AND comment IS NOT NULL",
        "SELECT DISTINCT 'default of ' || schema_name || '.' || table_name FROM duckdb_columns() "
        f"WHERE {of_file} AND column_default IS NOT NULL",
        "SELECT DISTINCT 'constraint on ' || schema_name || '.' || table_name FROM duckdb_constraints() "
        f"WHERE {of_file}",
    )
    return sorted(str(row[0]) for sql in asked for row in fetch(file.con, sql))


def _strange_macros(file: ReleaseFile) -> list[str]:
    """Macros that are not ours, by their names, and by what is said of them where this version wrote the file."""
    asked = fetch(
        file.con,
        "SELECT DISTINCT schema_name, function_name, comment FROM duckdb_functions() "
        f"WHERE database_name = {literal(file.catalog)} AND function_type LIKE '%macro%'",
    )
    is_own_version = file.about.get("sqlpriv") == __version__
    ours = {name: comment_on(macro) for name, macro in macros().items()} if is_own_version else {}
    return sorted(
        f"macro {schema}.{name}"
        for schema, name, comment in asked
        if schema != MACROS or (is_own_version and (name not in ours or ours[name] != comment))
    )


def _wrong_comments(file: ReleaseFile, own: Mapping[tuple[str, str], str]) -> list[tuple[str, str]]:
    """Tables and views with a comment that is neither the method's own nor says what a view answers."""
    expected = {("main", view.name): view.comment for view in stated_views(file)} | dict(own)
    asked = " UNION ALL ".join(
        f"SELECT schema_name, {kind}_name, comment FROM duckdb_{kind}s() "
        f"WHERE database_name = {literal(file.catalog)} AND comment IS NOT NULL"
        for kind in ("table", "view")
    )
    return sorted((s, name) for s, name, comment in fetch(file.con, asked) if expected.get((s, name)) != comment)


def with_checks(facts: Facts, file: ReleaseFile, checks: Sequence[Check]) -> Facts:
    """The facts of a release that was judged, with some checks more."""
    return verify_facts(file, (*(Check(**c) for c in facts.content["checks"]), *checks)) if checks else facts


def check_columns(file: ReleaseFile, expected: dict[str, str]) -> Check:
    """The published rows have exactly these columns, in this order, of these types."""
    found = file.columns(SCHEMA, "published")
    same = list(found.items()) == list(expected.items())
    extra = [c for c in found if c not in expected]
    why = f"{extra[0]!r} should not be there" if extra else "names, order or types differ"
    return Check("the published columns are the ones that are declared", same, "" if same else why)


def published(file: ReleaseFile) -> str:
    """The published rows, as SQL."""
    return file.table("published")
