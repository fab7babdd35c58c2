"""A connection to the catalog server: statements go there unchanged, and its answers go to the client unchanged."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.apps.server import messages
from sqlpriv.apps.server.errors import TOO_LARGE, ReplyError
from sqlpriv.apps.server.messages import COUNT, INT32, Reader, message, zero_ended

_SYNC = message(b"S")
_LARGEST_ANSWER = 16 << 20
"""More than all of a catalog; functions of PostgreSQL make texts of any size, which must not be held here."""
_LONGEST_ERROR = 4 << 10


@dataclass(frozen=True)
class CatalogRows:
    """An answer of the catalog server: its messages, unchanged."""

    description: bytes
    rows: list[bytes]
    tag: bytes
    size: int
    """The bytes of its rows."""


class CatalogClient:
    """One connection to the catalog server, for one session."""

    def __init__(self, path: Path, user: str, database: str) -> None:
        self._path = path
        self.is_broken = False
        self.parameters: dict[str, str] = {}
        self._key = (0, b"")
        try:
            self._sock = socket.socket(socket.AF_UNIX)
            self._sock.connect(str(path))
            self._file = self._sock.makefile("rb")
            self._sock.sendall(_startup({"user": user, "database": database, "client_encoding": "UTF8"}))
        except OSError:
            raise self._unavailable() from None
        for kind, body in self._answer():
            reader = Reader(body)
            if kind == b"S":
                name = reader.text()
                self.parameters[name] = reader.text()
            elif kind == b"K":
                self._key = (reader.int32(), reader.rest())

    def describe(self, sql: str, types: Sequence[int]) -> tuple[tuple[int, ...], bytes]:
        """The types of the parameters of a statement, and the description of its columns."""
        self._send(_parse(sql, types) + _describe("S"))
        found: tuple[int, ...] = ()
        description = messages.NO_DATA
        for kind, body in self._answer():
            if kind == b"t":
                found = Reader(body).types()
            elif kind == b"T":
                description = message(kind, body)
        return found, description

    def run(
        self,
        sql: str,
        types: Sequence[int] = (),
        values: Sequence[bytes | None] = (),
        formats: Sequence[int] = (),
        columns: Sequence[int] = (),
    ) -> CatalogRows:
        """The answer to a statement."""
        self._send(_parse(sql, types) + _bind(values, formats, columns) + _describe("P") + _EXECUTE)
        description, tag, size = messages.NO_DATA, messages.EMPTY_QUERY, 0
        rows: list[bytes] = []
        for kind, body in self._answer():
            if kind == b"D":
                size += len(body)
                if size > _LARGEST_ANSWER:
                    rows.clear()  # and no more are kept, up to the end of the answer
                else:
                    rows.append(message(kind, body))
            elif kind == b"T":
                description = message(kind, body)
            elif kind == b"C":
                tag = message(kind, body)
        if size > _LARGEST_ANSWER:
            raise _too_large()
        return CatalogRows(description, rows, tag, size)

    def parse_value(self, text: bytes, kind: int) -> bytes:
        """A text as a value of a type, in binary, read by PostgreSQL itself."""
        (row,) = self.run("SELECT $1", (kind,), (text,), (messages.TEXT,), (messages.BINARY,)).rows
        reader = Reader(row[5:])
        reader.int16()
        return reader.take(reader.int32())

    def can_answer(self, sql: str, types: Sequence[int]) -> bool:
        """Whether a statement can be run here: not if it reads a served table, which no statement may."""
        try:
            known, _ = self.describe(sql, types)
            self.run(f"EXPLAIN {sql}", known, [None] * len(known))
        except ReplyError:
            return False
        return True

    def cancel(self) -> None:
        """Stop what runs; from another thread."""
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(str(self._path))
                sock.sendall(_cancel(*self._key))
        except OSError:
            return

    def close(self) -> None:
        """Give the socket back."""
        self._file.close()
        self._sock.close()

    def _unavailable(self) -> ReplyError:
        self.is_broken = True
        return ReplyError("58000", "the catalog is not available at the moment", "queries over tables are answered")

    def _send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data + _SYNC)
        except OSError:
            raise self._unavailable() from None

    def _answer(self) -> Iterator[tuple[bytes, bytes]]:
        """The messages up to ReadyForQuery; an error among them is raised after that."""
        failed: ReplyError | None = None
        while True:
            try:
                head = self._file.read(5)
                size = int.from_bytes(head[1:], "big") - 4 if len(head) == 5 else 0
                body = self._file.read(min(size, _LARGEST_ANSWER))
                self._skip(size - len(body))
            except (OSError, ValueError):
                raise self._unavailable() from None
            if len(head) < 5:
                self.is_broken = True
                raise failed or self._unavailable()
            if head[:1] == b"E":
                failed = _error(body)
            elif size > len(body):
                failed = failed or _too_large()
            elif head[:1] == b"Z":
                break
            elif failed is None:
                yield head[:1], body
        if failed is not None:
            raise failed

    def _skip(self, size: int) -> None:
        """Read bytes and drop them."""
        while size > 0:
            part = self._file.read(min(size, 1 << 16))
            if not part:
                raise OSError
            size -= len(part)


def _too_large() -> ReplyError:
    return ReplyError(TOO_LARGE, "the answer of the catalog is too large", "ask for less of it")


def _error(body: bytes) -> ReplyError:
    """PostgreSQL's error, cut: it may repeat a text as long as a statement makes it."""
    fields = {part[:1].decode(): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    position = fields.get("P", "")
    message, hint = (fields.get(part, "")[:_LONGEST_ERROR] for part in "MH")
    return ReplyError(fields.get("C", "58000"), message, hint, int(position) if position.isdigit() else 0)


def _startup(options: dict[str, str]) -> bytes:
    """The first message of a client."""
    texts = b"".join(zero_ended(name) + zero_ended(value) for name, value in options.items())
    return message(b"", INT32.pack(messages.PROTOCOL), texts, b"\0")


def _cancel(process: int, secret: bytes) -> bytes:
    """A request to stop the statement of another connection."""
    return message(b"", INT32.pack(messages.CANCEL), INT32.pack(process), secret)


def _parse(sql: str, types: Sequence[int]) -> bytes:
    """Prepare a statement without a name."""
    return message(b"P", b"\0", zero_ended(sql), COUNT.pack(len(types)), *(struct.pack("!I", t) for t in types))


def _describe(of: str) -> bytes:
    """Ask for the columns of the statement ("S") or the portal ("P") without a name."""
    return message(b"D", of.encode(), b"\0")


def _bind(values: Sequence[bytes | None], formats: Sequence[int], columns: Sequence[int]) -> bytes:
    """Give the statement without a name its parameters."""
    parts = [b"\0\0", COUNT.pack(len(formats)), *map(COUNT.pack, formats), COUNT.pack(len(values))]
    for value in values:
        parts += [INT32.pack(-1)] if value is None else [INT32.pack(len(value)), value]
    return message(b"B", *parts, COUNT.pack(len(columns)), *map(COUNT.pack, columns))


_EXECUTE = message(b"E", b"\0", INT32.pack(0))
