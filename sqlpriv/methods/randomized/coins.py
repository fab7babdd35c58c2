"""Keyed coins: from a secret key to the prefix under which SQL draws (sql/operators/coin.sql).

The prefix depends on the key, the method, its parameters, the digest of the table and the number of the view. So the
same key and data give the same release, and any change gives fresh coins: the same noise under different data would
show what changed. The prefix lives in memory alone; neither it nor the key is ever written or printed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path

from sqlpriv.errors import InputError

SHORT = 16


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


def coin_prefix(key: bytes, parameters: Mapping[str, object], digest: str, view: int) -> str:
    """What every coin of one view starts with: 64 hexadecimal digits."""
    message = json.dumps(["sqlpriv", dict(parameters), digest, view], sort_keys=True)
    return hmac.new(key, message.encode(), hashlib.sha256).hexdigest()


def slot_prefix(key: bytes, parameters: Mapping[str, object]) -> str:
    """What the slots of a sequence start with: a row keeps its slot, or its views would be independent."""
    return coin_prefix(key, {k: v for k, v in parameters.items() if k != "key"}, "slots", 0)


def fingerprint(prefix: str) -> str:
    """What the ledger keeps of the coins: equal for equal coins, and of no use to draw them."""
    return hashlib.sha256(f"{prefix}|fingerprint".encode()).hexdigest()[:32]
