"""What a session remembers: its transaction, its prepared statements and its portals, with limits on both.

Nothing is ever written, so transactions and settings need only look as clients expect.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sqlpriv.apps.server.errors import (
    FAILED_TRANSACTION,
    INVALID,
    NO_PORTAL,
    NO_STATEMENT,
    TOO_MANY_OBJECTS,
    ReplyError,
)
from sqlpriv.apps.server.portals import Portal, Prepared
from sqlpriv.apps.server.pre_login import require_utf8

IDLE, OPEN, FAILED = "I", "T", "E"
ENDS = frozenset({"COMMIT", "END", "ROLLBACK", "ABORT"})
"""The commands that end a transaction."""
_TRUE = frozenset({"ON", "TRUE", "YES", "1"})
_MOST_OBJECTS = 1000
_MOST_BYTES = 64 << 20


class Transaction:
    """Whether the session is in a transaction, and whether that has failed."""

    def __init__(self) -> None:
        self.status = IDLE
        self.has_committed = False
        """Whether the last one that ended was committed."""

    def fail(self) -> None:
        """A statement has failed."""
        if self.status == OPEN:
            self.status = FAILED

    def refuse_after_failure(self, words: tuple[str, ...]) -> None:
        """In a transaction that has failed, only its end is accepted."""
        if self.status == FAILED and (not words or words[0] not in ENDS):
            raise ReplyError(FAILED_TRANSACTION, "the transaction has failed", "end it with ROLLBACK")

    def run(self, words: tuple[str, ...]) -> str:
        """Follow a command of the session; its tag."""
        verb = words[0]
        if verb in {"BEGIN", "START"}:
            self.status = OPEN
            return "BEGIN" if verb == "BEGIN" else "START TRANSACTION"
        if verb == "ROLLBACK" and "TO" in words:
            self.status = OPEN if self.status == FAILED else self.status
            return "ROLLBACK"
        if verb in ENDS:
            self.has_committed = self.status != FAILED and verb not in {"ROLLBACK", "ABORT"}
            self.status = IDLE
            return "COMMIT" if self.has_committed else "ROLLBACK"
        if verb == "SET":
            _refuse_setting(words)
        if verb in {"DISCARD", "DEALLOCATE"} and len(words) > 1:
            return f"{verb} ALL" if words[-1] == "ALL" else verb
        return verb


def _refuse_setting(words: tuple[str, ...]) -> None:
    """Settings change nothing, so refuse those after which a client would read or write values otherwise."""
    value = next((word.strip(",") for before, word in pairwise(words) if before in {"TO", "=", "NAMES"}), "DEFAULT")
    if value == "DEFAULT":
        return
    if "CLIENT_ENCODING" in words or "NAMES" in words:
        require_utf8(value)
    if "DATESTYLE" in words and value not in {"ISO", "DMY", "MDY", "YMD"}:
        raise ReplyError(INVALID, "dates are written as in ISO 8601 only", "set DateStyle to ISO")
    if "STANDARD_CONFORMING_STRINGS" in words and value not in _TRUE:
        raise ReplyError(INVALID, "a backslash in a text is a backslash", "leave standard_conforming_strings on")


class SessionState:
    """Prepared statements and portals by name, cursors among the portals; the unnamed one is replaced by the next."""

    def __init__(self) -> None:
        self.statements: dict[str, Prepared] = {}
        self.portals: dict[str, Portal] = {}

    def statement(self, name: str) -> Prepared:
        """A prepared statement."""
        if name not in self.statements:
            raise ReplyError(NO_STATEMENT, "there is no such prepared statement", "prepare it first")
        return self.statements[name]

    def portal(self, name: str) -> Portal:
        """A portal, or a cursor."""
        if name not in self.portals:
            raise ReplyError(NO_PORTAL, "there is no such portal or cursor", "bind it first, or declare it")
        return self.portals[name]

    def make_room_for_statement(self, name: str) -> None:
        """One more is to be prepared: refused if there are too many, or it has the name of another."""
        _refuse_too_many(self.statements, name)
        if name and name in self.statements:
            raise ReplyError("42P05", f"there is already a prepared statement {name!r}", "close it first")
        self.statements.pop(name, None)

    def make_room_for_portal(self, name: str) -> None:
        """One more is to be opened: refused if there are too many, or it has the name of another."""
        _refuse_too_many(self.portals, name)
        if name and name in self.portals:
            raise ReplyError("42P03", f"there is already a portal or cursor {name!r}", "close it first")
        self.close_portal(name)

    def close_portal(self, name: str) -> None:
        """Close a portal, if it is there."""
        if (portal := self.portals.pop(name, None)) is not None:
            portal.close()

    def close_portals(self, ends: Callable[[Portal], bool] = lambda _: True, but: Portal | None = None) -> None:
        """Close all portals that end, `but` the one whose statement asks for it: it is not done yet."""
        for name in [name for name, portal in self.portals.items() if portal is not but and ends(portal)]:
            self.close_portal(name)

    def end_transaction(self, is_committed: bool, but: Portal) -> None:
        """Portals end with their transaction; a cursor WITH HOLD does not, once it is committed."""
        self.close_portals(lambda portal: not (portal.is_committed or (is_committed and portal.is_held)), but)
        for portal in self.portals.values():
            portal.is_committed = portal is not but


def _refuse_too_many(held: dict[str, Prepared] | dict[str, Portal], name: str) -> None:
    if len(held) >= _MOST_OBJECTS and name not in held:
        text = f"there are {_MOST_OBJECTS} prepared statements or portals"
    elif sum(each.size for each in held.values()) > _MOST_BYTES:
        text = f"prepared statements or portals hold more than {_MOST_BYTES >> 20} MiB"
    else:
        return
    raise ReplyError(TOO_MANY_OBJECTS, text, "close some")
