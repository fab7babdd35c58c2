"""The frequency table: the combinations of values that a private table has, each with its number of rows.

It is the only way from the private rows to everything that thinks about them: checks of hierarchies, the search,
plans, cuts and choices read it and never the rows. Where persons are named the person is part of the combination, since
the distinct persons of two groups do not add up. It is filled by one GROUP BY, so another engine can fill it as well:
table/engines/ has those that do.

Private rows (`Source.private`) are read elsewhere only by

    table/fingerprint        the fingerprint of a table, for the ledger
    table/digest             the digest of a table, which noise is drawn from
    table/hierarchies        the ends of bins, which go by rows
    table/domains            whether a public domain has every value (methods: columns.read_public_columns)
    sort_rows, count_persons, read_values   below: the rows that buckets are dealt from, and values alone
    methods: write           the rows that are published (generalize, boxes, noise)
    methods: compare         what was written against the rows it was written from
    risk/request             what `sqlpriv risk` weighs, row by row
    attacks/worlds         minimality's worlds, which deal the values of a class to its rows
    attacks/matches        kinds of people with their counts, which linking, noise and intersection compare by text
    comparison/truth       the true answers of questions, which are about any columns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal, quoted, rows_of
from sqlpriv.table.digest import count_and_kinds, digest_of, repeats_rows
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.engines.types import reads_apart
from sqlpriv.table.private_table import settle_types
from sqlpriv.table.source import Source

MOST_SORTED = 50_000_000
"""So many rows of another engine are dealt one by one here, and no more."""


@dataclass(frozen=True)
class Frequencies:
    """The combinations of some columns of a table. As text it is the name of its relation."""

    source: Source
    relation: Relation
    """The columns under their names, and COUNT; rowid is the number of a combination."""
    person: str | None
    rows: int
    with_null: frozenset[str]
    """The columns compared by text, folded, that some row has no value of."""

    def __str__(self) -> str:
        return self.relation.name

    @property
    def combinations(self) -> int:
        """How many there are."""
        assert self.relation.written is not None
        return self.relation.written

    @property
    def _counted(self) -> str:
        """How many rows, or persons where they are named, some combinations have."""
        return f"count(DISTINCT {quoted(self.person)})" if self.person else f"CAST(sum({COUNT}) AS BIGINT)"

    def totals(self, column: str) -> str:
        """A query for the values of a column with their rows, or persons where they are named: value, total."""
        return f"SELECT {quoted(column)} AS value, {self._counted} AS total FROM {self.relation.name} GROUP BY 1"

    def are_current(self) -> bool:
        """Whether the private rows are still those that were counted; another engine says so itself."""
        if self.source.counted is not None:
            return True
        hashed = f"CAST(hash({', '.join(quoted(c) for c in self.relation.columns if c != COUNT)}) AS HUGEINT)"
        now = fetch(self.source.con, f"SELECT count(*), sum({hashed}) FROM {self.source.private.name}")
        return now == fetch(self.source.con, f"SELECT sum({COUNT}), sum({hashed} * {COUNT}) FROM {self.relation.name}")

    def rows_by(self, columns: Sequence[str]) -> tuple[Relation, str]:
        """The private rows by some columns, and more columns of t, as SQL: COUNT, where each kind of row is there once.

        So what follows from these columns is worked out once for all rows of a kind. Where there are nearly as many
        kinds as rows, or equal values may read differently, they are the rows themselves.
        """
        source = self.source
        if source.counted is not None or any(reads_apart(source.types[c]) for c in columns):
            return source.repeated
        counted = f", t.{COUNT} AS {COUNT}"
        if set(columns) <= set(self.relation.columns):
            return self.relation, counted
        listed = ", ".join(map(quoted, columns))
        query = f"SELECT {count_and_kinds(f'({listed})')} FROM {source.private.name}"
        if not repeats_rows(*map(int, fetch(source.con, query)[0])):
            return source.repeated
        grouped = f"(SELECT {listed}, count(*) AS {COUNT} FROM {source.private.name} GROUP BY ALL)"
        return Relation(source.con, grouped), counted

    def digest(self, columns: Sequence[str]) -> str:
        """The digest of the private rows in some columns, whatever their order: each kind of row is hashed once."""
        rows, counted = self.rows_by(columns)
        row = "struct_pack({})".format(", ".join(f"{quoted(c)} := t.{quoted(c)}" for c in columns))
        hashed = f"SELECT sha256(CAST({row} AS VARCHAR)) AS bits{counted} FROM {rows.name} AS t"
        return digest_of(self.source.con, hashed, copies=COUNT if counted else "1")

    def total(self) -> str:
        """How many rows there are, or persons where they are named, as SQL."""
        return f"(SELECT {self._counted} FROM {self.relation.name})" if self.person else str(self.rows)


def count_combinations(
    source: Source, by_text: Sequence[str], columns: Sequence[str] = (), person: str | None = None
) -> Frequencies:
    """Read the private rows once. `by_text`: columns whose values are distinguished as a reader sees them."""
    names = dict.fromkeys([*by_text, *columns, *filter(None, [person])])
    listed = ", ".join(f"__priv_t.{quoted(c)}" for c in names)
    # DuckDB takes some values for equal that a reader can distinguish.
    texts = [f"CAST(__priv_t.{quoted(c)} AS VARCHAR)" for c in by_text if reads_apart(source.types[c])]
    grouped = ", ".join([listed, *texts]) if texts else "ALL"
    guard = ""
    if person:
        complaint = literal("sqlpriv: the person column holds NULL; give every row a person")
        guard = f" WHERE CASE WHEN __priv_t.{quoted(person)} IS NULL THEN error({complaint}) ELSE true END"
    if (counted := _counted_already(source, by_text, list(names))) is not None:
        fetch(source.con, f"SELECT count(*) FROM {counted.name} AS __priv_t{guard}")
    rows, number = rows_of(source.checked)
    relation = counted or source.scratch.table(
        f"SELECT {listed}, {number} AS {COUNT} FROM {rows} AS __priv_t{guard} GROUP BY {grouped}",
        "frequencies",
    )
    if relation.written == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    settle_types(source, relation.name)
    lacks = "".join(f", count(*) > count({quoted(c)})" for c in by_text)
    ((total, *nulls),) = fetch(source.con, f"SELECT sum({COUNT}){lacks} FROM {relation.name}")
    with_null = frozenset(c for c, null in zip(by_text, nulls, strict=True) if null)
    return Frequencies(source, relation, person, int(total), with_null)


def _counted_already(source: Source, by_text: Sequence[str], names: Sequence[str]) -> Relation | None:
    """The combinations of a relation of a program, where they are these, and apart only where they read apart here."""
    if source.counted is None:
        return None
    kinds = {name: kind for name, kind in source.counted.columns.items() if name != COUNT}
    apart = {name for name, kind in kinds.items() if reads_apart(kind)}
    is_these = set(names) == set(kinds) and apart <= set(by_text)
    return source.counted if is_these else None


def sort_rows(source: Source, cells: Sequence[str], order: str) -> Relation:
    """Every private row with some cells, as SQL, in an order: rowid is its place. For methods that deal single rows."""
    if source.rows is not None and source.rows.folds and (source.held_rows or 0) > MOST_SORTED:
        raise InputError(
            f"this method deals single rows, on this machine: at most {MOST_SORTED:,} of a table that another engine "
            "keeps; publish a part of it, or choose another method"
        )
    rows = f"SELECT {', '.join(cells)} FROM {source.private.name}"
    relation = source.scratch.table(f"FROM ({rows}) ORDER BY {order}", "sorted")
    if relation.written == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    return relation


def count_persons(source: Source, person: str) -> int:
    """How many different persons the rows have; rows without a person count for nobody."""
    return int(fetch(source.con, f"SELECT count(DISTINCT {quoted(person)}) FROM {rows_of(source.checked)[0]}")[0][0])


def read_values(source: Source, columns: Sequence[str]) -> Relation:
    """The combinations of some columns without their counts; columns that were read as text get their type back."""
    listed = ", ".join(map(quoted, columns))
    relation = source.scratch.table(f"SELECT DISTINCT {listed} FROM {rows_of(source.checked)[0]}", "values")
    settle_types(source, relation.name)
    return relation
