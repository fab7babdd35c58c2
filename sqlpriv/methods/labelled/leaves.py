"""What a reader needs to know which values a published cell may stand for, and no more than is public.

    domain.<c>   the domain of column c where the policy states one: value, its label on the published level, share, how
                 many values have that label, and their shares in all
    ends_<c>     of labels that name ranges of numbers or dates: label, low, high in the column's own type

A domain is what the owner says that everybody may know, so it may list values that only suppressed rows have, or no
row. It must hold for the table: a value outside would make bounds wrong. Without a domain, the labels themselves say
what is below them where they are ranges; of all other labels a reader does not know it. Ends are read from labels that
words of the policy make; bins are named by published rows, and so are their ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.methods.labelled.kinds import (
    BINS,
    DATES,
    NEVER_SHOWN,
    OTHER,
    RANGES,
    VALUES,
    below,
    has_ends,
    label_ends,
    without_enums,
)
from sqlpriv.methods.labelled.labels import NodeLabels
from sqlpriv.methods.labelled.scan import Scan, number_rows
from sqlpriv.methods.lattice import Node
from sqlpriv.policy.file import Column, Policy
from sqlpriv.release.file import SCHEMA, WRITTEN
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.domains import PublishedColumn, read_domain
from sqlpriv.table.hierarchies import TOP, wide_rows
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
        return f"{self.name}_low", f"{self.name}_high"


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
    found = []
    for name in columns:
        a, original = place.get(folded(name)), known.types[name]
        labels = VALUES if a is None or node[a] == 0 else _labels(scan, a, node[a])
        ends = has_ends(labels, original)
        found.append(ShownColumn(name, original, labels, known.domains.get(name), ends))
    return found


def _labels(scan: Scan, attribute: int, level: int) -> str:
    given = scan.policy.hierarchies[scan.policy.qis[attribute]]
    kind = given.partition(":")[0] if isinstance(given, str) else ""
    return kind if kind in (RANGES, DATES, BINS) and level < scan.heights[attribute] else OTHER


def write_leaves(
    scan: Scan, shown: NodeLabels, columns: Sequence[ShownColumn], rows_of: Mapping[str, str] | None = None
) -> None:
    """Tables domain.<c> and ends_<c> of the file that is written.

    `rows_of`: the table of the file that has a column, where not all are in one.
    """
    con, place = scan.source.con, {folded(q): a for a, q in enumerate(scan.policy.qis)}
    for column in columns:
        a = place.get(folded(column.name))
        ends = quoted(WRITTEN, SCHEMA, f"ends_{column.name}")
        published = quoted(WRITTEN, SCHEMA, "published") if rows_of is None else rows_of[column.name]
        if a is not None and column.has_ends:
            fetch(con, f"CREATE TABLE {ends} AS {ends_rows(scan, shown, a, column, published)}")
        if column.domain is not None:
            target = quoted(WRITTEN, "domain", column.name)
            fetch(con, f"CREATE TABLE {target} AS {domain_rows(scan, shown, a, column, ends)}")


def ends_rows(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn, published: str) -> str:
    """A query for the ends of the labels that are published."""
    if column.labels == BINS:
        rows = _bin_ends(scan, shown, attribute, column)
    else:
        occurs = f"label IN (SELECT CAST({quoted(column.name)} AS VARCHAR) FROM {published})"
        labels = f"(SELECT DISTINCT label AS value FROM {shown.labels} WHERE attribute = {attribute} AND {occurs})"
        rows = label_ends(column.labels, column.original, labels)
    return f"{rows} ORDER BY low, label"


def domain_rows(scan: Scan, shown: NodeLabels, attribute: int | None, column: ShownColumn, ends: str) -> str:
    """A query for the values of a public domain with their labels under the node."""
    labelled = _labelled(scan, shown, attribute, column, ends)
    return f"SELECT *, {below('label')} FROM ({labelled}) ORDER BY value NULLS LAST"


def _labelled(scan: Scan, shown: NodeLabels, attribute: int | None, column: ShownColumn, ends: str) -> str:
    """A query for the values of a domain with their labels under the node."""
    if attribute is None or shown.node[attribute] == 0:
        return f"SELECT value, CAST(value AS VARCHAR) AS label, share FROM {column.domain}"
    if shown.node[attribute] == scan.heights[attribute]:
        return f"SELECT value, {literal(TOP)} AS label, share FROM {column.domain}"
    if column.labels != BINS:
        return _by_hierarchy(scan, shown, attribute, column)
    # Values between bins, or of bins that are not shown, have a label that no row has.
    within = f"LEFT JOIN {ends} AS e ON d.value BETWEEN e.low AND e.high"
    label = f"CASE WHEN d.value IS NOT NULL THEN coalesce(e.label, {literal(NEVER_SHOWN)}) END"
    return f"SELECT d.value, {label} AS label, d.share FROM {column.domain} AS d {within}"


def _bin_ends(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn) -> str:
    """The smallest and the largest published value of each bin."""
    number = " + ".join(f"l{a}.number" for a in range(len(shown.node)))
    cells = f"l{attribute}.label AS label, t.{quoted(column.name)} AS cell"
    rows = number_rows(scan.policy, scan.frequencies.relation, cells, shown.labels)
    rows += f" WHERE NOT ({shown.is_hidden(number)})"
    return f"SELECT label, min(cell) AS low, max(cell) AS high FROM ({rows}) WHERE label IS NOT NULL GROUP BY label"


def _by_hierarchy(scan: Scan, shown: NodeLabels, attribute: int, column: ShownColumn) -> str:
    """A query for the values of a domain with their labels, which the hierarchy gives to values of the table, too."""
    con, source, level = scan.source.con, scan.source, shown.node[attribute]
    given = scan.policy.hierarchies[scan.policy.qis[attribute]]
    base = source.scratch.table(f"SELECT value AS {quoted(column.name)} FROM {column.domain}", "domain")
    wide = source.scratch.table(wide_rows(source, given, column.name, base.name), "domain_labels")
    names = list(wide.columns)
    labelled = (
        f"SELECT d.value, w.{quoted(names[level])} AS label, d.share FROM {column.domain} AS d LEFT JOIN {wide} AS w "
        f"ON CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM w.{quoted(names[0])}"
    )
    bare = fetch(con, f"SELECT count(*) FROM ({labelled}) WHERE label IS NULL AND value IS NOT NULL")[0][0]
    if bare:
        raise PolicyError(f"domain of {column.name!r}: {bare:,} of its values have no label in the hierarchy")
    unlike = fetch(
        con,
        f"SELECT count(*) FROM {shown.labels} AS s JOIN ({labelled}) AS d ON s.value IS NOT DISTINCT FROM "
        f"CAST(d.value AS VARCHAR) WHERE s.attribute = {attribute} AND s.label IS DISTINCT FROM d.label",
    )[0][0]
    if unlike:
        raise PolicyError(
            f"domain of {column.name!r}: its hierarchy labels {unlike:,} values of the domain otherwise than those of "
            "the table; write labels that depend on the value alone"
        )
    return labelled
