"""Open a generalized release for queries: the values below the labels of a column, and classes of rows with them.

Three things may say which values a cell stands for. A column that is not generalized shows its values. A public domain
lists them, with the labels above them. And ranges of numbers or dates name their ends: whole numbers and days between
them are listed, all others cut where a query compares them (rewrite/estimate/cuts.py). A column with none of the three
cannot be queried.

A suppressed row stands for any value of a public domain. Without one, it is estimated as if it were spread like the
published rows, and bounded as if it could have any value: Attribute.unlisted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import NUMERIC_TYPE, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.layout import (
    BOXES,
    CLOSED,
    QI,
    VALUES,
    WHOLE,
    counted_leaves,
    cut_leaves,
    has_ends,
    open_leaves,
)
from sqlpriv.methods.records import SIMPLE_TYPE
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.estimate.texts import number
from sqlpriv.rewrite.release import Attribute, Cuts, GeneralizedRelease, PublicFacts, end_of
from sqlpriv.table.hierarchies import TOP

_MOST_BELOW = 10_000_000
_ONE = "1e0"
_NOT_PUBLIC = (
    "it is published as labels, and which values are below them is not public; read it with plain SQL, or publish it "
    "with a domain for this column"
)
_UNREADABLE = "it is published as text, from which values of its type cannot be read; read it with plain SQL"
_SHORT = "its values are published in ranges, and its type is not among those that can be cut; publish it as DOUBLE"


def counted(copies: str | None) -> str:
    """How many rows of the table some published rows are; `copies` names the column that says it, if one does."""
    return "count(*)" if copies is None else f"CAST(sum({copies}) AS BIGINT)"


@dataclass(frozen=True)
class Leaves:
    """A relation of leaves, to be read as d, and its columns: of a leaf, or of all leaves of its label."""

    relation: str
    label: str | None = None
    """The column that equals the label of a cell; None where all cells have all leaves."""
    weight: str = _ONE
    leaves: str = "1"
    total: str = _ONE
    ending: str | None = None
    value: str = "d.value"

    def read_as(self, name: str) -> Leaves:
        """The same under another name than d."""
        texts = {field: text.replace("d.", f"{name}.") for field, text in vars(self).items() if text is not None}
        return replace(self, **{**texts, "relation": self.relation})


@dataclass(frozen=True)
class KnownValues:
    """Of a column: how many values are known, whether NULL is one, and their weights in all, for a suppressed row."""

    size: int
    has_null: bool
    total: str
    """As SQL."""


class PublishedColumn:
    """A published column, and where the leaves below its labels come from."""

    def __init__(self, file: ReleaseFile, row: dict[str, object], copies: str | None = None) -> None:
        self._file = file
        self._copies = copies
        self.name, self._type, original = str(row["name"]), str(row["type"]), str(row["original"])
        # Anybody may have written the file, so nothing is taken for a type that could be more than one.
        self.kind = original if SIMPLE_TYPE.fullmatch(original) else self._type
        self._is_unreadable = self.kind != original
        self.is_quasi_identifier = row["role"] == QI
        self.shows_values = row["labels"] == VALUES
        self.has_domain = bool(row["has_domain"])
        self._labels = str(row["labels"])
        self._domain = quoted(file.catalog, "domain", self.name)
        # A label may be on two levels, with the same ends.
        self._ends = f"(SELECT DISTINCT label, low, high FROM {file.table(f'labels_{self.name}')})"
        self.published = file.table("published")

    @cached_property
    def has_ends(self) -> bool:
        """Whether every label names its ends, so that its leaves are known without a domain.

        Ranges that methods make may be open.
        """
        if self.shows_values or not has_ends(self._labels, self.kind):
            return False
        bare = "low > high" if self._labels in CLOSED else "low IS NULL OR high IS NULL OR low > high"
        return not fetch(self._file.con, f"SELECT count(*) FROM {self._ends} WHERE {bare}")[0][0]

    @cached_property
    def is_open(self) -> bool:
        """Whether some label has no end at a side, and no domain gives it one."""
        if self.has_domain or not self.has_ends:
            return False
        bare = f"SELECT count(*) FROM {self._ends} WHERE low IS NULL OR high IS NULL"
        return bool(fetch(self._file.con, bare)[0][0])

    @property
    def is_listed_by_ends(self) -> bool:
        """Whether the values between two ends can be listed: whole numbers, and days."""
        return self.has_ends and (WHOLE.fullmatch(self.kind) is not None or self.kind == "DATE")

    @property
    def is_cut(self) -> bool:
        """Whether its ranges have too many values to list."""
        is_listed = self.is_listed_by_ends and not self.is_open
        return self.has_ends and not self.has_domain and not is_listed and self.why_not is None

    @cached_property
    def why_not(self) -> str | None:
        """Why no query may use it; None where one may."""
        if self._is_unreadable:
            return _UNREADABLE
        if self.shows_values or self.has_domain:
            return None
        if not self.has_ends:
            return _NOT_PUBLIC
        if self.is_listed_by_ends:
            below = fetch(self._file.con, f"SELECT sum({self._width}) FROM {self._ends}")[0][0] or 0
            return None if below <= _MOST_BELOW else f"its ranges have {int(below):,} values, too many to list"
        is_number = NUMERIC_TYPE.fullmatch(self.kind) is not None and self.kind != "FLOAT"
        return None if is_number or self.kind == "TIMESTAMP" else _SHORT

    @property
    def _width(self) -> str:
        ends = ("low", "high") if self.kind == "DATE" else ("CAST(low AS HUGEINT)", "CAST(high AS HUGEINT)")
        return f"{ends[1]} - {ends[0]} + 1"

    @property
    def cell(self) -> str:
        """A published cell, in SQL: the value itself where the column shows values, else its label."""
        if self.shows_values and self._type != self.kind:
            # Stars, which are no values, are taken for NULL here, and never looked at.
            return f"TRY_CAST({quoted(self.name)} AS {self.kind})"
        return quoted(self.name) if self.shows_values else f"CAST({quoted(self.name)} AS VARCHAR)"

    @property
    def domain(self) -> str:
        """The values that are known of it, as a relation with a column `value`."""
        if self.why_not is not None:
            kind = self.kind if SIMPLE_TYPE.fullmatch(self.kind) else "VARCHAR"
            return f"(SELECT CAST(NULL AS {kind}) AS value WHERE false)"
        if self.has_domain:
            return self._domain
        below = self.below([])
        return f"(SELECT DISTINCT {below.value} AS value FROM {below.relation} AS d)"

    def below(self, cuts: list[str]) -> Leaves:
        """The leaves below its labels."""
        if self.shows_values:
            return Leaves(f"(SELECT DISTINCT {self.cell} AS value FROM {self.published})")
        if self.has_domain:
            return Leaves(self.leaves, "d.label", f"coalesce(d.share, {_ONE})", "d.leaves", "d.total")
        nulls = f"WHERE EXISTS (FROM {self.published} WHERE {quoted(self.name)} IS NULL)"
        if self.is_cut:
            null = f"SELECT NULL, NULL, {_ONE}, 1, {_ONE}, NULL {nulls}"
            closed = f"(FROM {self._ends} WHERE low <= high)"
            if self.is_listed_by_ends:
                counted_all = f"{_ONE} AS weight, leaves, CAST(leaves AS DOUBLE) AS total"
                pieces = f"SELECT label, value, {counted_all}, value AS ending FROM ({self._listed(closed)})"
            else:
                pieces = cut_leaves(closed, self.kind, cuts, self._labels in CLOSED)
            if self.is_open:
                pieces = f"{pieces} UNION ALL {open_leaves(self._ends, self.kind, cuts)}"
            rows = f"({self._with_null(pieces, 'value, weight, leaves, total, ending')} UNION ALL {null})"
            return Leaves(rows, "d.label", "d.weight", "d.leaves", "d.total", "d.ending")
        values = self._listed(self._ends)
        rows = f"({self._with_null(values, 'value, leaves')} UNION ALL SELECT NULL, NULL, 1 {nulls})"
        return Leaves(rows, "d.label", leaves="d.leaves", total="CAST(d.leaves AS DOUBLE)")

    def _listed(self, ends: str) -> str:
        """A query for the values of ranges of whole numbers or days: label, value, leaves."""
        if self.kind == "DATE":
            listed = "unnest(range(CAST(low AS TIMESTAMP), CAST(high AS TIMESTAMP) + INTERVAL 1 DAY, INTERVAL 1 DAY))"
        else:
            # By their distances: the next number may be none of the type.
            listed = f"low + unnest(range(CAST({self._width} AS BIGINT)))"
        return f"SELECT label, CAST({listed} AS {self.kind}) AS value, {self._width} AS leaves FROM {ends}"

    @property
    def leaves(self) -> str:
        """The values of its domain with the labels above them: label, value, share, and leaves and total of the label.

        A value is there once for every label above it.
        """
        if self.shows_values:
            one = f"CAST(1 AS BIGINT) AS leaves, coalesce(share, {_ONE}) AS total"
            return f"(SELECT CAST(value AS VARCHAR) AS label, value, share, {one} FROM {self._domain})"
        if self._labels != BOXES:
            return self._file.table(f"leaves_{self.name}")
        star = literal(TOP)
        within = f"{self._ends} AS e JOIN {self._domain} AS d ON d.value >= coalesce(e.low, d.value) AND "
        within += "d.value <= coalesce(e.high, d.value)"
        leaves = (
            f"SELECT e.label, d.value, d.share FROM {within} WHERE e.label <> {star} UNION ALL SELECT {star}, "
            f"value, share FROM {self._domain} WHERE EXISTS (FROM {self._ends} WHERE label = {star}) UNION ALL "
            f"SELECT NULL, NULL, share FROM {self._domain} WHERE value IS NULL"
        )
        return f"({counted_leaves(leaves)})"

    def _with_null(self, rows: str, columns: str) -> str:
        """Leaves by their ends, for boxes with NULL below *, which is the label of rows with and without a value."""
        if self._labels != BOXES:
            return rows
        star = f"label = {literal(TOP)}"
        counted = f"SELECT * REPLACE (leaves + CASE WHEN {star} THEN 1 ELSE 0 END AS leaves) FROM ({rows})"
        filled = {"value": "NULL", "weight": "0e0", "ending": "NULL"}
        null = ", ".join(filled.get(name, name) for name in columns.split(", "))
        return f"{counted} UNION ALL SELECT DISTINCT label, {null} FROM ({counted}) WHERE {star}"

    def hidden(self, cuts: list[str], starred: str, known: KnownValues) -> Leaves:
        """What a suppressed row may have, as far as is known: the domain, or else what published rows have."""
        if self.has_domain:
            share = f"coalesce(d.share, {_ONE})"
            return Leaves(self._domain, None, share, str(known.size), known.total)
        below = self.below(cuts)
        seen = f"SELECT {self.cell} AS cell, {counted(self._copies)} AS n FROM {self.published} "
        seen += f"WHERE NOT ({starred}) GROUP BY 1"
        label = below.label or below.value
        spread = inlined(f"_spread(s.n, {below.weight}, {below.total})")
        return Leaves(
            f"(SELECT {below.value} AS value, sum({spread}) AS weight, "
            f"{below.ending or 'NULL'} AS ending FROM ({seen}) AS s JOIN {below.relation} AS d "
            f"ON s.cell IS NOT DISTINCT FROM {label} GROUP BY ALL)",
            None,
            "d.weight",
            "1",
            known.total,
            "d.ending" if below.ending else None,
        )


@dataclass(frozen=True)
class ClassRows:
    """The relation of classes and leaves."""

    published: str
    columns: list[PublishedColumn]
    known: dict[str, KnownValues]
    left_out: str | None
    """The number of suppressed rows that are left out, as SQL; None where there are none."""
    starred: str
    """Which published rows are suppressed ones, kept with stars."""
    copies: str | None = None
    """The column with the number of rows that a published row stands for, where it is not one."""

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf: classes of published rows, those of rows with stars, and that of rows which are left out."""
        columns = [c for c in self.columns if c.name in mentioned]
        if not columns:
            rows = counted(self.copies)
            copies = f"(SELECT {rows} + {self.left_out or 0} FROM {self.published})"
            one = f"1 AS __leaves, {_ONE} AS __weight, {_ONE} AS __total, false AS __hidden"
            return f"SELECT 0 AS __unit, {copies} AS __copies, {one}"
        kept = self.starred != "false"
        below = [None if c.shows_values else c.below(list(cuts.get(c.name, ()))) for c in columns]
        parts = [self._part(columns, below, f"NOT ({self.starred})" if kept else "", "row_number() OVER ()", "false")]
        if kept or self.left_out or every:
            hidden = [c.hidden(list(cuts.get(c.name, ())), self.starred, self.known[c.name]) for c in columns]
            stars = [h if c.is_quasi_identifier else None for c, h in zip(columns, hidden, strict=True)]
            parts += [self._part(columns, stars, self.starred, "-row_number() OVER ()", "true")] if kept else []
            # Where no row is left out, these leaves show which groups there could be.
            parts += [self._part(columns, hidden, None, "0", "true")] if self.left_out or every else []
        return " UNION ALL ".join(parts)

    def _part(
        self, columns: list[PublishedColumn], leaves: Sequence[Leaves | None], where: str | None, unit: str, hidden: str
    ) -> str:
        """Classes by the cells of the columns, each with its leaves; a column without leaves shows its values.

        `where` says which published rows; None is for one class of all rows that are left out.
        """
        read = [found and found.read_as(f"d{i}") for i, found in enumerate(leaves)]
        listed = []
        for i, (column, own) in enumerate(zip(columns, read, strict=True)):
            listed.append(f"{own.value if own else f'c.l{i}'} AS {quoted(column.name)}")
            if column.is_cut:
                listed.append(f"{(own.ending if own else None) or f'c.l{i}'} AS {quoted(end_of(column.name))}")
        there = [own for own in read if own is not None]
        products = [
            f"{' * '.join(['1', *(own.leaves for own in there)])} AS __leaves",
            f"{' * '.join([_ONE, *(own.weight for own in there)])} AS __weight",
            f"{' * '.join([_ONE, *(own.total for own in there)])} AS __total",
        ]
        of_class = ("c.unit", "c.copies") if where is not None else (unit, self.left_out or "0")
        listed += [f"{of_class[0]} AS __unit", f"{of_class[1]} AS __copies", f"{hidden} AS __hidden", *products]
        sources = [f"{found.relation} AS d{i}" for i, found in enumerate(leaves) if found is not None]
        if where is None:
            return f"SELECT {', '.join(listed)} FROM {', '.join(sources)}"
        cells = ", ".join([*(f"{c.cell} AS l{i}" for i, c in enumerate(columns)), *filter(None, [self.copies])])
        shown = [i for i, found in enumerate(read) if found is None or found.label is not None]
        by = ", ".join(f"l{i}" for i in shown)
        classes = f"SELECT {unit} AS unit, {by + ', ' if by else ''}{counted(self.copies)} AS copies "
        classes += f"FROM (SELECT {cells} FROM {self.published}{f' WHERE {where}' if where else ''})"
        classes += f" GROUP BY {by}" if by else ""
        joins = "".join(
            f" JOIN {found.relation} AS d{i} ON c.l{i} IS NOT DISTINCT FROM {own.label}" if own.label else
            f" CROSS JOIN {found.relation} AS d{i}"
            for i, (found, own) in enumerate(zip(leaves, read, strict=True)) if found is not None and own is not None
        )  # fmt: skip
        return f"SELECT {', '.join(listed)} FROM ({classes}) AS c{joins}"


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows in other places than usual, as SQL: a column and two scalars."""

    copies: str
    """The column with the number of rows of the table that a published row stands for."""
    left_out: str
    """Suppressed rows that are left out."""
    published: str
    """All rows that are not suppressed."""


def open_generalized(file: ReleaseFile) -> GeneralizedRelease:
    """The release for queries."""
    columns = [
        PublishedColumn(file, row, file.copies)
        for row in sorted(file.rows("attributes"), key=lambda r: int(r["position"]))
    ]
    if not file.about.get("suppressed_rows", "").isdecimal():
        raise ReleaseError(f"{file.name} does not say how many rows are suppressed; publish it again")
    suppressed, kept = int(file.about["suppressed_rows"]), file.about.get("kept_suppressed") == "yes"
    release = generalized_release(file, file.about["table"], columns, suppressed, kept)
    return replace(release, public=public_tables(file.con, file.catalog, "public"))


def generalized_release(
    file: ReleaseFile,
    table: str,
    columns: list[PublishedColumn],
    suppressed: int,
    kept: bool,
    counts: RowCounts | None = None,
) -> GeneralizedRelease:
    """Rows with labels as a release for queries; `kept`: whether suppressed rows are among them, with stars.

    Without `counts` the file says how many rows of the table a row is.
    """
    published = file.table("published")
    qis = [c for c in columns if c.is_quasi_identifier]
    stars = " AND ".join(f"{quoted(c.name)} IS NOT DISTINCT FROM {literal(TOP)}" for c in qis)
    starred = stars if kept and suppressed else "false"
    if counts is not None:
        shown = counts.published
    else:
        shown = number(
            fetch(file.con, f"SELECT {counted(file.copies)} FROM {published} WHERE NOT ({starred})")[0][0] or 0
        )
    listed = [c.has_domain and c.why_not is None for c in columns]
    asked = " UNION ALL ".join(
        f"SELECT {i} AS i, count(*), count(*) - count(value), "
        f"{f'sum(coalesce(share, {_ONE}))' if listed[i] else 'NULL'} FROM {column.domain}"
        for i, column in enumerate(columns)
    )
    known = {
        columns[i].name: KnownValues(int(size), nulls > 0, number(total or 0) if listed[i] else shown)
        for i, size, nulls, total in fetch(file.con, asked)
    }
    left_out = None if kept or not suppressed else counts.left_out if counts else str(suppressed)
    classes = ClassRows(published, columns, known, left_out, starred, counts.copies if counts else file.copies)
    attributes = []
    for column in columns:
        own = known[column.name]
        # Suppressed rows may have a value that no list has.
        unlisted = suppressed > 0 and (column.is_quasi_identifier or not kept) and not column.has_domain
        attributes.append(
            Attribute(
                column.name,
                column.kind,
                max(own.size, 1),
                column.domain,
                own.has_null or unlisted,
                why_not=column.why_not,
                is_cut=column.is_cut,
                unlisted=unlisted,
                is_open=column.is_open,
            )
        )
    return GeneralizedRelease(
        table=table,
        attributes=tuple(attributes),
        facts=PublicFacts(file.con),
        rows=classes.relation,
        suppressed=suppressed,
    )
