"""The messages of the PostgreSQL protocol, version 3: bytes to messages, and messages to bytes.

Whatever does not fit raises ProtocolError: the connection ends, the server does not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlpriv.doors.server.reader import ProtocolError, Reader

PROTOCOL = 3 << 16
CANCEL, TLS, GSS = ((1234 << 16) + code for code in (5678, 5679, 5680))
TEXT, BINARY = 0, 1
COUNT, _INT32 = struct.Struct("!H"), struct.Struct("!i")


@dataclass(frozen=True)
class Startup:
    """Who wants to connect, to what."""

    version: int
    options: dict[str, str]


@dataclass(frozen=True)
class Cancel:
    """A request to stop what another connection runs."""

    process: int
    secret: bytes


@dataclass(frozen=True)
class Encrypt:
    """A request to begin TLS, or GSS encryption."""

    tls: bool


@dataclass(frozen=True)
class Query:
    """Statements of the simple protocol."""

    sql: str


@dataclass(frozen=True)
class Parse:
    """A statement to prepare; a type of 0 is to be inferred."""

    name: str
    sql: str
    types: tuple[int, ...]


@dataclass(frozen=True)
class Bind:
    """A portal: a prepared statement with its parameters, and the formats of its columns."""

    portal: str
    statement: str
    values: tuple[bytes | None, ...]
    formats: tuple[int, ...]
    """One for each value."""
    columns: tuple[int, ...]
    """None, one for all, or one for each column."""


@dataclass(frozen=True)
class Named:
    """Describe ("D") or Close ("C") of a statement ("S") or a portal ("P")."""

    kind: str
    of: str
    name: str


@dataclass(frozen=True)
class Execute:
    """Rows of a portal; 0 for all."""

    portal: str
    most: int


@dataclass(frozen=True)
class Plain:
    """A message of one letter: Sync "S", Flush "H", Terminate "X"."""

    kind: str


@dataclass(frozen=True)
class Secret:
    """What authentication sends; scram reads it."""

    body: bytes


Opening: TypeAlias = Startup | Cancel | Encrypt
Message: TypeAlias = Query | Parse | Bind | Named | Execute | Plain | Secret


def opening(body: bytes) -> Opening:
    """The first message of a connection, which has no letter."""
    reader = Reader(body)
    code = reader.int32()
    if code == CANCEL:
        return Cancel(reader.int32(), reader.rest())
    if code in {TLS, GSS}:
        reader.end()
        return Encrypt(code == TLS)
    if code >> 16 != PROTOCOL >> 16:
        raise ProtocolError("this is no client of PostgreSQL, version 3")
    options = {}
    while name := reader.text():
        options[name] = reader.text()
    reader.end()
    return Startup(code, options)


def message(kind: bytes, body: bytes) -> Message:
    """Any later message."""
    reader = Reader(body)
    read = _READ.get(kind)
    if read is None:
        raise ProtocolError("a message of a kind that is not known")
    found = read(reader)
    reader.end()
    return found


def _query(reader: Reader) -> Message:
    return Query(reader.text())


def _parse(reader: Reader) -> Message:
    name, sql = reader.text(), reader.text()
    return Parse(name, sql, tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count())))


def _bind(reader: Reader) -> Message:
    portal, statement = reader.text(), reader.text()
    formats = reader.many16()
    values = []
    for _ in range(reader.count()):
        size = reader.int32()
        values.append(None if size == -1 else reader.take(size))
    columns = reader.many16()
    if len(formats) not in {0, 1, len(values)} or not {*formats, *columns} <= {TEXT, BINARY}:
        raise ProtocolError("the formats of Bind do not fit its parameters")
    each = formats if len(formats) == len(values) else (formats or [TEXT]) * len(values)
    return Bind(portal, statement, tuple(values), tuple(each), tuple(columns))


def _named(kind: str) -> Callable[[Reader], Message]:
    def read(reader: Reader) -> Message:
        of = reader.take(1)
        if of not in {b"S", b"P"}:
            raise ProtocolError("neither a statement nor a portal")
        return Named(kind, of.decode(), reader.text())

    return read


def _execute(reader: Reader) -> Message:
    return Execute(reader.text(), max(reader.int32(), 0))


def _plain(kind: str) -> Callable[[Reader], Message]:
    return lambda _: Plain(kind)


def _secret(reader: Reader) -> Message:
    return Secret(reader.rest())


_READ: dict[bytes, Callable[[Reader], Message]] = {
    b"Q": _query, b"P": _parse, b"B": _bind, b"D": _named("D"), b"C": _named("C"), b"E": _execute,
    b"S": _plain("S"), b"H": _plain("H"), b"X": _plain("X"), b"p": _secret,
}  # fmt: skip


def built(kind: bytes, *parts: bytes) -> bytes:
    """A message: its letter, its length, its parts."""
    body = b"".join(parts)
    return kind + _INT32.pack(len(body) + 4) + body


def zero_ended(text: str) -> bytes:
    """A text with its zero byte; one inside would end it."""
    return text.replace("\0", "").encode(errors="replace") + b"\0"


PARSED, BOUND, CLOSED = built(b"1"), built(b"2"), built(b"3")
NO_DATA, SUSPENDED, EMPTY = built(b"n"), built(b"s"), built(b"I")
SIGNED_IN = built(b"R", _INT32.pack(0))


def sasl(code: int, body: bytes) -> bytes:
    """A step of authentication: 10 the ways there are, 11 more to do, 12 done."""
    return built(b"R", _INT32.pack(code), body)


def parameter(name: str, value: str) -> bytes:
    """A setting that the client wants to know of."""
    return built(b"S", zero_ended(name), zero_ended(value))


def key(process: int, secret: bytes) -> bytes:
    """What a client must know to cancel."""
    return built(b"K", _INT32.pack(process), secret)


def negotiate(options: Sequence[str]) -> bytes:
    """That only version 3.0 is spoken, and which options are not known."""
    return built(b"v", _INT32.pack(0), _INT32.pack(len(options)), *map(zero_ended, options))


def ready(status: str) -> bytes:
    """That the next may come: "I" idle, "T" in a transaction, "E" in one that has failed."""
    return built(b"Z", status.encode())


def complete(tag: str) -> bytes:
    """That a statement is done."""
    return built(b"C", zero_ended(tag))


@dataclass(frozen=True)
class Field:
    """A column of an answer."""

    name: str
    type: int
    size: int = -1
    modifier: int = -1
    table: int = 0
    place: int = 0


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """The columns of an answer, with the formats they come in."""
    parts = [COUNT.pack(len(fields))]
    for field, form in zip(fields, formats, strict=True):
        numbers = (field.table, field.place, field.type, field.size, field.modifier, form)
        parts += [zero_ended(field.name), struct.pack("!IhIhih", *numbers)]
    return built(b"T", *parts)


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of the parameters of a statement."""
    return built(b"t", COUNT.pack(len(types)), *(struct.pack("!I", t) for t in types))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """One row."""
    parts = [COUNT.pack(len(cells))]
    for cell in cells:
        parts += [_INT32.pack(-1)] if cell is None else [_INT32.pack(len(cell)), cell]
    return built(b"D", *parts)


def failure(fields: dict[str, str], notice: bool = False) -> bytes:
    """An error or a notice: S severity, C SQLSTATE, M message, H hint, P place."""
    parts = [letter.encode() + zero_ended(text) for letter, text in fields.items() if text]
    return built(b"N" if notice else b"E", *parts, b"\0")
