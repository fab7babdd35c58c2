"""Judge what a generalized release says of the values below its labels: its domains, and the ends of its ranges.

What is below a label decides what answers are bounded by, so the file must not say other things in two places: ends
are those that the labels name, every published cell has leaves, and labels of a domain nest as ranges do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.methods.labelled.kinds import BINS, BOXES, KINDS, VALUES, below, has_ends, label_ends
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP

_TWIN = "__priv_twin"
Stated = Mapping[str, Any]


def _shown_columns(columns: Sequence[Stated]) -> list[tuple[str, tuple[str, str] | None]]:
    """The columns, each with the names of its ends, where it has some."""
    return [(str(c["name"]), (f"{c['name']}_low", f"{c['name']}_high") if _has_ends(c) else None) for c in columns]


def _ends_tables(columns: Sequence[Stated]) -> list[str]:
    """The names of the tables of ends."""
    return [f"ends_{c['name']}" for c in columns if _has_ends(c)]


def own_tables(columns: Sequence[Stated]) -> list[tuple[str, str]]:
    """Schema and name of the tables of domains and ends."""
    domains = [("domain", str(c["name"])) for c in columns if c["has_domain"]]
    return [*domains, *((SCHEMA, name) for name in _ends_tables(columns))]


def domains_of_policy(columns: Sequence[Stated], policy: Policy) -> Check:
    """A domain is public because the policy says so; whether its values are those, only publishing can tell."""
    stated = {folded(c.name) for c in policy.columns if c.given.get("domain") is not None}
    beyond = [str(c["name"]) for c in columns if c["has_domain"] and folded(str(c["name"])) not in stated]
    found = f"{beyond[0]!r} has none there" if beyond else ""
    return Check("no domain beyond those of the policy", not beyond, found)


def shows_rows(file: ReleaseFile, columns: Sequence[Stated], rows: str, name: str, *, boxes: bool = False) -> Check:
    """The view of a table of rows is the one that is written; compared by its SQL, never run."""
    fetch(file.con, f"ATTACH ':memory:' AS {_TWIN}")
    try:
        fetch(file.con, f"CREATE SCHEMA {_TWIN}.{SCHEMA}")
        for table in (rows, *_ends_tables(columns)):
            fetch(file.con, f"CREATE TABLE {quoted(_TWIN, SCHEMA, table)} AS FROM {file.table(table)} LIMIT 0")
        fetch(file.con, view_of_rows(quoted(_TWIN, "main", name), _shown_columns(columns), boxes=boxes, rows=rows))
        here = f"FROM duckdb_views() WHERE schema_name = 'main' AND view_name = {literal(name)} AND database_name ="
        found, wanted = (fetch(file.con, f"SELECT sql {here} {literal(c)}") for c in (file.catalog, _TWIN))
    finally:
        fetch(file.con, f"DETACH {_TWIN}")
    return Check(
        f"main.{name} shows the published rows", found == wanted, "" if found == wanted else "it is another view"
    )


def _has_ends(column: Stated) -> bool:
    return has_ends(str(column["labels"]), str(column["original"]))


def check_leaves(file: ReleaseFile, columns: Sequence[Stated], has_stars: bool) -> Iterator[Check]:
    """The domains and the ends, and that they fit the published rows."""
    for column in columns:
        if _has_ends(column):
            yield _check_ends(file, column)
        if column["has_domain"]:
            yield check_domain(file, column, has_stars)


def is_stated(column: Stated) -> bool:
    """A column that is not generalized shows its values, and what shows values is not generalized."""
    is_known = (
        column["labels"] in KINDS
        and column["labels"] != BOXES
        and isinstance(column["has_domain"], bool)
        and bool(column["original"])
    )
    is_generalized = column["level"] is not None and int(column["level"]) > 0
    is_typed = is_generalized or column["type"] in (column["original"], "VARCHAR")
    return is_known and is_typed and (column["labels"] == VALUES) == (not is_generalized)


def _check_ends(file: ReleaseFile, column: Stated) -> Check:
    """The ends are those that the labels name; bins are named by their ends."""
    name, kind = str(column["name"]), str(column["original"])
    title = f"the ends of the ranges of {name!r} are those of their labels"
    ends, hierarchy = file.table(f"ends_{name}"), file.table(f"hierarchy_{name}")
    if file.columns(SCHEMA, f"ends_{name}") != {"label": "VARCHAR", "low": kind, "high": kind}:
        return Check(title, False, "they have other columns, or types")
    if column["labels"] == BINS:
        low, high = (f"CAST({side} AS VARCHAR)" for side in ("low", "high"))
        named = f"CASE WHEN {low} = {high} THEN {low} ELSE {low} || '-' || {high} END"
        wanted = f"SELECT label FROM {ends} WHERE label IS NOT DISTINCT FROM ({named}) AND low <= high"
        listed = f"SELECT value FROM {hierarchy} WHERE value IS NOT NULL"
        found = f"SELECT label FROM {ends}"
        pairs = [(found, wanted), (found, listed), (listed, found)]
    else:
        wanted, found = label_ends(str(column["labels"]), kind, hierarchy), f"SELECT label, low, high FROM {ends}"
        pairs = [(found, wanted), (wanted, found)]
    differ = sum(int(fetch(file.con, f"SELECT count(*) FROM ({a} EXCEPT ALL {b})")[0][0]) for a, b in pairs)
    return Check(title, not differ, "" if not differ else f"{differ:,} are others")


def check_domain(file: ReleaseFile, column: Stated, has_stars: bool) -> Check:
    """Every published cell has a value of the domain below it, no value is there twice, and shares are above 0."""
    name, kind = str(column["name"]), str(column["original"])
    title = f"the domain of {name!r} has a value below every label"
    domain = quoted(file.catalog, "domain", name)
    columns = {"value": kind, "label": "VARCHAR", "share": "DOUBLE", "leaves": "BIGINT", "total": "DOUBLE"}
    if file.columns("domain", name) != columns:
        return Check(title, False, "it has other columns, or types")
    cell = f"CAST(p.{quoted(name)} AS VARCHAR)"
    kept = f" AND {cell} IS DISTINCT FROM {literal(TOP)}" if has_stars and column["level"] is not None else ""
    bare = fetch(
        file.con,
        f"SELECT count(*) FROM (SELECT DISTINCT {quoted(name)} FROM {published(file)}) AS p WHERE NOT EXISTS "
        f"(FROM {domain} AS d WHERE d.label IS NOT DISTINCT FROM {cell}){kept}",
    )[0][0]
    counted = f"SELECT leaves AS stated, total AS stated_total, {below('label')} FROM {domain}"
    # Sums of doubles depend on their order.
    unlike = "stated IS DISTINCT FROM leaves OR (abs(stated_total - total) <= 1e-9 * total) IS NOT TRUE"
    miscounted = fetch(file.con, f"SELECT count(*) FROM ({counted}) WHERE {unlike}")[0][0]
    twice, shares, bad = fetch(
        file.con,
        "SELECT count(*) - count(DISTINCT coalesce('v' || CAST(value AS VARCHAR), '')), "
        f"count(share) NOT IN (0, count(*)), count(*) FILTER (NOT (share > 0 AND isfinite(share))) FROM {domain}",
    )[0]
    found = f"{bare:,} labels have none" if bare else "values are there twice" if twice else ""
    found = found or ("shares are missing, or not above 0" if shares or bad else "")
    found = found or ("values below a label are miscounted" if miscounted else "")
    return Check(title, not found, found)
