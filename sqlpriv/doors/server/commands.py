"""Commands of the session: nothing is ever written, so transactions and settings need only look as expected."""

from __future__ import annotations

from sqlpriv.doors.server.login import refuse_encoding
from sqlpriv.doors.server.replies import FAILED_TRANSACTION, ReplyError

IDLE, OPEN, FAILED = "I", "T", "E"
_ENDS = frozenset({"COMMIT", "END", "ROLLBACK", "ABORT"})


class Transaction:
    """Whether the session is in a transaction, and whether that has failed."""

    def __init__(self) -> None:
        self.status = IDLE

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
        if verb == "SET" and ("CLIENT_ENCODING" in words or "NAMES" in words):
            refuse_encoding("UTF8" if words[-1] == "DEFAULT" else words[-1])
        if verb == "CLOSE":
            return "CLOSE CURSOR ALL" if words[1:] == ("ALL",) else "CLOSE CURSOR"
        if verb in {"DISCARD", "DEALLOCATE"} and len(words) > 1:
            return f"{verb} ALL" if words[-1] == "ALL" else verb
        return verb

    def _end(self, words: tuple[str, ...]) -> str:
        if words[0] == "ROLLBACK" and "TO" in words:
            self.status = OPEN if self.status == FAILED else self.status
            return "ROLLBACK"
        failed, self.status = self.status == FAILED, IDLE
        return "ROLLBACK" if failed or words[0] in {"ROLLBACK", "ABORT"} else "COMMIT"
