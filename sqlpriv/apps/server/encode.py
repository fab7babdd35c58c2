"""Answers as rows of the protocol: whole columns of an Arrow batch at once, so that a million rows take seconds.

Values of a fixed size are written by numpy, texts by Arrow, and uncommon types by psycopg's adapters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlpriv.apps.server.messages import BINARY, Field
from sqlpriv.apps.server.uncommon_types import uncommon_cells, uncommon_type

BOOL, BYTES, INT8, INT2, INT4, TEXT = 16, 17, 20, 21, 23, 25
FLOAT4, FLOAT8, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, NUMERIC = 700, 701, 1082, 1083, 1114, 1184, 1700
_SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIME: 8, TIMESTAMP: 8, TIMESTAMPTZ: 8}
_NUMPY = {BOOL: "u1", INT2: ">i2", INT4: ">i4", INT8: ">i8", FLOAT4: ">f4", FLOAT8: ">f8", DATE: ">i4",
          TIME: ">i8", TIMESTAMP: ">i8", TIMESTAMPTZ: ">i8"}  # fmt: skip
# PostgreSQL counts days and microseconds from 2000.
_EPOCH = {DATE: 10_957, TIMESTAMP: 946_684_800_000_000, TIMESTAMPTZ: 946_684_800_000_000}
_NO_SEPARATOR = pa.scalar(b"", pa.binary())
_NULL = pa.scalar(b"\xff\xff\xff\xff", pa.binary())
_MODIFIER = 4  # PostgreSQL adds it to every modifier, from the days when lengths had headers


def field(name: str, kind: pa.DataType) -> Field:
    """The column of an answer as the protocol describes it."""
    found = type_of(kind)
    modifier = -1
    if found == NUMERIC and pa.types.is_decimal(kind) and kind.precision < 38:
        modifier = ((kind.precision << 16) | kind.scale) + _MODIFIER
    return Field(name, found, _SIZES.get(found, -1), modifier)


def type_of(kind: pa.DataType) -> int:
    """The type of PostgreSQL that holds all values of an Arrow type."""
    types = pa.types
    if types.is_dictionary(kind):
        return type_of(kind.value_type)
    if types.is_boolean(kind):
        return BOOL
    if kind in (pa.int8(), pa.uint8(), pa.int16()):
        return INT2
    if kind in (pa.uint16(), pa.int32()):
        return INT4
    if kind in (pa.uint32(), pa.int64()):
        return INT8
    if types.is_decimal(kind) or kind == pa.uint64():
        return NUMERIC
    if types.is_floating(kind):
        return FLOAT8 if kind == pa.float64() else FLOAT4
    if types.is_date(kind):
        return DATE
    if types.is_time(kind):
        return TIME
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz is None else TIMESTAMPTZ
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return TEXT
    return uncommon_type(kind, type_of)


def rows(batch: pa.RecordBatch, formats: Sequence[int]) -> memoryview:
    """All rows of a batch as messages, one after the other."""
    cells = [_cells(column, format_code) for column, format_code in zip(batch.columns, formats, strict=True)]
    sizes = np.full(batch.num_rows, 6, dtype=np.int64)
    for column in cells:
        sizes += pc.binary_length(column).to_numpy(zero_copy_only=False)
    head = np.zeros(batch.num_rows, dtype=[("letter", "S1"), ("size", ">i4"), ("columns", ">i2")])
    head["letter"], head["size"], head["columns"] = b"D", sizes, len(cells)
    joined = pc.binary_join_element_wise(_raw_bytes(head), *cells, _NO_SEPARATOR)
    start, end = (joined.offset, joined.offset + len(joined))
    offsets = np.frombuffer(joined.buffers()[1], dtype=np.int32)
    data = joined.buffers()[2]
    return memoryview(data)[offsets[start] : offsets[end]] if data is not None else memoryview(b"")


def _cells(column: pa.Array, format_code: int) -> pa.Array:
    """The cells of a column, each with its length before it; NULL has the length -1 alone."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = type_of(column.type)
    is_number = format_code == BINARY and kind in _NUMPY
    made = _fixed_cells(column, kind) if is_number else _with_length(_texts(column, kind, format_code))
    return pc.if_else(column.is_valid(), made, _NULL) if column.null_count else made


def _fixed_cells(column: pa.Array, kind: int) -> pa.Array:
    values = column.cast(_in_microseconds(column.type), safe=False).cast(_number_type(kind)).fill_null(0)
    numbers = values.to_numpy(zero_copy_only=False) - _EPOCH.get(kind, 0)
    cell = np.zeros(len(column), dtype=[("size", ">i4"), ("value", _NUMPY[kind])])
    cell["size"], cell["value"] = _SIZES[kind], numbers
    return _raw_bytes(cell)


def _texts(column: pa.Array, kind: int, format_code: int) -> pa.Array:
    """The cells as bytes, without their lengths; those that are NULL are empty."""
    if kind == TEXT:
        made = column
    elif format_code == BINARY or kind not in {*_NUMPY, NUMERIC}:
        made = uncommon_cells(column, kind, format_code)
    elif kind == BOOL:
        made = pc.if_else(column, "t", "f")
    elif kind in {FLOAT4, FLOAT8}:
        made = _floats(column)
    elif kind == TIMESTAMPTZ:
        made = pc.binary_join_element_wise(column.cast(pa.timestamp("us"), safe=False).cast(pa.string()), "+00", "")
    else:
        made = column.cast(_in_microseconds(column.type), safe=False).cast(pa.string())
    return made.cast(pa.binary()).fill_null(b"")


def _floats(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    finite = pc.fill_null(pc.is_finite(column), True)
    if finite.true_count == len(column):
        return texts
    odd = pc.if_else(pc.is_nan(column), "NaN", pc.if_else(pc.greater(column, 0.0), "Infinity", "-Infinity"))
    return pc.if_else(finite, texts, odd)


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    """Times in microseconds, as PostgreSQL has them; dates in days."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_date(kind):
        return pa.date32()
    return pa.time64("us") if pa.types.is_time(kind) else kind


def _number_type(kind: int) -> pa.DataType:
    """Numbers of the size that the protocol has."""
    if kind in {FLOAT4, FLOAT8}:
        return pa.float64()
    return pa.int32() if kind == DATE else pa.uint8() if kind == BOOL else pa.int64()


def _with_length(texts: pa.Array) -> pa.Array:
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(">i4")
    return pc.binary_join_element_wise(_raw_bytes(sizes), texts, _NO_SEPARATOR)


def _raw_bytes(values: np.ndarray) -> pa.Array:
    """Values of one size as they lie in memory."""
    made = pa.Array.from_buffers(pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(values)])
    return made.cast(pa.binary())
