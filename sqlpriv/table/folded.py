"""The digest and the fingerprint of rows that never leave their engine: it folds them, and what is found adds up.

The same digest as of rows that are read here, and sketches with the same hashes (fingerprint.py). How many values a
column has is estimated from its smallest hashes, exactly below their number, and whether numbers separate strangers
from a sample of rows. The rows are read twice: once for the digest and to see what the columns are like, once for the
hashes. Both times they are compared with the combinations that were counted before: a table that changed meanwhile
would be published as two halves of different tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.cells import CellSample
from sqlpriv.table.digest import joined, whole_digest
from sqlpriv.table.engines.rows import COUNT, Fold, Rows, WholeRows
from sqlpriv.table.engines.task import ROWS, TOPS
from sqlpriv.table.fingerprint import (
    FEW,
    MEETING,
    MOST_PAIRS,
    SIZE,
    SPREAD,
    TOP,
    Chosen,
    Fingerprint,
    MeasuredColumn,
    Sketch,
    choose,
    hashes,
    number_of,
    steady_columns,
    take_fingerprint,
    unique_columns,
    wide_pairs,
)

_ROWS, _KINDS, _DIGEST, _COUNTED = -1, -2, -3, -7
"""Numbers of what is found of all columns; the digest has four."""
_OF_COLUMN = 10
"""So many numbers there are of each column, for what follows."""
_VALUES, _NUMBERS, _WIDTH, _SAMPLE, _UNITS = 0, 1, 2, 3, 4
_FEW_VALUES = 60_000
"""Of so many values or fewer each is hashed once in a part, whatever the rows."""
_COUNTING = 4 * SIZE
"""So many hashes tell how many values there are to a sixtieth."""
_HASH = "CAST(hash({0}) >> 12 AS BIGINT)"
"""DuckDB's own hash, of 52 bits, to count values by."""
_SUMMED = "NULL AS hash, {0} AS n, NULL AS low, NULL AS high"


class FoldedTable:
    """All rows of a table, where its engine folds them. `counted` are combinations of some columns, counted before."""

    def __init__(self, con: duckdb.DuckDBPyConnection, rows: Rows, counted: Relation | None) -> None:
        self._con, self._rows, self._counted = con, rows, counted
        self._types = rows.types

    @cached_property
    def digest(self) -> str:
        """As `whole_digest` has it."""
        return joined([self._sum(self._measured, _DIGEST - i) for i in range(4)])

    def fingerprint(self, secret: str, person: str | None) -> Fingerprint:
        """As `take_fingerprint` has it."""
        found, rows, kinds = self._columns, self._sum(self._measured, _ROWS), self._kinds(self._measured, _KINDS)
        chosen = choose(
            found, rows, kinds, self._nearly_unique(found, rows, kinds), person,
            separates_numbers=self._separates_numbers(found, rows),
        )  # fmt: skip
        summed = [
            f"SELECT {_SUMMED.format(inlined(f'sum(n * _row_digest(w0 // {d}, v // {d}))'))} FROM __hashes"
            for d in (1, 4096)
        ]
        queries = {-1 - i: query for i, query in enumerate(summed)}
        queries |= {i: _smallest(i, f"w{i}", "sum(n)", "__hashes", SIZE) for i in range(len(chosen))}
        queries |= self._unchanged
        made = f"CREATE OR REPLACE TEMP TABLE __hashes AS {hashes(ROWS, found, secret, chosen)}"
        relation = self._fold((made,), queries, SIZE, "__sketched")
        sketches = []
        for i, (kind, names) in enumerate(chosen):
            cells = self._cells(relation, i)
            if cells and (kind != "pair" or 2 * _estimated([w for w, _ in cells], SIZE) > rows):
                sketches.append(Sketch(kind, names, tuple((w, 1 if kind == "person" else n) for w, n in cells)))
        return Fingerprint(joined([self._sum(relation, -1), self._sum(relation, -2)]), tuple(sketches))

    @cached_property
    def _measured(self) -> Relation:
        """What the columns are like, and the digest of all rows."""
        places = {name: f"c{i}" for i, name in enumerate(self._types)}
        row = "struct_pack({})".format(", ".join(f"{quoted(c)} := {place}" for c, place in places.items()))
        whole = _HASH.format(", ".join(places.values()))
        hashed = (
            f"CREATE OR REPLACE TEMP TABLE __rows AS SELECT *, sha256(CAST({row} AS VARCHAR)) AS bits, {whole} AS hash "
            f"FROM {ROWS}"
        )
        sampled = f"CREATE OR REPLACE TEMP TABLE __sample AS FROM __rows ORDER BY hash LIMIT {_COUNTING}"
        queries = {
            _ROWS: f"SELECT {_SUMMED.format('sum(n)')} FROM {ROWS}",
            _KINDS: _smallest(_KINDS, "hash", "sum(n)", "__rows"),
        }
        for i in range(4):
            word = inlined(f"sum(_coin_word(bits, {i}) * CAST(n AS HUGEINT))")
            queries[_DIGEST - i] = f"SELECT {_SUMMED.format(word)} FROM __rows"
        for i, (name, kind) in enumerate(self._types.items()):
            queries |= {_OF_COLUMN * i + part: query for part, query in _measures(places[name], kind, i).items()}
        return self._fold((hashed, sampled), {**queries, **self._unchanged}, _COUNTING, "__measured")

    @cached_property
    def _columns(self) -> list[MeasuredColumn]:
        rows, found = self._sum(self._measured, _ROWS), []
        for i, (name, kind) in enumerate(self._types.items()):
            first, kinds = _OF_COLUMN * i, self._kinds(self._measured, _OF_COLUMN * i)
            without, low, high = self._row(self._measured, first + _WIDTH)
            number, units = number_of(f"c{i}", kind)
            numbers = kinds if number == f"c{i}" else self._kinds(self._measured, first + _NUMBERS)
            unit = next((u for j, u in enumerate(units) if not self._sum(self._measured, first + _UNITS + j)), 1)
            follows = low is not None and high is not None and (high - low) / unit <= SPREAD * numbers
            found.append(
                MeasuredColumn(i, name, kind, kinds, rows >= FEW and not without and follows, kinds <= _FEW_VALUES)
            )
        return found

    def _nearly_unique(self, found: Sequence[MeasuredColumn], rows: int, kinds: int) -> list[Chosen]:
        """Pairs are only known once they are hashed."""
        if 2 * kinds < rows:
            return []
        columns = steady_columns(found, rows)
        return [*unique_columns(columns, rows), *(("pair", (a.name, b.name)) for a, b in wide_pairs(columns, rows))]

    def _separates_numbers(self, found: Sequence[MeasuredColumn], rows: int) -> bool:
        """By the share of pairs of sampled rows with the same value: where rows have numbers, each is there once."""
        if not any(c.numbers(rows) for c in found):
            return True
        others = sorted((c for c in found if not c.numbers(rows)), key=lambda c: -c.kinds)
        for c in others[:MOST_PAIRS]:
            sample = (
                f"SELECT low, count(*) AS n FROM {self._measured.name} WHERE part = {_OF_COLUMN * c.place + _SAMPLE}"
            )
            meeting = f"SELECT {MEETING} * sum(n * n) <= pow(sum(n), 2) FROM ({sample} GROUP BY low)"
            if fetch(self._con, meeting)[0][0]:
                return True
        return False

    @property
    def _unchanged(self) -> Mapping[int, str]:
        """What of the combinations that were counted is found again in the rows."""
        if self._counted is None:
            return {}
        places = {name: f"c{i}" for i, name in enumerate(self._types)}
        cells = [places[name] for name in self._counted.columns if name != COUNT]
        return {_COUNTED: f"SELECT {_SUMMED.format(_content(cells, 'n'))} FROM {ROWS}"}

    def _fold(self, tables: Sequence[str], queries: Mapping[int, str], size: int, table: str) -> Relation:
        relation = self._rows.fold(self._con, Fold(tuple(tables), queries, size), table)
        if self._counted is not None:
            names = [quoted(name) for name in self._counted.columns if name != COUNT]
            before = fetch(self._con, f"SELECT {_content(names, COUNT)} FROM {self._counted.name}")[0][0]
            if int(before or 0) != self._sum(relation, _COUNTED):
                raise ReleaseError("the table changed while it was read, so nothing was published; run it again")
        return relation

    def _row(self, relation: Relation, part: int) -> tuple[int, int | None, int | None]:
        found = fetch(self._con, f"SELECT n, low, high FROM {relation.name} WHERE part = {part} AND hash IS NULL")
        return (int(found[0][0] or 0), *found[0][1:]) if found else (0, None, None)

    def _sum(self, relation: Relation, part: int) -> int:
        return self._row(relation, part)[0]

    def _cells(self, relation: Relation, part: int) -> list[tuple[int, int]]:
        found = f"SELECT hash, n FROM {relation.name} WHERE part = {part} AND hash IS NOT NULL ORDER BY hash"
        return [(int(h), int(n)) for h, n in fetch(self._con, found)]

    def _kinds(self, relation: Relation, part: int) -> int:
        return _estimated([h for h, _ in self._cells(relation, part)], _COUNTING)


def digest_of_table(given: WholeRows | FoldedTable) -> str:
    """The digest of all rows of a table, wherever they are."""
    return given.digest if isinstance(given, FoldedTable) else whole_digest(given)


def fingerprint_of_table(
    given: WholeRows | FoldedTable,
    secret: str,
    person: str | None = None,
    known: Mapping[str, CellSample] | None = None,
) -> Fingerprint:
    """Digest and sketches of all rows of a table, wherever they are; of rows that are folded there is no sample."""
    if isinstance(given, FoldedTable):
        return given.fingerprint(secret, person)
    return take_fingerprint(given, secret, person, known)


def _measures(cell: str, kind: str, place: int) -> dict[int, str]:
    """Queries for what one column is like."""
    number, units = number_of(cell, kind)
    first = _OF_COLUMN * place
    # Whole numbers of an engine fit into 64 bits; a wider one reveals itself by having no number.
    within = f"TRY_CAST({number} AS BIGINT)"
    lacking = f"count(*) FILTER ({cell} IS NOT NULL AND {within} IS NULL)"
    queries = {
        _VALUES: _smallest(first + _VALUES, _HASH.format(cell), "count(*)", f"{ROWS} WHERE {cell} IS NOT NULL"),
        _WIDTH: f"SELECT NULL AS hash, {lacking} AS n, min({within}) AS low, max({within}) AS high FROM {ROWS}",
        _SAMPLE: f"SELECT hash, 1 AS n, {_HASH.format(cell)} AS low, NULL AS high FROM __sample",
    }
    if number != cell:
        there = f"(SELECT {number} AS number FROM {ROWS}) WHERE number IS NOT NULL"
        queries[_NUMBERS] = _smallest(first + _NUMBERS, _HASH.format("number"), "count(*)", there)
    for j, unit in enumerate(units):
        queries[_UNITS + j] = f"SELECT {_SUMMED.format(f'count(*) FILTER ({within} % {unit} <> 0)')} FROM {ROWS}"
    return queries


def _smallest(part: int, word: str, n: str, table: str, size: int = _COUNTING) -> str:
    """A query for the smallest hashes; those above what others have found already need not be grouped."""
    top = f"(SELECT coalesce(max(top), {TOP}) FROM {TOPS} WHERE part = {part})"
    return (
        f"SELECT hash, {n} AS n, NULL AS low, NULL AS high FROM (SELECT {word} AS hash, * FROM {table}) "
        f"WHERE hash <= {top} GROUP BY hash ORDER BY hash LIMIT {size}"
    )


def _content(cells: Sequence[str], n: str) -> str:
    """What combinations and their rows add up to, as SQL."""
    return f"sum(CAST({_HASH.format(', '.join(cells) or '0')} AS HUGEINT) * {n})"


def _estimated(smallest: Sequence[int], size: int) -> int:
    """How many different values there are, by the `size` smallest of their hashes."""
    return len(smallest) if len(smallest) < size else int((size - 1) * TOP / max(smallest))
