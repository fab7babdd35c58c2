"""Parameters of a statement, from the bytes of Bind to values that the rewriter puts into the query's tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from psycopg.pq import Format

from sqlpriv.errors import InputError

UNKNOWN, TEXT = 0, 25
Spell: TypeAlias = Callable[[bytes, int], bytes]
"""A text as a value of a type, in binary; by PostgreSQL itself."""
_NUMERIC = 1700
_TEXTS = frozenset({UNKNOWN, 19, TEXT, 1042, 1043})
_SIZES = {16: 1, 20: 8, 21: 2, 23: 4, 26: 4, 700: 4, 701: 8, 1082: 4, 1083: 8, 1114: 8, 1184: 8, 2950: 16}
# What stands for a parameter while only the types of the columns are asked for.
_SAMPLES: dict[int, Any] = {
    16: True, 20: 1, 21: 1, 23: 1, 26: 1, 700: 1.0, 701: 1.0, 1082: date(2000, 1, 1), 1083: time(0),
    1114: datetime(2000, 1, 1), 1184: datetime(2000, 1, 1), 1700: Decimal(1),
}  # fmt: skip


def decoded(cells: Sequence[bytes | None], types: Sequence[int], formats: Sequence[int], spell: Spell) -> list[Any]:
    """The values; a cell that is none of its type is refused, and not repeated."""
    return [
        None if cell is None else _decoded(number, cell, kind, Format(form), spell)
        for number, (cell, kind, form) in enumerate(zip(cells, types, formats, strict=True), 1)
    ]


def samples(types: Sequence[int]) -> list[Any]:
    """A value of each type."""
    return [_SAMPLES.get(kind, "1") for kind in types]


def _decoded(number: int, cell: bytes, kind: int, form: Format, spell: Spell) -> Any:
    try:
        return _loaded(cell, kind, form)
    except Exception:  # whatever adapters raise of bytes that are not what they should be
        if form is Format.BINARY:
            raise InputError(f"the parameter {number} is no value of its type") from None
    # PostgreSQL reads more spellings than its adapters: `2024-01-01 +00` as a date, `on` as a truth.
    spelt = spell(cell, kind)
    try:
        return _loaded(spelt, kind, Format.BINARY)
    except Exception:  # infinite dates, say
        raise InputError(f"the parameter {number} is no value of its type") from None


def _loaded(cell: bytes, kind: int, form: Format) -> Any:
    if form is Format.BINARY and not _fits(cell, kind):
        raise ValueError
    loader = psycopg.adapters.get_loader(kind or TEXT, form) or psycopg.adapters.get_loader(UNKNOWN, form)
    assert loader is not None
    value = loader(kind, None).load(cell)
    return str(value) if isinstance(value, UUID) else value


def _fits(cell: bytes, kind: int) -> bool:
    """Whether bytes have the size of their type: adapters written in C trust a server that this one is not."""
    if kind == _NUMERIC:
        return len(cell) >= 8 and len(cell) == 8 + 2 * int.from_bytes(cell[:2], "big")
    return kind in _TEXTS or _SIZES.get(kind) == len(cell)
