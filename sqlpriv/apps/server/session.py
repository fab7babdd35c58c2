"""One connection after its login: statements of the simple protocol, and the steps of the extended one."""

from __future__ import annotations

from sqlpriv.apps.server import commands, cursors, messages
from sqlpriv.apps.server.channel import Channel, DisconnectedError
from sqlpriv.apps.server.errors import CANCELLED, INTERNAL, PROTOCOL_VIOLATION, SYNTAX, ReplyError, to_reply
from sqlpriv.apps.server.messages import ProtocolError
from sqlpriv.apps.server.portals import Portal, Prepared, Result
from sqlpriv.apps.server.queries import StoppedError
from sqlpriv.apps.server.runner import Runner
from sqlpriv.apps.server.session_state import ENDS, IDLE, SessionState, Transaction
from sqlpriv.apps.server.statements import MOST_PARAMETERS, Kind, Statement
from sqlpriv.core.errors import SqlprivError


class Session:
    """What a connection remembers, and how it answers each message."""

    def __init__(self, channel: Channel, runner: Runner) -> None:
        self._channel = channel
        self._runner = runner
        self._transaction = Transaction()
        self._state = SessionState()
        self._skipping = False

    def run(self) -> None:
        """Answer until the client goes."""
        while True:
            self._channel.write(messages.ready_for_query(self._transaction.status))
            self._channel.flush()
            if not self._answer_until_ready():
                return

    def close(self) -> None:
        """Give back what portals hold."""
        self._state.close_portals()
        self._runner.close()

    def _answer_until_ready(self) -> bool:
        """Answer messages up to Query or Sync, after which the next may come; False at the end."""
        while True:
            match found := self._channel.message():
                case messages.Terminate():
                    return False
                case messages.Sync():
                    self._skipping = False
                    if self._transaction.status == IDLE:
                        self._state.close_portals(lambda portal: not portal.is_committed)
                    return True
                case messages.Flush():
                    self._channel.flush()
                case messages.Authentication():
                    raise ProtocolError("a message of authentication after it")
                case _ if self._skipping:
                    continue
                case messages.Query():
                    self._try_to_answer(found)
                    self._state.close_portal("")
                    return True
                case _:
                    self._skipping = not self._try_to_answer(found)

    def _try_to_answer(self, found: messages.Message) -> bool:
        """Answer one message, by an error if need be; whether it went well."""
        try:
            self._answer(found)
        except ReplyError as error:
            self._refuse(error)
        except StoppedError:
            self._refuse(ReplyError(CANCELLED, self._runner.why_stopped()))
        except SqlprivError as error:
            self._refuse(to_reply(error, self._text_of(found)))
        except (DisconnectedError, ProtocolError):
            raise
        except Exception as error:  # a fault of ours: what it holds is not reported
            self._runner.log_fault(error)
            self._refuse(ReplyError(INTERNAL, f"a fault of the server ({type(error).__name__}); its log says where"))
        else:
            return True
        finally:
            self._runner.end()
        return False

    def _refuse(self, error: ReplyError) -> None:
        self._runner.log_refusal(error.state)
        self._transaction.fail()
        self._channel.write(error.to_bytes())

    def _text_of(self, found: messages.Message) -> str:
        """The text that a message is about, in which an error has its position."""
        try:
            match found:
                case messages.Query(sql=sql) | messages.Parse(sql=sql):
                    return sql
                case messages.Bind(statement=name) | messages.Describe("S", name) | messages.Close("S", name):
                    prepared = self._state.statement(name)
                case messages.Execute(portal=name) | messages.Describe(name=name) | messages.Close(name=name):
                    prepared = self._state.portal(name).prepared
                case _:
                    return ""
        except ReplyError:
            return ""
        return "" if prepared.statement is None else prepared.statement.full_text

    def _answer(self, found: messages.Message) -> None:
        match found:
            case messages.Query(sql):
                self._query(sql)
            case messages.Parse():
                self._parse(found)
            case messages.Bind():
                self._bind(found)
            case messages.Describe():
                self._describe(found)
            case messages.Execute():
                self._execute(found)
            case messages.Close("S", name):
                self._state.statements.pop(name, None)
                self._channel.write(messages.CLOSE_COMPLETE)
            case messages.Close(name=name):
                self._state.close_portal(name)
                self._channel.write(messages.CLOSE_COMPLETE)

    def _query(self, sql: str) -> None:
        """The simple protocol: all statements of a text, up to the first that fails."""
        found = self._runner.split(sql)
        if not found:
            self._channel.write(messages.EMPTY_QUERY)
        for statement in found:
            portal = Portal(Prepared(statement))
            try:
                result = self._begin(portal)
                if result.description != messages.NO_DATA:
                    self._channel.write(result.description)
                sent, _ = result.send(self._channel, 0)
                self._channel.write(result.complete(sent))
            finally:
                portal.close()
            self._runner.log_done(sent)

    def _parse(self, found: messages.Parse) -> None:
        self._state.make_room_for_statement(found.name)
        statements = self._runner.split(found.sql)
        if len(statements) > 1:
            raise ReplyError(SYNTAX, "a prepared statement is one statement", "prepare them one by one")
        prepared = Prepared(None)
        for statement in statements:
            if statement.parameters > MOST_PARAMETERS:
                text = f"a statement has {MOST_PARAMETERS:,} parameters at most"
                raise ReplyError("54023", text, "number them from $1")
            self._transaction.refuse_after_failure(statement.words)
            prepared = self._prepare(statement, found.types)
        self._state.statements[found.name] = prepared
        self._channel.write(messages.PARSE_COMPLETE)

    def _prepare(self, statement: Statement, types: tuple[int, ...]) -> Prepared:
        """A statement with the types of its parameters; those of a cursor are those of its query."""
        if statement.kind is Kind.COMMAND:
            return Prepared(statement)
        if statement.kind is not Kind.CURSOR:
            return self._runner.prepare(statement, types)
        command = cursors.read_command(statement)
        if not isinstance(command, cursors.Declare):
            return Prepared(statement)
        return Prepared(statement, self._runner.prepare(self._query_of(command.query), types).types)

    def _bind(self, found: messages.Bind) -> None:
        prepared = self._state.statement(found.statement)
        if len(found.values) != len(prepared.types):
            text = f"the statement has {len(prepared.types)} parameters, and Bind gives {len(found.values)}"
            raise ReplyError(PROTOCOL_VIOLATION, text, "give one value for each")
        self._state.make_room_for_portal(found.portal)
        self._state.portals[found.portal] = Portal(prepared, found.values, found.formats, found.columns)
        self._channel.write(messages.BIND_COMPLETE)

    def _describe(self, found: messages.Describe) -> None:
        if found.of == "P":
            self._channel.write(self._begin(self._state.portal(found.name)).description)
            return
        prepared = self._state.statement(found.name)
        self._channel.write(messages.parameter_description(prepared.types))
        if prepared.statement is not None and prepared.statement.kind is Kind.CURSOR:
            command = cursors.read_command(prepared.statement)
            rows = isinstance(command, cursors.Fetch) and self._state.portal(command.name).result
            self._channel.write(rows.description if rows else messages.NO_DATA)
        elif prepared.statement is not None and prepared.statement.kind is Kind.COMMAND:
            asked = Portal(prepared)
            self._channel.write(self._run_command(asked).description)
            asked.close()
        else:
            self._channel.write(self._runner.describe(prepared))

    def _execute(self, found: messages.Execute) -> None:
        portal = self._state.portal(found.portal)
        result, sent = self._begin(portal), 0
        if not portal.finished:
            sent, portal.finished = result.send(self._channel, found.limit)
        self._channel.write(result.complete(sent) if portal.finished else messages.PORTAL_SUSPENDED)
        self._runner.log_done(sent)

    def _begin(self, portal: Portal) -> Result:
        """The result of a portal; a command of the session takes effect when it is asked for first."""
        statement = portal.prepared.statement
        if portal.result is not None:
            if statement is not None:
                self._runner.start(statement)
            return portal.result
        if statement is None:
            portal.result = Result("")
            return portal.result
        self._transaction.refuse_after_failure(statement.words)
        if statement.kind is Kind.SESSION:
            self._runner.start(statement)
            portal.result = Result(self._transaction.run(statement.words))
            self._close_after(statement, portal)
        elif statement.kind is Kind.CURSOR:
            self._runner.start(statement)
            portal.result = self._run_cursor(portal, cursors.read_command(statement))
        elif statement.kind is Kind.COMMAND:
            portal.result = self._run_command(portal)
        else:
            portal.result = self._runner.run(portal, self._channel)
        return portal.result

    def _run_command(self, portal: Portal) -> Result:
        assert portal.prepared.statement is not None
        self._runner.start(portal.prepared.statement)
        command = commands.read_command(portal.prepared.statement)
        if command.verb == "EXECUTE":
            kept = self._state.statement(command.name)
            if kept.statement is None or len(kept.types) != len(command.values):
                raise ReplyError(SYNTAX, f"the statement has {len(kept.types)} parameters", "give one value for each")
            formats = (messages.TEXT,) * len(command.values)
            return self._runner.run(Portal(kept, command.values, formats, portal.columns), self._channel)
        statement = self._query_of(command.query)
        if command.verb == "PREPARE":
            self._state.make_room_for_statement(command.name)
            self._state.statements[command.name] = self._runner.prepare(statement, ())
            return Result("PREPARE")
        if command.verb == "EXPLAIN":
            return self._runner.explain(statement, portal.columns)
        copied = commands.CopyResult(command.options)
        columns = (messages.BINARY,) if copied.is_binary else ()
        rows = self._runner.run(Portal(Prepared(statement), columns=columns), self._channel)
        return copied.copies(rows, messages.names_of(rows.description))

    def _run_cursor(self, portal: Portal, command: cursors.CursorCommand) -> Result:
        match command:
            case cursors.Declare():
                self._declare(portal, command)
                return Result("DECLARE CURSOR")
            case cursors.Fetch(name, limit):
                return cursors.FetchResult(self._state.portal(name), limit, portal.columns)
            case cursors.Close(None):
                self._state.close_portals(but=portal)
                return Result("CLOSE CURSOR ALL")
            case cursors.Close(str(name)):
                self._state.portal(name)  # refused if there is none
                self._state.close_portal(name)
        return Result("CLOSE CURSOR")

    def _declare(self, portal: Portal, command: cursors.Declare) -> None:
        is_alone = self._transaction.status == IDLE
        if is_alone and not command.is_held:
            raise ReplyError("25P01", "a cursor lives in a transaction", "BEGIN first, or declare it WITH HOLD")
        self._state.make_room_for_portal(command.name)
        prepared = Prepared(self._query_of(command.query), portal.prepared.types)
        columns = (messages.BINARY,) if command.is_binary else ()
        cursor = Portal(
            prepared, portal.values, portal.formats, columns, is_held=command.is_held, is_committed=is_alone
        )
        self._begin(cursor)
        self._state.portals[command.name] = cursor

    def _query_of(self, query: str) -> Statement:
        found = self._runner.split(query)
        if len(found) != 1 or found[0].kind in {Kind.SESSION, Kind.CURSOR, Kind.COMMAND}:
            raise ReplyError(SYNTAX, "a cursor, COPY, PREPARE and EXPLAIN are for one SELECT", "write one SELECT there")
        return found[0]

    def _close_after(self, statement: Statement, portal: Portal) -> None:
        """Close the statements and portals that end with a command of the session."""
        verb, last = statement.words[0], statement.words[-1]
        if self._transaction.status == IDLE and verb in ENDS:
            self._state.end_transaction(self._transaction.has_committed, but=portal)
        elif verb in {"DISCARD", "DEALLOCATE"} and last == "ALL":
            self._state.statements.clear()
            if verb == "DISCARD":
                self._state.close_portals(but=portal)
        elif verb == "DEALLOCATE":
            self._state.statements.pop(statement.text.rsplit(maxsplit=1)[-1].strip('"'), None)
