"""Keyed coins: from a secret key to the prefix under which SQL draws (sql/coin.sql), and numbers drawn in Python.

The prefix depends on the key, the method, its parameters, the digest of the table and the number of the view. So the
same key and data give the same release, and any change gives fresh coins: the same noise under different data would
show what changed. The prefix lives in memory alone; neither it nor the key is ever written or printed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
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


def uniform(prefix: str, purpose: str) -> float:
    """A number from 0 to below 1, as `_coin_share` draws it."""
    return int(hashlib.sha256(f"{prefix}|{purpose}".encode()).hexdigest()[:13], 16) / 2**52


def poisson(mean: float, share: float) -> int:
    """The Poisson number that a uniform share stands for: values are lined up from the most likely outwards.

    Any order of the values would do; from the middle it takes about as many steps as the standard deviation, and small
    probabilities are added last, where they count least.

    >>> poisson(0.0, 0.5), poisson(3.0, 0.0)
    (0, 3)
    """
    if mean <= 0:
        return 0
    middle = int(mean)
    likely = math.exp(_log_poisson(middle, mean))
    low, high = middle, middle
    at_low = at_high = likely
    reached = likely
    while share >= reached:
        down = at_low * low / mean if low > 0 else 0.0
        up = at_high * mean / (high + 1)
        if down == up == 0.0:
            return high  # what is left is rounding
        if down >= up:
            low, at_low = low - 1, down
            reached += down
            found = low
        else:
            high, at_high = high + 1, up
            reached += up
            found = high
        if share < reached:
            return found
    return middle


def _log_poisson(k: int, mean: float) -> float:
    """The logarithm of the probability of k, without the cancellation of large terms.

    With k! by Stirling's series the large terms meet as k log(k/mean) - (k - mean), which is small near the mean.
    """
    if k < 20:
        return k * math.log(mean) - mean - math.lgamma(k + 1)
    series = 1 / (12 * k) - 1 / (360 * k**3) + 1 / (1260 * k**5)
    gap = (mean - k) / k
    return k * (math.log1p(gap) - gap) - 0.5 * math.log(2 * math.pi * k) - series
