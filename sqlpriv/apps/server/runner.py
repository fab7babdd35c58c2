"""Runs the statements of one connection: by the rewriter or the catalog server, with a time limit, and logs them."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlpriv.apps.server import decode, messages
from sqlpriv.apps.server.catalog_client import CatalogClient
from sqlpriv.apps.server.catalog_server import CatalogServer
from sqlpriv.apps.server.channel import Channel
from sqlpriv.apps.server.errors import UNSUPPORTED, ReplyError, warning
from sqlpriv.apps.server.portals import CatalogResult, Portal, Prepared, QueryResult, Result
from sqlpriv.apps.server.pre_login import Client
from sqlpriv.apps.server.queries import QueryRunner, ServedReleases, StoppedError
from sqlpriv.apps.server.settings import Settings
from sqlpriv.apps.server.statements import MOST_WORDS, Kind, Statement, split_statements
from sqlpriv.core.errors import SqlprivError

_HEED_SECONDS = 2.0
"""How long DuckDB has to heed an interrupt; it asks for interrupts between steps alone, and a step may not end."""


class Runner:
    """Runs statements for one session; `check` and `stop` are called by other threads."""

    def __init__(
        self, releases: ServedReleases, catalog: CatalogServer, client: Client, settings: Settings, number: int
    ) -> None:
        self._releases, self._catalog_server, self._database = releases, catalog, client.database
        self._queries = QueryRunner(releases, client.intervals)
        self._log, self._number, self._seconds = settings.log, number, settings.limits.seconds
        self._client: CatalogClient | None = None
        self._log_text = ""
        self._since: float | None = None
        self._why: str | None = None
        self._stopped = 0.0
        self._asks_catalog = False

    def split(self, sql: str) -> list[Statement]:
        """The statements of a text."""
        return split_statements(sql, self._releases.names, self._releases.known)

    def start(self, statement: Statement) -> None:
        """From here on the time of a statement counts, or that of the message which it began in."""
        if self._since is None:
            self._queries.begin()
            self._why, self._since = None, time.monotonic()
        self._log_text = statement.log_text

    def prepare(self, statement: Statement, types: Sequence[int]) -> Prepared:
        """A statement with the types of its parameters: those given, or inferred by the catalog server, or text."""
        self.start(statement)
        if self._is_of_catalog(statement, types):
            return Prepared(statement, self._catalog().describe(statement.text, types)[0])
        number = statement.parameters
        given = (*types, *([decode.UNKNOWN] * (number - len(types))))[:number]
        if decode.UNKNOWN in given:
            try:
                given = self._catalog().describe(statement.text, given)[0]
            except ReplyError:  # DuckDB's own SQL: texts become what they are compared with
                given = tuple(kind or decode.TEXT for kind in given)
        return Prepared(statement, tuple(given))

    def describe(self, prepared: Prepared) -> bytes:
        """The columns of a statement whose parameters are not known."""
        statement = prepared.statement
        if statement is None or statement.kind is Kind.SESSION:
            return messages.NO_DATA
        self.start(statement)
        if self._is_of_catalog(statement, prepared.types):
            return self._catalog().describe(statement.text, prepared.types)[1]
        if prepared.fields is None:
            prepared.fields = self._fields(statement, prepared.types)
        return messages.row_description(prepared.fields, [messages.TEXT] * len(prepared.fields))

    def run(self, portal: Portal, channel: Channel) -> Result:
        """The result of a portal; its warnings are written."""
        statement, types = portal.prepared.statement, portal.prepared.types
        assert statement is not None
        self.start(statement)
        if self._is_of_catalog(statement, types):
            rows = self._catalog().run(statement.text, types, portal.values, portal.formats, portal.columns)
            return CatalogResult(rows, portal.columns)
        values = decode.decode(portal.values, types, portal.formats, lambda *of: self._catalog().parse_value(*of))
        self._turn_to_release(statement)
        answer = self._queries.run(statement.text, statement.tables, values)
        try:
            result = QueryResult(answer, portal.columns)
            result.require_fields(portal.prepared.fields)
            if self._why is not None:
                raise StoppedError
        except BaseException:
            answer.close()
            raise
        for text in answer.warnings:
            channel.write(warning(text))
        return result

    def explain(self, statement: Statement, columns: Sequence[int]) -> Result:
        """The query that a question becomes, and how its sums are computed; nothing of it runs."""
        if statement.kind is not Kind.QUERY:
            raise ReplyError(UNSUPPORTED, "EXPLAIN of a look at the catalog", "explain a question")
        self._turn_to_release(statement)
        return QueryResult(self._queries.explain(statement.text, statement.tables), columns)

    def end(self) -> None:
        """Nothing runs any more."""
        self._since, self._why, self._log_text = None, None, ""

    def check(self, channel: Channel) -> None:
        """Stop what takes too long, and what nobody waits for; called again and again by another thread."""
        since = self._since
        if since is None:
            return
        if self._why is None and time.monotonic() - since > self._seconds:
            self._stop_because("the statement took too long")
        if self._why is None and channel.is_disconnected():
            self._stop_because("the client is gone")
        if self._why is not None:
            self._interrupt()

    def stop(self) -> None:
        """Stop what runs, because a client asked for it."""
        if self._since is not None:
            self._stop_because(self._why or "the statement was cancelled")
            self._interrupt()

    def is_stuck(self) -> bool:
        """Whether DuckDB has not heeded an interrupt for a while."""
        is_in_engine = self._since is not None and self._why is not None and self._queries.is_running
        return is_in_engine and time.monotonic() - self._stopped > _HEED_SECONDS

    def is_sending(self) -> bool:
        """Whether a part of an answer may be on its way."""
        return self._since is not None and not self._queries.is_running

    def _stop_because(self, why: str) -> None:
        self._stopped = time.monotonic() if self._why is None else self._stopped
        self._why = why

    def why_stopped(self) -> str:
        """The reason, for the client."""
        return self._why or "the statement was stopped"

    def close(self) -> None:
        """Give back what is held for queries, and the connection to the catalog server."""
        self._queries.close()
        if self._client is not None:
            self._client.close()

    def log_done(self, rows: int) -> None:
        """A statement went well."""
        if self._since is not None:
            self._log.write("statement", **self._facts(), rows=rows)
        self._since = None

    def log_refusal(self, state: str) -> None:
        """A statement was refused."""
        self._log.write("refused", **self._facts(), state=state)

    def log_fault(self, error: Exception) -> None:
        """A fault of ours: where it is, and nothing of what it holds."""
        places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[-5:]]
        self._log.write("fault", connection=self._number, kind=type(error).__name__, places=places)

    def _facts(self) -> dict[str, Any]:
        took = {} if self._since is None else {"ms": round((time.monotonic() - self._since) * 1000, 1)}
        return {"connection": self._number, "sql": self._log_text, **took}

    def _interrupt(self) -> None:
        if self._asks_catalog and self._client is not None:
            self._client.cancel()
        else:
            self._queries.interrupt()

    def _catalog(self) -> CatalogClient:
        """The connection to the catalog server, which is asked from here on."""
        if self._client is not None and self._client.is_broken:
            self._client.close()
            self._client = None
        if self._client is None:
            self._client = CatalogClient(self._catalog_server.socket, self._catalog_server.user, self._database)
        self._asks_catalog = True
        return self._client

    def _turn_to_release(self, statement: Statement) -> None:
        """From here on a release is asked; it is not if the statement is too long."""
        self._asks_catalog = False
        if statement.length > MOST_WORDS:
            text = f"a question has {MOST_WORDS:,} words and signs at most"
            raise ReplyError("54001", text, "write it shorter, or join a public table instead of a list")

    def _is_of_catalog(self, statement: Statement, types: Sequence[int]) -> bool:
        """Whether the catalog server answers; where a served table is named, too, it says itself whether it can."""
        if statement.kind is Kind.EITHER:
            return self._catalog().can_answer(statement.text, types)
        return statement.kind is Kind.CATALOG

    def _fields(self, statement: Statement, types: Sequence[int]) -> tuple[messages.Field, ...]:
        self._turn_to_release(statement)
        try:
            return self._queries.fields(statement.text, statement.tables, decode.samples(types))
        except StoppedError:
            raise
        except SqlprivError:
            if not types:
                raise
            # Where a sample does not fit, nothing may: NULL has every type.
            return self._queries.fields(statement.text, statement.tables, [None] * len(types))
