"""Judge what a generalized release says of the values below its labels: its domains, and the ends of its ranges.

What is below a label decides what answers are bounded by, so the file must not say other things in two places: ends
are those that the labels name, every published cell has leaves, and labels of a domain nest as ranges do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.methods.labelled.kinds import BINS, below, label_ends
from sqlpriv.methods.labelled.layout import Attribute, column_has_ends
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP


def domains_beyond(file: ReleaseFile, policy: Policy) -> Iterator[str]:
    """A domain is public because the policy says so; whether its values are those, only publishing can tell."""
    given = {folded(c.name) for c in policy.columns if c.given.get("domain") is not None}
    for column in file.attributes:
        if column["has_domain"] and folded(str(column["name"])) not in given:
            yield f"{column['name']!r} has no domain in the policy"


def check_leaves(file: ReleaseFile, columns: Sequence[Attribute], has_stars: bool) -> Iterator[Check]:
    """The domains and the ends, and that they fit the published rows."""
    for column in columns:
        if column_has_ends(column):
            yield _check_ends(file, column)
        if column["has_domain"]:
            yield check_domain(file, column, has_stars)


def _check_ends(file: ReleaseFile, column: Attribute) -> Check:
    """The ends are those that the labels name; bins are named by their ends."""
    name, kind = str(column["name"]), str(column["original"])
    title = f"the ends of the ranges of {name!r} are those of their labels"
    ends, hierarchy = file.table(f"ends_{name}"), file.table(f"hierarchy_{name}")
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


def check_domain(file: ReleaseFile, column: Attribute, has_stars: bool) -> Check:
    """Every published cell has a value of the domain below it, no value is there twice, and shares are above 0."""
    name = str(column["name"])
    title = f"the domain of {name!r} has a value below every label"
    domain = quoted(file.catalog, "domain", name)
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
