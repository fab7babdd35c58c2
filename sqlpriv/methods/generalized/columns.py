"""What a reader of a release may know of its columns: their types, the kinds of their labels, their public domains.

A domain is what the owner says that everybody may know, so it may list values that only suppressed rows have, or no
row. It must hold for the table: a value outside would make bounds wrong. Without a domain, the labels themselves say
what is below them where they are ranges; of all other labels a reader does not know it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.generalized.layout import BINS, DATES, OTHER, RANGES, VALUES, end_names, has_ends, without_enums
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node
from sqlpriv.policy.file import Column, Policy
from sqlpriv.table.domains import PublishedColumn, read_domain
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

    @property
    def ends(self) -> tuple[str, str]:
        """What its ends are called beside it."""
        return end_names(self.name)


def refuse_names(columns: Sequence[ShownColumn], published: Sequence[str]) -> None:
    """The ends stand beside their column, under names that no other column may have."""
    taken = {folded(name) for name in published}
    for column in columns:
        clash = [name for name in column.ends if column.has_ends and folded(name) in taken]
        if clash:
            raise PolicyError(
                f"{column.name!r} is published in ranges, whose ends are shown as {column.ends[0]!r} and "
                f"{column.ends[1]!r}, and the table has a column {clash[0]!r}; drop it, or rename it in a view"
            )


class Reading(Protocol):
    """A table that is being read under its policy."""

    @property
    def source(self) -> Source:
        """The open table."""

    @property
    def policy(self) -> Policy:
        """What it is read under."""


@dataclass(frozen=True)
class Known:
    """What is known of the published columns before any node is looked at."""

    types: dict[str, str]
    domains: dict[str, str]
    """The tables of the public domains among those of the policy."""


def read_known(scan: Reading, columns: Sequence[str]) -> Known:
    """The types and the public domains; a domain that does not hold for the table is refused."""
    given = {folded(c.name): c for c in scan.policy.columns}
    kinds = {r[0]: without_enums(r[1]) for r in scan.source.private.columns.items()}
    found = {}
    for number, name in enumerate(columns):
        table = _domain(scan, number, name, given[folded(name)], kinds[name])
        if table is not None:
            found[name] = table
    return Known(kinds, found)


def _domain(scan: Reading, number: int, name: str, column: Column, own: str) -> str | None:
    """The table of a domain; None where there is none, or it is not about the values of the column as they are."""
    given, source = column.given, scan.source
    domain = given.get("domain")
    is_of_values = not isinstance(domain, str) or not domain.startswith("level:") or domain.endswith(":0")
    if domain is None or domain == "active" or not is_of_values:
        return None
    null, share = bool(given.get("null", False)), given.get("share")
    stated = PublishedColumn(name, column.role, domain, null, "refuse", share, None, None)
    read = read_domain(source, number, name, stated)
    goes_elsewhere = given.get("outside", "refuse") != "refuse"
    if read.size > _MOST_VALUES or not _is_written_as(scan, read.table, own):
        if goes_elsewhere:
            raise PolicyError(f"domain of {name!r}: which rows are outside it cannot be told; {_NO_DROPPING}")
        return None
    typed = f"CAST(CAST(value AS VARCHAR) AS {own}) AS value"
    table = source.scratch.table(f"SELECT {typed}, share FROM {read.table}", "domain").name
    outside = fetch(
        source.con,
        f"SELECT count(*) FROM {source.private} AS t WHERE NOT EXISTS (FROM {table} AS d "
        f"WHERE CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM CAST(t.{quoted(name)} AS VARCHAR))",
    )[0][0]
    if outside and goes_elsewhere:
        raise PolicyError(f"domain of {name!r}: {outside:,} rows of the table have a value outside it; {_NO_DROPPING}")
    if outside:
        raise PolicyError(
            f"domain of {name!r}: {outside:,} rows of the table have a value outside it, so answers from the release "
            "could be wrong; widen it (null = true, where a value may be missing), or leave it out"
        )
    return table


def _is_written_as(scan: Reading, domain: str, kind: str) -> bool:
    """Whether all values of a domain can be values of a type, and are written alike in it."""
    text = "CAST(value AS VARCHAR)"
    unlike = f"SELECT count(*) FROM {domain} WHERE CAST(TRY_CAST({text} AS {kind}) AS VARCHAR) IS DISTINCT FROM {text}"
    return not fetch(scan.source.con, unlike)[0][0]


def describe(scan: Scan, node: Node, columns: Sequence[str], known: Known) -> list[ShownColumn]:
    """The published columns under a node."""
    place = {folded(q): a for a, q in enumerate(scan.policy.qis)}
    levels = {name: (place[folded(name)], node[place[folded(name)]]) for name in columns if folded(name) in place}
    labels = {name: _labels(scan, a, level) for name, (a, level) in levels.items() if level > 0}
    return describe_columns(columns, known, labels)


def describe_columns(columns: Sequence[str], known: Known, labels: Mapping[str, str]) -> list[ShownColumn]:
    """The published columns, given what labels some of them are shown as, one of KINDS; all others show values."""
    found = []
    for name in columns:
        kind, original = labels.get(name, VALUES), known.types[name]
        found.append(ShownColumn(name, original, kind, known.domains.get(name), has_ends(kind, original)))
    return found


def _labels(scan: Scan, attribute: int, level: int) -> str:
    given = scan.policy.hierarchies[scan.policy.qis[attribute]]
    kind = given.partition(":")[0] if isinstance(given, str) else ""
    return kind if kind in (RANGES, DATES, BINS) and level < scan.heights[attribute] else OTHER
