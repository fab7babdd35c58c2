"""A release by sampled k-anonymity for queries: its classes, and those that could be there and are not.

A class that is not shown had fewer than k sampled rows, so k - 1 at most. Which classes there could be is known where
every column has a public domain, or stands at the top of its hierarchy: all combinations of their labels. Of the
columns that a query mentions the combinations are listed with their leaves; how many classes each of them stands for is
the product of the numbers of labels of the other columns, less those that are shown.

Of several groups of columns each has classes of its own, and a query is about columns of one group. One that mentions
no column is answered by the group of which the fewest classes could be there: that is public, so the sample has no part
in the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.read import ClassRows, Known, PublishedColumn
from sqlpriv.methods.sdgs.groups import Group, declared_groups, file_of
from sqlpriv.methods.sdgs.terms import refuse_no_numbers
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.public_facts import PublicFacts
from sqlpriv.rewrite.release import Attribute, Cuts, Release, SampledRelease

_ONE = "1e0"


@dataclass(frozen=True)
class SampledColumn:
    """A published column, with the number of labels that it could have; None where that is not public."""

    column: PublishedColumn
    labels: int | None

    @property
    def name(self) -> str:
        """Its name."""
        return self.column.name


@dataclass(frozen=True)
class SampledRows:
    """The relation of shown classes and of those that are not there, with their leaves."""

    shown: ClassRows
    columns: Sequence[SampledColumn]
    k: int

    @property
    def is_closed(self) -> bool:
        """Whether all classes that could be there are known."""
        return all(c.labels is not None for c in self.columns)

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf: the classes that are shown, and those that are not there as hidden ones."""
        seen = self.shown.relation(mentioned, cuts, False)
        if not self.is_closed:
            return seen
        here = [c for c in self.columns if c.name in mentioned]
        return f"{seen} UNION ALL {self._absent(here)}"

    def _absent(self, here: Sequence[SampledColumn]) -> str:
        """Combinations of labels of these columns, each with the sampled rows that may be suppressed behind it."""
        others = 1
        for column in self.columns:
            others *= 1 if column in here else column.labels or 1
        cells = [f"CAST({quoted(c.name)} AS VARCHAR)" for c in self.columns]
        listed = ", ".join(f"{cell} AS a{i}" for i, cell in enumerate(cells))
        by = ", ".join(f"a{i}" for i, c in enumerate(self.columns) if c in here)
        tuples = f"SELECT DISTINCT {listed} FROM {self.shown.published}"
        counted = f"SELECT {by + ', ' if by else ''}count(*) AS n FROM ({tuples}){f' GROUP BY {by}' if by else ''}"
        copies = inlined(f"_rows_not_seen({self.k}, {float(others)!r}, coalesce(s.n, 0))") + " AS __copies"
        domains = [f"{c.column.leaves} AS d{i}" for i, c in enumerate(self.columns) if c in here]
        numbers = [i for i, c in enumerate(self.columns) if c in here]
        if not numbers:
            one = f"1 AS __leaves, {_ONE} AS __weight, {_ONE} AS __total, true AS __hidden"
            return f"SELECT -1 AS __unit, {copies}, {one} FROM ({counted}) AS s"
        values = ", ".join(f"d{i}.value AS {quoted(self.columns[i].name)}" for i in numbers)
        unit = f"-dense_rank() OVER (ORDER BY {', '.join(f'd{i}.label' for i in numbers)}) AS __unit"
        leaves = " * ".join(f"d{i}.leaves" for i in numbers)
        total = " * ".join([_ONE, *(f"d{i}.total" for i in numbers)])
        weight = " * ".join([_ONE, *(f"coalesce(d{i}.share, {_ONE})" for i in numbers)])
        same = " AND ".join(f"s.a{i} IS NOT DISTINCT FROM d{i}.label" for i in numbers)
        return (
            f"SELECT {values}, {unit}, {copies}, true AS __hidden, {leaves} AS __leaves, {weight} AS __weight, "
            f"{total} AS __total FROM {' CROSS JOIN '.join(domains)} LEFT JOIN ({counted}) AS s ON {same}"
        )

    @property
    def possible(self) -> float:
        """How many classes there could be."""
        found = 1.0
        for column in self.columns:
            found *= inf if column.labels is None else column.labels
        return found


@dataclass(frozen=True)
class GroupedRows:
    """The rows of several groups of columns."""

    groups: Sequence[SampledRows]

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf, of columns of one group."""
        if not mentioned:
            return min(self.groups, key=lambda group: group.possible).relation(mentioned, cuts, every)
        own = next(g for g in self.groups if mentioned <= {c.name for c in g.columns})
        return own.relation(mentioned, cuts, every)


def _columns(file: ReleaseFile, group: Group) -> list[SampledColumn]:
    rows = {str(row["name"]): row for row in file.rows("attributes")}
    own = file_of(file, group)
    return [
        _sampled(own, PublishedColumn(own, row), row["level"] is not None and row["level"] == row["levels"])
        for row in (rows[name] for name in group.columns)
    ]


def _sampled(file: ReleaseFile, column: PublishedColumn, is_at_top: bool) -> SampledColumn:
    if column.has_domain and column.why_not is None:
        labels = f"SELECT count(*) FROM (SELECT DISTINCT label FROM {column.leaves})"
        return SampledColumn(column, int(fetch(file.con, labels)[0][0]))
    return SampledColumn(column, 1 if is_at_top else None)


def open_sampled(file: ReleaseFile) -> Release:
    """The release for queries."""
    refuse_no_numbers(file)
    numbers, groups = file.parameters, declared_groups(file)
    listed = [_columns(file, group) for group in groups]
    published = [c.column for columns in listed for c in columns]
    known = {c.name: _known(file, c) for c in published}
    rows = GroupedRows(
        [
            SampledRows(
                ClassRows(file.table(group.table), [c.column for c in columns], known, None, "false"),
                columns,
                int(numbers["k"]),
            )
            for group, columns in zip(groups, listed, strict=True)
        ]
    )
    is_closed = all(group.is_closed for group in rows.groups)
    return SampledRelease(
        table=file.about["table"],
        attributes=tuple(_attribute(file, c, known[c.name]) for c in published),
        public=public_tables(file.con, file.catalog, "public"),
        facts=PublicFacts(file.con),
        rows=rows.relation,
        share=numbers["beta"],
        is_closed=is_closed,
        groups=tuple(frozenset(group.columns) for group in groups) if len(groups) > 1 else (),
    )


def _known(file: ReleaseFile, column: PublishedColumn) -> Known:
    size, nulls = fetch(file.con, f"SELECT count(*), count(*) - count(value) FROM {column.domain}")[0]
    return Known(int(size), nulls > 0, f"{int(size)}e0")


def _attribute(file: ReleaseFile, column: PublishedColumn, known: Known) -> Attribute:
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
    groups, k, beta = declared_groups(file), int(file.parameters["k"]), file.parameters["beta"]
    listed = [_columns(file, group) for group in groups]
    columns = [column for own in listed for column in own]
    told = [
        f"Answers of `sqlpriv query {file.name}` count each row 1 / {beta:.4g} times. low and high are a confidence "
        "interval of a question that was fixed before anybody saw the release: low counts rows that meet it for "
        f"certain, high also those that may, and {k:,} - 1 suppressed rows for each class that could be there and is "
        "not.",
        "Estimates leave out what is suppressed: over all they are too low.",
    ]
    if len(groups) > 1:
        told.append(f"A question is about columns of one group: {'; '.join(', '.join(g.columns) for g in groups)}.")
    open_ones = [repr(c.name) for c in columns if c.labels is None]
    if open_ones:
        told.append(f"Without a public domain of {', '.join(open_ones)} nobody knows these classes: high is infinite.")
    else:
        absent = " and ".join(f"{_absent(file, g, own):,.0f}" for g, own in zip(groups, listed, strict=True))
        told.append(f"{absent} classes could be there and are not.")
    hidden = [repr(c.name) for c in columns if c.column.why_not is not None]
    if hidden:
        told.append(f"Nothing can be asked of {', '.join(hidden)}: which values are below the labels is not public.")
    return [Line(text) for text in told]


def _absent(file: ReleaseFile, group: Group, columns: Sequence[SampledColumn]) -> float:
    """How many classes of a group could be there and are not."""
    possible = 1
    for column in columns:
        possible *= column.labels or 1
    listed = ", ".join(f"CAST({quoted(c.name)} AS VARCHAR)" for c in columns)
    shown = fetch(file.con, f"SELECT count(*) FROM (SELECT DISTINCT {listed} FROM {file.table(group.table)})")[0][0]
    return float(possible - int(shown))
