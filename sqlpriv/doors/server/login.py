"""The first messages of a connection: encryption, who it is, to which database, and the password."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.doors.server import frames, scram
from sqlpriv.doors.server.channel import OPENING_LIMIT, Channel
from sqlpriv.doors.server.reader import ProtocolError
from sqlpriv.doors.server.replies import INVALID, NO_DATABASE, NO_LOGIN, ReplyError
from sqlpriv.doors.server.settings import Settings
from sqlpriv.doors.server.shadow import DATABASE, WITHOUT_BOUNDS

_MOST_REQUESTS = 3
_ENCODINGS = frozenset({"UTF8", "UTF-8", "UNICODE"})


@dataclass(frozen=True)
class Who:
    """Who has logged in, and how answers are to look."""

    database: str
    intervals: bool
    application: str


def opened(channel: Channel, settings: Settings) -> frames.Startup | frames.Cancel:
    """The first message that asks for more than encryption."""
    for _ in range(_MOST_REQUESTS):
        found = channel.opening()
        if not isinstance(found, frames.Encrypt):
            return found
        if found.tls and settings.tls is not None and not channel.encrypted:
            channel.write(b"S")
            channel.flush()
            channel.start_tls(settings.tls)
        else:
            channel.write(b"N")
            channel.flush()
    raise ProtocolError("the client asks for encryption again and again")


def logged_in(channel: Channel, start: frames.Startup, settings: Settings, secret: bytes, near: bool) -> Who:
    """Who connects, after the password was proved; `near`: from this machine."""
    if not near and not channel.encrypted:
        raise ReplyError("28000", "this server is asked by TLS alone", "connect with sslmode=require", fatal=True)
    unknown = [name for name in start.options if name.startswith("_pq_.")]
    if start.version != frames.PROTOCOL or unknown:
        channel.write(frames.negotiate(unknown))
    user, of_user = _parted(start.options.get("user", ""))
    database, of_database = _parted(start.options.get("database", "") or user)
    known = settings.login if user == settings.login.user else scram.nobody(user, secret)
    end_point = settings.end_point if channel.encrypted else None
    try:
        scram.authenticate(known, lambda code, body: _ask(channel, code, body), lambda: _answer(channel), end_point)
    except scram.RefusedError:
        raise ReplyError(NO_LOGIN, "password authentication failed", fatal=True) from None
    for option in (of_user, of_database):
        if option not in {"", WITHOUT_BOUNDS}:
            hint = f"after the name of the user or the database there may be {WITHOUT_BOUNDS}, and nothing else"
            raise ReplyError(INVALID, "the name of the user or the database has an unknown option", hint, fatal=True)
    if database != DATABASE:
        raise ReplyError(NO_DATABASE, "there is no such database", f"connect to the database {DATABASE}", fatal=True)
    refuse_encoding(start.options.get("client_encoding", "UTF8"))
    return Who(DATABASE + of_database, not (of_user or of_database), start.options.get("application_name", ""))


def refuse_encoding(name: str) -> None:
    """All texts are UTF-8."""
    if name.strip("'\"").upper() not in _ENCODINGS:
        raise ReplyError(INVALID, "this server speaks UTF-8 alone", "set client_encoding to UTF8", fatal=False)


def _parted(name: str) -> tuple[str, str]:
    # SQLAlchemy leaves the name of the database as it stands in the URL.
    before, mark, after = name.replace("%3F", "?").partition("?")
    return before, mark + after


def _ask(channel: Channel, code: int, body: bytes) -> None:
    channel.write(frames.sasl(code, body))
    channel.flush()


def _answer(channel: Channel) -> bytes:
    found = channel.message(OPENING_LIMIT)
    if not isinstance(found, frames.Secret):
        raise ProtocolError("a message of authentication was expected")
    return found.body
