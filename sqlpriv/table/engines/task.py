"""What runs where the rows are: DuckDB over a part of them at a time, in a task of Spark.

This module goes to the executors as it is (spark.py), so it needs nothing there but DuckDB and Arrow: nothing of
sqlpriv is imported. What is found adds up: of each number, `n` is summed, `low` and `high` are the least and greatest,
and of its hashes the smallest are kept with the sums that belong to them. A hash that is among the smallest of all is
among the smallest of each part, so nothing is lost. What goes wrong is said in a word without the engine's own text,
which may hold cells. One thread, a memory of its own, and no file: a part is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "part INT, hash BIGINT, n STRING, low BIGINT, high BIGINT, said STRING"
"""What leaves a task, as Spark writes it; `said` is what went wrong."""
PACKED = "rows BINARY"
"""What leaves a task that only packs its rows."""
NO_DUCKDB, OTHER_DUCKDB = "no duckdb", "other duckdb"
PARTS = "__parts"
ROWS = "__part"
TOPS = "__tops"
_COLUMNS = "part INTEGER, hash BIGINT, n HUGEINT, low BIGINT, high BIGINT"
_ROWS_AT_ONCE, _BYTES_AT_ONCE = 250_000, 64_000_000
_MERGE_FROM = 200_000


def merged(parts: str, size: int) -> str:
    """A query for parts of which each number and hash is there once, with the smallest hashes of each number."""
    return (
        f"SELECT part, hash, sum(n) AS n, min(low) AS low, max(high) AS high FROM {parts} GROUP BY part, hash "
        f"QUALIFY hash IS NULL OR row_number() OVER (PARTITION BY part ORDER BY hash) <= {size}"
    )


def fold(
    batches: Iterator[pa.RecordBatch],
    version: str,
    zone: str,
    cells: str,
    tables: Sequence[str],
    queries: Mapping[int, str],
    size: int,
) -> Iterator[pa.RecordBatch]:
    """What the queries find of all batches; `cells` are the columns c0, c1, ..., as SQL over those that arrive.

    Each query finds hash, n, low and high in ROWS (the different rows of a part, with n for how often each is there)
    and in the tables that are made of it. The hashes above TOPS need not be found.
    """
    try:
        import duckdb
    except ImportError:
        yield _complaint(NO_DUCKDB)
        return
    if duckdb.__version__ != version:
        yield _complaint(OTHER_DUCKDB)
        return
    try:
        with duckdb.connect(config={"threads": 1, "memory_limit": "1GB", "temp_directory": ""}) as con:
            con.execute(f"SET TimeZone = '{zone}'").fetchall()
            con.execute(f"CREATE TABLE {PARTS} ({_COLUMNS})").fetchall()
            con.execute(f"CREATE TABLE {TOPS} (part INTEGER, top BIGINT)").fetchall()
            for rows in _some(batches):
                con.register("__arrived", rows)
                grouped = f"SELECT {cells}, count(*) AS n FROM __arrived GROUP BY ALL"
                con.execute(f"CREATE OR REPLACE TEMP TABLE {ROWS} AS {grouped}").fetchall()
                con.unregister("__arrived")
                for table in tables:
                    con.execute(table).fetchall()
                for part, query in queries.items():
                    con.execute(f"INSERT INTO {PARTS} SELECT {part}, hash, n, low, high FROM ({query})").fetchall()
                _merge(con, size)
            yield from _sent(con)
    except Exception as error:
        yield _complaint(type(error).__name__)


def merge(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """What several tasks have found, as one."""
    import duckdb

    try:
        with duckdb.connect(config={"threads": 1, "memory_limit": "1GB", "temp_directory": ""}) as con:
            con.execute(f"CREATE TABLE {PARTS} ({_COLUMNS})").fetchall()
            con.execute(f"CREATE TABLE {TOPS} (part INTEGER, top BIGINT)").fetchall()
            for batch in batches:
                said = {word for word in batch.column("said").to_pylist() if word}
                if said:
                    yield _complaint(min(said))
                    return
                con.register("__arrived", batch)
                con.execute(f"INSERT INTO {PARTS} SELECT part, hash, n, low, high FROM __arrived").fetchall()
                con.unregister("__arrived")
                if con.execute(f"SELECT count(*) FROM {PARTS}").fetchall()[0][0] > _MERGE_FROM:
                    _merge(con, size)
            _merge(con, size)
            yield from _sent(con)
    except Exception as error:
        yield _complaint(type(error).__name__)


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as bytes, some at a time, so that no more than a few of them are in the memory of Java at once."""
    import pyarrow as pa

    for rows in _some(batches):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["rows"])


def _some(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows, some at a time."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)


def _merge(con: Any, size: int) -> None:
    con.execute(f"CREATE OR REPLACE TEMP TABLE __merged AS {merged(PARTS, size)}").fetchall()
    con.execute(f"DELETE FROM {PARTS}").fetchall()
    con.execute(f"INSERT INTO {PARTS} FROM __merged").fetchall()
    tops = f"SELECT part, max(hash) FROM {PARTS} WHERE hash IS NOT NULL GROUP BY part HAVING count(*) >= {size}"
    con.execute(f"DELETE FROM {TOPS}").fetchall()
    con.execute(f"INSERT INTO {TOPS} {tops}").fetchall()


def _sent(con: Any) -> Iterator[pa.RecordBatch]:
    sent = f"SELECT part, hash, CAST(n AS VARCHAR) AS n, low, high, CAST(NULL AS VARCHAR) AS said FROM {PARTS}"
    yield from con.sql(sent).to_arrow_table().to_batches()


def _complaint(word: str) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {"part": pa.int32(), "hash": pa.int64(), "n": pa.string(), "low": pa.int64(), "high": pa.int64()}
    cells = [pa.nulls(1, kind) for kind in kinds.values()]
    return pa.RecordBatch.from_arrays([*cells, pa.array([word])], [*kinds, "said"])
