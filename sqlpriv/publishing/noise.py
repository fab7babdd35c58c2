"""Keyed noise: from a secret key to the prefix under which SQL draws (sql/operators/coin.sql).

The prefix depends on the key and on a NoiseSeed: the method's tag, its parameters, the digest of the table and the
number of the view. So the same key and data give the same release, and any change gives fresh noise: the same noise
under different data would show what changed. The prefix lives in memory alone; neither it nor the key is ever written
or printed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sqlpriv.core.errors import InputError

SHORT = 16
"""A key with fewer bytes may be guessed."""


def read_key(path: Path | None) -> bytes:
    """The key in a file, or a fresh one from the operating system."""
    if path is None:
        return os.urandom(32)
    try:
        key = path.read_bytes().strip()
    except OSError:
        raise InputError(f"there is no key file {path.name!r}, or it cannot be read") from None
    if not key:
        raise InputError(f"the key file {path.name!r} is empty; make a key with `openssl rand -hex 32`")
    return key


@dataclass(frozen=True)
class NoiseSeed:
    """What the noise of a release is made from, besides its key. Its bytes are frozen.

    A release can be written again, to the last row, only while these bytes stay the same: a method may be renamed, but
    its tag may not. The ledger may record more, but no parameter may be added here (tests/methods/test_noise_seed.py).
    """

    tag: str
    """The method, under the name that it had when its noise was first drawn."""
    parameters: Mapping[str, object]
    digest: str
    """Of what is published of the private table."""

    def message(self, view: int) -> bytes:
        """The bytes that the key is applied to, for one view."""
        parameters = {**self.parameters, "method": self.tag}
        return json.dumps(["sqlpriv", parameters, self.digest, view], sort_keys=True).encode()

    def prefix(self, key: bytes, view: int) -> str:
        """What every draw of one view starts with: 64 hexadecimal digits."""
        return hmac.new(key, self.message(view), hashlib.sha256).hexdigest()

    def slots(self, key: bytes) -> str:
        """What the slots of a sequence start with: a row keeps its slot, or its views would be independent."""
        parameters = {name: value for name, value in self.parameters.items() if name != "key"}
        return replace(self, parameters=parameters, digest="slots").prefix(key, 0)

    def of_sequence(self, key: bytes) -> NoiseSeed:
        """The seed of a sequence of views, which includes a fingerprint of its key: the key decides the slots."""
        return replace(self, parameters={**self.parameters, "key": fingerprint(self.slots(key))})


def fingerprint(prefix: str) -> str:
    """What the ledger keeps of the noise: equal for equal noise, and of no use to draw it."""
    return hashlib.sha256(f"{prefix}|fingerprint".encode()).hexdigest()[:32]
