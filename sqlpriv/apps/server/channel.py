"""A socket that reads and writes messages: it reads no more than its limits allow, and gathers what it writes."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from pathlib import Path

from sqlpriv.apps.server import messages
from sqlpriv.apps.server.messages import ProtocolError
from sqlpriv.core.errors import InputError

LARGEST_BEFORE_LOGIN = 10_000
_BUFFER = 1 << 16
_WRITE_SECONDS = 60.0
_LENGTH = 4
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class TooLargeError(ProtocolError):
    """A message is larger than this server reads."""


class DisconnectedError(Exception):
    """The client is gone, or too slow to be waited for."""


def tls_context(cert: Path, key: Path) -> ssl.SSLContext:
    """TLS from a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for path, what in ((cert, "certificate"), (key, "key")):
        if not path.is_file():
            raise InputError(f"there is no {what} {str(path)!r}; give a file in PEM format")
    try:
        # A key that is locked by a password would be asked for at the terminal.
        context.load_cert_chain(cert, key, password="")
    except (OSError, ValueError):
        raise InputError(
            f"{cert.name!r} and {key.name!r} are no certificate and its key; give them in PEM format, without password"
        ) from None
    return context


_LAST_SECONDS = 0.2


class Channel:
    """One connection to a client."""

    def __init__(self, sock: socket.socket, largest: int) -> None:
        self._sock = sock
        self._largest = largest
        self._written: list[bytes] = []
        self._size = 0
        self._deadline: float | None = None
        self.encrypted = False

    def is_disconnected(self, seconds: float = 0.0) -> bool:
        """Whether the client has hung up, or does so within so many seconds; from any thread."""
        try:
            poll = select.poll()
            poll.register(self._sock, _HUNG_UP)
            return bool(poll.poll(seconds * 1000))
        except (OSError, ValueError):
            return True

    def hang_up(self) -> None:
        """End the connection from another thread: the thread that reads or writes here gets an error."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # TLS's own would wait for an answer

    def say_last(self, data: bytes) -> None:
        """Write from another thread, while nothing else is written, before all ends."""
        with contextlib.suppress(OSError, ValueError):
            self._sock.settimeout(_LAST_SECONDS)
            self._sock.sendall(data)

    def set_deadline(self, seconds: float | None) -> None:
        """Within so many seconds all reading must be done; None: it may wait for ever."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def first_message(self) -> messages.FirstMessage:
        """The first message, or one more after a request for encryption."""
        size = int.from_bytes(self._read(_LENGTH), "big", signed=True) - _LENGTH
        if not _LENGTH <= size <= LARGEST_BEFORE_LOGIN:
            raise ProtocolError("this is no client of PostgreSQL")
        return messages.read_first_message(self._read(size))

    def message(self, largest: int | None = None) -> messages.Message:
        """The next message."""
        head = self._read(1 + _LENGTH)
        size = int.from_bytes(head[1:], "big", signed=True) - _LENGTH
        if size < 0:
            raise ProtocolError("a message says that it has less than no bytes")
        if size > (largest or self._largest):
            raise TooLargeError(f"a message of {size:,} bytes is too large")
        return messages.read_message(head[:1], self._read(size))

    def start_tls(self, context: ssl.SSLContext) -> None:
        """From here on all is encrypted; what came before the handshake must not be read as if it were."""
        try:
            self._sock.settimeout(self._seconds_left())
            encrypted = context.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)
            self._sock = encrypted  # before the handshake, so that `hang_up` ends one that takes its time
            encrypted.do_handshake()
        except (OSError, ValueError):
            raise DisconnectedError from None
        self.encrypted = True

    def write(self, data: bytes | memoryview) -> None:
        """Write now, or with what follows."""
        self._written.append(bytes(data) if isinstance(data, memoryview) else data)
        self._size += len(data)
        if self._size >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write all now."""
        if not self._written:
            return
        data, self._written, self._size = b"".join(self._written), [], 0
        try:
            self._sock.settimeout(_WRITE_SECONDS)
            self._sock.sendall(data)
        except (OSError, ValueError):
            raise DisconnectedError from None

    def close(self) -> None:
        """Give the socket back."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def _seconds_left(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise DisconnectedError
        return left

    def _read(self, size: int) -> bytes:
        parts, missing = [], size
        while missing:
            try:
                self._sock.settimeout(self._seconds_left())
                part = self._sock.recv(min(missing, 1 << 18))
            except (OSError, ValueError):
                raise DisconnectedError from None
            if not part:
                raise DisconnectedError
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
