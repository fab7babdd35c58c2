"""Statements around a query: COPY (SELECT ...) TO STDOUT, PREPARE and EXECUTE, and EXPLAIN."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from sqlpriv.apps.copy_format import read_format
from sqlpriv.apps.server import messages
from sqlpriv.apps.server.channel import Channel
from sqlpriv.apps.server.cursors import NAME, folded_name
from sqlpriv.apps.server.errors import SYNTAX, UNSUPPORTED, ReplyError
from sqlpriv.apps.server.messages import INT32
from sqlpriv.apps.server.portals import Result
from sqlpriv.apps.server.statements import Statement, blank

_FORMS = (
    re.compile(r"COPY\s*\((?P<query>.*)\)\s*TO\s+STDOUT\b(?P<options>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(rf"PREPARE\s+{NAME}\s*(?:\([\w\s,\[\]]*\))?\s*AS\s+(?P<query>.*)", re.IGNORECASE | re.DOTALL),
    re.compile(rf"EXECUTE\s+{NAME}\s*(?:\((?P<values>.*)\))?\s*", re.IGNORECASE | re.DOTALL),
    re.compile(
        r"EXPLAIN\s+(?:VERBOSE\s+|\((?:\s*(?:VERBOSE|COSTS|SETTINGS)\b[\s\w]*,?)+\)\s*)?(?P<query>(?:SELECT|WITH|VALUES|TABLE)\b.*)",
        re.IGNORECASE | re.DOTALL,
    ),
)
_HINT = "COPY (SELECT ...) TO STDOUT, PREPARE p AS SELECT ..., EXECUTE p(1, 'a') and EXPLAIN SELECT ... can be written"
_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)


@dataclass(frozen=True)
class Command:
    """What a statement wants done with a query."""

    verb: str
    query: str
    """In its place: what stands before it is spaces."""
    name: str
    values: tuple[bytes | None, ...]
    options: str


def read_command(statement: Statement) -> Command:
    """What a statement wants."""
    text = statement.full_text[statement.start : statement.end]
    found = next((found for form in _FORMS if (found := form.fullmatch(text))), None)
    if found is None:
        raise ReplyError(UNSUPPORTED, f"this {statement.words[0]} cannot be answered", _HINT)
    given = {"query": "", "name": "", "values": "", "options": "", **found.groupdict("")}
    before = blank(statement.full_text[: statement.start + found.start("query")]) if given["query"] else ""
    name = folded_name(given["name"])
    return Command(statement.words[0], before + given["query"], name, _values(given["values"]), given["options"])


def _values(text: str) -> tuple[bytes | None, ...]:
    """The constants of EXECUTE, as texts of the protocol."""
    try:
        parsed = sqlglot.parse_one(f"SELECT {text}", dialect="postgres").expressions if text.strip() else []
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise ReplyError(SYNTAX, "the values of EXECUTE cannot be read", "write constants") from None
    return tuple(map(_value, parsed))


def _value(node: exp.Expr) -> bytes | None:
    bare = node.this if isinstance(node, (exp.Cast, exp.Paren)) else node
    if isinstance(bare, exp.Null):
        return None
    if isinstance(bare, exp.Boolean):
        return b"t" if bare.this else b"f"
    sign, number = ("-", bare.this) if isinstance(bare, exp.Neg) else ("", bare)
    if not isinstance(number, exp.Literal) or (sign and number.is_string):
        raise ReplyError(UNSUPPORTED, "a value of EXECUTE that is no constant", "write a number, text, truth or NULL")
    return f"{sign}{number.this}".encode()


class CopyResult(Result):
    """The rows of a result as lines of a file, or as the binary file that drivers read quickest."""

    def __init__(self, options: str) -> None:
        super().__init__("COPY")
        form = read_format(options)
        if form is None:
            hint = "there are FORMAT text, csv or binary, HEADER, NULL and, for csv, DELIMITER"
            raise ReplyError(UNSUPPORTED, "COPY with other options", hint)
        self._form, self.is_binary = form, form.kind == "binary"
        self._rows, self._names = Result(""), list[str]()
        self._channel: Channel | None = None
        self._head = b""

    def copies(self, rows: Result, names: Sequence[str]) -> CopyResult:
        """The same, with the rows that it copies."""
        self._rows, self._names = rows, [*names]
        return self

    def send(self, channel: Channel, limit: int) -> tuple[int, bool]:
        self._channel, self._head, is_binary = channel, _HEAD, self.is_binary
        formats = bytes([0, is_binary]) * len(self._names)
        channel.write(messages.message(b"H", bytes([is_binary]), messages.COUNT.pack(len(self._names)), formats))
        if not is_binary and self._form.has_header:
            channel.write(messages.message(b"d", self._form.line([name.encode() for name in self._names])))
        sent, _ = self._rows.send(self, 0)  # type: ignore[arg-type]
        if is_binary:
            channel.write(messages.message(b"d", b"" if sent else _HEAD, b"\xff\xff"))
        channel.write(messages.message(b"c"))
        return sent, True

    def write(self, data: bytes | memoryview) -> None:
        """Rows of the protocol, as a channel takes them: in binary they are what the file has."""
        assert self._channel is not None
        rows, at = bytes(data), 0
        if rows[:1] != b"D":  # a warning
            self._channel.write(rows)
            return
        while at < len(rows):
            end = at + 1 + int(INT32.unpack_from(rows, at + 1)[0])
            body = rows[at + 5 : end]
            made = self._head + body if self.is_binary else self._form.line(_cells(body))
            self._channel.write(messages.message(b"d", made))
            at, self._head = end, b""  # the head comes with the first row, as psycopg reads it

    def complete(self, sent: int) -> bytes:
        return messages.command_complete(f"COPY {sent}")

    def close(self) -> None:
        self._rows.close()


def _cells(body: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    at = 2
    while at < len(body):
        size = int(INT32.unpack_from(body, at)[0])
        found.append(None if size < 0 else body[at + 4 : at + 4 + size])
        at += 4 + max(size, 0)
    return found
