"""A published column of a generalized release, and where the leaves below its labels come from.

Three things may say which values a cell stands for. A column that is not generalized shows its values. A public domain
lists them with their labels. And ranges of numbers or dates name their ends: whole numbers and days between them are
listed, all others cut where a query compares them (rewrite/estimate/cuts.py). What no such thing says, cannot be asked.

Labels of boxes are of many levels, so a value may be below several: which, their ends say, or a table of leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.kinds import BINS, BOXES, SIMPLE, VALUES, WHOLE, below, has_ends
from sqlpriv.methods.labelled.pieces import cut_leaves
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.sqltext import NUMERIC_TYPE, literal, quoted
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
    """A relation of leaves, to be read as d, and what its columns are: of a leaf, or of all leaves of its label."""

    relation: str
    label: str | None = None
    """What is equal to the label of a cell; None where all cells have all leaves."""
    weight: str = _ONE
    leaves: str = "1"
    total: str = _ONE
    ending: str | None = None
    value: str = "d.value"

    def read_as(self, name: str) -> Leaves:
        """The same under another name than d."""

        def renamed(text: str) -> str:
            return text.replace("d.", f"{name}.")

        return Leaves(
            self.relation,
            None if self.label is None else renamed(self.label),
            renamed(self.weight),
            renamed(self.leaves),
            renamed(self.total),
            None if self.ending is None else renamed(self.ending),
            renamed(self.value),
        )


@dataclass(frozen=True)
class Known:
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
        self.kind = original if SIMPLE.fullmatch(original) else self._type
        self._is_unreadable = self.kind != original
        self.is_generalized_at_all = row["role"] == "quasi-identifier"
        self.shows_values = row["labels"] == VALUES
        self.has_domain = bool(row["has_domain"])
        self._labels = str(row["labels"])
        self.domain_parts = (file.catalog, "domain", self.name)
        """Where its public domain is, if it has one."""
        self._domain = quoted(*self.domain_parts)
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
        """A published cell as what it is told by: the value itself, where it shows values, and its label, else."""
        if self.shows_values and self._type != self.kind:
            # Stars, which are no values, are taken for NULL here, and never looked at.
            return f"TRY_CAST({quoted(self.name)} AS {self.kind})"
        return quoted(self.name) if self.shows_values else f"CAST({quoted(self.name)} AS VARCHAR)"

    @property
    def domain(self) -> str:
        """The values that are known of it, as a relation with a column `value`."""
        if self.why_not is not None:
            kind = self.kind if SIMPLE.fullmatch(self.kind) else "VARCHAR"
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
            return Leaves(self._labelled, "d.label", f"coalesce(d.share, {_ONE})", "d.leaves", "d.total")
        nulls = f"WHERE EXISTS (FROM {self.published} WHERE {quoted(self.name)} IS NULL)"
        if self.is_cut:
            null = f"SELECT NULL, NULL, {_ONE}, 1, {_ONE}, NULL {nulls}"
            pieces = cut_leaves(self._ends, self.kind, cuts, self._labels in (BINS, BOXES))
            rows = f"({self._with_null(pieces, 'value, weight, leaves, total, ending')} UNION ALL {null})"
            return Leaves(rows, "d.label", "d.weight", "d.leaves", "d.total", "d.ending")
        if self.kind == "DATE":
            listed = "unnest(range(CAST(low AS TIMESTAMP), CAST(high AS TIMESTAMP) + INTERVAL 1 DAY, INTERVAL 1 DAY))"
        else:
            # By their distances: the next number may be none of the type.
            listed = f"low + unnest(range(CAST({self._width} AS BIGINT)))"
        values = f"SELECT label, CAST({listed} AS {self.kind}) AS value, {self._width} AS leaves FROM {self._ends}"
        rows = f"({self._with_null(values, 'value, leaves')} UNION ALL SELECT NULL, NULL, 1 {nulls})"
        return Leaves(rows, "d.label", leaves="d.leaves", total="CAST(d.leaves AS DOUBLE)")

    @property
    def _labelled(self) -> str:
        """The values of the domain with the labels above them, how many each label has, and their shares in all."""
        if self._labels == BOXES:
            star = literal(TOP)
            within = f"{self._ends} AS e JOIN {self._domain} AS d ON d.value BETWEEN e.low AND e.high"
            rows = (
                f"SELECT e.label, d.value, d.share FROM {within} WHERE e.label <> {star} UNION ALL SELECT {star}, "
                f"value, share FROM {self._domain} WHERE EXISTS (FROM {self._ends} WHERE label = {star}) UNION ALL "
                f"SELECT NULL, NULL, share FROM {self._domain} WHERE value IS NULL"
            )
        elif (SCHEMA, f"leaves_{self.name}") in self._file.tables:
            leaves = self._file.table(f"leaves_{self.name}")
            same = "l.value IS NOT DISTINCT FROM d.value"
            rows = f"SELECT l.label, d.value, d.share FROM {leaves} AS l JOIN {self._domain} AS d ON {same}"
        else:
            return self._domain
        return f"(SELECT *, {below('label')} FROM ({rows}))"

    def _with_null(self, rows: str, columns: str) -> str:
        """Leaves by their ends, for boxes with NULL below *, which is the label of rows with and without a value."""
        if self._labels != BOXES:
            return rows
        star = f"label = {literal(TOP)}"
        counted = f"SELECT * REPLACE (leaves + CASE WHEN {star} THEN 1 ELSE 0 END AS leaves) FROM ({rows})"
        filled = {"value": "NULL", "weight": "0e0", "ending": "NULL"}
        null = ", ".join(filled.get(name, name) for name in columns.split(", "))
        return f"{counted} UNION ALL SELECT DISTINCT label, {null} FROM ({counted}) WHERE {star}"

    def hidden(self, cuts: list[str], starred: str, known: Known) -> Leaves:
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
