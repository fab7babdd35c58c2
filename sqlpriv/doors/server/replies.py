"""Errors as the protocol tells them: SQLSTATE, message, hint, and the place in the statement."""

from __future__ import annotations

import re

from sqlpriv.doors.server import frames
from sqlpriv.errors import InputError, InternalError, SqlprivError, UnsupportedSQLError

CANCELLED, FAILED_TRANSACTION, TOO_MANY, SHUTDOWN = "57014", "25P02", "53300", "57P01"
PROTOCOL, TOO_LARGE, NO_LOGIN, NO_DATABASE = "08P01", "54000", "28P01", "3D000"
NO_STATEMENT, NO_PORTAL, UNSUPPORTED, INVALID, INTERNAL = "26000", "34000", "0A000", "22023", "XX000"
_PLACE = re.compile(r" (?:at|near) line (\d+), column (\d+)")
# How a message begins, and what PostgreSQL calls that.
_STATES = (
    (re.compile(r"there is no column\b"), "42703"),
    (re.compile(r"there is no table\b"), "42P01"),
    (re.compile(r"this is no SQL|the query is empty|one query at a time"), "42601"),
    (re.compile(r"DuckDB ran out of memory"), "53200"),
    (re.compile(r"the parameter \d+ is no value"), "22P02"),
    (re.compile(r"a value of a column or a domain does not fit"), "22000"),
)


class ReplyError(Exception):
    """An error that is told to the client, and ends the statement, or as `fatal` the connection."""

    def __init__(self, state: str, message: str, hint: str = "", place: int = 0, fatal: bool = False) -> None:
        super().__init__(message)
        self.state, self.hint, self.place, self.fatal = state, hint, place, fatal

    def frame(self) -> bytes:
        """As bytes."""
        severity = "FATAL" if self.fatal else "ERROR"
        place = str(self.place) if self.place else ""
        said = {"S": severity, "V": severity, "C": self.state, "M": str(self), "H": self.hint, "P": place}
        return frames.failure(said)


def warned(text: str) -> bytes:
    """A warning beside an answer."""
    return frames.failure({"S": "WARNING", "V": "WARNING", "C": "01000", "M": text}, notice=True)


def reply_to(error: SqlprivError, sql: str) -> ReplyError:
    """One of our errors: what is wrong is its message, what to write instead its hint."""
    text = str(error)
    found = _PLACE.search(text)
    place = _offset(sql, int(found[1]), int(found[2])) if found else 0
    message, hint = _parted(text)
    return ReplyError(_state(error, text), message, hint, place)


def _parted(text: str) -> tuple[str, str]:
    for end in (" cannot be estimated: ", "; "):
        before, found, after = text.partition(end)
        if found:
            return before + end.rstrip(": ;"), after
    return text, ""


def _state(error: SqlprivError, text: str) -> str:
    for pattern, state in _STATES:
        if pattern.match(text):
            return state
    if isinstance(error, InternalError):
        return INTERNAL
    if isinstance(error, UnsupportedSQLError):
        return UNSUPPORTED
    return INVALID if isinstance(error, InputError) else INTERNAL


def _offset(sql: str, line: int, column: int) -> int:
    """The place in characters from 1."""
    lines = sql.split("\n")
    return min(sum(len(text) + 1 for text in lines[: line - 1]) + column, len(sql) + 1)
