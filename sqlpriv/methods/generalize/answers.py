"""A generalized release for queries: each class of rows with the leaves below its labels, of the columns mentioned.

Three things may say which values a cell stands for. A column that is not generalized shows its values. A public domain
lists them with their labels. And ranges of numbers or dates name their ends: whole numbers and days between them are
listed, all others cut where a query compares them (rewrite/estimate/cuts.py). What no such thing says, cannot be asked.

A suppressed row stands for any value of a public domain. Without one, it is estimated as if it were spread like the
published rows, and bounded as if it could have any value: Attribute.unlisted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlpriv.engine import fetch
from sqlpriv.methods.generalize.leaves import BINS, SIMPLE, VALUES, WHOLE, has_ends
from sqlpriv.methods.generalize.pieces import cut_leaves
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.public_facts import AskedFacts
from sqlpriv.rewrite.release import BOUNDS, Attribute, Cuts, Release, end_of
from sqlpriv.sqltext import NUMERIC_TYPE, literal, quoted
from sqlpriv.table.hierarchies import TOP

_MOST_BELOW = 1_000_000
_SHARE = "coalesce(share, 1e0)"
_NOT_PUBLIC = (
    "it is published as labels, and which values are below them is not public; read it with plain SQL, or publish it "
    "with a domain for this column"
)
_SHORT = "its values are published in ranges, and its type is not among those that can be cut; publish it as DOUBLE"


def open_generalized(file: ReleaseFile) -> Release:
    """The release for queries."""
    columns = [_Column(file, row) for row in sorted(file.rows("attributes"), key=lambda r: int(r["position"]))]
    suppressed = int(file.about["suppressed_rows"])
    kept = file.about.get("kept_suppressed") == "yes"
    qis = [c for c in columns if c.is_generalized_at_all]
    starred = " AND ".join(f"{quoted(c.name)} IS NOT DISTINCT FROM {literal(TOP)}" for c in qis)
    rows = _Rows(file, columns, 0 if kept else suppressed, starred if kept and suppressed else "false")
    return Release(
        table=file.about["table"],
        attributes=tuple(c.attribute(suppressed > 0 and (c.is_generalized_at_all or not kept)) for c in columns),
        published=rows.published,
        domain_weights={},
        public=public_tables(file.con, file.catalog, "public"),
        facts=AskedFacts(file.con),
        errors=frozenset({BOUNDS}),
        rows=rows.relation,
        suppressed=suppressed,
    )


class _Column:
    """A published column, and where the leaves below its labels come from."""

    def __init__(self, file: ReleaseFile, row: dict[str, object]) -> None:
        self._file = file
        self.name, self._type, original = str(row["name"]), str(row["type"]), str(row["original"])
        # Anybody may have written the file, so nothing is taken for a type that could be more than one.
        self.kind = original if SIMPLE.fullmatch(original) else self._type
        self.is_generalized_at_all = row["role"] == "quasi-identifier"
        self.shows_values = row["labels"] == VALUES
        self.has_domain = bool(row["has_domain"])
        self._labels = str(row["labels"])
        self._domain = quoted(file.catalog, "domain", self.name)
        self._ends = file.table(f"ends_{self.name}")
        self.published = file.table("published")

    @cached_property
    def has_ends(self) -> bool:
        """Whether every label names its ends, so that its leaves are known without a domain."""
        if self.shows_values or not has_ends(self._labels, self.kind):
            return False
        bare = f"SELECT count(*) FROM {self._ends} WHERE low IS NULL OR high IS NULL OR low > high"
        return not fetch(self._file.con, bare)[0][0]

    @property
    def is_listed_by_ends(self) -> bool:
        """Whether the values between two ends can be listed: whole numbers, and days."""
        return self.has_ends and (WHOLE.fullmatch(self.kind) is not None or self.kind == "DATE")

    @property
    def is_cut(self) -> bool:
        """Whether its ranges have too many values to list."""
        return self.has_ends and not self.has_domain and not self.is_listed_by_ends and self.why_not is None

    @cached_property
    def why_not(self) -> str | None:
        """Why nothing can be asked of it."""
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
        """A published cell as what it is told by: the value itself, where it shows values, and its label, else."""
        if self.shows_values and self._type != self.kind:
            # Stars, which are no values, are taken for NULL here, and never looked at.
            return f"TRY_CAST({quoted(self.name)} AS {self.kind})"
        return quoted(self.name) if self.shows_values else f"CAST({quoted(self.name)} AS VARCHAR)"

    def attribute(self, may_be_hidden: bool) -> Attribute:
        """What rewriting knows of it; `may_be_hidden`: whether suppressed rows do not show it."""
        unlisted = may_be_hidden and not self.has_domain
        if self.why_not is not None:
            kind = self.kind if SIMPLE.fullmatch(self.kind) else "VARCHAR"
            nothing = f"(SELECT CAST(NULL AS {kind}) AS value WHERE false)"
            return Attribute(self.name, self.kind, 1, nothing, why_not=self.why_not)
        domain = self._domain if self.has_domain else f"(SELECT DISTINCT value FROM ({self.leaves([])}))"
        size, nulls = fetch(self._file.con, f"SELECT count(*), count(*) - count(value) FROM {domain}")[0]
        has_null = bool(nulls) or unlisted
        return Attribute(
            self.name, self.kind, max(int(size), 1), domain, has_null, is_cut=self.is_cut, unlisted=unlisted
        )

    def leaves(self, cuts: list[str]) -> str:
        """A query for label, value, weight and end of the leaves below each label."""
        if self.shows_values:
            found = f"SELECT DISTINCT {self.cell} AS value FROM {self.published}"
            return f"SELECT value AS label, value, 1e0 AS weight, value AS ending FROM ({found})"
        if self.has_domain:
            below = "label IS NOT NULL OR value IS NULL"
            return f"SELECT label, value, {_SHARE} AS weight, value AS ending FROM {self._domain} WHERE {below}"
        null = f"SELECT NULL AS label, CAST(NULL AS {self.kind}) AS value, 1e0 AS weight, NULL AS ending"
        has_null = f"{null} WHERE EXISTS (FROM {self.published} WHERE {quoted(self.name)} IS NULL)"
        if self.is_cut:
            return f"{cut_leaves(self._ends, self.kind, cuts, self._labels == BINS)} UNION ALL {has_null}"
        if self.kind == "DATE":
            listed = "unnest(range(CAST(low AS TIMESTAMP), CAST(high AS TIMESTAMP) + INTERVAL 1 DAY, INTERVAL 1 DAY))"
        else:
            # By their distances: the next number may be none of the type.
            listed = f"low + unnest(range(CAST({self._width} AS BIGINT)))"
        values = f"SELECT label, CAST({listed} AS {self.kind}) AS value, 1e0 AS weight FROM {self._ends}"
        return f"SELECT *, value AS ending FROM ({values}) UNION ALL {has_null}"

    def hidden(self, cuts: list[str], starred: str) -> str:
        """A query for value, weight and end of what a suppressed row may have, as far as is known."""
        if self.has_domain:
            return f"SELECT value, {_SHARE} AS weight, value AS ending FROM {self._domain}"
        seen = f"SELECT {self.cell} AS label, count(*) AS n FROM {self.published} WHERE NOT ({starred}) GROUP BY 1"
        below = f"SELECT *, weight / sum(weight) OVER (PARTITION BY label) AS part FROM ({self.leaves(cuts)})"
        return (
            f"SELECT value, sum(n * part) AS weight, ending FROM ({seen}) AS s JOIN ({below}) AS l "
            "ON s.label IS NOT DISTINCT FROM l.label GROUP BY value, ending"
        )


@dataclass(frozen=True)
class _Rows:
    """The relation of classes and leaves."""

    file: ReleaseFile
    columns: list[_Column]
    gone: int
    """Suppressed rows that are left out."""
    starred: str
    """Which published rows are suppressed ones, kept with stars."""

    @property
    def published(self) -> str:
        """The published rows."""
        return self.file.table("published")

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf."""
        columns = [c for c in self.columns if c.name in mentioned]
        if not columns:
            copies = f"(SELECT count(*) + {self.gone} FROM {self.published})"
            one = "1 AS __leaves, 1e0 AS __weight, 1e0 AS __total, false AS __hidden"
            return f"SELECT 0 AS __unit, {copies} AS __copies, {one}"
        has_hidden = every or self.gone > 0 or self.starred != "false"
        listed, joined, joins = [], [], ""
        for i, column in enumerate(columns):
            if column.shows_values and not has_hidden:
                listed.append(f"c.l{i} AS {quoted(column.name)}")
                continue
            listed.append(f"d{i}.value AS {quoted(column.name)}")
            if column.is_cut:
                listed.append(f"d{i}.ending AS {quoted(end_of(column.name))}")
            joined.append(f"d{i}")
            same = f"c.h{i} = d{i}.h AND c.l{i} IS NOT DISTINCT FROM d{i}.label"
            joins += f" JOIN ({self._leaves(column, list(cuts.get(column.name, ())), has_hidden)}) AS d{i} ON {same}"
        products = (
            f"{' * '.join([one, *(f'{d}.{name}' for d in joined)])} AS __{name}"
            for name, one in (("weight", "1e0"), ("total", "1e0"), ("leaves", "1"))
        )
        own = "c.unit AS __unit, c.copies AS __copies, c.hidden AS __hidden"
        classes = self._classes(columns, every)
        return f"SELECT {', '.join([own, *products, *listed])} FROM ({classes}) AS c{joins}"

    def _leaves(self, column: _Column, cuts: list[str], has_hidden: bool) -> str:
        """The leaves of a column by label, with how many there are; those of hidden cells beside them."""
        parts = [f"SELECT false AS h, label, value, weight, ending FROM ({column.leaves(cuts)})"]
        if has_hidden:
            parts.append(f"SELECT true, NULL, value, weight, ending FROM ({column.hidden(cuts, self.starred)})")
        of_label = "OVER (PARTITION BY h, label)"
        rows = " UNION ALL ".join(parts)
        return f"SELECT *, count(*) {of_label} AS leaves, sum(weight) {of_label} AS total FROM ({rows})"

    def _classes(self, columns: list[_Column], every: bool) -> str:
        """The classes by the cells of these columns: l0, h0, l1, ... and their number of rows."""
        cells = []
        for i, column in enumerate(columns):
            is_star = self.starred if column.is_generalized_at_all else "false"
            cell = column.cell if is_star == "false" else f"CASE WHEN {is_star} THEN NULL ELSE {column.cell} END"
            cells += [f"{cell} AS l{i}", f"{is_star} AS h{i}"]
        rows = f"SELECT {', '.join(cells)}, {self.starred} AS hidden FROM {self.published}"
        classes = f"SELECT *, count(*) AS copies FROM ({rows}) GROUP BY ALL"
        if self.gone or every:
            # Nothing is known of these rows; where there are none, they show which groups there could be.
            nothing = ", ".join(f"NULL AS l{i}, true AS h{i}" for i in range(len(columns)))
            classes += f" UNION ALL BY NAME SELECT {nothing}, true AS hidden, {self.gone} AS copies"
        return f"SELECT row_number() OVER () AS unit, * FROM ({classes})"
