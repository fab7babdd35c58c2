"""The digest of a table of a release: the same for the same rows, in whatever order they are stored.

Equal rows are counted, and rows are sorted. Then one SHA-256 goes over each column of all rows: a hash for every row
would cost more than publishing them. Numbers, dates and times are hashed as DuckDB holds them, all else as its text
with its length; a column of bits says which cells are NULL, and another how often each row is there. A SHA-256 of the
names of the columns and of these hashes is the digest.

It is made when a release is written, and again when somebody verifies it. That of private rows is another one
(table/digest.py), which noise is drawn from.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

import duckdb

from sqlpriv.core.engine import fetch, interruptible, translate
from sqlpriv.core.sqltext import quoted
from sqlpriv.table.digest import WHOLE_TYPE

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 100_000
_MASK = 60
"""How many columns share a number whose bits say which cells are NULL."""
_TEXT = re.compile(r"VARCHAR|U?HUGEINT|UBIGINT")


def table_digest(con: duckdb.DuckDBPyConnection, table: str, copies: str | None = None) -> str:
    """The digest of a table, given as SQL; `copies` is a column that says how often each row is there."""
    described = fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})")
    types: dict[str, str] = {name: kind for name, kind in described if name != copies}
    cells = [f"{_cell(name, kind)} AS c{i}" for i, (name, kind) in enumerate(types.items())]
    names = list(types)
    for first in range(0, len(names), _MASK):
        bits = [f"(CAST({quoted(c)} IS NULL AS BIGINT) << {i})" for i, c in enumerate(names[first : first + _MASK])]
        cells.append(f"{' | '.join(bits)} AS nulls{first}")
    counted = "count(*)" if copies is None else "sum(n)"
    cells += [] if copies is None else [f"{quoted(copies)} AS n"]
    keys = [cell.rpartition(" AS ")[2] for cell in cells if not cell.endswith(" AS n")]
    # A program may have set another order, and another collation, for its connection.
    order = ", ".join(f"{key} ASC" for key in keys)
    sql = (
        f"SELECT {', '.join(keys)}, CAST({counted} AS BIGINT) AS n FROM (SELECT {', '.join(cells)} FROM {table}) "
        f"GROUP BY {', '.join(keys)} ORDER BY {order}"
    )
    try:
        with interruptible():
            streams = _hashed(con.sql(sql).to_arrow_reader(_BATCH))
    except duckdb.Error as error:
        raise translate(error) from None
    whole = hashlib.sha256(json.dumps([names, streams]).encode()).hexdigest()
    return "-".join(whole[i : i + 16] for i in range(0, 64, 16))


def _cell(name: str, kind: str) -> str:
    """A column, as SQL, of which equal values have the same bytes; NULL is some value, which the bits distinguish."""
    column = quoted(name)
    if kind == "BOOLEAN" or (WHOLE_TYPE.fullmatch(kind) and not _TEXT.fullmatch(kind)):
        return f"coalesce(CAST({column} AS BIGINT), 0)"
    if kind in {"FLOAT", "DOUBLE"}:  # of which there are two zeros, and many NaNs
        number = f"CAST({column} AS DOUBLE)"
        nan = "CAST('nan' AS DOUBLE)"
        return f"coalesce(CASE WHEN isnan({number}) THEN {nan} ELSE {number} + CAST(0 AS DOUBLE) END, 0)"
    if kind in {"DATE", "TIMESTAMP"}:
        return f"coalesce({column}, CAST('1970-01-01' AS {kind}))"
    return f"coalesce(CAST({column} AS VARCHAR), '') COLLATE \"binary\""


def _hashed(reader: pa.RecordBatchReader) -> list[str]:
    """The hash of each column, and those of the lengths of texts, over all batches."""
    import pyarrow as pa  # only where a release is written or verified
    import pyarrow.compute as pc

    texts = {pa.string(), pa.large_string(), pa.string_view()}
    hashes = [hashlib.sha256() for _ in range(2 * len(reader.schema))]
    for batch in reader:
        for i, column in enumerate(batch.columns):
            if column.type in texts:
                written = column.cast(pa.large_string())
                hashes[2 * i].update(_text_bytes(written))
                hashes[2 * i + 1].update(_bytes(pc.binary_length(written)))
            else:
                hashes[2 * i].update(_bytes(column))
    return [made.hexdigest() for made in hashes]


def _bytes(column: pa.Array) -> memoryview:
    width = column.type.bit_width // 8
    return memoryview(column.buffers()[1])[column.offset * width : (column.offset + len(column)) * width]


def _text_bytes(texts: pa.Array) -> memoryview:
    _, ends, held = texts.buffers()
    if held is None:
        return memoryview(b"")
    places = memoryview(ends).cast("B").cast("q")
    return memoryview(held)[places[texts.offset] : places[texts.offset + len(texts)]]
