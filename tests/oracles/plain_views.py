"""Tables that are published in plain SQL, row by row and coin by coin, with hashlib: the same bits as in SQL."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from .counting import Rows, class_of, text
from .views import Tuple, coin, digits, share, total, written


def suppress(rows: Rows, qis: Sequence[str], k: int, person: str | None = None) -> list[dict[str, object]]:
    """The rows of classes with k rows, or persons, or more."""
    members: dict[object, set[object]] = {}
    for number, row in enumerate(rows):
        members.setdefault(class_of(row, qis), set()).add(number if person is None else row[person])
    return [dict(row) for row in rows if len(members[class_of(row, qis)]) >= k]


def noisy_counts(rows: Sequence[Tuple], domain: Sequence[Tuple], p: float, q: float, key: str) -> list[Tuple]:
    """The rows of the view, in the order of the domain."""
    places = {coin(key, written(t)): t for t in domain}
    present = Counter(coin(key, written(t)) for t in rows)
    prefix = coin(key, f"noisy_counts|{digits(p)}|{digits(q)}|{total(places)}|{total(present.elements())}")
    view: list[Tuple] = []
    for bits, found in places.items():
        kept = binomial(present[bits], p, share(coin(prefix, f"keep|{bits}")))
        view += [found] * (kept + geometric(q, share(coin(prefix, f"noise|{bits}"))))
    return view


def signed_noisy_counts(rows: Sequence[Tuple], domain: Sequence[Tuple], a: float, key: str) -> list[Tuple]:
    """The rows of the view, each with its weight at the end."""
    places = {coin(key, written(t)): t for t in domain}
    present = Counter(coin(key, written(t)) for t in rows)
    prefix = coin(key, f"signed_noisy_counts|{digits(a)}|{total(places)}|{total(present.elements())}")
    view: list[Tuple] = []
    for bits, found in places.items():
        up, down = (geometric(a, share(coin(prefix, f"{side}|{bits}"))) for side in ("plus", "minus"))
        count = present[bits] + up - down
        view += [(*found, 1.0 if count > 0 else -1.0)] * abs(count)
    return view


def sdgs(labelled: Sequence[Tuple], k: int, beta: float, key: str) -> list[Tuple]:
    """What is left of generalized rows: a sample, of which rows that are there fewer than k times are left out."""
    tuples = {coin(key, written(t)): t for t in labelled}
    present = Counter(coin(key, written(t)) for t in labelled)
    prefix = coin(key, f"sdgs|{k}|{digits(beta)}|{total(present.elements())}")
    seen = {bits: binomial(n, beta, share(coin(prefix, bits))) for bits, n in present.items()}
    return [tuples[bits] for bits, n in seen.items() if n >= k for _ in range(n)]


def anatomy(rows: Sequence[tuple[Tuple, object]], l: int, key: str) -> list[tuple[int, Tuple, object]]:  # noqa: E741
    """Rows given as (other cells, sensitive value), each with its group in front."""
    groups = len(rows) // l
    if groups == 0 or max(Counter(written_value(value) for _, value in rows).values()) > groups:
        raise ValueError("no l different values in every group")
    bits = [coin(key, written((value, *cells))) for cells, value in rows]
    prefix = coin(key, f"anatomy|{l}|{total(bits)}")
    copies: Counter[str] = Counter()
    coins = []
    for own, (_, value) in zip(bits, rows, strict=True):
        copies[own] += 1
        label = written_value(value)
        coins.append((coin(prefix, f"value|{label}"), coin(prefix, f"row|{own}|{copies[own]}")))
    order = sorted(range(len(rows)), key=lambda i: coins[i])
    names = {place: n for n, place in enumerate(sorted(range(groups), key=lambda g: coin(prefix, f"group|{g}")), 1)}
    return [(names[place % groups], *rows[i]) for place, i in enumerate(order)]


def written_value(value: object) -> str:
    """A sensitive value as text; NULL is no text."""
    found = repr(value) if isinstance(value, float) else text(value)
    return "" if found is None else f"={found}"


def binomial(rows: int, p: float, coin_share: float) -> int:
    """The smallest number of rows whose cumulative probability is above the share."""
    chance, below = Fraction(p), Fraction(0)
    for kept in range(rows):
        below += math.comb(rows, kept) * chance**kept * (1 - chance) ** (rows - kept)
        if below > Fraction(coin_share):
            return kept
    return rows


def geometric(q: float, coin_share: float) -> int:
    """The largest number of copies j with q^j at least 1 - share."""
    copies, left = 0, Fraction(q)
    while left >= 1 - Fraction(coin_share):
        copies, left = copies + 1, left * Fraction(q)
    return copies
