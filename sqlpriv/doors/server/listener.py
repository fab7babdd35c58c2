"""The server itself: accepts connections up to its limit, a thread each, and watches over what they run."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import secrets
import socket
import threading
import time
from dataclasses import dataclass

from sqlpriv.doors.server import frames
from sqlpriv.doors.server.answers import Served
from sqlpriv.doors.server.channel import Channel, GoneError, TooLargeError
from sqlpriv.doors.server.doorstep import Doorstep
from sqlpriv.doors.server.journal import Journal
from sqlpriv.doors.server.link import Link
from sqlpriv.doors.server.login import Who, logged_in, opened
from sqlpriv.doors.server.reader import ProtocolError
from sqlpriv.doors.server.replies import NO_LOGIN, PROTOCOL, TOO_LARGE, TOO_MANY, ReplyError
from sqlpriv.doors.server.runner import Runner
from sqlpriv.doors.server.session import Session
from sqlpriv.doors.server.settings import Settings, is_loopback
from sqlpriv.doors.server.shadow import DATABASE, Shadow
from sqlpriv.errors import InputError

_BEFORE_LOGIN = 32
"""So many connections more may be about to log in, or to cancel."""
_PAUSE_SECONDS = 0.5
_WATCH_SECONDS = 0.05
_END_SECONDS = 5.0


@dataclass
class _Running:
    """A connection that has logged in."""

    secret: bytes
    channel: Channel
    runner: Runner


class Server:
    """Serves releases until it is stopped."""

    def __init__(
        self, served: Served, shadow: Shadow, settings: Settings, journal: Journal, sock: socket.socket
    ) -> None:
        self._served, self._shadow, self._settings, self._journal = served, shadow, settings, journal
        self._numbers = itertools.count(1)
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._running: dict[int, _Running] = {}
        self._doorstep = Doorstep(_BEFORE_LOGIN)
        self._threads: dict[threading.Thread, Channel] = {}
        self._stopping = threading.Event()
        self._parameters = _parameters(shadow)
        self._socket = sock

    @property
    def tables(self) -> list[str]:
        """The names of what is served."""
        return sorted(self._served.tables)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Accept connections until `stop`."""
        self._journal.write("started", host=self._settings.host, port=self.port, tables=self.tables)
        watch = threading.Thread(target=self._watch, name="watch", daemon=True)
        watch.start()
        self._socket.settimeout(0.2)
        while not self._stopping.is_set():
            try:
                sock, address = self._socket.accept()
            except TimeoutError:
                continue
            except OSError:  # no more file descriptors, or a client that is gone already
                self._stopping.wait(0.05)
                continue
            self._take(sock, str(address[0]))
        self._end()
        watch.join(_END_SECONDS)
        self._journal.write("stopped")

    def stop(self) -> None:
        """End; from a signal or another thread."""
        self._stopping.set()

    def _take(self, sock: socket.socket, host: str) -> None:
        number, channel = next(self._numbers), Channel(sock, self._settings.limits.largest)
        thread = threading.Thread(target=self._serve, args=(channel, number, host), daemon=True)
        self._doorstep.enter(number, channel, host)
        with self._lock:
            self._threads[thread] = channel
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            thread.start()
        except (OSError, RuntimeError):  # gone already, or no more threads
            self._forget(thread, number)
            channel.close()

    def _serve(self, channel: Channel, number: int, host: str) -> None:
        try:
            self._converse(channel, number, host)
        except ReplyError as error:
            self._bid_farewell(channel, number, host, error)
        except TooLargeError as error:
            hint = f"messages have {self._settings.limits.largest:,} bytes at most"
            self._bid_farewell(channel, number, host, ReplyError(TOO_LARGE, str(error), hint, fatal=True))
        except ProtocolError as error:
            self._bid_farewell(channel, number, host, ReplyError(PROTOCOL, str(error), fatal=True))
        except (GoneError, OSError):
            pass
        except Exception as error:  # a fault of ours ends this connection alone
            self._journal.write("fault", connection=number, kind=type(error).__name__)
        finally:
            channel.close()
            self._forget(threading.current_thread(), number)

    def _converse(self, channel: Channel, number: int, host: str) -> None:
        channel.must_be_done(self._settings.limits.login_seconds)
        start = opened(channel, self._settings)
        if isinstance(start, frames.Cancel):
            self._cancel(start)
            return
        who = self._logged_in(channel, start, host)
        runner = Runner(self._served, self._shadow, who, self._settings.limits.seconds, self._journal, number)
        running = _Running(secrets.token_bytes(4), channel, runner)
        with self._lock:
            if len(self._running) >= self._settings.limits.connections:
                raise ReplyError(TOO_MANY, "there are too many connections", "try again later", fatal=True)
            self._running[number] = running
        self._doorstep.leave(number)
        self._journal.write("connected", connection=number, host=host, tls=channel.encrypted)
        session = Session(channel, runner)
        try:
            channel.must_be_done(None)
            self._welcome(running, number, who)
            session.run()
        finally:
            with self._lock:
                del self._running[number]
            session.close()
            self._journal.write("disconnected", connection=number)

    def _logged_in(self, channel: Channel, start: frames.Startup, host: str) -> Who:
        # Before, not after: who does not wait for the pause has not guessed.
        if self._doorstep.is_suspect(host) and channel.is_gone(_PAUSE_SECONDS):
            raise GoneError
        try:
            return logged_in(channel, start, self._settings, self._secret, is_loopback(host))
        except ReplyError as error:
            if error.state == NO_LOGIN:
                self._doorstep.remember(host)
            raise

    def _welcome(self, running: _Running, number: int, who: Who) -> None:
        running.channel.write(frames.SIGNED_IN)
        for name, value in {**self._parameters, "application_name": who.application}.items():
            running.channel.write(frames.parameter(name, value))
        running.channel.write(frames.key(number, running.secret))

    def _bid_farewell(self, channel: Channel, number: int, host: str, error: ReplyError) -> None:
        error.fatal = True
        self._journal.write("ended", connection=number, host=host, state=error.state)
        with contextlib.suppress(GoneError, OSError):
            channel.write(error.frame())
            channel.flush()

    def _cancel(self, asked: frames.Cancel) -> None:
        with self._lock:
            running = self._running.get(asked.process)
        if running is not None and hmac.compare_digest(running.secret, asked.secret):
            running.runner.stop()

    def _watch(self) -> None:
        while not self._stopping.wait(_WATCH_SECONDS):
            with self._lock:
                running = list(self._running.values())
            for each in running:
                each.runner.check(each.channel)

    def _forget(self, thread: threading.Thread, number: int) -> None:
        self._doorstep.leave(number)
        with self._lock:
            self._threads.pop(thread, None)

    def _end(self) -> None:
        """Close everything, and wait a while for the threads to notice."""
        self._socket.close()
        with self._lock:
            threads, running = dict(self._threads), list(self._running.values())
        for channel in threads.values():
            channel.hang_up()
        end = time.monotonic() + _END_SECONDS
        while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
            for each in running:
                each.runner.stop()
            time.sleep(_WATCH_SECONDS)


def _parameters(shadow: Shadow) -> dict[str, str]:
    """What every client is told of the server: what the shadow says of itself."""
    link = Link(shadow.socket, shadow.user, DATABASE)
    link.close()
    return link.parameters


def listening(settings: Settings) -> socket.socket:
    """A socket that listens where it is to."""
    if settings.tls is None and not is_loopback(settings.host):
        raise InputError(f"at {settings.host!r} answers would cross the network in the clear; give --cert and --key")
    try:
        return socket.create_server((settings.host, settings.port), family=_family(settings.host))
    except OSError:
        raise InputError(
            f"cannot listen at {settings.host}, port {settings.port}: another program does, or it is no address here; "
            "choose another --port or --host"
        ) from None


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
