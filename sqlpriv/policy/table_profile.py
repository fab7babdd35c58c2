"""The facts about a table that `sqlpriv init` needs: profiles of its columns, lists beside it, rows per person.

A list is a small file or table beside the private one with a column of the same name, each value once. It may be
public, or an extract of the private table; only its owner knows. So it is proposed for a domain only where no value of
the column is missing in it, and the proposal says how it was found.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlpriv.core.engine import Runs, fetch
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.sqltext import csv_arguments, file_literal, folded, literal, quoted, table_parts
from sqlpriv.macros.calls import Calls
from sqlpriv.policy.levels_beside import LevelTable, hierarchies_beside
from sqlpriv.policy.propose_roles import GAMMA, TIMES, Proposal, is_postal, propose
from sqlpriv.policy.words import Words, known_words
from sqlpriv.table.engines import EngineTable
from sqlpriv.table.engines.rows import each_row_of
from sqlpriv.table.files import files_beside, table_name
from sqlpriv.table.profile import ColumnProfile, profile
from sqlpriv.table.source import Source, open_source

_MOST_VALUES = 10**6
_MOST_HERE = 50_000_000
"""Of more rows of an engine, not all columns of all are brought here."""
_MOST_FILES = 100
_MOST_BYTES = 1_000_000
_MOST_LISTED = 1000
_MOST_WORDS = 3
"""So many different words among numbers may stand for numbers that are missing."""
_MISSING = frozenset({"NA", "N/A", "n/a", "#N/A", "None", ".", "-", "?"})
"""Words that stand for missing values wherever they are among numbers."""


@dataclass(frozen=True)
class ValueList:
    """A list as a policy names it, and how many values it has."""

    domain: str
    place: str
    size: int


@dataclass(frozen=True)
class TableProfile:
    """The facts about a table that a proposal needs."""

    rows: int
    table: Mapping[str, Any]
    """The section [table]."""
    output: str
    profiles: tuple[ColumnProfile, ...]
    proposals: tuple[Proposal, ...]
    """The role of each column, whatever the method."""
    lists: Mapping[str, ValueList]
    rows_each: int
    """The most rows of a person, rounded up; 1 where no column says whose row it is."""
    public_rows: int
    """The number of rows, rounded up."""
    fewest: int
    """So many values a sensitive column needs for a linking attacker to be covered, if a person has one row."""
    fewest_of_persons: int
    """The same, where all rows of a person are hidden together."""
    few_texts: Mapping[str, int]
    """Columns of text in which all values but these few are numbers."""
    missing: tuple[str, ...] = ()
    """Words of the file that are read as missing values, because they are among numbers."""


def profile_table(
    data: Any,
    database: Path | None,
    folder: Path,
    name: str | None = None,
    given: Mapping[str, Any] | None = None,
    words: Words | None = None,
) -> TableProfile:
    """Profile a table, for a policy whose file will be in `folder`; the policy calls rows of a program by `name`.

    `given` are options of read_csv, which the policy then has. `words` say what names of columns mean.
    """
    is_held, engine = not isinstance(data, str), data if isinstance(data, EngineTable) else None
    with open_source(data, database, given, columns=()) as source:
        con: Runs = source.con
        if is_held:
            con, relation = _all_rows(source)
            stem = name or (_name_of(engine) if engine else "data")
            table = _kept_by(engine, folder) if engine else {"source": stem}
        elif database is None:
            options, relation = _read_as(source, given or {})
            table = {"source": _from(folder, Path(data)), **options}
            stem = table_name(data, Path())
        else:
            relation = source.table
            table = {"source": data, "database": _from(folder, database)}
            stem = table_parts(data)[-1]
        profiles = profile(con, relation)
        rows = profiles[0].rows
        if rows == 0:
            raise InputError(f"{source.label} has no rows; a policy is proposed from what the columns hold")
        known = words or known_words()
        texts = [c.name for c in profiles if c.kind == "text" and c.present]
        few_texts = _few_texts(con, relation, profiles)
        is_csv = source.reading is not None and source.reading.is_csv
        may_miss = few_texts if is_csv and "nullstr" not in (given or {}) else ()
        if missing := _missing_words(con, relation, may_miss):
            options = {**(given or {}), "nullstr": ["", *missing]}
            return replace(profile_table(data, database, folder, name, options, words), missing=missing)
        proposals = propose(profiles, known, known.contents(con, relation, texts))
        texts = [
            c.name
            for c, p in zip(profiles, proposals, strict=True)
            if c.kind == "text" and p.role in {"quasi-identifier", "sensitive"}
        ]
        lists: dict[str, ValueList] = {}
        if not is_held:
            beside = files_beside(data)
            spelt = _from(folder, beside).removesuffix(beside.name)
            file = beside if database is None else None
            lists = _lists_beside(source, relation, texts, file, spelt)
            coarse = hierarchies_beside(source, relation, [p.name for p in proposals], file)
            proposals = tuple(_with_levels(p, coarse.get(p.name), spelt) for p in proposals)
        rows_each = _rows_each(con, relation, proposals)
        return TableProfile(
            rows,
            table,
            _release_name(stem, database),
            profiles,
            proposals,
            lists,
            rows_each,
            int(source.calls.row("public_size", rows)[0]),
            _fewest(source.calls, 1),
            _fewest(source.calls, rows_each),
            few_texts,
        )


def _with_levels(p: Proposal, found: LevelTable | None, spelt: str) -> Proposal:
    """A quasi-identifier with the hierarchy that was found beside the data."""
    if found is None or p.role != "quasi-identifier":
        return p
    named = f"table:{found.name}" if found.is_table else f"{spelt}{found.name}"
    reason = f"{p.reason}; its levels are in {found.name} beside the data: make sure that they are public"
    return replace(p, reason=reason, hierarchy=named, levels=found.levels)


def _few_texts(con: Runs, relation: str, profiles: Sequence[ColumnProfile]) -> dict[str, int]:
    """Columns of text that were columns of numbers without a few words, such as 'unknown', and how many words."""
    texts = [c for c in profiles if c.kind == "text" and c.distinct > _MOST_WORDS]
    if not texts:
        return {}
    words = "count(DISTINCT CASE WHEN TRY_CAST({0} AS DOUBLE) IS NULL THEN {0} END)"
    asked = ", ".join(words.format(quoted(c.name)) for c in texts)
    found = zip(texts, fetch(con, f"SELECT {asked} FROM {relation}")[0], strict=True)
    return {c.name: int(number) for c, number in found if 0 < number <= _MOST_WORDS}


def _missing_words(con: Runs, relation: str, columns: Iterable[str]) -> tuple[str, ...]:
    """The words for missing values in columns of numbers that have no other words."""
    found: set[str] = set()
    for name in map(quoted, columns):
        is_word = f"{name} IS NOT NULL AND TRY_CAST({name} AS DOUBLE) IS NULL"
        own = {str(word) for (word,) in fetch(con, f"SELECT DISTINCT {name} FROM {relation} WHERE {is_word}")}
        found |= own if own <= _MISSING else set()
    return tuple(sorted(found))


def _all_rows(source: Source) -> tuple[Runs, str]:
    """The rows of a program, or of an engine, with all their columns: where they are, and as SQL."""
    if source.rows is None:
        return source.con, source.table
    if source.rows.folds and source.rows.count() > _MOST_HERE:
        raise InputError(
            f"{source.label} has more than {_MOST_HERE:,} rows, and a policy is proposed from all columns of all rows, "
            "here; name a view of some of them"
        )
    whole = source.rows.everything(source.con)
    return whole.con, each_row_of(whole)


def _name_of(engine: EngineTable) -> str:
    is_path = "/" in engine.source or (engine.folder / engine.source).exists()
    return table_name(engine.source, engine.folder) if is_path else table_parts(engine.source)[-1]


def _kept_by(engine: EngineTable, folder: Path) -> dict[str, Any]:
    """The section [table] for a table of an engine."""
    is_here = "://" not in engine.source and (engine.folder / engine.source).exists()
    source = _from(folder, engine.folder / engine.source) if is_here else engine.source
    return {"engine": engine.engine, "source": source} | (
        {"connection": engine.connection} if engine.connection else {}
    )


def _rows_each(con: Runs, relation: str, proposals: tuple[Proposal, ...]) -> int:
    """The most rows that a person has, rounded up to 1, 2, 5, 10, 20, ...; rows of nobody count as one person's."""
    person = next((p.name for p in proposals if p.role == "person"), None)
    if person is None:
        return 1
    counted = f"SELECT count(*) AS rows FROM {relation} GROUP BY {quoted(person)}"
    most = int(fetch(con, f"SELECT max(rows) FROM ({counted})")[0][0])
    scale = int("1" + "0" * (len(str(most)) - 1))
    return next(scale * step for step in (1, 2, 5, 10) if scale * step >= most)


def _fewest(calls: Calls, rows_each: int) -> int:
    """How many values there must be for the belief of one who knows all else about a person to be below gamma."""

    def is_covered(values: int) -> bool:
        prior = float(calls.row("linking_prior", values, TIMES)[0])
        return float(calls.row("person_prior", prior, rows_each)[0]) < GAMMA

    return 2 + bisect_left(range(2, _MOST_VALUES), True, key=is_covered)


def _read_as(source: Source, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """How to read files: the options of read_csv without which they would be read differently, and SQL with them."""
    reading = source.reading
    if reading is None or not reading.is_csv:
        return {}, source.table
    options = dict(given)
    if "delimiter" not in options:
        sniffed = csv_arguments(str(reading.files.paths[0]), options)
        delimiter = fetch(source.con, f'SELECT "Delimiter" FROM sniff_csv({sniffed})')[0][0]
        options |= {} if delimiter in {",", "", "(empty)"} else {"delimiter": delimiter}
    # DuckDB looks for leading zeros in the first rows only, and a postal code without its zero is another one.
    texts = [name for name, kind in source.types.items() if is_postal(name) and kind == "BIGINT"]
    if not texts:
        return options, source.table
    return {**options, "types": dict.fromkeys(texts, "VARCHAR")}, f"({reading.sql(source.con, texts)})"


def _from(folder: Path, file: Path) -> str:
    """The path of a file as a policy in `folder` should spell it: relative, unless they are on different drives."""
    absolute = file.parent.resolve() / file.name
    try:
        return Path(os.path.relpath(absolute, folder.resolve())).as_posix()
    except ValueError:
        return absolute.as_posix()


def _release_name(stem: str, database: Path | None) -> str:
    name = (re.sub(r"[^\w-]+", "-", stem).strip("-") or "table") + "-release"
    return f"{name}-2.duckdb" if database and database.name == f"{name}.duckdb" else f"{name}.duckdb"


@dataclass(frozen=True)
class _Candidate:
    relation: str
    named: str
    """As a policy names it."""
    columns: tuple[str, ...]


def _lists_beside(
    source: Source, relation: str, texts: Sequence[str], data: Path | None, spelt: str
) -> dict[str, ValueList]:
    """For each of these columns of the table a list that holds all its values, if there is one.

    `data` is the file of the table, and `spelt` its folder as the policy spells it; None for a table of a database.
    """
    found: dict[str, ValueList] = {}
    for candidate in _files(source, data, spelt) if data else _tables(source):
        for column in texts:
            same = [c for c in candidate.columns if folded(c) == folded(column)]
            if column in found or not same or "." in same[0]:
                continue
            size = _list_size(source, relation, column, candidate.relation, same[0])
            if size:
                domain = f"table:{candidate.named}.{same[0]}"
                found[column] = ValueList(domain, Path(candidate.named).name, size)
    return found


def _files(source: Source, data: Path, spelt: str) -> Iterator[_Candidate]:
    beside = sorted(f for f in data.parent.iterdir() if f.suffix in {".csv", ".parquet"} and f.name.isprintable())
    files, reading = [f for f in beside if f.is_file()], source.reading
    for file in files[:_MOST_FILES]:
        if (reading and reading.files.includes(file)) or file.stat().st_size > _MOST_BYTES:
            continue
        path = file_literal(file)
        relation = f"read_csv({path}, all_varchar = true)" if file.suffix == ".csv" else path
        try:
            columns = tuple(str(r[0]) for r in fetch(source.con, f"DESCRIBE FROM {relation}"))
        except SqlprivError:
            continue  # not what its name says: no list
        yield _Candidate(relation, f"{spelt}{file.name}", columns)


def _tables(source: Source) -> Iterator[_Candidate]:
    """The tables in the schema of the private one. A view may read from it, so it is no list."""
    catalog, *schema, private = (part.replace('""', '"') for part in table_parts(source.table))
    within = quoted(catalog, *schema)
    rows = fetch(
        source.con,
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
        "SEMI JOIN duckdb_tables() USING (database_oid, table_oid) "
        f"WHERE database_name = {literal(catalog)} AND schema_name = {literal(schema[-1] if schema else 'main')} "
        "GROUP BY table_name ORDER BY table_name",
    )
    for name, columns in rows:
        if folded(name) != folded(private) and "." not in name and name.isprintable():
            yield _Candidate(f"{within}.{quoted(name)}", name, tuple(columns))


def _list_size(source: Source, relation: str, column: str, listed: str, same: str) -> int:
    """How many values the list has; 0 where it has one twice, too many, or not all that the column has."""
    values = f"SELECT CAST({quoted(same)} AS VARCHAR) AS value FROM {listed} WHERE {quoted(same)} IS NOT NULL"
    try:
        rows, distinct = fetch(source.con, f"SELECT count(*), count(DISTINCT value) FROM ({values})")[0]
        if rows != distinct or not 0 < rows <= _MOST_LISTED:
            return 0
        own = f"SELECT CAST({quoted(column)} AS VARCHAR) AS value FROM {relation} WHERE {quoted(column)} IS NOT NULL"
        missing = fetch(source.con, f"SELECT count(*) FROM ({own}) WHERE value NOT IN ({values})")[0][0]
    except SqlprivError:
        return 0
    return 0 if missing else int(rows)
