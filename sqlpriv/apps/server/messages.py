"""The messages of the PostgreSQL protocol, version 3: bytes to messages, and messages to bytes.

It knows no socket and no SQL. Bytes that are no message raise ProtocolError, which ends the connection and not the
server.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

PROTOCOL = 3 << 16
CANCEL, TLS, GSS = ((1234 << 16) + code for code in (5678, 5679, 5680))
TEXT, BINARY = 0, 1
COUNT, INT32 = struct.Struct("!H"), struct.Struct("!i")


class ProtocolError(Exception):
    """Bytes that are no message of the protocol."""


class Reader:
    """Reads the parts of one message, in order."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def int16(self) -> int:
        """A whole number of two bytes."""
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        """A whole number of four bytes."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if size < 0 or self._at + size > len(self._body):
            raise ProtocolError("a message is shorter than it says")
        self._at += size
        return self._body[self._at - size : self._at]

    def text(self) -> str:
        """A text up to its zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text has no end")
        found, self._at = self._body[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise ProtocolError("a text is not UTF-8") from None

    def count(self) -> int:
        """How many parts follow."""
        found = self.int16() & 0xFFFF
        if found > len(self._body) - self._at:
            raise ProtocolError("a message is shorter than it says")
        return found

    def numbers(self) -> tuple[int, ...]:
        """A count, and so many numbers of two bytes."""
        return tuple(self.int16() for _ in range(self.count()))

    def types(self) -> tuple[int, ...]:
        """A count, and so many type numbers of four bytes."""
        return tuple(self.int32() & 0xFFFFFFFF for _ in range(self.count()))

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._body) - self._at)

    def end(self) -> None:
        """Refuse a message of which something is left."""
        if self._at != len(self._body):
            raise ProtocolError("a message is longer than it says")


@dataclass(frozen=True)
class Startup:
    """The client's version of the protocol and its options: user, database and others."""

    version: int
    options: dict[str, str]


@dataclass(frozen=True)
class Cancel:
    """A request to stop the statement of another connection."""

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
class Describe:
    """The columns of a statement ("S") or a portal ("P") are wanted."""

    of: str
    name: str


@dataclass(frozen=True)
class Close:
    """A statement ("S") or a portal ("P") is not needed any more."""

    of: str
    name: str


@dataclass(frozen=True)
class Execute:
    """At most so many rows of a portal are wanted; 0 for all."""

    portal: str
    limit: int


@dataclass(frozen=True)
class Sync:
    """The end of a series of messages."""


@dataclass(frozen=True)
class Flush:
    """All answers so far are to be sent."""


@dataclass(frozen=True)
class Terminate:
    """The client ends the connection."""


@dataclass(frozen=True)
class Authentication:
    """A step of authentication; scram reads it."""

    body: bytes


FirstMessage: TypeAlias = Startup | Cancel | Encrypt
Message: TypeAlias = Query | Parse | Bind | Describe | Close | Execute | Sync | Flush | Terminate | Authentication


def read_first_message(body: bytes) -> FirstMessage:
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


def read_message(letter: bytes, body: bytes) -> Message:
    """Any later message, by its letter."""
    reader = Reader(body)
    found: Message
    match letter:
        case b"Q":
            found = Query(reader.text())
        case b"P":
            found = Parse(reader.text(), reader.text(), reader.types())
        case b"B":
            found = _bind(reader)
        case b"D":
            found = Describe(_statement_or_portal(reader), reader.text())
        case b"C":
            found = Close(_statement_or_portal(reader), reader.text())
        case b"E":
            found = Execute(reader.text(), max(reader.int32(), 0))
        case b"S":
            found = Sync()
        case b"H":
            found = Flush()
        case b"X":
            found = Terminate()
        case b"p":
            found = Authentication(reader.rest())
        case _:
            raise ProtocolError("a message of a kind that is not known")
    reader.end()
    return found


def _bind(reader: Reader) -> Bind:
    portal, statement = reader.text(), reader.text()
    formats = reader.numbers()
    values = []
    for _ in range(reader.count()):
        size = reader.int32()
        values.append(None if size == -1 else reader.take(size))
    columns = reader.numbers()
    if len(formats) not in {0, 1, len(values)} or not {*formats, *columns} <= {TEXT, BINARY}:
        raise ProtocolError("the formats of Bind do not fit its parameters")
    of_each = formats if len(formats) == len(values) else (formats or (TEXT,)) * len(values)
    return Bind(portal, statement, tuple(values), of_each, columns)


def _statement_or_portal(reader: Reader) -> str:
    found = reader.take(1)
    if found not in {b"S", b"P"}:
        raise ProtocolError("neither a statement nor a portal")
    return found.decode()


def message(letter: bytes, *parts: bytes) -> bytes:
    """The bytes of a message: its letter, its length, its parts. The first of a connection has no letter."""
    body = b"".join(parts)
    return letter + INT32.pack(len(body) + 4) + body


def zero_ended(text: str) -> bytes:
    """A text with its zero byte; one inside would end it."""
    return text.replace("\0", "").encode(errors="replace") + b"\0"


PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
NO_DATA, PORTAL_SUSPENDED, EMPTY_QUERY = message(b"n"), message(b"s"), message(b"I")
AUTHENTICATION_OK = message(b"R", INT32.pack(0))


def sasl(code: int, body: bytes) -> bytes:
    """A step of authentication: 10 the mechanisms, 11 more to do, 12 done."""
    return message(b"R", INT32.pack(code), body)


def parameter_status(name: str, value: str) -> bytes:
    """A setting of the server, for the client."""
    return message(b"S", zero_ended(name), zero_ended(value))


def cancel_key(process: int, secret: bytes) -> bytes:
    """What a client must know to cancel."""
    return message(b"K", INT32.pack(process), secret)


def negotiate_version(options: Sequence[str]) -> bytes:
    """That only version 3.0 is spoken, and which options are not known."""
    return message(b"v", INT32.pack(0), INT32.pack(len(options)), *map(zero_ended, options))


def ready_for_query(status: str) -> bytes:
    """That the next may come: "I" idle, "T" in a transaction, "E" in one that has failed."""
    return message(b"Z", status.encode())


def command_complete(tag: str) -> bytes:
    """That a statement is done."""
    return message(b"C", zero_ended(tag))


@dataclass(frozen=True)
class Field:
    """A column of an answer: its name, and PostgreSQL's number, size and modifier of its type."""

    name: str
    type: int
    size: int = -1
    modifier: int = -1


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """The columns of an answer, with the formats they come in."""
    parts = [COUNT.pack(len(fields))]
    for field, format_code in zip(fields, formats, strict=True):
        # The two zeros: it is no column of a table.
        numbers = struct.pack("!IhIhih", 0, 0, field.type, field.size, field.modifier, format_code)
        parts += [zero_ended(field.name), numbers]
    return message(b"T", *parts)


def names_of(description: bytes) -> list[str]:
    """The names of the columns in such a description."""
    reader = Reader(description[5:])
    return [(reader.text(), reader.take(18))[0] for _ in range(reader.int16())]


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of the parameters of a statement."""
    return message(b"t", COUNT.pack(len(types)), *(struct.pack("!I", t) for t in types))


def error_or_notice(fields: dict[str, str], notice: bool = False) -> bytes:
    """An error or a notice: S severity, C SQLSTATE, M message, H hint, P position."""
    parts = [letter.encode() + zero_ended(text) for letter, text in fields.items() if text]
    return message(b"N" if notice else b"E", *parts, b"\0")
