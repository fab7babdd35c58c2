"""Cells of uncommon types, written value by value: lists, intervals, bytes, and decimals in binary."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import psycopg
import pyarrow as pa
from psycopg.abc import Dumper
from psycopg.pq import Format

from sqlpriv.apps.server.messages import BINARY

BYTES, JSON, INTERVAL = 17, 114, 1186
# The type of a list, by the type of its elements.
ARRAYS = {16: 1000, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 700: 1021, 701: 1022, 1082: 1182, 1083: 1183, 1114: 1115,
          1184: 1185, 1700: 1231}  # fmt: skip
_ELEMENT_TYPES = {array: element for element, array in ARRAYS.items()}


def uncommon_type(kind: pa.DataType, type_of: Callable[[pa.DataType], int]) -> int:
    """The type for what is no number, text, date or time; whatever PostgreSQL has no type for is JSON."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return BYTES
    if pa.types.is_interval(kind):
        return INTERVAL
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return ARRAYS.get(type_of(kind.value_type), JSON)
    return JSON


def uncommon_cells(column: pa.Array, kind: int, format_code: int) -> pa.Array:
    """The cells as bytes; NULL stays NULL."""
    cell = _writer(kind, format_code)
    return pa.array([None if value is None else cell(value) for value in column.to_pylist()], pa.binary())


def _writer(kind: int, format_code: int) -> Callable[[Any], Any]:
    """The function that makes bytes of a value."""
    if kind == JSON:
        return lambda value: json.dumps(_plain(value), ensure_ascii=False, default=str).encode()
    if kind == INTERVAL:
        return lambda value: _interval(value, format_code)
    if kind == BYTES:
        return bytes if format_code == BINARY else lambda value: b"\\x" + bytes(value).hex().encode()
    if kind in _ELEMENT_TYPES:
        return lambda value: _array(value, _ELEMENT_TYPES[kind], format_code)
    return _dumper(kind, format_code).dump


def _dumped(value: Any, kind: int, format_code: int) -> bytes:
    return bytes(_dumper(kind, format_code).dump(value) or b"")


@cache
def _dumper(kind: int, format_code: int) -> Dumper:
    found = psycopg.adapters.get_dumper_by_oid(kind, Format(format_code))
    return found(object)


def _array(values: list[Any], element: int, format_code: int) -> bytes:
    if format_code == BINARY:
        parts = [struct.pack("!iiI", 1 if values else 0, any(v is None for v in values), element)]
        parts += [struct.pack("!ii", len(values), 1)] if values else []
        for value in values:
            cell = None if value is None else _dumped(value, element, format_code)
            parts.append(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell)
        return b"".join(parts)
    listed = [b"NULL" if v is None else _in_quotes(_dumped(v, element, format_code)) for v in values]
    return b"{" + b",".join(listed) + b"}"


def _in_quotes(cell: bytes) -> bytes:
    return b'"' + cell.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _interval(value: Any, format_code: int) -> bytes:
    months, days, microseconds = value.months, value.days, value.nanoseconds // 1000
    if format_code == BINARY:
        return struct.pack("!qii", microseconds, days, months)
    # As PostgreSQL writes it: a year is not always 12 months of 30 days to those who read it.
    parts, is_below = [], False
    for count, unit in ((int(months / 12), "year"), (int(math.fmod(months, 12)), "mon"), (days, "day")):
        if count:
            parts.append(f"{'+' if is_below and count > 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
            is_below = count < 0
    if microseconds or not parts:
        sign, left = "-" if microseconds < 0 else "+" if is_below else "", abs(microseconds)
        clock = f"{sign}{left // 3_600_000_000:02}:{left // 60_000_000 % 60:02}:{left // 1_000_000 % 60:02}"
        parts.append(f"{clock}.{left % 1_000_000:06}".rstrip("0").rstrip(".") if left % 1_000_000 else clock)
    return " ".join(parts).encode()


def _plain(value: Any) -> Any:
    """Maps come as lists of pairs."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list) and value and all(isinstance(v, tuple) and len(v) == 2 for v in value):
        return {str(k): _plain(v) for k, v in value}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value
