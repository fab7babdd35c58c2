"""A keyed sample of a table's rows, cell by cell, by which the same people are known again in other columns.

Of about 1,024 rows, drawn by their hashes, 16 bits of a keyed hash of every cell are kept. At the next release each is
projected on the columns that both tables have, and looked for in the new table, which is at hand. Columns are paired by
what is in them, and names only help (sql/operators/known_people.sql). The rows are those of the same people where the
earlier ones are found clearly more often than another row of the new table would be found again in it. Where almost
none is distinct on those columns, nobody can tell.

A column that counts up pairs strangers: row 17 of one table with row 17 of the other. So it is left out, and looked at
together with the other columns: do rows of the same number agree in them more than any two rows, or two in a row, do?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import Runs, fetch
from sqlpriv.core.relation import temporary_tables
from sqlpriv.core.sqltext import folded, literal
from sqlpriv.macros.catalog import inlined

SIZE = 1024
"""How many rows are kept."""
_OWN = 4 * SIZE
"""How many rows of the new table show by how much chance repeats rows."""
_BITS = 16
DISTINCT, EXCESS, SCORE = 0.05, 0.05, 5.0
"""Conventions: from which share of distinct rows one can tell, and which excess over chance counts."""
EXCESS_OF_A_PART = 0.25
"""The same for all columns but one, which may be rewritten."""
_MOST_CELLS = 2_000_000
"""One column is left out while the table is no larger."""
_LIKE, _SAME_NAME = 0.5, 0.3
"""Conventions: columns are paired from this likeness on, to which the same name adds."""
_BY_CHANCE, _AGREEING = 0.25, 0.5
"""Conventions: how often the other columns may agree by chance, and must for rows of the same number."""


@dataclass(frozen=True)
class CellSample:
    """Some rows of a table: how often each is there, and a hash of every cell."""

    columns: tuple[str, ...]
    counting: frozenset[str]
    """Those of the columns that count up."""
    copies: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    """Of each row, in the order of the columns."""


@dataclass(frozen=True)
class SamePeople:
    """What an earlier sample and a new table have in common."""

    columns: tuple[str, ...]
    """Those that both have, by the names of the new table."""
    contained: float
    """The share of the earlier rows that is in the new table, on these columns."""
    distinct: float
    excess: float
    """The share beyond chance."""
    score: float
    numbered: bool = False
    """Whether it goes by rows with the same number."""

    @property
    def can_tell(self) -> bool:
        """Whether enough rows are distinct on these columns."""
        return self.numbered or self.distinct >= DISTINCT

    @property
    def are_the_same(self) -> bool:
        """Whether chance does not explain what both have in common."""
        return self.can_tell and self.excess >= EXCESS and self.score >= SCORE

    @property
    def is_unclear(self) -> bool:
        """Whether they may be the same people, and too few rows are distinct on what both have to tell."""
        return not self.can_tell and len(self.columns) > 1 and self.contained >= 0.5

    @property
    def words(self) -> str:
        """How it is known, in words that follow "taken for it:"."""
        shown = ", ".join(repr(c) for c in self.columns)
        return f"{self.contained:.0%} of its rows are there by {shown}"


@dataclass(frozen=True)
class HashedRows:
    """A table with its cells hashed, while it is at hand: n (copies), w0 (of the row), h0, h1, ..., p (the person)."""

    con: Runs
    table: str
    columns: tuple[str, ...]
    """In the order of h0, h1, ..."""
    counting: tuple[int, ...]
    """The places of those that count up with the rows; by the first of them the rows can be ordered: o."""
    has_person: bool

    def rows(self) -> int:
        """How many rows there are."""
        return int(fetch(self.con, f"SELECT coalesce(sum(n), 0) FROM {self.table}")[0][0])

    def fewest_copies(self) -> int:
        """How often every row is there at least."""
        return int(fetch(self.con, f"SELECT coalesce(min(n), 1) FROM {self.table}")[0][0])

    def drawn(self, size: int) -> str:
        """About so many rows, drawn by their hashes, as SQL; n is then how often a row was drawn."""
        often = inlined(f"_drawn_copies(n, {max(self.rows(), 1)}, {size}, w0)")
        return f"(SELECT * REPLACE ({often} AS n) FROM {self.table} WHERE {often} > 0)"

    def sample(self) -> CellSample:
        """Some of its rows."""
        cells = ", ".join(f"h{i}" for i in range(len(self.columns)))
        found = fetch(self.con, f"SELECT n, {cells} FROM {self.drawn(SIZE)} ORDER BY ALL")
        rows = [tuple(int(value) for value in row) for row in found]
        counting = frozenset(self.columns[i] for i in self.counting)
        return CellSample(self.columns, counting, tuple(r[0] for r in rows), tuple(r[1:] for r in rows))


def hashed_cell(word: str) -> str:
    """SQL for what is kept of a cell's word."""
    return f"CAST({word} & {2**_BITS - 1} AS USMALLINT)"


def same_people(new: HashedRows, known: Mapping[str, CellSample]) -> dict[str, SamePeople]:
    """What each earlier table has in common with a new one, where they have columns in common."""
    if not known:
        return {}
    shares = " UNION ALL ".join(
        f'SELECT {i} AS "column", h{i} AS hash, sum(n) / sum(sum(n)) OVER () AS share FROM {new.table} GROUP BY h{i}'
        for i in range(len(new.columns))
    )
    found = {}
    with temporary_tables(new.con) as tables:
        values = tables.table(shares, "values")
        for name, sample in known.items():
            cells = tables.table(_sampled_cells(sample), "sampled_cells")
            pairs = _pairs(new, sample, cells, values)
            # Those that do not count up, in either table.
            plain = [b for a, b in pairs.items() if sample.columns[a] not in sample.counting and b not in new.counting]
            if plain:
                found[name] = _people(new, pairs, plain, tables.table(_probes(new, pairs, cells, values), "probes"))
    return found


def _sampled_cells(sample: CellSample) -> str:
    """A query for the cells of a sample, with the number of their row and its copies."""
    # As literals: a relation of a program takes no parameters.
    rows = (
        f"SELECT unnest(range({len(sample.cells)})::INTEGER[]) AS id, unnest({literal(sample.copies)}::BIGINT[]) AS n"
    )
    return " UNION ALL ".join(
        f'{rows}, {i} AS "column", unnest({literal([row[i] for row in sample.cells])}::USMALLINT[]) AS hash'
        for i in range(len(sample.columns))
    )


_Pairs = Mapping[int, int]
"""Columns of the new table by those of the earlier one."""


def _pairs(new: HashedRows, sample: CellSample, cells: str, values: str) -> _Pairs:
    """Which columns are the same, by their values; the most alike first. `cells` are those of the sample."""
    shares = (
        f'(SELECT 0 AS sample, "column", hash, sum(n) / sum(sum(n)) OVER (PARTITION BY "column") AS share '
        f'FROM {cells} GROUP BY "column", hash)'
    )
    likeness = inlined(f"FROM _column_likeness({shares}, {values}, {len(sample.cells)})")
    scored = [
        (float(like) + _SAME_NAME * (folded(sample.columns[a]) == folded(new.columns[b])), int(a), int(b))
        for a, b, like in fetch(new.con, f"SELECT known, given, likeness FROM ({likeness})")
    ]
    pairs: dict[int, int] = {}
    for score, a, b in sorted(scored, key=lambda s: (-s[0], s[1:])):
        if score >= _LIKE and a not in pairs and b not in pairs.values():
            pairs[a] = b
    return pairs


def _people(new: HashedRows, pairs: _Pairs, plain: Sequence[int], probes: str) -> SamePeople:
    """Whether they are the same people: by all columns that both have, by all but one, by rows of the same number."""
    found = _contained(new, plain, probes)
    if found.are_the_same:
        return found
    if len(plain) > 3 and found.can_tell and new.rows() * len(plain) <= _MOST_CELLS:
        for without in plain:
            part = _contained(new, [b for b in plain if b != without], probes)
            if part.are_the_same and part.excess >= EXCESS_OF_A_PART:
                return part
    numbers = [b for b in new.counting[:1] if b in pairs.values()]
    numbered = _numbered(new, plain, numbers[0], probes) if numbers else None
    return numbered if numbered is not None and numbered.are_the_same else found


def _probes(new: HashedRows, pairs: _Pairs, cells: str, values: str) -> str:
    """A query for the rows that are looked for, earlier and own: their cells k0, k1, ... and the shares s0, s1, ..."""
    own = ", ".join(f"h{b} AS k{b}" for b in pairs.values())
    earlier = ", ".join(f'any_value(hash) FILTER ("column" = {a}) AS k{b}' for a, b in pairs.items())
    rows = (
        f"SELECT false AS own, id, any_value(n) AS n, {earlier} FROM {cells} GROUP BY id UNION ALL "
        f"SELECT true, row_number() OVER (), n, {own} FROM {new.drawn(_OWN)}"
    )
    shares = ", ".join(f"v{b}.share AS s{b}" for b in pairs.values())
    joins = " ".join(
        f'LEFT JOIN {values} AS v{b} ON v{b}."column" = {b} AND v{b}.hash = r.k{b}' for b in pairs.values()
    )
    return f"SELECT r.*, {shares} FROM ({rows}) AS r {joins}"


def _contained(new: HashedRows, columns: Sequence[int], probes: str) -> SamePeople:
    """How many earlier rows are in the new table on some columns, and how many would be by chance."""
    # Every row of a table may be there several times: then a row is another only beyond that.
    copies = new.fewest_copies()
    others = "count(DISTINCT t.p)" if new.has_person else f"coalesce(sum(t.n), 0) // {copies}"
    # Rows that are equal in these columns are counted once for all that look for them: of few values there are many.
    cells, keys = ", ".join(f"t.h{b}" for b in columns), " AND ".join(f"p.k{b} = t.h{b}" for b in columns)
    met = f"SELECT {cells}, {others} AS others FROM {new.table} AS t SEMI JOIN {probes} AS p ON {keys}"
    counted = (
        f"SELECT p.own, p.id, coalesce(t.others, 0) AS others FROM {probes} AS p "
        f"LEFT JOIN ({met} GROUP BY {cells}) AS t ON {keys}"
    )
    rows = (
        "(SELECT p.own, p.n AS weight, c.others - CASE WHEN p.own THEN 1 ELSE 0 END AS others, "
        f"{' * '.join(f's{b}' for b in columns)} AS chance "
        f"FROM {probes} AS p JOIN ({counted}) AS c ON c.own = p.own AND c.id = p.id)"
    )
    query = f"SELECT contained, distinct_, excess, score FROM _contained_people({rows}, {new.rows() // copies})"
    found = fetch(new.con, inlined(query))[0]
    contained, distinct, excess, score = (0.0 if value is None else float(value) for value in found)
    return SamePeople(tuple(new.columns[b] for b in columns), contained, distinct, excess, score)


def _numbered(new: HashedRows, columns: Sequence[int], number: int, probes: str) -> SamePeople | None:
    """Whether rows of the same number agree in the other columns, more than any two or than two in a row."""
    agree = " AND ".join(f"p.k{b} = t.h{b}" for b in columns)
    share = f"(SELECT sum(t.n) FROM {new.table} AS t WHERE {agree}) / {new.rows()}"
    met = (
        f"SELECT p.id, bool_or({agree}) AS agrees, any_value({share}) AS chance FROM {probes} AS p "
        f"JOIN {new.table} AS t ON t.h{number} = p.k{number} WHERE NOT p.own GROUP BY p.id"
    )
    cells = ", ".join(f"h{b}" for b in columns)
    after = f"SELECT ({cells}) = lead(({cells})) OVER (ORDER BY o, {cells}) AS same FROM {new.table}"
    found = fetch(
        new.con,
        f"SELECT count(*), avg(CAST(agrees AS INTEGER)), avg(chance), "
        f"(SELECT avg(CAST(same AS INTEGER)) FROM ({after})) FROM ({met})",
    )[0]
    count, agreeing, chance, next_ones = (float(value or 0) for value in found)
    expected = max(chance, next_ones, 1 / SIZE)
    if not count or expected > _BY_CHANCE or agreeing < _AGREEING:
        return None
    excess = (agreeing - expected) / (1 - expected)
    score = (agreeing - expected) / math.sqrt(expected * (1 - expected) / count)
    names = tuple(new.columns[b] for b in (number, *columns))
    return SamePeople(names, agreeing * count / SIZE, 1.0, excess, score, numbered=True)
