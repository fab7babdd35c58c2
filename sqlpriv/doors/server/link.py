"""A connection to the shadow. Statements go there as they came, and what it answers goes to the client as it is."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.doors.server import frames
from sqlpriv.doors.server.reader import Reader
from sqlpriv.doors.server.replies import ReplyError

_INT32 = struct.Struct("!i")
_SYNC = frames.built(b"S")
_LARGEST_ANSWER = 16 << 20
"""More than all of a catalog; functions of PostgreSQL make texts of any size, which are not to be held here."""
_LONGEST_ERROR = 4 << 10


@dataclass(frozen=True)
class Found:
    """An answer of the shadow: messages as they are."""

    description: bytes
    rows: list[bytes]
    tag: bytes
    size: int
    """The bytes of its rows."""


class Link:
    """One connection to the shadow, for one session."""

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
            raise self._gone() from None
        for kind, body in self._answer():
            reader = Reader(body)
            if kind == b"S":
                name = reader.text()
                self.parameters[name] = reader.text()
            elif kind == b"K":
                self._key = (reader.int32(), reader.rest())

    def described(self, sql: str, types: Sequence[int]) -> tuple[tuple[int, ...], bytes]:
        """The types of the parameters of a statement, and the description of its columns."""
        self._send(_parse(sql, types) + _describe("S"))
        found, description = (), frames.NO_DATA
        for kind, body in self._answer():
            if kind == b"t":
                reader = Reader(body)
                found = tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count()))  # type: ignore[assignment]
            elif kind == b"T":
                description = frames.built(kind, body)
        return found, description

    def run(
        self,
        sql: str,
        types: Sequence[int] = (),
        values: Sequence[bytes | None] = (),
        formats: Sequence[int] = (),
        columns: Sequence[int] = (),
    ) -> Found:
        """The answer to a statement."""
        asked = (_parse(sql, types), _bind(values, formats, columns), _describe("P"), _EXECUTE)
        self._send(b"".join(asked))
        description, tag, size = frames.NO_DATA, frames.EMPTY, 0
        rows: list[bytes] = []
        for kind, body in self._answer():
            if kind == b"D":
                size += len(body)
                if size > _LARGEST_ANSWER:
                    rows.clear()  # and no more are kept, up to the end of the answer
                else:
                    rows.append(frames.built(kind, body))
            elif kind == b"T":
                description = frames.built(kind, body)
            elif kind == b"C":
                tag = frames.built(kind, body)
        if size > _LARGEST_ANSWER:
            raise _too_large()
        return Found(description, rows, tag, size)

    def spelt(self, text: bytes, kind: int) -> bytes:
        """A text as a value of a type, in binary."""
        (row,) = self.run("SELECT $1", (kind,), (text,), (frames.TEXT,), (frames.BINARY,)).rows
        reader = Reader(row[5:])
        reader.int16()
        return reader.take(reader.int32())

    def answers(self, sql: str, types: Sequence[int]) -> bool:
        """Whether the shadow may run a statement: not if it reads a served table, which its role has no right to."""
        try:
            known, _ = self.described(sql, types)
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
        """The end of it."""
        self._file.close()
        self._sock.close()

    def _gone(self) -> ReplyError:
        self.is_broken = True
        return ReplyError("58000", "the catalog cannot be asked at the moment", "questions about tables are answered")

    def _send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data + _SYNC)
        except OSError:
            raise self._gone() from None

    def _answer(self) -> Iterator[tuple[bytes, bytes]]:
        """The messages up to the one that says that the next may come; an error is raised when that has come."""
        failed: ReplyError | None = None
        while True:
            try:
                head = self._file.read(5)
                size = int.from_bytes(head[1:], "big") - 4 if len(head) == 5 else 0
                body = self._file.read(min(size, _LARGEST_ANSWER))
                self._pass_over(size - len(body))
            except (OSError, ValueError):
                raise self._gone() from None
            if len(head) < 5:
                self.is_broken = True
                raise failed or self._gone()
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

    def _pass_over(self, size: int) -> None:
        """Read bytes that are not kept."""
        while size > 0:
            part = self._file.read(min(size, 1 << 16))
            if not part:
                raise OSError
            size -= len(part)


def _too_large() -> ReplyError:
    return ReplyError("54000", "the answer of the catalog is too large", "ask for less of it")


def _error(body: bytes) -> ReplyError:
    """What PostgreSQL says; it may repeat a text as long as a statement makes it."""
    said = {part[:1].decode(): part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    place = said.get("P", "")
    message, hint = (said.get(part, "")[:_LONGEST_ERROR] for part in "MH")
    return ReplyError(said.get("C", "58000"), message, hint, int(place) if place.isdigit() else 0)


def _startup(options: dict[str, str]) -> bytes:
    """The first message of a client."""
    body = (
        _INT32.pack(frames.PROTOCOL)
        + b"".join(map(frames.zero_ended, (t for item in options.items() for t in item)))
        + b"\0"
    )
    return _INT32.pack(len(body) + 4) + body


def _cancel(process: int, secret: bytes) -> bytes:
    """A request to stop what another connection runs."""
    body = _INT32.pack(frames.CANCEL) + _INT32.pack(process) + secret
    return _INT32.pack(len(body) + 4) + body


def _parse(sql: str, types: Sequence[int]) -> bytes:
    """Prepare a statement without a name."""
    return frames.built(
        b"P", b"\0", frames.zero_ended(sql), frames.COUNT.pack(len(types)), *(struct.pack("!I", t) for t in types)
    )


def _describe(of: str) -> bytes:
    """Ask for the columns of the statement ("S") or the portal ("P") without a name."""
    return frames.built(b"D", of.encode(), b"\0")


def _bind(values: Sequence[bytes | None], formats: Sequence[int], columns: Sequence[int]) -> bytes:
    """Give the statement without a name its parameters."""
    parts = [b"\0\0", frames.COUNT.pack(len(formats)), *map(frames.COUNT.pack, formats), frames.COUNT.pack(len(values))]
    for value in values:
        parts += [_INT32.pack(-1)] if value is None else [_INT32.pack(len(value)), value]
    return frames.built(b"B", *parts, frames.COUNT.pack(len(columns)), *map(frames.COUNT.pack, columns))


_EXECUTE = frames.built(b"E", b"\0", _INT32.pack(0))
