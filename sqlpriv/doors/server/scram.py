"""SCRAM-SHA-256 and -PLUS (RFC 5802 and 7677), the server's side: the password is never sent, and never kept."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.doors.server.binding import KIND
from sqlpriv.doors.server.reader import ProtocolError, Reader
from sqlpriv.errors import InputError

MECHANISM = b"SCRAM-SHA-256"
BOUND = MECHANISM + b"-PLUS"
PASSWORD = "SQLPRIV_SERVE_PASSWORD"
_ROUNDS = 4096
_SHORTEST = 8


class RefusedError(Exception):
    """A wrong user or password; which of them is not told."""


@dataclass(frozen=True)
class Login:
    """What is kept of a user: keys by which a password is recognised, and cannot be found."""

    user: str
    salt: bytes
    stored: bytes
    server: bytes


def login(user: str, password: str) -> Login:
    """What to keep of a user's password."""
    return _login(user, password, os.urandom(16))


def read_password(file: Path | None) -> str:
    """The password from a file that only its owner reads, or from the environment; never from the command line."""
    if file is None:
        found, where = os.environ.get(PASSWORD, ""), PASSWORD
        if not found:
            raise InputError(f"there is no password: name its file with --password-file, or set {PASSWORD}")
    else:
        found, where = _first_line(file), str(file)
    if not (found.isascii() and found.isprintable()):
        raise InputError(f"the password in {where!r} has signs that drivers write differently; use printable ASCII")
    if len(found) < _SHORTEST:
        raise InputError(f"the password in {where!r} is too short; use {_SHORTEST} signs or more")
    return found


def _first_line(file: Path) -> str:
    try:
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise InputError(f"others can read {str(file)!r}; chmod 600 it")
        return file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, ValueError):
        raise InputError(f"cannot read a password in {str(file)!r}; name a text file of one line") from None


def _login(user: str, password: str, salt: bytes) -> Login:
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    stored = hashlib.sha256(_mac(salted, b"Client Key")).digest()
    return Login(user, salt, stored, _mac(salted, b"Server Key"))


def nobody(user: str, secret: bytes) -> Login:
    """What an unknown user is compared with: always the same salt, and no password that fits."""
    drawn = hashlib.sha256(secret + user.encode(errors="replace")).digest()
    return Login(user, drawn[:16], os.urandom(32), os.urandom(32))


def authenticate(
    known: Login, ask: Callable[[int, bytes], None], answer: Callable[[], bytes], end_point: bytes | None = None
) -> None:
    """Let the client prove that it knows the password; `ask` sends a step, `answer` waits for the next.

    With an `end_point`, the hash of our certificate, it may prove as well that it is this server it speaks to.
    """
    ask(10, (b"" if end_point is None else BOUND + b"\0") + MECHANISM + b"\0\0")
    start = Reader(answer())
    mechanism = start.text().encode()
    if mechanism != MECHANISM and (mechanism != BOUND or end_point is None):
        raise ProtocolError("the client proposes a way to authenticate that was not offered")
    first = start.take(start.int32())
    start.end()
    header, bare = _parted(first)
    channel = header + _bound(header, mechanism, end_point)
    nonce = _part(_fields(bare), b"r") + base64.b64encode(secrets.token_bytes(18))
    second = b"r=" + nonce + b",s=" + base64.b64encode(known.salt) + b",i=" + str(_ROUNDS).encode()
    ask(11, second)
    last = answer()
    without, _, proof = last.rpartition(b",p=")
    given = _fields(without)
    if _decoded(_part(given, b"c")) != channel:
        raise ProtocolError("SCRAM: the channel is not the one that was announced, or not to this server")
    signed = b",".join((bare, second, without))
    key = _xor(_decoded(proof), _mac(known.stored, signed))
    fits = hmac.compare_digest(hashlib.sha256(key).digest(), known.stored)
    if not (hmac.compare_digest(_part(given, b"r"), nonce) and fits):
        raise RefusedError
    ask(12, b"v=" + base64.b64encode(_mac(known.server, signed)))


def _parted(first: bytes) -> tuple[bytes, bytes]:
    """The header of the first message, `n,,` say, and the rest; nobody logs in for another."""
    flag, _, after = first.partition(b",")
    other, found, bare = after.partition(b",")
    if other or not found or bare.startswith(b"m="):  # an extension that must be understood
        raise ProtocolError("SCRAM: the first message cannot be read")
    return flag + b",,", bare


def _bound(header: bytes, mechanism: bytes, end_point: bytes | None) -> bytes:
    """What the client's view of the channel must end with; whether it binds it is said in the header."""
    flag = header[:-2]
    if mechanism == BOUND:
        if flag != b"p=" + KIND:
            raise ProtocolError("SCRAM-SHA-256-PLUS binds the channel by tls-server-end-point alone")
        return end_point or b""
    if flag.startswith(b"p="):
        raise ProtocolError("SCRAM-SHA-256 binds no channel; propose SCRAM-SHA-256-PLUS, by TLS")
    if flag == b"y" and end_point is not None:
        raise ProtocolError("SCRAM: the client was not told that the channel can be bound; somebody may be in between")
    if flag not in {b"n", b"y"}:
        raise ProtocolError("SCRAM: the first message cannot be read")
    return b""


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _xor(one: bytes, other: bytes) -> bytes:
    if len(one) != len(other):
        raise RefusedError
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def _fields(text: bytes) -> dict[bytes, bytes]:
    return {name: value for name, _, value in (part.partition(b"=") for part in text.split(b","))}


def _part(fields: dict[bytes, bytes], name: bytes) -> bytes:
    if not fields.get(name):
        raise ProtocolError("SCRAM: a part of a message is missing")
    return fields[name]


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ProtocolError("SCRAM: a part of a message cannot be read") from None
