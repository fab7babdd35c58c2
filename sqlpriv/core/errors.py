"""Every error a user can meet. A message says what, where, and what to do, and never holds a cell value."""

from __future__ import annotations

import re
from collections.abc import Iterable

VALUES_HINT = " (`sqlpriv plan --show-values` names them)"
"""The end of a message about cell values that are not in it."""


class SqlprivError(Exception):
    """Root of all errors raised by sqlpriv."""

    cells: tuple[str, ...] = ()
    """Cell values that it is about. They are no part of the message: only where the owner asks for values are they
    printed (`with_cells`)."""

    def with_cells(self) -> SqlprivError:
        """The error with its values in the message, for the terminal of the owner."""
        said = str(self).removesuffix(VALUES_HINT)
        return type(self)(f"{said}: {', '.join(map(repr, self.cells))}") if self.cells else self


class InputError(SqlprivError):
    """The caller named something that does not exist or does not make sense."""


class PolicyError(SqlprivError):
    """The policy file does not make sense, by itself or for its table."""


class ReleaseError(SqlprivError):
    """A release cannot be made, or is not what it should be."""


class SecondReleaseError(ReleaseError):
    """A release that does not compose with those that there are of the same table."""


class UnsupportedSQLError(SqlprivError):
    """The SQL cannot be expanded, or not for the dialect asked for."""


class InstallError(SqlprivError):
    """The macros cannot be put into this database."""


class InternalError(SqlprivError):
    """A fault of sqlpriv itself."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: the one that looks most like it, if one does.

    >>> did_you_mean("zipp", ["age", "zip"]), did_you_mean("income", ["age", "zip"])
    ("; did you mean 'zip'?", '')
    """
    from difflib import get_close_matches

    by_text = {text.casefold(): text for text in known}
    near = get_close_matches(str(name).casefold(), by_text, n=1, cutoff=0.7)
    return f"; did you mean {by_text[near[0]]!r}?" if near else ""


def refusal(error: Exception) -> str | None:
    """The sentence by which one of our macros refused, if that is what DuckDB reports.

    Only at the very start: further down DuckDB quotes the SQL, in which all our sentences stand.
    """
    match = re.match(r"Invalid Input Error: sqlpriv: (.*)", str(error))
    return match.group(1).strip() if match else None
