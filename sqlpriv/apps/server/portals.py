"""Prepared statements, and portals: statements with their parameters, whose rows are taken in several steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlpriv.apps.server import encode, messages
from sqlpriv.apps.server.catalog_client import CatalogRows
from sqlpriv.apps.server.channel import Channel
from sqlpriv.apps.server.errors import PROTOCOL_VIOLATION, UNSUPPORTED, ReplyError, warning
from sqlpriv.apps.server.queries import Rows
from sqlpriv.apps.server.statements import Statement

_SLICE = 8192


@dataclass
class Prepared:
    """A statement that was parsed, with the types of its parameters."""

    statement: Statement | None
    """None for an empty one."""
    types: tuple[int, ...] = ()
    fields: tuple[messages.Field, ...] | None = None
    """The columns, once they were described to the client."""

    @property
    def size(self) -> int:
        """The bytes that are held for it, about."""
        return 0 if self.statement is None else len(self.statement.full_text)


class Result:
    """The result of a command, which has no rows; those that have rows are below."""

    def __init__(self, tag: str) -> None:
        self._tag = tag

    @property
    def description(self) -> bytes:
        """The message that describes its columns."""
        return messages.NO_DATA

    @property
    def size(self) -> int:
        """The bytes of rows that are held for it."""
        return 0

    def set_formats(self, columns: Sequence[int]) -> None:
        """The formats in which the columns are to come from here on."""

    def send(self, channel: Channel, limit: int) -> tuple[int, bool]:
        """Write at most `limit` rows, or all if 0; how many they were, and whether these were the last."""
        return 0, True

    def complete(self, sent: int) -> bytes:
        """The message that it is done; an empty text has no tag."""
        return messages.command_complete(self._tag) if self._tag else messages.EMPTY_QUERY

    def close(self) -> None:
        """Give back what it holds."""


class QueryResult(Result):
    """The rows of a query, computed as they are sent."""

    def __init__(self, rows: Rows, columns: Sequence[int]) -> None:
        super().__init__("SELECT")
        self._rows = rows
        self._formats = _format_of_each(columns, len(rows.fields))
        self._rest: pa.RecordBatch | None = None

    @property
    def description(self) -> bytes:
        return messages.row_description(self._rows.fields, self._formats)

    @property
    def size(self) -> int:
        """A batch at most."""
        return 0 if self._rest is None else self._rest.nbytes

    def set_formats(self, columns: Sequence[int]) -> None:
        self._formats = _format_of_each(columns, len(self._rows.fields))

    def require_fields(self, described: tuple[messages.Field, ...] | None) -> None:
        """Refuse columns other than those that were described before the values of the parameters were known."""
        found = [(f.name, f.type) for f in self._rows.fields]
        if described is not None and found != [(f.name, f.type) for f in described]:
            raise ReplyError(
                UNSUPPORTED, "the columns of the answer depend on the values of its parameters",
                "cast the parameters where they stand in the SELECT list",
            )  # fmt: skip

    def send(self, channel: Channel, limit: int) -> tuple[int, bool]:
        sent = 0
        while not limit or sent < limit:
            batch = self._rest if self._rest is not None else next(self._rows.batches, None)
            if batch is None:
                for text in self._rows.below_zero.warnings("to show 0 instead, write greatest(x, 0)"):
                    channel.write(warning(text))
                return sent, True
            size = min(_SLICE, limit - sent) if limit else _SLICE
            part, rest = batch.slice(0, size), batch.slice(size)
            self._rest = rest if rest.num_rows else None
            if part.num_rows:
                channel.write(encode.rows(part, self._formats))
            sent += part.num_rows
        return sent, False

    def complete(self, sent: int) -> bytes:
        return messages.command_complete(f"SELECT {sent}")

    def close(self) -> None:
        self._rows.close()


class CatalogResult(Result):
    """The rows of the catalog server, which are all there."""

    def __init__(self, found: CatalogRows, columns: Sequence[int]) -> None:
        super().__init__("")
        self._found = found
        self._columns = columns
        self._at = 0

    @property
    def description(self) -> bytes:
        return self._found.description

    @property
    def size(self) -> int:
        """All of its rows."""
        return self._found.size

    def set_formats(self, columns: Sequence[int]) -> None:
        """The rows are there already, and keep their format."""
        if {*(columns or (messages.TEXT,))} != {*(self._columns or (messages.TEXT,))}:
            hint = "declare it as a BINARY CURSOR, or fetch texts"
            raise ReplyError(UNSUPPORTED, "a cursor over the catalog has the format it was declared with", hint)

    def send(self, channel: Channel, limit: int) -> tuple[int, bool]:
        end = min(self._at + limit, len(self._found.rows)) if limit else len(self._found.rows)
        rows, self._at = self._found.rows[self._at : end], end
        for row in rows:
            channel.write(row)
        return len(rows), not limit or len(rows) < limit

    def complete(self, sent: int) -> bytes:
        return self._found.tag


@dataclass
class Portal:
    """A statement with its parameters, and its result, once it has begun."""

    prepared: Prepared
    values: tuple[bytes | None, ...] = ()
    formats: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    result: Result | None = None
    finished: bool = False
    is_held: bool = False
    """Whether it outlives its transaction."""
    is_committed: bool = False
    """Whether its transaction was committed."""

    @property
    def size(self) -> int:
        """The bytes that are held for it, about."""
        held = self.prepared.size + sum(len(value) for value in self.values if value is not None)
        return held + (0 if self.result is None else self.result.size)

    def close(self) -> None:
        """Give back what its result holds."""
        if self.result is not None:
            self.result.close()


def _format_of_each(columns: Sequence[int], number: int) -> tuple[int, ...]:
    """The format of each column: none means text for all, one is for all."""
    if len(columns) not in {0, 1, number}:
        raise ReplyError(PROTOCOL_VIOLATION, f"Bind has formats of {len(columns)} columns, and the answer has {number}")
    return tuple(columns) if len(columns) == number else tuple(columns or (messages.TEXT,)) * number
