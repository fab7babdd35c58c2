"""Commands of the session: nothing is ever written, so transactions and settings need only look as expected."""

from __future__ import annotations

from itertools import pairwise

from sqlpriv.doors.server.login import refuse_encoding
from sqlpriv.doors.server.replies import FAILED_TRANSACTION, INVALID, ReplyError

IDLE, OPEN, FAILED = "I", "T", "E"
_ENDS = frozenset({"COMMIT", "END", "ROLLBACK", "ABORT"})
_TRUE = frozenset({"ON", "TRUE", "YES", "1"})


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
        """In a transaction that has failed, only its end is heard."""
        if self.status == FAILED and (not words or words[0] not in _ENDS):
            raise ReplyError(FAILED_TRANSACTION, "the transaction has failed", "end it with ROLLBACK")

    def run(self, words: tuple[str, ...]) -> str:
        """Follow a command, and say its tag."""
        verb = words[0]
        if verb in {"BEGIN", "START"}:
            self.status = OPEN
            return "BEGIN" if verb == "BEGIN" else "START TRANSACTION"
        if verb in _ENDS:
            return self._end(words)
        if verb == "SET":
            _refuse_other_spellings(words)
        if verb in {"DISCARD", "DEALLOCATE"} and len(words) > 1:
            return f"{verb} ALL" if words[-1] == "ALL" else verb
        return verb

    def _end(self, words: tuple[str, ...]) -> str:
        if words[0] == "ROLLBACK" and "TO" in words:
            self.status = OPEN if self.status == FAILED else self.status
            return "ROLLBACK"
        failed, self.status = self.status == FAILED, IDLE
        self.has_committed = not failed and words[0] not in {"ROLLBACK", "ABORT"}
        return "COMMIT" if self.has_committed else "ROLLBACK"


def _refuse_other_spellings(words: tuple[str, ...]) -> None:
    """Settings change nothing; one by which a client would read or write values otherwise must not seem to be heard."""
    value = next((word.strip(",") for before, word in pairwise(words) if before in {"TO", "=", "NAMES"}), "DEFAULT")
    if value == "DEFAULT":
        return
    if "CLIENT_ENCODING" in words or "NAMES" in words:
        refuse_encoding(value)
    if "DATESTYLE" in words and value not in {"ISO", "DMY", "MDY", "YMD"}:
        raise ReplyError(INVALID, "dates are written as in ISO 8601 alone", "set DateStyle to ISO")
    if "STANDARD_CONFORMING_STRINGS" in words and value not in _TRUE:
        raise ReplyError(INVALID, "a backslash in a text is a backslash", "leave standard_conforming_strings on")
