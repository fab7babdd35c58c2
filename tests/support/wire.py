"""A client that speaks the protocol byte by byte: for what drivers do not do, or must not do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import struct

from sqlpriv.apps.server.messages import PROTOCOL, message, zero_ended
from support.serving import SECRET, Running

Message = tuple[bytes, bytes]


class Wire:
    """One connection."""

    def __init__(self, server: Running, login: bool = True, timeout: float = 10.0) -> None:
        self.sock = socket.create_connection(("127.0.0.1", server.server.port), timeout)
        self._file = self.sock.makefile("rb")
        if login:
            self.start(user="analyst", database="sqlpriv")
            self.greeting = self.authenticate(SECRET)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.sock.close()

    def start(self, version: int = PROTOCOL, **options: str) -> None:
        """The first message."""
        texts = b"".join(zero_ended(text) for item in options.items() for text in item)
        body = struct.pack("!i", version) + texts + b"\0"
        self.sock.sendall(struct.pack("!i", len(body) + 4) + body)

    def authenticate(self, password: str) -> list[Message]:
        """SCRAM-SHA-256, and all messages up to the first that says that the server is ready."""
        assert self.read()[1] == struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"
        bare = b"n=,r=abcdefghijkl"
        first = b"n,," + bare
        self.send(b"p", b"SCRAM-SHA-256\0", struct.pack("!i", len(first)), first)
        second = self.read()[1][4:]
        given = dict(part.split(b"=", 1) for part in second.split(b","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(given[b"s"]), int(given[b"i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = b"c=biws,r=" + given[b"r"]
        signed = b",".join((bare, second, without))
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        self.send(b"p", without + b",p=" + base64.b64encode(proof))
        kind, body = self.read()
        if kind == b"E":
            return [(kind, body)]
        server = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        assert body[4:] == b"v=" + base64.b64encode(server)
        return self.until_ready()

    def send(self, kind: bytes, *parts: bytes) -> None:
        """One message."""
        self.sock.sendall(message(kind, *parts))

    def read(self) -> Message:
        """The next message; an empty one when the server has hung up."""
        head = self._file.read(5)
        return (head[:1], self._file.read(int.from_bytes(head[1:], "big") - 4)) if len(head) == 5 else (b"", b"")

    def until_ready(self) -> list[Message]:
        """Messages up to ReadyForQuery, or to the end."""
        found = []
        while (last := self.read())[0] not in {b"Z", b""}:
            found.append(last)
        return [*found, last]

    def ask(self, *messages: bytes) -> list[Message]:
        """What comes back for messages of the extended protocol and a Sync."""
        self.sock.sendall(b"".join(messages) + message(b"S"))
        return self.until_ready()

    def kinds(self, *messages: bytes) -> str:
        """The letters of what comes back."""
        return b"".join(kind for kind, _ in self.ask(*messages)).decode()


def parse(sql: str, types: tuple[int, ...] = (), name: str = "") -> bytes:
    """Prepare a statement."""
    kinds = b"".join(struct.pack("!I", kind) for kind in types)
    return message(b"P", zero_ended(name), zero_ended(sql), struct.pack("!H", len(types)), kinds)


def bind(*values: bytes, portal: str = "", statement: str = "", columns: tuple[int, ...] = ()) -> bytes:
    """Bind text parameters."""
    listed = b"".join(struct.pack("!i", len(v)) + v for v in values)
    formats = struct.pack(f"!h{len(columns)}h", len(columns), *columns)
    names = zero_ended(portal) + zero_ended(statement)
    return message(b"B", names, struct.pack("!hh", 0, len(values)), listed, formats)


def describe(of: str, name: str = "") -> bytes:
    """Describe a statement or a portal."""
    return message(b"D", of.encode(), zero_ended(name))


def close(of: str, name: str = "") -> bytes:
    """Close a statement or a portal."""
    return message(b"C", of.encode(), zero_ended(name))


def execute(most: int = 0, portal: str = "") -> bytes:
    """Take rows of a portal."""
    return message(b"E", zero_ended(portal), struct.pack("!i", most))
