"""Connections before their login: encryption, user, database and password, and that no client keeps others out."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from threading import Lock

from sqlpriv.apps.server import messages, scram
from sqlpriv.apps.server.catalog_server import DATABASE, WITHOUT_BOUNDS
from sqlpriv.apps.server.channel import LARGEST_BEFORE_LOGIN, Channel
from sqlpriv.apps.server.errors import INVALID, NO_DATABASE, WRONG_PASSWORD, ReplyError
from sqlpriv.apps.server.messages import ProtocolError
from sqlpriv.apps.server.settings import Settings

_MOST_REQUESTS = 3
_MOST_FAILURES = 1000
_FAILURE_SECONDS = 60.0
_ENCODINGS = frozenset({"UTF8", "UTF-8", "UNICODE"})


class PendingLogins:
    """Connections before their login, by number, and the hosts of recent wrong passwords; for all threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._waiting: dict[int, tuple[Channel, str]] = {}  # the oldest first
        self._failures: OrderedDict[str, float] = OrderedDict()

    def add(self, number: int, channel: Channel, host: str) -> None:
        """Add a connection. Where there are too many, the oldest of the host that has most is ended."""
        with self._lock:
            if len(self._waiting) >= self._most:
                ((busiest, _),) = Counter(host for _, host in self._waiting.values()).most_common(1)
                oldest = next(number for number, (_, host) in self._waiting.items() if host == busiest)
                self._waiting.pop(oldest)[0].hang_up()
            self._waiting[number] = (channel, host)

    def remove(self, number: int) -> None:
        """It has logged in, or is gone."""
        with self._lock:
            self._waiting.pop(number, None)

    def record_failure(self, host: str) -> None:
        """From this host a wrong password came."""
        with self._lock:
            self._failures[host] = time.monotonic()
            self._failures.move_to_end(host)
            if len(self._failures) > _MOST_FAILURES:
                self._failures.popitem(last=False)

    def failed_recently(self, host: str) -> bool:
        """Whether a wrong password came a short while ago: the next has to wait before it is judged."""
        with self._lock:
            return time.monotonic() - self._failures.get(host, -_FAILURE_SECONDS) < _FAILURE_SECONDS


@dataclass(frozen=True)
class Client:
    """A client that has logged in, and how its answers are to look."""

    database: str
    intervals: bool
    application: str


def begin(channel: Channel, settings: Settings) -> messages.Startup | messages.Cancel:
    """The first message that asks for more than encryption; TLS has begun then, if it was asked for."""
    for _ in range(_MOST_REQUESTS):
        found = channel.first_message()
        if not isinstance(found, messages.Encrypt):
            return found
        if found.tls and settings.tls is not None and not channel.encrypted:
            channel.write(b"S")
            channel.flush()
            channel.start_tls(settings.tls)
        else:
            channel.write(b"N")
            channel.flush()
    raise ProtocolError("the client asks for encryption again and again")


def log_in(channel: Channel, start: messages.Startup, settings: Settings, secret: bytes, is_local: bool) -> Client:
    """The client, after it has proved the password; `is_local`: it is on this machine, and may do without TLS."""
    if not is_local and not channel.encrypted:
        raise ReplyError("28000", "this server accepts TLS connections only", "connect with sslmode=require")
    unknown = [name for name in start.options if name.startswith("_pq_.")]
    if start.version != messages.PROTOCOL or unknown:
        channel.write(messages.negotiate_version(unknown))
    user, of_user = _split_option(start.options.get("user", ""))
    database, of_database = _split_option(start.options.get("database", "") or user)
    verifier = settings.verifier if user == settings.verifier.user else scram.unknown_user(user, secret)

    def send(code: int, body: bytes) -> None:
        channel.write(messages.sasl(code, body))
        channel.flush()

    def receive() -> bytes:
        found = channel.message(LARGEST_BEFORE_LOGIN)
        if not isinstance(found, messages.Authentication):
            raise ProtocolError("a message of authentication was expected")
        return found.body

    try:
        scram.authenticate(verifier, send, receive)
    except scram.WrongPasswordError:
        raise ReplyError(WRONG_PASSWORD, "password authentication failed") from None
    for option in (of_user, of_database):
        if option not in {"", WITHOUT_BOUNDS}:
            hint = f"after the name of the user or the database there may be {WITHOUT_BOUNDS}, and nothing else"
            raise ReplyError(INVALID, "the name of the user or the database has an unknown option", hint)
    if database != DATABASE:
        raise ReplyError(NO_DATABASE, "there is no such database", f"connect to the database {DATABASE}")
    require_utf8(start.options.get("client_encoding", "UTF8"))
    return Client(DATABASE + of_database, not (of_user or of_database), start.options.get("application_name", ""))


def require_utf8(encoding: str) -> None:
    """Refuse all encodings of texts but UTF-8."""
    if encoding.strip("'\"").upper() not in _ENCODINGS:
        raise ReplyError(INVALID, "this server speaks UTF-8 only", "set client_encoding to UTF8")


def _split_option(name: str) -> tuple[str, str]:
    # SQLAlchemy leaves the name of the database as it stands in the URL.
    before, mark, after = name.replace("%3F", "?").partition("?")
    return before, mark + after
