"""Parameters of a statement, from the bytes of Bind to values that the rewriter puts into the query's tree."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from psycopg.pq import Format

from sqlpriv.apps.server.errors import ReplyError
from sqlpriv.apps.server.messages import Reader
from sqlpriv.apps.server.uncommon_types import ARRAYS, INTERVAL
from sqlpriv.core.errors import InputError
from sqlpriv.rewrite.bind.parameters import Interval

UNKNOWN, TEXT = 0, 25
ParseValue: TypeAlias = Callable[[bytes, int], bytes]
"""A text as a value of a type, in binary; by PostgreSQL itself."""
_NUMERIC, _MOST_ELEMENTS = 1700, 20_000
_DATA_ERROR = "22"
"""How the SQLSTATE of a wrong value begins; PostgreSQL's own message would repeat the value."""
_TEXTS = frozenset({UNKNOWN, 19, TEXT, 1042, 1043})
_SIZES = {16: 1, 20: 8, 21: 2, 23: 4, 26: 4, 700: 4, 701: 8, 1082: 4, 1083: 8, 1114: 8, 1184: 8, 2950: 16}
_WHOLE, _DECIMAL, _DAY = rb"-?\d{1,18}", rb"-?\d{1,18}(\.\d{1,18})?", rb"\d{4}-\d\d-\d\d"
_CLOCK = rb"\d\d:\d\d:\d\d(\.\d{1,6})?"
# How PostgreSQL writes a value, which is what adapters read. It reads much more, `on` as true or `2024-01-01 +00` as a
# date, which adapters silently misread: those are sent to PostgreSQL, which says what they mean.
_PLAIN = {
    kind: re.compile(pattern)
    for kinds, pattern in (
        ((16,), rb"[tf]"), ((20, 21, 23, 26), _WHOLE), ((700, 701, _NUMERIC), _DECIMAL), ((1082,), _DAY),
        ((1083,), _CLOCK), ((1114,), _DAY + rb" " + _CLOCK), ((1184, 2950, INTERVAL), rb"(?!)"),
    )
    for kind in kinds
}  # fmt: skip
# Stands for a parameter while only the types of the columns are wanted.
_SAMPLES: dict[int, Any] = {
    16: True, 20: 1, 21: 1, 23: 1, 26: 1, 700: 1.0, 701: 1.0, 1082: date(2000, 1, 1), 1083: time(0),
    1114: datetime(2000, 1, 1), 1184: datetime(2000, 1, 1), 1700: Decimal(1), INTERVAL: Interval(0, 1, 0),
}  # fmt: skip


def decode(cells: Sequence[bytes | None], types: Sequence[int], formats: Sequence[int], parse: ParseValue) -> list[Any]:
    """The values; a cell that is no value of its type is refused, and not repeated."""
    return [
        None if cell is None else _value(number, cell, kind, Format(format_code), parse)
        for number, (cell, kind, format_code) in enumerate(zip(cells, types, formats, strict=True), 1)
    ]


def samples(types: Sequence[int]) -> list[Any]:
    """A value of each type."""
    of_lists = {array: [_SAMPLES.get(element, "1")] for element, array in ARRAYS.items()}
    return [{**_SAMPLES, **of_lists}.get(kind, "1") for kind in types]


def _value(number: int, cell: bytes, kind: int, format_code: Format, parse: ParseValue) -> Any:
    try:
        if format_code is Format.TEXT and kind in _PLAIN and not _PLAIN[kind].fullmatch(cell):
            cell, format_code = parse(cell, kind), Format.BINARY
        return _load(cell, kind, format_code)
    except ReplyError as error:
        if not error.state.startswith(_DATA_ERROR):  # it was stopped, or the catalog server cannot be reached
            raise
    except Exception:  # whatever adapters raise of bytes that are not what they should be, of infinite dates, say
        pass
    raise InputError(f"the parameter {number} is no value of its type; check how it is written") from None


def _load(cell: bytes, kind: int, format_code: Format) -> Any:
    if format_code is Format.BINARY and kind in ARRAYS.values():
        return _list(Reader(cell))
    if kind == INTERVAL:
        microseconds, days, months = struct.unpack("!qii", cell)
        return Interval(months, days, microseconds)
    if format_code is Format.BINARY and not _has_size(cell, kind):
        raise ValueError
    loader = psycopg.adapters.get_loader(kind or TEXT, format_code) or psycopg.adapters.get_loader(UNKNOWN, format_code)
    assert loader is not None
    value = loader(kind, None).load(cell)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)  # times are in UTC here
    return str(value) if isinstance(value, UUID) else value


def _list(found: Reader) -> list[Any]:
    """An array of one dimension."""
    dimensions, _, element = found.int32(), found.int32(), found.int32()
    size, _ = (found.int32(), found.int32()) if dimensions == 1 else (0, 0)
    if dimensions not in (0, 1) or not 0 <= size <= _MOST_ELEMENTS:
        raise ValueError
    lengths_and_cells = ((n := found.int32(), None if n == -1 else found.take(n)) for _ in range(size))
    return [None if cell is None else _load(cell, element, Format.BINARY) for _, cell in lengths_and_cells]


def _has_size(cell: bytes, kind: int) -> bool:
    """Whether bytes have the size of their type: adapters written in C trust a server that this one is not."""
    if kind == _NUMERIC:
        return len(cell) >= 8 and len(cell) == 8 + 2 * int.from_bytes(cell[:2], "big")
    return kind in _TEXTS or _SIZES.get(kind) == len(cell)
