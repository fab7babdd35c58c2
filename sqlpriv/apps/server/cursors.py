"""DECLARE, FETCH and CLOSE: portals that are made and read by statements, as Tableau, psqlODBC and psycopg do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlpriv.apps.server import messages
from sqlpriv.apps.server.channel import Channel
from sqlpriv.apps.server.errors import UNSUPPORTED, ReplyError
from sqlpriv.apps.server.portals import Portal, Result
from sqlpriv.apps.server.statements import Statement, blank

NAME = r'(?P<name>"(?:[^"]|"")+"|[^\W\d]\w*)'
_DECLARE = re.compile(
    rf"DECLARE\s+{NAME}\s+(?P<options>(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO\s+SCROLL)\s+)*)"
    r"CURSOR\s+(?:(?P<hold>WITH|WITHOUT)\s+HOLD\s+)?FOR\s+",
    re.IGNORECASE,
)
_FETCH = re.compile(
    r"FETCH\s+(?:(?:(?P<count>\d{1,18}|ALL|NEXT)|FORWARD(?:\s+(?P<forward>\d{1,18}|ALL))?)\s+)?"
    rf"(?:(?:FROM|IN)\s+)?{NAME}",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"CLOSE\s+{NAME}", re.IGNORECASE)


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
    limit: int | None
    """None for all that are left."""


@dataclass(frozen=True)
class Close:
    """A cursor that is not needed any more."""

    name: str | None
    """None for all."""


CursorCommand: TypeAlias = Declare | Fetch | Close


def read_command(statement: Statement) -> CursorCommand:
    """What a statement wants of a cursor."""
    text = statement.full_text[statement.start : statement.end].strip()
    if found := _DECLARE.match(text):
        query = blank(statement.full_text[: statement.start + found.end()]) + text[found.end() :]
        is_held = (found["hold"] or "").upper() == "WITH"
        return Declare(folded_name(found["name"]), "BINARY" in found["options"].upper(), is_held, query)
    if found := _FETCH.fullmatch(text):
        count = (found["count"] or found["forward"] or "1").upper()
        if count.strip("0"):
            return Fetch(folded_name(found["name"]), None if count == "ALL" else 1 if count == "NEXT" else int(count))
    elif found := _CLOSE.fullmatch(text):
        return Close(None if found["name"].upper() == "ALL" else folded_name(found["name"]))
    hint = "DECLARE c CURSOR FOR SELECT ..., FETCH 100 FROM c or FETCH ALL FROM c, and CLOSE c can be written"
    raise ReplyError(UNSUPPORTED, "the rows of a cursor are read once, and forward", hint)


def folded_name(name: str) -> str:
    """A name as it is compared: what stands in quotes is taken as it is."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


class FetchResult(Result):
    """Some of the rows that a cursor has left; the cursor holds them, and stays."""

    def __init__(self, cursor: Portal, limit: int | None, columns: Sequence[int]) -> None:
        super().__init__("FETCH")
        assert cursor.result is not None
        self._cursor, self._rows, self._left = cursor, cursor.result, limit
        if columns:  # of the extended protocol; else they come as the cursor was declared
            self._rows.set_formats(columns)

    @property
    def description(self) -> bytes:
        return self._rows.description

    def set_formats(self, columns: Sequence[int]) -> None:
        self._rows.set_formats(columns)

    def send(self, channel: Channel, limit: int) -> tuple[int, bool]:
        if self._cursor.finished or self._left == 0:
            return 0, True
        wanted = limit if self._left is None else min(self._left, limit or self._left)
        sent, self._cursor.finished = self._rows.send(channel, wanted)
        if self._left is not None:
            self._left -= sent
        return sent, self._cursor.finished or self._left == 0

    def complete(self, sent: int) -> bytes:
        return messages.command_complete(f"FETCH {sent}")
