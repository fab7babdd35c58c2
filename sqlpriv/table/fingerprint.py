"""The fingerprint of a table, by which the ledger recognises it: a digest of its rows, and sketches for changed copies.

Neither depends on the order of rows and columns, the digest not on the columns' names, and cells are compared as texts
that an export to CSV does not change (sketch.sql). The sketches, each of the smallest keyed hashes with their
copies:

    rows     whole rows, whatever the names of their columns: a copy with rows less or more
    named    the same with the names: where columns hold the same few codes, (1, 2) and (2, 1) are different rows
             (both of all columns, and again without those that count up: a copy whose numbers are new)
    less     rows without one of their columns, where the table is small enough: a column less, or another one
    column   a column that is nearly unique, such as a date of birth with its time, or a name
    pair     two columns that are nearly unique together
    person   the persons, where the policy names their column

Columns that are nearly unique and count up (1, 2, 3 ..., days or hours that follow each other) reveal nothing of a
table and make strangers look alike. They are left out of all but the whole rows. A number for every row is left out of
these, too, where the other columns have few values: strangers with the same numbers would have the same rows. How many
values a column has for a row is another in a part of a table: so there are always rows of all other columns, which a
table and its part both have. What is read: the table once to see whether its rows repeat, once for its columns, and
once for its hashes; if they repeat it is grouped first, and only distinct rows are hashed. What may be missed: a part
of less than about a two-hundredth of a table of hundreds of thousands of rows. Where all tables of a sort have the
same few kinds of rows, a small part may be missed, or two columns less. With their key, anyone can test by the
sketches whether a guessed row is in the table: they are private data and lie in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import duckdb

from sqlpriv.core.engine import Runs, fetch
from sqlpriv.core.relation import TemporaryTables, temporary_tables
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.cells import CellSample, HashedRows, SamePeople, hashed_cell, same_people
from sqlpriv.table.digest import WHOLE_TYPE, WRITTEN_ONE_WAY, count_and_kinds, joined, repeats_rows, row_of
from sqlpriv.table.engines.rows import WholeRows

SIZE = 1024
"""How many hashes a sketch has at most."""
_MOST_HASHES = 1_000_000
"""Rows without one column are sketched while that takes no more hashes."""
_MOST_COLUMNS, MOST_PAIRS = 16, 8
_ZONED = "TIMESTAMP WITH TIME ZONE"
_FIRST = 2048
"""Among so many rows most columns show already that they do not count up."""
FEW = 100
"""Of fewer rows nobody can say that a column counts up: many an age occurs once among them."""
MEETING = 4
"""Strangers with the same numbers are not alike where less than one in so many has the same value as well."""
TOP = 2**52
SPREAD = 2.5
"""Values follow each other where they lie in a range of at most so many times their number: also those of half a table,
whose number is estimated."""


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of rows, or of some columns of them, with their copies."""

    kind: str
    columns: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]

    @property
    def what(self) -> str:
        """The rows or values that it is a sketch of, in words."""
        named = " and ".join(repr(c) for c in self.columns)
        if self.kind in {"rows", "named", "person"}:
            return "rows" if self.kind != "person" else f"persons ({named})"
        return f"rows without {named}" if self.kind == "less" else f"values of {named}"


@dataclass(frozen=True)
class Fingerprint:
    """Digest and sketches of a table, and a sample of its cells."""

    digest: str
    sketches: tuple[Sketch, ...]
    sample: CellSample | None = None
    people: Mapping[str, SamePeople] = field(default_factory=dict)
    """What it has in common with earlier tables of which samples are known, by their names."""


def take_fingerprint(
    given: WholeRows, secret: str, person: str | None = None, known: Mapping[str, CellSample] | None = None
) -> Fingerprint:
    """Digest and sketches of a table; `known` are samples of earlier ones, to look for the same people."""
    with temporary_tables(given.con) as tables:
        return _fingerprint(given, secret, person, known or {}, tables)


def _fingerprint(
    given: WholeRows, secret: str, person: str | None, known: Mapping[str, CellSample], tables: TemporaryTables
) -> Fingerprint:
    con, table, copies = given.con, given.table, given.copies
    types, row = row_of(given)
    counted = count_and_kinds(row, copies)
    rows, kinds = (int(n) for n in fetch(con, f"SELECT {counted} FROM {table} AS __priv_row")[0])
    repeats = repeats_rows(rows, kinds)
    if copies is None:
        seen = tables.table(_grouped(table, types), "distinct_rows") if repeats else _ungrouped(table, types)
    else:
        seen = f"(SELECT {cells_of(types)}, {copies} AS n FROM {table})"
    found = _measured(con, seen, types, rows)
    separates = _separates_numbers(con, seen, found, rows)
    nearly = [] if repeats else _nearly_unique(con, seen, steady_columns(found, rows), rows)
    chosen = choose(found, rows, kinds, nearly, person, separates_numbers=separates)
    counting = [c for c in found if c.counts_up and 5 * c.kinds > 3 * rows]
    persons = [c for c in found if person is not None and folded(c.name) == folded(person)]
    cells = [f"{hashed_cell(f'x{c.place}')} AS h{c.place}" for c in found] + [f"x{c.place} AS p" for c in persons]
    order = number_of(f"s.c{counting[0].place}", counting[0].type)[0] if counting else "NULL"
    hashed_rows = tables.table(hashes(seen, found, secret, chosen, cells, order), "hashed_rows")
    parts = (inlined(f"sum(n * _row_digest(w0 // {d}, v // {d}))") for d in (1, 4096))
    sums = fetch(con, f"SELECT {', '.join(parts)} FROM {hashed_rows}")[0]
    sketches = tuple(_sketch(con, hashed_rows, i, kind, names, kinds) for i, (kind, names) in enumerate(chosen))
    names, places = tuple(c.name for c in found), tuple(c.place for c in counting)
    hashed = HashedRows(con, hashed_rows, names, places, bool(persons))
    shown = tuple(s for s in sketches if s.cells)
    return Fingerprint(joined(sums), shown, hashed.sample(), same_people(hashed, known))


def choose(
    found: Sequence[MeasuredColumn],
    rows: int,
    kinds: int,
    nearly_unique: Sequence[Chosen],
    person: str | None,
    *,
    separates_numbers: bool,
) -> list[Chosen]:
    """What there are sketches of, by what its columns are like; `kinds` is how many different rows there are."""
    found, steady = list(found), steady_columns(found, rows)
    whole = found if separates_numbers else [c for c in found if not c.numbers(rows)] or found
    timeless = [c for c in found if not c.counts_up]
    chosen: list[Chosen] = []
    for columns in _different(whole, steady, timeless if len(timeless) > 1 else []):
        chosen += [(kind, tuple(c.name for c in columns)) for kind in ("rows", "named")]
    chosen += nearly_unique
    for columns in _different(steady, [c for c in whole if not c.numbers(rows)]):
        if len(columns) > 2 and len(columns) * kinds <= _MOST_HASHES:
            aside = tuple(c.name for c in found if c not in columns)
            chosen += [("less", (c.name, *aside)) for c in columns]
    chosen += [
        ("person", (c.name,)) for c in found if folded(c.name) == folded(person or "") and person and not c.counts_up
    ]
    return chosen


def steady_columns(found: Sequence[MeasuredColumn], rows: int) -> list[MeasuredColumn]:
    """The columns that do not count up with a value for every other row; all, where there are none."""
    return [c for c in found if not c.counts_up or 2 * c.kinds <= rows] or list(found)


def numbering(con: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    """The columns that hold a number, or a day, for every row, folded."""
    types: dict[str, str] = dict(fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})"))
    rows = int(fetch(con, f"SELECT count(*) FROM {table}")[0][0])
    return {folded(c.name) for c in _measured(con, _ungrouped(table, types), types, rows) if c.numbers(rows)}


Chosen = tuple[str, tuple[str, ...]]
"""A kind of sketch, and the columns it goes by; of `less`, the columns that it leaves out."""


def _different(*choices: list[MeasuredColumn]) -> list[list[MeasuredColumn]]:
    """The choices of columns that are not empty, each once."""
    return [c for i, c in enumerate(choices) if c and c not in choices[:i]]


@dataclass(frozen=True)
class MeasuredColumn:
    """A column c0, c1, ... of the rows that are looked at."""

    place: int
    name: str
    type: str
    kinds: int
    counts_up: bool
    has_few: bool
    """Whether its values are hashed once each instead of row by row."""

    def numbers(self, rows: int) -> bool:
        """Whether it is a number for every row; how many there are is estimated, to a few hundredths."""
        return self.counts_up and self.kinds >= 0.9 * rows


def _grouped(table: str, types: Mapping[str, str]) -> str:
    """The distinct rows with their copies. What is equal but written differently is grouped by how it is written."""
    return f"SELECT {cells_of(types)}, count(*) AS n FROM {table} GROUP BY ALL"


def cells_of(types: Mapping[str, str]) -> str:
    """The columns as c0, c1, ...; as text where what is equal may be written differently."""
    return ", ".join(
        f"{quoted(c)} AS c{i}"
        if WRITTEN_ONE_WAY.fullmatch(kind) or kind == _ZONED
        else f"CAST({quoted(c)} AS VARCHAR) AS c{i}"
        for i, (c, kind) in enumerate(types.items())
    )


def _ungrouped(table: str, types: Mapping[str, str]) -> str:
    cells = ", ".join(f"{quoted(c)} AS c{i}" for i, c in enumerate(types))
    return f"(SELECT {cells}, 1 AS n FROM {table})"


def _measured(con: Runs, seen: str, types: Mapping[str, str], rows: int) -> list[MeasuredColumn]:
    """The number of values of every column, and whether they count up, which a few rows cannot show."""
    kinds = ", ".join(f"approx_count_distinct(c{i})" for i in range(len(types)))
    distinct, *found = fetch(con, f"SELECT count(*), {kinds} FROM {seen}")[0]
    has_few = [4 * n < distinct for n in found]
    tests = [_counts_up(f"c{i}", kind) for i, kind in enumerate(types.values())]
    # Whether values follow each other shows in the values alone, and that some do not shows in a few rows already.
    passed = fetch(con, f"SELECT {', '.join(test.numbers for test in tests)} FROM (FROM {seen} LIMIT {_FIRST})")[0]
    counts_up = [
        rows >= FEW
        and bool(is_number)
        and bool(fetch(con, f"SELECT {test.holds} FROM {f'(SELECT DISTINCT c{i} FROM {seen})' if few else seen}")[0][0])
        for i, (test, is_number, few) in enumerate(zip(tests, passed, has_few, strict=True))
    ]
    return [
        MeasuredColumn(i, name, kind, int(found[i]), counts_up[i], has_few[i])
        for i, (name, kind) in enumerate(types.items())
    ]


def _separates_numbers(con: Runs, seen: str, columns: Sequence[MeasuredColumn], rows: int) -> bool:
    """Whether rows of the same number in two tables differ mostly: by a column whose values rarely meet by chance."""
    if not any(c.numbers(rows) for c in columns):
        return True
    others = sorted((c for c in columns if not c.numbers(rows)), key=lambda c: -c.kinds)
    for c in others[:MOST_PAIRS]:
        values = f"SELECT CAST(sum(n) AS DOUBLE) AS n FROM {seen} GROUP BY c{c.place}"
        if fetch(con, f"SELECT {MEETING} * sum(n * n) <= pow(sum(n), 2) FROM ({values})")[0][0]:
            return True
    return False


def _nearly_unique(con: Runs, seen: str, columns: Sequence[MeasuredColumn], rows: int) -> list[Chosen]:
    """The columns and pairs of columns that are nearly unique, and no numbers in a row."""
    wide = wide_pairs(columns, rows)
    pairs: list[tuple[str, ...]] = []
    if wide:
        counted = ", ".join(f"approx_count_distinct((c{a.place}, c{b.place}))" for a, b in wide)
        found = fetch(con, f"SELECT {counted} FROM {seen}")[0]
        pairs = [(a.name, b.name) for (a, b), n in zip(wide, found, strict=True) if 2 * n > rows]
    return [*unique_columns(columns, rows), *(("pair", p) for p in pairs)]


def unique_columns(columns: Sequence[MeasuredColumn], rows: int) -> list[Chosen]:
    """The columns that are nearly unique, and no numbers in a row."""
    unique = [c.name for c in columns if 2 * c.kinds > rows and not c.counts_up]
    return [("column", (name,)) for name in unique[:_MOST_COLUMNS]]


def wide_pairs(columns: Sequence[MeasuredColumn], rows: int) -> list[tuple[MeasuredColumn, MeasuredColumn]]:
    """The pairs of other columns that may be nearly unique together."""
    others = [c for c in columns if 1 < 2 * c.kinds <= rows]
    wide = [p for p in combinations(others, 2) if p[0].kinds * p[1].kinds >= rows]
    return sorted(wide, key=lambda p: -p[0].kinds * p[1].kinds)[:MOST_PAIRS]


def number_of(name: str, kind: str) -> tuple[str, tuple[int, ...]]:
    """What of a column may count up, as SQL: whole numbers, days, hours or minutes, or the digits in texts. Also its
    units, of which the largest is meant that all of them are a multiple of; else it is 1."""
    if kind == "DATE" or (kind.startswith("TIMESTAMP") and not kind.endswith("]")):
        # Grouped rows hold what is written in more than one way as text.
        moment = name if kind in {"DATE", "TIMESTAMP", _ZONED} else f"TRY_CAST(CAST({name} AS VARCHAR) AS TIMESTAMP)"
        return f"CAST(floor(epoch({moment})) AS BIGINT)", (86400, 3600, 60)
    if kind in {"FLOAT", "DOUBLE"} or (kind.startswith("DECIMAL") and not kind.endswith("]")):
        return f"CASE WHEN {name} = trunc({name}) THEN TRY_CAST({name} AS BIGINT) END", ()
    if WHOLE_TYPE.fullmatch(kind):
        return name, ()
    return f"TRY_CAST(regexp_replace(CAST({name} AS VARCHAR), '[^0-9]', '', 'g') AS BIGINT)", ()


@dataclass(frozen=True)
class _Follows:
    """SQL for whether all values of a column have a number, and whether these follow each other."""

    numbers: str
    holds: str


def _counts_up(name: str, kind: str) -> _Follows:
    """Whether the values follow each other."""
    number, several = number_of(name, kind)
    units = " ".join(f"WHEN bool_and({number} % {u} = 0) THEN {u}" for u in several)
    unit = f"CASE {units} ELSE 1 END" if units else "1"
    width = f"(CAST(max({number}) AS DOUBLE) - min({number})) / {unit}"
    numbers = f"count({number}) = count({name})"
    return _Follows(numbers, f"coalesce({numbers} AND {width} <= {SPREAD} * approx_count_distinct({number}), false)")


def _cell(name: str, kind: str) -> str:
    """SQL for the text of a cell; where the type leaves one way to write it, the short way."""
    if WHOLE_TYPE.fullmatch(kind) or kind == "DATE":
        return f"coalesce(CAST({name} AS VARCHAR), '')"
    if kind == "DOUBLE":
        return inlined(f"CASE WHEN abs({name}) < 9e15 THEN _number_text({name}) ELSE _cell_text({name}) END")
    if kind == _ZONED:  # whose text depends on the time zone of the machine
        return inlined(f"_cell_text(make_timestamp(epoch_us({name})))")
    return inlined(f"_cell_text({name})")


def hashes(
    seen: str,
    columns: Sequence[MeasuredColumn],
    secret: str,
    chosen: Sequence[Chosen],
    more: Sequence[str] = (),
    order: str = "NULL",
) -> str:
    """A query for hashes: n, v (the second word of the row), and for every sketch the word of its cells: w0, w1, ...

    Also o, by which the rows are ordered, and `more` of the words x0, x1, ... of the cells.
    """

    def bits(cell: str) -> str:
        return inlined(f"_coin_bits({literal(secret)}, {cell})")

    joins, cells, words = [], [], []
    for c in columns:
        name, text = f"c{c.place}", _cell(f"c{c.place}", c.type)
        x, y = (f"{letter}{c.place}" for letter in "xy")
        hashed = "bits" if c.has_few else f"b{c.place}"
        both = inlined(f"_cell_word({hashed}, 0) AS {x}, _cell_word({hashed}, 1) AS {y}")
        if c.has_few:
            values = f"SELECT {name}, {bits(text)} AS {hashed} FROM (SELECT DISTINCT {name} FROM {seen})"
            joins.append(
                f"JOIN (SELECT {name}, {both} FROM ({values})) AS d{c.place} "
                f"ON d{c.place}.{name} IS NOT DISTINCT FROM s.{name}"
            )
            cells += [f"d{c.place}.{x}", f"d{c.place}.{y}"]
            words += [x, y]
        else:
            cells.append(f"{bits(_cell(f's.{name}', c.type))} AS {hashed}")
            words.append(both)
    named = []
    for c in columns:
        name = inlined(f"_cell_word({bits(literal(f'name|{folded(c.name)}'))}, 0)")
        named.append(inlined(f"_named_word(x{c.place}, {name}) AS z{c.place}"))
    places = {c.name: c.place for c in columns}
    empty = inlined(f"_cell_word({bits(literal(''))}, 0)")
    shown = []
    for i, (kind, names) in enumerate(chosen):
        left = [name for name in places if name not in names] if kind == "less" else names
        letter = "z" if kind in {"named", "less"} else "x"
        word = inlined(f"_row_word({' + '.join(f'{letter}{places[name]}' for name in left)})")
        if kind in {"column", "pair", "person"}:  # without a value there is nothing to share
            word = f"nullif({word}, {inlined(f'_row_word({len(names)} * ({empty}))')})"
        shown.append(f"{word} AS w{i}")
    second = inlined(f"_row_word({' + '.join(f'y{c.place}' for c in columns)}) AS v")
    return (
        f"SELECT n, o, {second}, {', '.join((*shown, *more))} FROM (SELECT *, {', '.join(named)} "
        f"FROM (SELECT n, o, {', '.join(words)} "
        f"FROM (SELECT n, {order} AS o, {', '.join(cells)} FROM {seen} AS s {' '.join(joins)})))"
    )


def _sketch(con: Runs, hashed_rows: str, number: int, kind: str, names: tuple[str, ...], kinds: int) -> Sketch:
    """The smallest hashes: they are looked for where they are to be expected, or everywhere."""
    word = f"w{number}"
    copies = "1" if kind == "person" else "CAST(sum(n) AS BIGINT)"
    found: list[tuple[int, int]] = []
    limit = TOP if kinds <= 8 * SIZE else 8 * SIZE * TOP // kinds
    for top in dict.fromkeys((limit, TOP)):
        found = fetch(
            con,
            f"SELECT {word}, {copies} FROM {hashed_rows} WHERE {word} < {top} GROUP BY {word} ORDER BY {word} "
            f"LIMIT {SIZE}",
        )
        if len(found) == SIZE:
            break
    return Sketch(kind, names, tuple((int(h), int(n)) for h, n in found))
