"""DECLARE, FETCH and CLOSE: portals that are made and read by statements, as Tableau, psqlODBC and psycopg do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlpriv.doors.server import frames
from sqlpriv.doors.server.channel import Channel
from sqlpriv.doors.server.portals import Portal
from sqlpriv.doors.server.replies import UNSUPPORTED, ReplyError
from sqlpriv.doors.server.statements import Statement, blank

_NAME = r'(?P<name>"(?:[^"]|"")+"|[^\W\d]\w*)'
_DECLARE = re.compile(
    rf"DECLARE\s+{_NAME}\s+(?P<options>(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO\s+SCROLL)\s+)*)"
    r"CURSOR\s+(?:(?P<hold>WITH|WITHOUT)\s+HOLD\s+)?FOR\s+",
    re.IGNORECASE,
)
_FETCH = re.compile(
    r"FETCH\s+(?:(?:(?P<count>\d{1,18}|ALL|NEXT)|FORWARD(?:\s+(?P<forward>\d{1,18}|ALL))?)\s+)?"
    rf"(?:(?:FROM|IN)\s+)?{_NAME}",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"CLOSE\s+{_NAME}", re.IGNORECASE)


@dataclass(frozen=True)
class Declare:
    """A cursor to be opened."""

    name: str
    is_binary: bool
    is_held: bool
    """Whether it outlives its transaction."""
    query: str
    """In its place: what stands before it is spaces."""


@dataclass(frozen=True)
class Fetch:
    """Rows of a cursor."""

    name: str
    most: int | None
    """None for all that are left."""


@dataclass(frozen=True)
class Close:
    """A cursor that is not needed any more."""

    name: str | None
    """None for all."""


Command: TypeAlias = Declare | Fetch | Close


def command(statement: Statement) -> Command:
    """What a statement wants of a cursor."""
    text = statement.whole[statement.start : statement.end].strip()
    if found := _DECLARE.match(text):
        query = blank(statement.whole[: statement.start + found.end()]) + text[found.end() :]
        is_held = (found["hold"] or "").upper() == "WITH"
        return Declare(_folded(found["name"]), "BINARY" in found["options"].upper(), is_held, query)
    if found := _FETCH.fullmatch(text):
        count = (found["count"] or found["forward"] or "1").upper()
        if count.strip("0") == "":
            raise _refusal()
        return Fetch(_folded(found["name"]), None if count == "ALL" else 1 if count == "NEXT" else int(count))
    if found := _CLOSE.fullmatch(text):
        return Close(None if found["name"].upper() == "ALL" else _folded(found["name"]))
    raise _refusal()


def _refusal() -> ReplyError:
    hint = "DECLARE c CURSOR FOR SELECT ..., FETCH 100 FROM c or FETCH ALL FROM c, and CLOSE c can be written"
    return ReplyError(UNSUPPORTED, "the rows of a cursor are read once, and forward", hint)


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


class Fetched:
    """Some of the rows that a cursor has left."""

    def __init__(self, cursor: Portal, most: int | None, columns: Sequence[int]) -> None:
        assert cursor.result is not None
        self._cursor, self._result, self._left = cursor, cursor.result, most
        if columns:  # of the extended protocol; else they come as the cursor was declared
            self._result.set_formats(columns)

    @property
    def description(self) -> bytes:
        """Its columns."""
        return self._result.description

    def set_formats(self, columns: Sequence[int]) -> None:
        """As its cursor."""
        self._result.set_formats(columns)

    def send(self, channel: Channel, most: int) -> tuple[int, bool]:
        """Write rows as they come."""
        if self._cursor.finished or self._left == 0:
            return 0, True
        wanted = most if self._left is None else min(self._left, most or self._left)
        sent, self._cursor.finished = self._result.send(channel, wanted)
        if self._left is not None:
            self._left -= sent
        return sent, self._cursor.finished or self._left == 0

    def tag(self, sent: int) -> bytes:
        """That it is done."""
        return frames.complete(f"FETCH {sent}")

    @property
    def size(self) -> int:
        """The cursor holds them."""
        return 0

    def close(self) -> None:
        """The cursor stays."""
