"""Randomized views of a small domain, coin by coin, with hashlib: the same bits as in SQL."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from .counting import text

Tuple = tuple[object, ...]


def alpha_beta(rows: Sequence[Tuple], domain: Sequence[Tuple], alpha: float, beta: float, key: str) -> list[Tuple]:
    """The tuples of the view, in the order of the domain."""
    places = {coin(key, written(t)): t for t in domain}
    present = {coin(key, written(t)) for t in rows}
    prefix = coin(key, f"alpha_beta|{digits(alpha + beta)}|{digits(beta)}|{total(places)}|{total(present)}")
    kept = {bits: alpha + beta if bits in present else beta for bits in places}
    return [t for bits, t in places.items() if share(coin(prefix, bits)) < kept[bits]]


def frapp(rows: Sequence[Tuple], domain: Sequence[Tuple], stay: float, key: str) -> list[Tuple]:
    """The records of the view, in no order."""
    places = {coin(key, written(t)): t for t in domain}
    order = sorted(places)
    present = [coin(key, written(t)) for t in rows]
    prefix = coin(key, f"frapp|{digits(stay)}|{total(places)}|{total(present)}")
    view = []
    for bits, copies in Counter(present).items():
        for copy in range(copies):
            tossed = coin(prefix, f"{bits}|{copy}")
            others = order[order.index(bits) + 1 :] + order[: order.index(bits)]
            landed = bits if share(tossed) < stay else others[word(tossed, 1) % len(others)]
            view.append(places[landed])
    return view


def coin(key: str, purpose: str) -> str:
    return hashlib.sha256(f"{key}|{purpose}".encode()).hexdigest()


def share(bits: str) -> float:
    return int(bits[:13], 16) / 2**52


def word(bits: str, place: int) -> int:
    return int(bits[15 * place : 15 * place + 15], 16)


def digits(chance: float) -> int:
    """The first twelve of a probability, rounded up at the half."""
    return math.floor(chance * 1e12 + 0.5)


def total(hashed: Iterable[str]) -> str:
    """What is known of a bag of hashed tuples, whatever their order: the sums of their first two words."""
    found = list(hashed)
    return "|".join(str(sum(word(bits, place) for bits in found)) for place in (0, 1))


def written(cells: Tuple) -> str:
    """A tuple as text; a double keeps the sign of its zero."""
    texts = [repr(c) if isinstance(c, float) else text(c) for c in cells]
    return ",".join("-" if t is None else f"{len(t)}:{t}" for t in texts)
