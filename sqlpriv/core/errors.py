"""Every error a user can meet. A message says what, where, and what to do, and never holds a cell value."""

from __future__ import annotations

import re


class SqlprivError(Exception):
    """Root of all errors raised by sqlpriv."""


class InputError(SqlprivError):
    """The caller named something that does not exist or does not make sense."""


class PolicyError(SqlprivError):
    """The policy file does not make sense, by itself or for its table."""


class ReleaseError(SqlprivError):
    """A release cannot be made, or is not what it should be."""


class UnsupportedSQLError(SqlprivError):
    """The SQL cannot be expanded, or not for the dialect asked for."""


class InstallError(SqlprivError):
    """The macros cannot be put into this database."""


class InternalError(SqlprivError):
    """A fault of sqlpriv itself."""


def refusal(error: Exception) -> str | None:
    """The sentence by which one of our macros refused, if that is what DuckDB reports.

    Only at the very start: further down DuckDB quotes the SQL, in which all our sentences stand.
    """
    match = re.match(r"Invalid Input Error: sqlpriv: (.*)", str(error))
    return match.group(1).strip() if match else None
