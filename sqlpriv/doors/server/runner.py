"""Runs the statements of one connection: by the rewriter or the shadow, under its time limit, and into the log."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlpriv.doors.server import decode, frames
from sqlpriv.doors.server.answers import Asker, Served, StoppedError
from sqlpriv.doors.server.channel import Channel
from sqlpriv.doors.server.journal import Journal
from sqlpriv.doors.server.link import Link
from sqlpriv.doors.server.login import Who
from sqlpriv.doors.server.portals import Answered, Listed, Portal, Prepared, Result
from sqlpriv.doors.server.replies import ReplyError, warned
from sqlpriv.doors.server.shadow import Shadow
from sqlpriv.doors.server.spelling import for_duckdb
from sqlpriv.doors.server.statements import MOST_WORDS, For, Statement, statements
from sqlpriv.errors import SqlprivError


class Runner:
    """Runs statements for one session; `check` and `stop` are called by other threads."""

    def __init__(self, served: Served, shadow: Shadow, who: Who, seconds: float, journal: Journal, number: int) -> None:
        self._served, self._shadow, self._database = served, shadow, who.database
        self._asker = Asker(served, who.intervals)
        self._journal, self._number, self._seconds = journal, number, seconds
        self._found: Link | None = None
        self._shape = ""
        self._since: float | None = None
        self._why: str | None = None
        self._asks_shadow = False

    def read(self, sql: str) -> list[Statement]:
        """The statements of a text."""
        return statements(sql, self._served.names, self._served.known)

    def prepared(self, statement: Statement, types: Sequence[int]) -> Prepared:
        """A statement with the types of its parameters: those that are given, or that the shadow infers, or text."""
        self._start(statement)
        if self._is_of_catalog(statement, types):
            return Prepared(statement, self._by_shadow().described(statement.text, types)[0])
        wanted = statement.parameters
        given = (*types, *([decode.UNKNOWN] * (wanted - len(types))))[:wanted]
        if decode.UNKNOWN in given:
            try:
                given = self._by_shadow().described(statement.text, given)[0]
            except ReplyError:  # DuckDB's own SQL: texts become what they are compared with
                given = tuple(kind or decode.TEXT for kind in given)
        return Prepared(statement, tuple(given))

    def description(self, prepared: Prepared) -> bytes:
        """The columns of a statement whose parameters are not known."""
        statement = prepared.statement
        if statement is None or statement.concerns is For.SESSION:
            return frames.NO_DATA
        self._start(statement)
        if self._is_of_catalog(statement, prepared.types):
            return self._by_shadow().described(statement.text, prepared.types)[1]
        if prepared.fields is None:
            prepared.fields = self._fields(statement, prepared.types)
        return frames.row_description(prepared.fields, [frames.TEXT] * len(prepared.fields))

    def begun(self, portal: Portal, channel: Channel) -> Result:
        """The result of a portal."""
        statement = portal.prepared.statement
        assert statement is not None
        self._start(statement)
        types = portal.prepared.types
        if self._is_of_catalog(statement, types):
            link = self._by_shadow()
            found = link.run(statement.text, types, portal.values, portal.formats, portal.columns)
            return Listed(found, portal.columns)
        values = decode.decoded(portal.values, types, portal.formats, lambda *of: self._by_shadow().spelt(*of))
        self._asks_shadow = False
        _refuse_long(statement)
        rows = self._asker.ask(for_duckdb(statement.text), statement.tables, values)
        try:
            result = Answered(rows, portal.columns)
            result.refuse_other_than(portal.prepared.fields)
            if self._why is not None:
                raise StoppedError
        except BaseException:
            rows.close()
            raise
        for text in rows.warnings:
            channel.write(warned(text))
        return result

    def again(self, prepared: Prepared) -> None:
        """More of a portal is wanted."""
        if prepared.statement is not None:
            self._start(prepared.statement)

    def done(self, rows: int) -> None:
        """A statement went well."""
        if self._since is not None:
            self._journal.write("statement", **self._facts(), rows=rows)
        self._since = None

    def refused(self, state: str) -> None:
        """A statement did not."""
        self._journal.write("refused", **self._facts(), state=state)

    def fault(self, error: Exception) -> None:
        """A fault of ours: where it is, and nothing of what it holds."""
        places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[-5:]]
        self._journal.write("fault", connection=self._number, kind=type(error).__name__, places=places)

    def end(self) -> None:
        """Nothing runs any more."""
        self._since, self._why, self._shape = None, None, ""

    def check(self, channel: Channel) -> None:
        """By the watch: stop what takes too long, and what nobody waits for."""
        since = self._since
        if since is None:
            return
        if self._why is None and time.monotonic() - since > self._seconds:
            self._why = "the statement took too long"
        if self._why is None and channel.is_gone():
            self._why = "the client is gone"
        if self._why is not None:
            self._interrupt()

    def stop(self) -> None:
        """By a cancel request: stop what runs."""
        if self._since is not None:
            self._why = self._why or "the statement was cancelled"
            self._interrupt()

    def why_stopped(self) -> str:
        """The reason, for the client."""
        return self._why or "the statement was stopped"

    def close(self) -> None:
        """Leave the shadow, and what is kept for questions."""
        self._asker.close()
        if self._found is not None:
            self._found.close()

    def _start(self, statement: Statement) -> None:
        if self._since is None:
            self._asker.begin()
            self._why, self._since = None, time.monotonic()
        self._shape = statement.shape

    def _facts(self) -> dict[str, Any]:
        took = {} if self._since is None else {"ms": round((time.monotonic() - self._since) * 1000, 1)}
        return {"connection": self._number, "sql": self._shape, **took}

    def _interrupt(self) -> None:
        if self._asks_shadow and self._found is not None:
            self._found.cancel()
        else:
            self._asker.interrupt()

    def _by_shadow(self) -> Link:
        if self._found is not None and self._found.is_broken:
            self._found.close()
            self._found = None
        if self._found is None:
            self._found = Link(self._shadow.socket, self._shadow.user, self._database)
        self._asks_shadow = True
        return self._found

    def _is_of_catalog(self, statement: Statement, types: Sequence[int]) -> bool:
        """Whether the shadow answers; of what names a served table, too, it says itself whether it can."""
        if statement.concerns is For.EITHER:
            return self._by_shadow().answers(statement.text, types)
        return statement.concerns is For.CATALOG

    def _fields(self, statement: Statement, types: Sequence[int]) -> tuple[frames.Field, ...]:
        self._asks_shadow = False
        _refuse_long(statement)
        try:
            return self._asker.fields(for_duckdb(statement.text), statement.tables, decode.samples(types))
        except StoppedError:
            raise
        except SqlprivError:
            if not types:
                raise
            # Where a sample does not fit, nothing may: NULL has every type.
            return self._asker.fields(for_duckdb(statement.text), statement.tables, [None] * len(types))


def _refuse_long(statement: Statement) -> None:
    if statement.length > MOST_WORDS:
        said = f"a question has {MOST_WORDS:,} words and signs at most"
        raise ReplyError("54001", said, "write it shorter, or join a public table instead of a list")
