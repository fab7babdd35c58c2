"""What a reader of a release may know of its columns: their types, the kinds of their labels, their public domains.

A domain is what the owner says that everybody may know, so it may list values that only suppressed rows have, or no
row. It must hold for the table: a value outside would make bounds wrong. Without a domain, ranges
name their values themselves; of all other labels a reader does not know the values below them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted, rows_of
from sqlpriv.methods.generalized.layout import BINS, DATES, OTHER, RANGES, VALUES, end_names, has_ends, without_enums
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node
from sqlpriv.policy.file import Column, Policy
from sqlpriv.table.domains import DeclaredColumn, range_ends, read_domain
from sqlpriv.table.source import Source

_MOST_VALUES = 1_000_000
_NO_DROPPING = (
    "without noise every row is published as it is, none is dropped or replaced for its value: take such rows out of "
    "the table, widen the domain, or leave it out"
)


@dataclass(frozen=True)
class ShownColumn:
    """A published column: its own type, what its labels are, and where its domain is, if it has a public one."""

    name: str
    original: str
    """The type of its values, without the values of an ENUM."""
    labels: str
    """One of KINDS."""
    domain: str | None
    """A table of this connection with the values and shares."""
    has_ends: bool


def refuse_names(columns: Sequence[ShownColumn], published: Sequence[str]) -> None:
    """Refuse columns with the names of the ends of ranges, which are shown next to these."""
    taken = {folded(name) for name in published}
    for column in columns:
        low, high = end_names(column.name)
        clash = [name for name in (low, high) if column.has_ends and folded(name) in taken]
        if clash:
            raise PolicyError(
                f"{column.name!r} is published in ranges, whose ends are shown as {low!r} and "
                f"{high!r}, and the table has a column {clash[0]!r}; drop it, or rename it in a view"
            )


@dataclass(frozen=True)
class PublicColumns:
    """The types of all columns and the public domains, which are known before any node is evaluated."""

    types: dict[str, str]
    domains: dict[str, str]
    """The tables of the public domains among those of the policy."""


def read_public_columns(source: Source, policy: Policy, columns: Sequence[str]) -> PublicColumns:
    """The types and the public domains; a domain that does not hold for the table is refused."""
    given = {c.name: c for c in policy.columns}
    kinds = {r[0]: without_enums(r[1]) for r in source.private.columns.items()}
    if policy.pseudonym is not None:
        kinds[policy.pseudonym] = "VARCHAR"
    found = {}
    for name in columns:
        table = _domain(source, name, given[name], kinds[name])
        if table is not None:
            found[name] = table
    return PublicColumns(kinds, found)


def _domain(source: Source, name: str, column: Column, own: str) -> str | None:
    """The table of a domain; None where there is none, or it is not about the values of the column as they are."""
    given, domain = column.given, column.given.get("domain")
    is_of_values = not isinstance(domain, str) or not domain.startswith("level:") or domain.endswith(":0")
    if domain is None or domain == "active" or not is_of_values:
        return None
    goes_elsewhere = given.get("outside", "refuse") != "refuse"
    table = None if _is_too_long(source, domain) else _values_of_type(source, name, column, own)
    if table is None:
        if goes_elsewhere:
            raise PolicyError(f"domain of {name!r}: it cannot be known which rows are outside it; {_NO_DROPPING}")
        return None
    rows, number = rows_of(source.checked)
    outside = fetch(
        source.con,
        f"SELECT {number} FROM {rows} AS t WHERE NOT EXISTS (FROM {table} AS d "
        f"WHERE CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM CAST(t.{quoted(name)} AS VARCHAR))",
    )[0][0]
    if outside and goes_elsewhere:
        raise PolicyError(f"domain of {name!r}: {outside:,} rows of the table have a value outside it; {_NO_DROPPING}")
    if outside:
        raise PolicyError(
            f"domain of {name!r}: {outside:,} rows of the table have a value outside it, and answers from the release "
            "could be wrong; add the values (null = true for missing ones), or leave the domain out"
        )
    return table.name


def _values_of_type(source: Source, name: str, column: Column, own: str) -> Relation | None:
    """The values of a domain in the type of the column; None if they are too many, or written otherwise in it."""
    given = column.given
    null, share = bool(given.get("null", False)), given.get("share")
    declared = DeclaredColumn(name, column.role, given["domain"], null, "refuse", share, None, None)
    read = read_domain(source, name, declared)
    text = "CAST(value AS VARCHAR)"
    unlike = f"CAST(TRY_CAST({text} AS {own}) AS VARCHAR) IS DISTINCT FROM {text}"
    if read.size > _MOST_VALUES or fetch(source.con, f"SELECT count(*) FROM {read.table.name} WHERE {unlike}")[0][0]:
        return None
    return source.scratch.table(f"SELECT CAST({text} AS {own}) AS value, share FROM {read.table.name}", "domain")


def _is_too_long(source: Source, domain: object) -> bool:
    """Whether a range has more values than are ever listed: then nothing of it is read."""
    if (ends := range_ends(domain)) is None:
        return False
    low, high = (f"DATE '{end}'" if "-" in end[1:] else f"CAST({end} AS HUGEINT)" for end in ends)
    return bool(fetch(source.con, f"SELECT {high} - {low} >= {_MOST_VALUES}")[0][0])


def describe(scan: Scan, node: Node, columns: Sequence[str], known: PublicColumns) -> list[ShownColumn]:
    """The published columns under a node."""
    hierarchies, labels = scan.policy.hierarchies, {}
    for name in columns:
        a = scan.places.get(name)
        if a is not None and node[a] > 0:
            given = hierarchies[scan.policy.qis[a]]
            kind = given.partition(":")[0] if isinstance(given, str) else ""
            labels[name] = kind if kind in (RANGES, DATES, BINS) and node[a] < scan.heights[a] else OTHER
    return describe_columns(columns, known, labels)


def describe_columns(columns: Sequence[str], known: PublicColumns, labels: Mapping[str, str]) -> list[ShownColumn]:
    """The published columns, given what labels some of them are shown as, one of KINDS; all others show values."""
    found = []
    for name in columns:
        kind, original = labels.get(name, VALUES), known.types[name]
        found.append(ShownColumn(name, original, kind, known.domains.get(name), has_ends(kind, original)))
    return found
