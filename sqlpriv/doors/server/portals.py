"""Prepared statements, and portals: statements with their parameters, of which rows are taken bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from sqlpriv.doors.server import encode, frames
from sqlpriv.doors.server.answers import Rows
from sqlpriv.doors.server.channel import Channel
from sqlpriv.doors.server.link import Found
from sqlpriv.doors.server.replies import UNSUPPORTED, ReplyError
from sqlpriv.doors.server.statements import Statement

_SLICE = 8192


@dataclass
class Prepared:
    """A statement that was parsed, with the types of its parameters."""

    statement: Statement | None
    """None for an empty one."""
    types: tuple[int, ...] = ()
    fields: tuple[frames.Field, ...] | None = None
    """The columns, once the client was told of them."""

    @property
    def size(self) -> int:
        """The bytes that are kept for it, about."""
        return 0 if self.statement is None else len(self.statement.whole)


class Result(Protocol):
    """What a statement gave."""

    @property
    def description(self) -> bytes:
        """Its columns."""

    def set_formats(self, columns: Sequence[int]) -> None:
        """The formats in which the columns are to come from here on."""

    def send(self, channel: Channel, most: int) -> tuple[int, bool]:
        """Write so many rows, or all if 0; how many they were, and whether these were the last."""

    def tag(self, sent: int) -> bytes:
        """That it is done."""

    @property
    def size(self) -> int:
        """The bytes of rows that are kept for it."""

    def close(self) -> None:
        """No more is wanted."""


class Answered:
    """The rows of a question."""

    def __init__(self, rows: Rows, columns: Sequence[int]) -> None:
        self._rows = rows
        self._formats = each_format(columns, len(rows.fields))
        self._left: pa.RecordBatch | None = None

    @property
    def description(self) -> bytes:
        """Its columns."""
        return frames.row_description(self._rows.fields, self._formats)

    def set_formats(self, columns: Sequence[int]) -> None:
        """The formats in which the columns are to come from here on."""
        self._formats = each_format(columns, len(self._rows.fields))

    def refuse_other_than(self, told: tuple[frames.Field, ...] | None) -> None:
        """The client was told of the columns before the values of its parameters were known."""
        found = [(f.name, f.type) for f in self._rows.fields]
        if told is not None and found != [(f.name, f.type) for f in told]:
            raise ReplyError(
                UNSUPPORTED, "the columns of the answer depend on the values of its parameters",
                "cast the parameters where they stand in the SELECT list",
            )  # fmt: skip

    def send(self, channel: Channel, most: int) -> tuple[int, bool]:
        """Write rows as they come."""
        sent = 0
        while not most or sent < most:
            batch = self._left if self._left is not None else next(self._rows.batches, None)
            if batch is None:
                return sent, True
            size = min(_SLICE, most - sent) if most else _SLICE
            part, rest = batch.slice(0, size), batch.slice(size)
            self._left = rest if rest.num_rows else None
            if part.num_rows:
                channel.write(encode.rows(part, self._formats))
            sent += part.num_rows
        return sent, False

    def tag(self, sent: int) -> bytes:
        """That it is done."""
        return frames.complete(f"SELECT {sent}")

    @property
    def size(self) -> int:
        """A batch at most."""
        return 0 if self._left is None else self._left.nbytes

    def close(self) -> None:
        """No more is wanted."""
        self._rows.close()


class Listed:
    """What the shadow found."""

    def __init__(self, found: Found, columns: Sequence[int]) -> None:
        self._found = found
        self._columns = columns
        self._at = 0

    @property
    def description(self) -> bytes:
        """Its columns."""
        return self._found.description

    def set_formats(self, columns: Sequence[int]) -> None:
        """They are there already, and come as they are."""
        if {*(columns or (frames.TEXT,))} != {*(self._columns or (frames.TEXT,))}:
            hint = "declare it as a BINARY CURSOR, or fetch texts"
            raise ReplyError(UNSUPPORTED, "a cursor over the catalog has the format it was declared with", hint)

    def send(self, channel: Channel, most: int) -> tuple[int, bool]:
        """Write rows as they are."""
        end = min(self._at + most, len(self._found.rows)) if most else len(self._found.rows)
        rows, self._at = self._found.rows[self._at : end], end
        for row in rows:
            channel.write(row)
        return len(rows), not most or len(rows) < most

    def tag(self, sent: int) -> bytes:
        """That it is done."""
        return self._found.tag

    @property
    def size(self) -> int:
        """All of its rows."""
        return self._found.size

    def close(self) -> None:
        """Nothing is held."""


class Done:
    """A command, which has no rows."""

    def __init__(self, tag: str) -> None:
        self._tag = tag

    @property
    def description(self) -> bytes:
        """There are no columns."""
        return frames.NO_DATA

    def set_formats(self, columns: Sequence[int]) -> None:
        """There are no columns."""

    def send(self, channel: Channel, most: int) -> tuple[int, bool]:
        """There are no rows."""
        return 0, True

    def tag(self, sent: int) -> bytes:
        """That it is done; an empty text has no tag."""
        return frames.complete(self._tag) if self._tag else frames.EMPTY

    @property
    def size(self) -> int:
        """Nothing is held."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class Portal:
    """A statement with its parameters, and its result, once it has begun."""

    prepared: Prepared
    values: tuple[bytes | None, ...] = ()
    formats: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    result: Result | None = field(default=None)
    finished: bool = False
    is_held: bool = False
    """Whether it outlives its transaction."""
    is_committed: bool = False
    """Whether it has."""

    @property
    def size(self) -> int:
        """The bytes that are kept for it, about."""
        held = self.prepared.size + sum(len(value) for value in self.values if value is not None)
        return held + (0 if self.result is None else self.result.size)

    def close(self) -> None:
        """No more is wanted."""
        if self.result is not None:
            self.result.close()


def each_format(columns: Sequence[int], number: int) -> tuple[int, ...]:
    """The format of each column: none means text for all, one is for all."""
    if len(columns) not in {0, 1, number}:
        raise ReplyError("08P01", f"Bind has formats of {len(columns)} columns, and the answer has {number}")
    return tuple(columns) if len(columns) == number else tuple(columns or (frames.TEXT,)) * number
