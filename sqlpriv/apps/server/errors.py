"""Errors as the protocol reports them: SQLSTATE, message, hint, and the position in the statement."""

from __future__ import annotations

import re

from sqlpriv.apps.hints import for_clients
from sqlpriv.apps.server import messages
from sqlpriv.core.errors import InputError, SqlprivError, UnsupportedSQLError

CANCELLED, FAILED_TRANSACTION, TOO_MANY_CONNECTIONS = "57014", "25P02", "53300"
PROTOCOL_VIOLATION, TOO_LARGE, WRONG_PASSWORD, NO_DATABASE = "08P01", "54000", "28P01", "3D000"
NO_STATEMENT, NO_PORTAL, UNSUPPORTED, INVALID, INTERNAL = "26000", "34000", "0A000", "22023", "XX000"
SYNTAX, TOO_MANY_OBJECTS = "42601", "53400"
_POSITION = re.compile(r" (?:at|near) line (\d+), column (\d+)")
# How one of our messages begins, and its SQLSTATE in PostgreSQL.
_STATES = (
    (re.compile(r"there is no column\b"), "42703"),
    (re.compile(r"there is no table\b"), "42P01"),
    (re.compile(r"this is no SQL|the query is empty|one query at a time"), SYNTAX),
    (re.compile(r"DuckDB ran out of memory"), "53200"),
    (re.compile(r"the parameter \d+ is no value"), "22P02"),
    (re.compile(r"a value of a column or a domain does not fit"), "22000"),
)


class ReplyError(Exception):
    """An error that is reported to the client, and ends the statement, or before the login the connection."""

    def __init__(self, state: str, message: str, hint: str = "", position: int = 0) -> None:
        super().__init__(message)
        self.state, self.hint, self.position = state, hint, position

    def to_bytes(self, fatal: bool = False) -> bytes:
        """The message of the protocol; `fatal`: the connection ends with it."""
        severity = "FATAL" if fatal else "ERROR"
        position = str(self.position) if self.position else ""
        return messages.error_or_notice(
            {"S": severity, "V": severity, "C": self.state, "M": str(self), "H": self.hint, "P": position}
        )


def warning(text: str) -> bytes:
    """A warning that comes with an answer."""
    return messages.error_or_notice({"S": "WARNING", "V": "WARNING", "C": "01000", "M": text}, notice=True)


def to_reply(error: SqlprivError, sql: str) -> ReplyError:
    """One of our errors for the client: what is wrong becomes the message, what to write instead the hint.

    `sql` is the text in which an error names a line and a column.
    """
    text = for_clients(str(error))
    found = _POSITION.search(text)
    position = _offset(sql, int(found[1]), int(found[2])) if found else 0
    for end in (" cannot be estimated: ", "; "):
        before, separator, hint = text.partition(end)
        if separator:
            return ReplyError(_state(error), before + end.rstrip(": ;"), hint, position)
    return ReplyError(_state(error), text, "", position)


def _state(error: SqlprivError) -> str:
    for pattern, state in _STATES:
        if pattern.match(str(error)):
            return state
    if isinstance(error, UnsupportedSQLError):
        return UNSUPPORTED
    return INVALID if isinstance(error, InputError) else INTERNAL


def _offset(sql: str, line: int, column: int) -> int:
    """The position in characters, from 1."""
    lines = sql.split("\n")
    return min(sum(len(text) + 1 for text in lines[: line - 1]) + column, len(sql) + 1)
