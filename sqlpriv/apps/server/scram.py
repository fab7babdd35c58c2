"""SCRAM-SHA-256 (RFC 5802 and 7677), the server's side: the password is never sent, and never stored."""

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

from sqlpriv.apps.server.messages import ProtocolError, Reader
from sqlpriv.core.errors import InputError

MECHANISM = b"SCRAM-SHA-256"
PASSWORD_VARIABLE = "SQLPRIV_SERVE_PASSWORD"
_ROUNDS = 4096
_SHORTEST = 8


class WrongPasswordError(Exception):
    """A wrong user or password; which of them is not reported."""


@dataclass(frozen=True)
class Verifier:
    """What is stored of a user: keys that recognise the password, and from which it cannot be computed."""

    user: str
    salt: bytes
    stored_key: bytes
    server_key: bytes


def make_verifier(user: str, password: str) -> Verifier:
    """What to store of a user's password."""
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    stored_key = hashlib.sha256(_mac(salted, b"Client Key")).digest()
    return Verifier(user, salt, stored_key, _mac(salted, b"Server Key"))


def unknown_user(user: str, secret: bytes) -> Verifier:
    """What an unknown user is compared with: always the same salt, and no password that fits."""
    drawn = hashlib.sha256(secret + user.encode(errors="replace")).digest()
    return Verifier(user, drawn[:16], os.urandom(32), os.urandom(32))


def read_password(file: Path | None) -> str:
    """The password from a file that only its owner reads, or from the environment; never from the command line."""
    if file is None:
        found, where = os.environ.get(PASSWORD_VARIABLE, ""), PASSWORD_VARIABLE
        if not found:
            raise InputError(f"there is no password: name its file with --password-file, or set {PASSWORD_VARIABLE}")
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


def authenticate(verifier: Verifier, send: Callable[[int, bytes], None], receive: Callable[[], bytes]) -> None:
    """Let the client prove that it knows the password; `send` sends a step, `receive` waits for the client's next."""
    send(10, MECHANISM + b"\0\0")
    start = Reader(receive())
    if start.text().encode() != MECHANISM:
        raise ProtocolError("the client proposes a way to authenticate that was not offered")
    first = start.take(start.int32())
    start.end()
    header, bare = _split_header(first)
    nonce = _part(_fields(bare), b"r") + base64.b64encode(secrets.token_bytes(18))
    second = b"r=" + nonce + b",s=" + base64.b64encode(verifier.salt) + b",i=" + str(_ROUNDS).encode()
    send(11, second)
    without_proof, _, proof = receive().rpartition(b",p=")
    given = _fields(without_proof)
    if _decoded(_part(given, b"c")) != header:
        raise ProtocolError("SCRAM: the channel is not the one that was announced")
    signed = b",".join((bare, second, without_proof))
    key = _xor(_decoded(proof), _mac(verifier.stored_key, signed))
    fits = hmac.compare_digest(hashlib.sha256(key).digest(), verifier.stored_key)
    if not (hmac.compare_digest(_part(given, b"r"), nonce) and fits):
        raise WrongPasswordError
    send(12, b"v=" + base64.b64encode(_mac(verifier.server_key, signed)))


def _split_header(first: bytes) -> tuple[bytes, bytes]:
    """The header of the first message, `n,,` say, and the rest; nobody binds the channel, or logs in for another."""
    header, bare = first[:3], first[3:]
    if header not in {b"n,,", b"y,,"} or bare.startswith(b"m="):  # an extension that must be understood
        raise ProtocolError("SCRAM: the first message cannot be read, or binds the channel")
    return header, bare


def _mac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _xor(one: bytes, other: bytes) -> bytes:
    if len(one) != len(other):
        raise WrongPasswordError
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
