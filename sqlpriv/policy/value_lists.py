"""Lists of values that lie beside a table: a small file or table with a column of the same name, each value once.

Such a list may be public, or an extract of the private table; only its owner knows. So it is proposed for a domain only
where no value of the column is missing in it, and the proposal says how it was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import file_literal, folded, literal, quoted, table_parts
from sqlpriv.table.source import Source

_MOST_FILES = 100
_MOST_BYTES = 1_000_000
_MOST_VALUES = 1000


@dataclass(frozen=True)
class ValueList:
    """A list as a policy names it, and how many values it has."""

    domain: str
    place: str
    size: int


@dataclass(frozen=True)
class _Candidate:
    relation: str
    named: str
    """As a policy names it."""
    columns: tuple[str, ...]


def lists_beside(
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
            size = _size(source, relation, column, candidate.relation, same[0])
            if size:
                domain = f"table:{candidate.named}.{same[0]}"
                found[column] = ValueList(domain, Path(candidate.named).name, size)
    return found


def _files(source: Source, data: Path, spelt: str) -> Iterator[_Candidate]:
    beside = sorted(f for f in data.parent.iterdir() if f.suffix in {".csv", ".parquet"} and f.name.isprintable())
    files = [f for f in beside if f.is_file()]
    for file in files[:_MOST_FILES]:
        if file.samefile(data) or file.stat().st_size > _MOST_BYTES:
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


def _size(source: Source, relation: str, column: str, listed: str, same: str) -> int:
    """How many values the list has; 0 where it has one twice, too many, or not all that the column has."""
    values = f"SELECT CAST({quoted(same)} AS VARCHAR) AS value FROM {listed} WHERE {quoted(same)} IS NOT NULL"
    try:
        rows, distinct = fetch(source.con, f"SELECT count(*), count(DISTINCT value) FROM ({values})")[0]
        if rows != distinct or not 0 < rows <= _MOST_VALUES:
            return 0
        own = f"SELECT CAST({quoted(column)} AS VARCHAR) AS value FROM {relation} WHERE {quoted(column)} IS NOT NULL"
        missing = fetch(source.con, f"SELECT count(*) FROM ({own}) WHERE value NOT IN ({values})")[0][0]
    except SqlprivError:
        return 0
    return 0 if missing else int(rows)
