"""Channel binding by the server's certificate (`tls-server-end-point`, RFC 5929): what SCRAM-SHA-256-PLUS proves.

Who stands between client and server with a certificate of his own cannot pass on what the client signs.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path

KIND = b"tls-server-end-point"
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_RSA, _ECDSA = bytes.fromhex("2a864886f70d0101"), bytes.fromhex("2a8648ce3d0403")
# By the algorithm that signed the certificate, as DER names it; RFC 5929 wants SHA-256 for MD5 and SHA-1. Of others,
# as of Ed25519, it does not say which hash is meant, and nothing is bound.
_HASHES = {
    _RSA + b"\x04": "sha256", _RSA + b"\x05": "sha256", _RSA + b"\x0b": "sha256", _RSA + b"\x0c": "sha384",
    _RSA + b"\x0d": "sha512", _RSA + b"\x0e": "sha224", _ECDSA + b"\x01": "sha224", _ECDSA + b"\x02": "sha256",
    _ECDSA + b"\x03": "sha384", _ECDSA + b"\x04": "sha512",
}  # fmt: skip


def end_point(cert: Path) -> bytes | None:
    """The hash of the certificate in a file of PEM format, the first where there are several; None if none is meant."""
    found = _PEM.search(cert.read_text(encoding="ascii", errors="replace"))
    if found is None:
        return None
    der = ssl.PEM_cert_to_DER_cert(found[0])
    name = _HASHES.get(_signed_by(der))
    return None if name is None else hashlib.new(name, der).digest()


def _signed_by(der: bytes) -> bytes:
    """The algorithm: a certificate is a sequence of what is signed, by which algorithm, and the signature."""
    signed, _ = _inside(der, 0)
    algorithm, _ = _inside(der, _inside(der, signed)[1])
    start, end = _inside(der, algorithm)
    return der[start:end]


def _inside(der: bytes, at: int) -> tuple[int, int]:
    """Where the contents of an element begin and end: its tag has one byte, its length one or more."""
    first, start = der[at + 1], at + 2
    if first < 0x80:
        return start, start + first
    more = first & 0x7F
    return start + more, start + more + int.from_bytes(der[start : start + more], "big")
