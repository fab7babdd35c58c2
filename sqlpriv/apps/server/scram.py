"""SCRAM-SHA-256 and -PLUS (RFC 5802 and 7677), the server's side: the password is never sent, and never stored.

-PLUS binds the login to the server's certificate (`tls-server-end-point`, RFC 5929): an attacker between client and
server with a certificate of their own cannot pass on what the client signs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.apps.server.messages import ProtocolError, Reader
from sqlpriv.core.errors import InputError

MECHANISM = b"SCRAM-SHA-256"
MECHANISM_PLUS = MECHANISM + b"-PLUS"
PASSWORD_VARIABLE = "SQLPRIV_SERVE_PASSWORD"
_ROUNDS = 4096
_SHORTEST = 8
_BINDING = b"tls-server-end-point"
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_RSA, _ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d0403")
# By the algorithm that signed the certificate, as DER names it; RFC 5929 wants SHA-256 for MD5 and SHA-1. Of others,
# as of Ed25519, it does not say which hash is meant, and nothing is bound.
_HASHES = {
    _RSA + b"\x04": "sha256", _RSA + b"\x05": "sha256", _RSA + b"\x0b": "sha256", _RSA + b"\x0c": "sha384",
    _RSA + b"\x0d": "sha512", _RSA + b"\x0e": "sha224", _ECDSA + b"\x01": "sha224", _ECDSA + b"\x02": "sha256",
    _ECDSA + b"\x03": "sha384", _ECDSA + b"\x04": "sha512",
}  # fmt: skip


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


def authenticate(
    verifier: Verifier,
    send: Callable[[int, bytes], None],
    receive: Callable[[], bytes],
    certificate: bytes | None = None,
) -> None:
    """Let the client prove that it knows the password; `send` sends a step, `receive` waits for the client's next.

    With `certificate`, the hash of ours, the client may also prove that it speaks to this server.
    """
    send(10, (b"" if certificate is None else MECHANISM_PLUS + b"\0") + MECHANISM + b"\0\0")
    start = Reader(receive())
    mechanism = start.text().encode()
    if mechanism != MECHANISM and (mechanism != MECHANISM_PLUS or certificate is None):
        raise ProtocolError("the client proposes a way to authenticate that was not offered")
    first = start.take(start.int32())
    start.end()
    header, bare = _split_header(first)
    channel = header + _binding_data(header, mechanism, certificate)
    nonce = _part(_fields(bare), b"r") + base64.b64encode(secrets.token_bytes(18))
    second = b"r=" + nonce + b",s=" + base64.b64encode(verifier.salt) + b",i=" + str(_ROUNDS).encode()
    send(11, second)
    without_proof, _, proof = receive().rpartition(b",p=")
    given = _fields(without_proof)
    if _decoded(_part(given, b"c")) != channel:
        raise ProtocolError("SCRAM: the channel is not the one that was announced, or not to this server")
    signed = b",".join((bare, second, without_proof))
    key = _xor(_decoded(proof), _mac(verifier.stored_key, signed))
    fits = hmac.compare_digest(hashlib.sha256(key).digest(), verifier.stored_key)
    if not (hmac.compare_digest(_part(given, b"r"), nonce) and fits):
        raise WrongPasswordError
    send(12, b"v=" + base64.b64encode(_mac(verifier.server_key, signed)))


def _split_header(first: bytes) -> tuple[bytes, bytes]:
    """The header of the first message, `n,,` say, and the rest; nobody logs in for another."""
    flag, _, after = first.partition(b",")
    other_user, found, bare = after.partition(b",")
    if other_user or not found or bare.startswith(b"m="):  # an extension that must be understood
        raise ProtocolError("SCRAM: the first message cannot be read")
    return flag + b",,", bare


def _binding_data(header: bytes, mechanism: bytes, certificate: bytes | None) -> bytes:
    """What the client's view of the channel must end with; the header says whether the client binds it."""
    flag = header[:-2]
    if mechanism == MECHANISM_PLUS:
        if flag != b"p=" + _BINDING:
            raise ProtocolError("SCRAM-SHA-256-PLUS binds the channel by tls-server-end-point alone")
        return certificate or b""
    if flag.startswith(b"p="):
        raise ProtocolError("SCRAM-SHA-256 binds no channel; propose SCRAM-SHA-256-PLUS, by TLS")
    if flag == b"y" and certificate is not None:
        raise ProtocolError("SCRAM: the client does not know that the channel can be bound; somebody may be in between")
    if flag not in {b"n", b"y"}:
        raise ProtocolError("SCRAM: the first message cannot be read")
    return b""


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


def certificate_hash(cert: Path) -> bytes | None:
    """The hash of the first certificate in a PEM file, for channel binding; None where RFC 5929 names no hash."""
    found = _PEM.search(cert.read_text(encoding="ascii", errors="replace"))
    if found is None:
        return None
    der = ssl.PEM_cert_to_DER_cert(found[0])
    # The algorithm stands right behind the serial number: no other of these can come before it.
    places = {der.find(algorithm): name for algorithm, name in _HASHES.items() if algorithm in der}
    return hashlib.new(places[min(places)], der).digest() if places else None
