"""Every error a user can meet. A message says what, where, and what to do, and never holds a cell value."""

from __future__ import annotations


class SqlprivError(Exception):
    """Root of all errors raised by sqlpriv."""


class InputError(SqlprivError):
    """The caller named something that does not exist or does not make sense."""


class UnsupportedSQLError(SqlprivError):
    """The SQL cannot be expanded, or not for the dialect asked for."""


class InstallError(SqlprivError):
    """The macros cannot be put into this database."""


class InternalError(SqlprivError):
    """A fault of sqlpriv itself."""
