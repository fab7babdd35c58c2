"""One connection after its login: statements of the simple protocol, and the steps of the extended one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sqlpriv.doors.server import frames
from sqlpriv.doors.server.answers import StoppedError
from sqlpriv.doors.server.channel import Channel, GoneError
from sqlpriv.doors.server.commands import IDLE, Transaction
from sqlpriv.doors.server.portals import Done, Portal, Prepared
from sqlpriv.doors.server.reader import ProtocolError
from sqlpriv.doors.server.replies import CANCELLED, INTERNAL, NO_PORTAL, NO_STATEMENT, ReplyError, reply_to
from sqlpriv.doors.server.runner import Runner
from sqlpriv.doors.server.statements import MOST_PARAMETERS, For
from sqlpriv.errors import SqlprivError

_MOST_KEPT = 1000
_MOST_BYTES = 64 << 20


class Session:
    """What a connection remembers, and how it answers each message."""

    def __init__(self, channel: Channel, runner: Runner) -> None:
        self._channel = channel
        self._runner = runner
        self._transaction = Transaction()
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
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
        for portal in self._portals.values():
            portal.close()
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
                    self._close_portals()
                return True
            if isinstance(found, frames.Query):
                if not self._skipping:
                    self._tried(found)
                    self._portals.pop("", Portal(Prepared(None))).close()
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
        match found:
            case frames.Query(sql=sql) | frames.Parse(sql=sql):
                return sql
            case frames.Bind(statement=name) | frames.Named(of="S", name=name):
                prepared = self._prepared.get(name)
            case frames.Execute(portal=name) | frames.Named(of="P", name=name):
                prepared = self._portals[name].prepared if name in self._portals else None
            case _:
                prepared = None
        return prepared.statement.whole if prepared is not None and prepared.statement is not None else ""

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
        self._refuse_many(self._prepared, found.name)
        if found.name and found.name in self._prepared:
            raise ReplyError("42P05", f"there is already a prepared statement {found.name!r}", "close it first")
        statements = self._runner.read(found.sql)
        if len(statements) > 1:
            raise ReplyError("42601", "a prepared statement is one statement", "prepare them one by one")
        self._prepared.pop(found.name, None)
        prepared = Prepared(statements[0] if statements else None)
        if prepared.statement is not None and prepared.statement.parameters > MOST_PARAMETERS:
            raise ReplyError("54023", f"a statement has {MOST_PARAMETERS:,} parameters at most", "number them from $1")
        if prepared.statement is not None:
            self._transaction.refuse_after_failure(prepared.statement.words)
            prepared = self._runner.prepared(prepared.statement, found.types)
        self._prepared[found.name] = prepared
        self._channel.write(frames.PARSED)

    def _bind(self, found: frames.Bind) -> None:
        prepared = self._statement(found.statement)
        self._refuse_many(self._portals, found.portal)
        if len(found.values) != len(prepared.types):
            said = f"the statement has {len(prepared.types)} parameters, and Bind gives {len(found.values)}"
            raise ReplyError("08P01", said, "give one value for each")
        if found.portal and found.portal in self._portals:
            raise ReplyError("42P03", f"there is already a portal {found.portal!r}", "close it first")
        self._portals.pop(found.portal, Portal(prepared)).close()
        self._portals[found.portal] = Portal(prepared, found.values, found.formats, found.columns)
        self._channel.write(frames.BOUND)

    def _describe(self, found: frames.Named) -> None:
        if found.of == "P":
            portal = self._portal(found.name)
            self._begin(portal)
            assert portal.result is not None
            self._channel.write(portal.result.description)
            return
        prepared = self._statement(found.name)
        self._channel.write(frames.parameter_description(prepared.types))
        self._channel.write(self._runner.description(prepared))

    def _execute(self, found: frames.Execute) -> None:
        portal = self._portal(found.portal)
        self._begin(portal)
        assert portal.result is not None
        sent = 0
        if not portal.finished:
            sent, portal.finished = portal.result.send(self._channel, found.most)
        self._channel.write(portal.result.tag(sent) if portal.finished else frames.SUSPENDED)
        self._runner.done(sent)

    def _close(self, found: frames.Named) -> None:
        if found.of == "S":
            self._prepared.pop(found.name, None)
        elif (portal := self._portals.pop(found.name, None)) is not None:
            portal.close()
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
            self._forget(statement.words, statement.text)
        else:
            portal.result = self._runner.begun(portal, self._channel)

    def _forget(self, words: Sequence[str], text: str) -> None:
        if self._transaction.status == IDLE and words[0] in {"COMMIT", "END", "ROLLBACK", "ABORT"}:
            self._close_portals()
        elif words[0] in {"DISCARD", "DEALLOCATE"} and words[-1] == "ALL":
            self._prepared.clear()
        elif words[0] == "DEALLOCATE":
            with suppress(KeyError):
                del self._prepared[text.rsplit(maxsplit=1)[-1].strip('"')]

    def _close_portals(self) -> None:
        for portal in self._portals.values():
            portal.close()
        self._portals.clear()

    def _statement(self, name: str) -> Prepared:
        if name not in self._prepared:
            raise ReplyError(NO_STATEMENT, "there is no such prepared statement", "prepare it first")
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise ReplyError(NO_PORTAL, "there is no such portal", "bind it first")
        return self._portals[name]

    def _refuse_many(self, kept: dict[str, Prepared] | dict[str, Portal], name: str) -> None:
        if len(kept) >= _MOST_KEPT and name not in kept:
            raise ReplyError("53400", f"there are {_MOST_KEPT} prepared statements or portals", "close some")
        if sum(each.size for each in kept.values()) > _MOST_BYTES:
            said = f"prepared statements or portals hold more than {_MOST_BYTES >> 20} MiB"
            raise ReplyError("53400", said, "close some")
