"""The server: it opens what it needs, accepts connections up to its limit, a thread each, and watches what they run."""

from __future__ import annotations

import contextlib
import hmac
import itertools
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlpriv.apps.server import messages
from sqlpriv.apps.server.catalog_client import CatalogClient
from sqlpriv.apps.server.catalog_server import DATABASE, CatalogServer
from sqlpriv.apps.server.channel import Channel, DisconnectedError, TooLargeError, tls_context
from sqlpriv.apps.server.errors import (
    PROTOCOL_VIOLATION,
    TOO_LARGE,
    TOO_MANY_CONNECTIONS,
    WRONG_PASSWORD,
    ReplyError,
)
from sqlpriv.apps.server.messages import ProtocolError
from sqlpriv.apps.server.pre_login import Client, PendingLogins, begin, log_in
from sqlpriv.apps.server.queries import ServedReleases, open_releases
from sqlpriv.apps.server.runner import Runner
from sqlpriv.apps.server.scram import make_verifier, read_password
from sqlpriv.apps.server.session import Session
from sqlpriv.apps.server.settings import Limits, Log, Settings, is_loopback
from sqlpriv.apps.supervisor import STARTED_AGAIN, Overseer
from sqlpriv.core.errors import InputError
from sqlpriv.rewrite.clauses import Options

_LONGEST_NAME = 64
_MOST_PENDING = 32
"""Connections that may be about to log in, or to cancel, besides those that have."""
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
        self, releases: ServedReleases, catalog: CatalogServer, settings: Settings, sock: socket.socket
    ) -> None:
        self._releases, self._catalog, self._settings, self._log = releases, catalog, settings, settings.log
        self._numbers = itertools.count(1)
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._running: dict[int, _Running] = {}
        self._pending = PendingLogins(_MOST_PENDING)
        self._threads: dict[threading.Thread, Channel] = {}
        self._stopping = threading.Event()
        self._parameters = _parameters(catalog)
        self._socket = sock

    @property
    def tables(self) -> list[str]:
        """The names of what is served."""
        return sorted(self._releases.tables)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Accept connections until `stop`."""
        self._log.write("started", host=self._settings.host, port=self.port, tables=self.tables)
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
            self._accept(sock, str(address[0]))
        self._close_all()
        watch.join(_END_SECONDS)
        self._log.write("stopped")

    def stop(self) -> None:
        """End; from a signal or another thread."""
        self._stopping.set()

    def _accept(self, sock: socket.socket, host: str) -> None:
        number, channel = next(self._numbers), Channel(sock, self._settings.limits.largest)
        thread = threading.Thread(target=self._serve, args=(channel, number, host), daemon=True)
        self._pending.add(number, channel, host)
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
            self._serve_client(channel, number, host)
        except ReplyError as error:
            self._report_and_end(channel, number, host, error)
        except TooLargeError as error:
            hint = f"messages have {self._settings.limits.largest:,} bytes at most"
            self._report_and_end(channel, number, host, ReplyError(TOO_LARGE, str(error), hint))
        except ProtocolError as error:
            self._report_and_end(channel, number, host, ReplyError(PROTOCOL_VIOLATION, str(error)))
        except (DisconnectedError, OSError):
            pass
        except Exception as error:  # a fault of ours ends this connection alone
            self._log.write("fault", connection=number, kind=type(error).__name__)
        finally:
            channel.close()
            self._forget(threading.current_thread(), number)

    def _serve_client(self, channel: Channel, number: int, host: str) -> None:
        channel.set_deadline(self._settings.limits.login_seconds)
        start = begin(channel, self._settings)
        if isinstance(start, messages.Cancel):
            self._cancel(start)
            return
        client = self._log_in(channel, start, host)
        runner = Runner(self._releases, self._catalog, client, self._settings, number)
        running = _Running(secrets.token_bytes(4), channel, runner)
        with self._lock:
            if len(self._running) >= self._settings.limits.connections:
                raise ReplyError(TOO_MANY_CONNECTIONS, "there are too many connections", "try again later")
            self._running[number] = running
        self._pending.remove(number)
        self._log.write("connected", connection=number, host=host, tls=channel.encrypted)
        session = Session(channel, runner)
        try:
            channel.set_deadline(None)
            self._welcome(running, number, client)
            session.run()
        finally:
            with self._lock:
                del self._running[number]
            session.close()
            self._log.write("disconnected", connection=number)

    def _log_in(self, channel: Channel, start: messages.Startup, host: str) -> Client:
        # Before, not after: a client that does not wait for the pause has not tried a password.
        if self._pending.failed_recently(host) and channel.is_disconnected(_PAUSE_SECONDS):
            raise DisconnectedError
        try:
            return log_in(channel, start, self._settings, self._secret, is_loopback(host))
        except ReplyError as error:
            if error.state == WRONG_PASSWORD:
                self._pending.record_failure(host)
            raise

    def _welcome(self, running: _Running, number: int, client: Client) -> None:
        running.channel.write(messages.AUTHENTICATION_OK)
        for name, value in {**self._parameters, "application_name": client.application}.items():
            running.channel.write(messages.parameter_status(name, value))
        running.channel.write(messages.cancel_key(number, running.secret))

    def _report_and_end(self, channel: Channel, number: int, host: str, error: ReplyError) -> None:
        self._log.write("ended", connection=number, host=host, state=error.state)
        with contextlib.suppress(DisconnectedError, OSError):
            channel.write(error.to_bytes(fatal=True))
            channel.flush()

    def _cancel(self, request: messages.Cancel) -> None:
        with self._lock:
            running = self._running.get(request.process)
        if running is not None and hmac.compare_digest(running.secret, request.secret):
            running.runner.stop()

    def _watch(self) -> None:
        overseer = self._settings.overseer
        while not self._stopping.wait(_WATCH_SECONDS):
            with self._lock:
                running = list(self._running.values())
            for each in running:
                each.runner.check(each.channel)
            if overseer is None:
                continue
            if overseer.is_alone():
                self.stop()
            elif overseer.has_too_much():
                self._end_process(running, "memory")
            elif any(each.runner.is_stuck() for each in running):
                self._end_process(running, "a question that heeds no interrupt")

    def _end_process(self, running: list[_Running], why: str) -> None:
        """End all sessions with a word, and this process: another one is started."""
        self._log.write("restarting", why=why)
        text = ReplyError("57P01", "the server had to start again: a question took too much", "connect again, and ask")
        for each in running:
            if not each.runner.is_sending():
                each.channel.say_last(text.to_bytes(fatal=True))
        os._exit(STARTED_AGAIN)

    def _forget(self, thread: threading.Thread, number: int) -> None:
        self._pending.remove(number)
        with self._lock:
            self._threads.pop(thread, None)

    def _close_all(self) -> None:
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


def _parameters(catalog: CatalogServer) -> dict[str, str]:
    """The settings that every client is sent: those of the catalog server."""
    client = CatalogClient(catalog.socket, catalog.user, DATABASE)
    client.close()
    return client.parameters


def listen(host: str, port: int, cert: Path | None, key: Path | None) -> socket.socket:
    """A socket that listens there."""
    if (cert is None) != (key is None):
        raise InputError("a certificate needs its key: give --cert and --key together")
    if cert is None and not is_loopback(host):
        raise InputError(f"at {host!r} answers would cross the network in the clear; give --cert and --key")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError:
        raise InputError(
            f"cannot listen at {host}, port {port}: another program does, or it is no address here; "
            "choose another --port or --host"
        ) from None


@contextmanager
def serving(
    files: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    user: str = "analyst",
    password_file: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    limits: Limits | None = None,
    public: Mapping[str, Any] | None = None,
    options: Options | None = None,
    log: Log | None = None,
    overseer: Overseer | None = None,
    sock: socket.socket | None = None,
) -> Iterator[Server]:
    """A server of release files that is ready to run, on a socket that listens if one is given.

    All that it opened is closed afterwards.
    """
    is_reserved = user in {"owner", "public"} or user.startswith("pg_")
    if is_reserved or "?" in user or not 0 < len(user.encode()) < _LONGEST_NAME:
        raise InputError(f"nobody can be called {user!r} here; choose another --user")
    limits = limits or Limits()
    tls = tls_context(cert, key) if cert is not None and key is not None else None
    verifier = make_verifier(user, read_password(password_file))
    settings = Settings(verifier, host, port, tls, limits, log or Log(), overseer)
    with (
        sock or listen(host, port, cert, key) as listening,
        closing(open_releases(files, public or {}, limits.memory, limits.threads, options)) as releases,
        closing(CatalogServer(releases.tables, user, limits.connections, limits.seconds, releases.comments)) as catalog,
    ):
        yield Server(releases, catalog, settings, listening)
