"""A release by sampled k-anonymity for queries: its classes, and those that could be there and are not.

A class that is not shown had fewer than k sampled rows, so k - 1 at most. Which classes there could be is known where
every column has a public domain, or stands at the top of its hierarchy: all combinations of their labels. Of the
columns that a query mentions the combinations are listed with their leaves. How many classes each of them stands for is
the product of the numbers of labels of the other columns, less those that are shown.

Of several groups of columns each has classes of its own, and a query is about columns of one group. One that mentions
no column is answered by the group of which the fewest classes could be there: that is public, so the sample has no part
in the choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.read import ClassRows, KnownValues, PublishedColumn
from sqlpriv.methods.sdgs.groups import declared_groups, file_of
from sqlpriv.methods.sdgs.terms import refuse_no_numbers
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.release import Attribute, Cuts, PublicFacts, Release, SampledRelease

_ONE = "1e0"


@dataclass(frozen=True)
class PublishedGroup:
    """The published rows of a group of columns, and how many labels each column could have."""

    table: str
    columns: list[PublishedColumn]
    labels: Mapping[str, int | None]
    """By column; None where the number is not public."""

    @property
    def is_closed(self) -> bool:
        """Whether all classes that could be there are known."""
        return None not in self.labels.values()

    @property
    def possible(self) -> float:
        """How many classes there could be; infinity where that is not known."""
        return prod(inf if number is None else number for number in self.labels.values())


def _groups(file: ReleaseFile) -> list[PublishedGroup]:
    """The groups that a file declares."""
    rows = {str(row["name"]): row for row in file.attributes}
    found = []
    for group in declared_groups(file):
        own, columns = file_of(file, group), []
        labels: dict[str, int | None] = {}
        for name in group.columns:
            column = PublishedColumn(own, rows[name])
            level, levels = rows[name]["level"], rows[name]["levels"]
            if column.has_domain and column.why_not is None:
                listed = f"SELECT DISTINCT label FROM {column.leaves}"
                labels[name] = int(fetch(file.con, f"SELECT count(*) FROM ({listed})")[0][0])
            else:
                labels[name] = 1 if level is not None and level == levels else None  # 1 at the top of its hierarchy
            columns.append(column)
        found.append(PublishedGroup(file.table(group.table), columns, labels))
    return found


@dataclass(frozen=True)
class SampledRows:
    """The relation of shown classes and of those that are not there, with their leaves."""

    groups: Sequence[PublishedGroup]
    known: Mapping[str, KnownValues]
    k: int

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf, of columns of one group: the classes that are shown, and those that are not there as hidden."""
        if mentioned:
            group = next(g for g in self.groups if mentioned <= set(g.labels))
        else:
            group = min(self.groups, key=lambda g: g.possible)
        shown = ClassRows(group.table, group.columns, dict(self.known), None, "false").relation(mentioned, cuts, False)
        return f"{shown} UNION ALL {self._absent(group, mentioned)}" if group.is_closed else shown

    def _absent(self, group: PublishedGroup, mentioned: frozenset[str]) -> str:
        """Combinations of labels of these columns, each with the sampled rows that may be suppressed behind it."""
        here = [(i, c) for i, c in enumerate(group.columns) if c.name in mentioned]
        others = prod(number or 1 for name, number in group.labels.items() if name not in mentioned)
        listed = ", ".join(f"CAST({quoted(c.name)} AS VARCHAR) AS a{i}" for i, c in enumerate(group.columns))
        by = ", ".join(f"a{i}" for i, _ in here)
        tuples = f"SELECT DISTINCT {listed} FROM {group.table}"
        counted = f"SELECT {by + ', ' if by else ''}count(*) AS n FROM ({tuples}){f' GROUP BY {by}' if by else ''}"
        copies = inlined(f"_rows_not_seen({self.k}, {float(others)!r}, coalesce(s.n, 0))") + " AS __copies"
        if not here:
            one = f"1 AS __leaves, {_ONE} AS __weight, {_ONE} AS __total, true AS __hidden"
            return f"SELECT -1 AS __unit, {copies}, {one} FROM ({counted}) AS s"
        domains = " CROSS JOIN ".join(f"{c.leaves} AS d{i}" for i, c in here)
        values = ", ".join(f"d{i}.value AS {quoted(c.name)}" for i, c in here)
        unit = f"-dense_rank() OVER (ORDER BY {', '.join(f'd{i}.label' for i, _ in here)}) AS __unit"
        leaves = " * ".join(f"d{i}.leaves" for i, _ in here)
        total = " * ".join([_ONE, *(f"d{i}.total" for i, _ in here)])
        weight = " * ".join([_ONE, *(f"coalesce(d{i}.share, {_ONE})" for i, _ in here)])
        same = " AND ".join(f"s.a{i} IS NOT DISTINCT FROM d{i}.label" for i, _ in here)
        return (
            f"SELECT {values}, {unit}, {copies}, true AS __hidden, {leaves} AS __leaves, {weight} AS __weight, "
            f"{total} AS __total FROM {domains} LEFT JOIN ({counted}) AS s ON {same}"
        )


def open_sampled(file: ReleaseFile) -> Release:
    """The release for queries."""
    refuse_no_numbers(file)
    groups, known, attributes = _groups(file), {}, []
    for column in (c for group in groups for c in group.columns):
        size, nulls = fetch(file.con, f"SELECT count(*), count(*) - count(value) FROM {column.domain}")[0]
        known[column.name] = KnownValues(int(size), nulls > 0, f"{int(size)}e0")
        attributes.append(_attribute(file, column, known[column.name]))
    return SampledRelease(
        table=file.about["table"],
        attributes=tuple(attributes),
        public=public_tables(file.con, file.catalog, "public"),
        facts=PublicFacts(file.con),
        rows=SampledRows(groups, known, int(file.parameters["k"])).relation,
        share=file.parameters["beta"],
        is_closed=all(group.is_closed for group in groups),
        groups=tuple(frozenset(group.labels) for group in groups) if len(groups) > 1 else (),
    )


def _attribute(file: ReleaseFile, column: PublishedColumn, known: KnownValues) -> Attribute:
    unlisted = not column.has_domain
    is_number = column.has_domain and NUMERIC_TYPE.fullmatch(column.kind) is not None
    least = fetch(file.con, f"SELECT min(value) FROM {column.domain}")[0][0] if is_number else None
    return Attribute(
        column.name,
        column.kind,
        max(known.size, 1),
        column.domain,
        known.has_null or unlisted,
        never_below_zero=least is not None and least >= 0,
        why_not=column.why_not,
        is_cut=column.is_cut,
        unlisted=unlisted,
    )


def answers_mean(file: ReleaseFile) -> list[Line]:
    """What answers of a release are, for people."""
    groups, k, beta = _groups(file), int(file.parameters["k"]), file.parameters["beta"]
    lines = [
        f"Answers of `sqlpriv query {file.name}` count each row 1 / {beta:.4g} times. low and high are a confidence "
        "interval for a question that was fixed before anybody saw the release. low counts rows that meet it for "
        f"certain. high also counts those that may, and {k:,} - 1 suppressed rows for each class that could be there "
        "and is not.",
        "Estimates leave out what is suppressed: over all they are too low.",
    ]
    if len(groups) > 1:
        lines.append(f"A question is about columns of one group: {'; '.join(', '.join(g.labels) for g in groups)}.")
    open_ones = [repr(name) for group in groups for name, number in group.labels.items() if number is None]
    if open_ones:
        lines.append(f"Without a public domain of {', '.join(open_ones)} nobody knows these classes: high is infinite.")
    else:
        absent = " and ".join(f"{_absent(file, group):,.0f}" for group in groups)
        lines.append(f"{absent} classes could be there and are not.")
    hidden = [repr(c.name) for group in groups for c in group.columns if c.why_not is not None]
    if hidden:
        lines.append(f"Nothing can be asked of {', '.join(hidden)}: which values are below the labels is not public.")
    return [Line(text) for text in lines]


def _absent(file: ReleaseFile, group: PublishedGroup) -> float:
    """How many classes of a group could be there and are not."""
    listed = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in group.labels)
    return group.possible - int(
        fetch(file.con, f"SELECT count(*) FROM (SELECT DISTINCT {listed} FROM {group.table})")[0][0]
    )
