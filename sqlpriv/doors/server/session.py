"""One connection after its login: statements of the simple protocol, and the steps of the extended one."""

from __future__ import annotations

from sqlpriv.doors.server import cursors, frames
from sqlpriv.doors.server.answers import StoppedError
from sqlpriv.doors.server.channel import Channel, GoneError
from sqlpriv.doors.server.commands import IDLE, Transaction
from sqlpriv.doors.server.kept import Kept
from sqlpriv.doors.server.portals import Done, Portal, Prepared, Result
from sqlpriv.doors.server.reader import ProtocolError
from sqlpriv.doors.server.replies import CANCELLED, INTERNAL, ReplyError, reply_to
from sqlpriv.doors.server.runner import Runner
from sqlpriv.doors.server.statements import MOST_PARAMETERS, For, Statement
from sqlpriv.errors import SqlprivError


class Session:
    """What a connection remembers, and how it answers each message."""

    def __init__(self, channel: Channel, runner: Runner) -> None:
        self._channel = channel
        self._runner = runner
        self._transaction = Transaction()
        self._kept = Kept()
        self._skipping = False

    def run(self) -> None:
        """Answer until the client goes."""
        while True:
            self._channel.write(frames.ready(self._transaction.status))
            self._channel.flush()
            if not self._until_ready():
                return

    def close(self) -> None:
        """Give back what portals hold."""
        self._kept.close_portals()
        self._runner.close()

    def _until_ready(self) -> bool:
        """Messages up to Query or Sync, after which the next may come; False at the end."""
        while True:
            found = self._channel.message()
            if isinstance(found, frames.Plain) and found.kind == "X":
                return False
            if isinstance(found, frames.Plain) and found.kind == "S":
                self._skipping = False
                if self._transaction.status == IDLE:
                    self._kept.close_portals(lambda portal: not portal.is_committed)
                return True
            if isinstance(found, frames.Query):
                if not self._skipping:
                    self._tried(found)
                    self._kept.close_portal("")
                    return True
            elif isinstance(found, frames.Plain):
                self._channel.flush()
            elif isinstance(found, frames.Secret):
                raise ProtocolError("a message of authentication after it")
            elif not self._skipping:
                self._skipping = not self._tried(found)

    def _tried(self, found: frames.Message) -> bool:
        """Answer one message, by an error if need be; whether it went well."""
        try:
            self._answer(found)
        except ReplyError as error:
            self._refuse(error)
        except StoppedError:
            self._refuse(ReplyError(CANCELLED, self._runner.why_stopped()))
        except SqlprivError as error:
            self._refuse(reply_to(error, self._text_of(found)))
        except (GoneError, ProtocolError):
            raise
        except Exception as error:  # a fault of ours: what is in its frames is not told
            self._runner.fault(error)
            self._refuse(ReplyError(INTERNAL, f"a fault of the server ({type(error).__name__}); its log says where"))
        else:
            return True
        finally:
            self._runner.end()
        return False

    def _refuse(self, error: ReplyError) -> None:
        self._runner.refused(error.state)
        self._transaction.fail()
        self._channel.write(error.frame())

    def _text_of(self, found: frames.Message) -> str:
        """The statement that a message is about: places in it are told."""
        try:
            match found:
                case frames.Query(sql=sql) | frames.Parse(sql=sql):
                    return sql
                case frames.Bind(statement=name) | frames.Named(of="S", name=name):
                    prepared = self._kept.statement(name)
                case frames.Execute(portal=name) | frames.Named(name=name):
                    prepared = self._kept.portal(name).prepared
                case _:
                    return ""
        except ReplyError:
            return ""
        return "" if prepared.statement is None else prepared.statement.whole

    def _answer(self, found: frames.Message) -> None:
        match found:
            case frames.Query():
                self._query(found.sql)
            case frames.Parse():
                self._parse(found)
            case frames.Bind():
                self._bind(found)
            case frames.Execute():
                self._execute(found)
            case frames.Named(kind="D"):
                self._describe(found)
            case frames.Named():
                self._close(found)

    def _query(self, sql: str) -> None:
        """The simple protocol: all statements of a text, up to the first that fails."""
        found = self._runner.read(sql)
        if not found:
            self._channel.write(frames.EMPTY)
        for statement in found:
            portal = Portal(Prepared(statement))
            try:
                self._begin(portal)
                assert portal.result is not None
                if portal.result.description != frames.NO_DATA:
                    self._channel.write(portal.result.description)
                sent, _ = portal.result.send(self._channel, 0)
                self._channel.write(portal.result.tag(sent))
            finally:
                portal.close()
            self._runner.done(sent)

    def _parse(self, found: frames.Parse) -> None:
        self._kept.make_room_for_statement(found.name)
        statements = self._runner.read(found.sql)
        if len(statements) > 1:
            raise ReplyError("42601", "a prepared statement is one statement", "prepare them one by one")
        prepared = Prepared(statements[0] if statements else None)
        if prepared.statement is not None and prepared.statement.parameters > MOST_PARAMETERS:
            raise ReplyError("54023", f"a statement has {MOST_PARAMETERS:,} parameters at most", "number them from $1")
        if prepared.statement is not None:
            self._transaction.refuse_after_failure(prepared.statement.words)
            prepared = self._typed(prepared.statement, found.types)
        self._kept.keep_statement(found.name, prepared)
        self._channel.write(frames.PARSED)

    def _typed(self, statement: Statement, types: tuple[int, ...]) -> Prepared:
        """A statement with the types of its parameters; those of a cursor are those of its query."""
        if statement.concerns is not For.CURSOR:
            return self._runner.prepared(statement, types)
        asked = cursors.command(statement)
        if not isinstance(asked, cursors.Declare):
            return Prepared(statement)
        return Prepared(statement, self._runner.prepared(self._query_of(asked), types).types)

    def _bind(self, found: frames.Bind) -> None:
        prepared = self._kept.statement(found.statement)
        if len(found.values) != len(prepared.types):
            said = f"the statement has {len(prepared.types)} parameters, and Bind gives {len(found.values)}"
            raise ReplyError("08P01", said, "give one value for each")
        self._kept.make_room_for_portal(found.portal)
        self._kept.keep_portal(found.portal, Portal(prepared, found.values, found.formats, found.columns))
        self._channel.write(frames.BOUND)

    def _describe(self, found: frames.Named) -> None:
        if found.of == "P":
            portal = self._kept.portal(found.name)
            self._begin(portal)
            assert portal.result is not None
            self._channel.write(portal.result.description)
            return
        prepared = self._kept.statement(found.name)
        self._channel.write(frames.parameter_description(prepared.types))
        if prepared.statement is not None and prepared.statement.concerns is For.CURSOR:
            asked = cursors.command(prepared.statement)
            fetched = isinstance(asked, cursors.Fetch) and self._kept.portal(asked.name).result
            self._channel.write(fetched.description if fetched else frames.NO_DATA)
        else:
            self._channel.write(self._runner.description(prepared))

    def _execute(self, found: frames.Execute) -> None:
        portal = self._kept.portal(found.portal)
        self._begin(portal)
        assert portal.result is not None
        sent = 0
        if not portal.finished:
            sent, portal.finished = portal.result.send(self._channel, found.most)
        self._channel.write(portal.result.tag(sent) if portal.finished else frames.SUSPENDED)
        self._runner.done(sent)

    def _close(self, found: frames.Named) -> None:
        if found.of == "S":
            self._kept.close_statement(found.name)
        else:
            self._kept.close_portal(found.name)
        self._channel.write(frames.CLOSED)

    def _begin(self, portal: Portal) -> None:
        """Let a portal have its result; a command of the session takes effect now."""
        if portal.result is not None:
            self._runner.again(portal.prepared)
            return
        statement = portal.prepared.statement
        if statement is None:
            portal.result = Done("")
            return
        self._transaction.refuse_after_failure(statement.words)
        if statement.concerns is For.SESSION:
            self._runner.again(portal.prepared)
            portal.result = Done(self._transaction.run(statement.words))
            self._forget(statement, portal)
        elif statement.concerns is For.CURSOR:
            self._runner.again(portal.prepared)
            portal.result = self._by_cursor(portal, cursors.command(statement))
        else:
            portal.result = self._runner.begun(portal, self._channel)

    def _by_cursor(self, portal: Portal, asked: cursors.Command) -> Result:
        if isinstance(asked, cursors.Declare):
            self._declare(portal, asked)
            return Done("DECLARE CURSOR")
        if isinstance(asked, cursors.Fetch):
            return cursors.Fetched(self._kept.portal(asked.name), asked.most, portal.columns)
        if asked.name is None:
            self._kept.close_portals(but=portal)
            return Done("CLOSE CURSOR ALL")
        self._kept.portal(asked.name)
        self._kept.close_portal(asked.name)
        return Done("CLOSE CURSOR")

    def _declare(self, portal: Portal, asked: cursors.Declare) -> None:
        is_alone = self._transaction.status == IDLE
        if is_alone and not asked.is_held:
            raise ReplyError("25P01", "a cursor lives in a transaction", "BEGIN first, or declare it WITH HOLD")
        self._kept.make_room_for_portal(asked.name)
        prepared = Prepared(self._query_of(asked), portal.prepared.types)
        columns = (frames.BINARY,) if asked.is_binary else ()
        opened = Portal(prepared, portal.values, portal.formats, columns, is_held=asked.is_held, is_committed=is_alone)
        self._begin(opened)
        self._kept.keep_portal(asked.name, opened)

    def _query_of(self, asked: cursors.Declare) -> Statement:
        found = self._runner.read(asked.query)
        if len(found) != 1 or found[0].concerns in {For.SESSION, For.CURSOR}:
            raise ReplyError("42601", "a cursor is for one SELECT", "write DECLARE c CURSOR FOR SELECT ...")
        return found[0]

    def _forget(self, statement: Statement, portal: Portal) -> None:
        verb, *_, last = (*statement.words, statement.words[-1])
        if self._transaction.status == IDLE and verb in {"COMMIT", "END", "ROLLBACK", "ABORT"}:
            self._kept.end_transaction(self._transaction.has_committed, but=portal)
        elif verb in {"DISCARD", "DEALLOCATE"} and last == "ALL":
            self._kept.close_statements()
            if verb == "DISCARD":
                self._kept.close_portals(but=portal)
        elif verb == "DEALLOCATE":
            self._kept.close_statement(statement.text.rsplit(maxsplit=1)[-1].strip('"'))
