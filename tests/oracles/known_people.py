"""To know the same people again, slowly: which columns are alike, and whether earlier rows are there beyond chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def drawn_copies(copies: int, rows: int, size: int, word: int) -> int:
    """How many copies of a row are drawn."""
    return math.floor(copies * min(1.0, size / rows) + word / 2**52)


def column_likeness(known: Mapping[int, float], given: Mapping[int, float], size: int) -> float | None:
    """The overlap of two columns' shares, by that of a sample of the second; None where they share no value."""
    if not set(known) & set(given):
        return None
    overlap = sum(min(share, given[value]) for value, share in known.items() if value in given)
    return overlap / sum(share * (1 - math.exp(-size * share)) for share in given.values())


@dataclass(frozen=True)
class Row:
    """A row that is looked for: of the new table itself or an earlier one, with what equals it there."""

    own: bool
    weight: int
    others: int
    chance: float | None


def contained_people(rows: Sequence[Row], total: int) -> tuple[float, float, float, float, float | None]:
    """c, e, U, rho and its score."""
    own = [r for r in rows if r.own]
    earlier = [r for r in rows if not r.own]
    placed = sum(r.weight for r in own if r.chance is not None)
    bins = max(1, min(20, sum(r.chance is not None for r in own) // 50))

    def bin_of(chance: float) -> float:
        below = sum(r.weight for r in own if r.chance is not None and r.chance <= chance)
        return math.ceil(bins * below / placed)

    first = min(bin_of(r.chance) for r in own if r.chance is not None)
    again: dict[float, float] = {}
    for b in {bin_of(r.chance) for r in own if r.chance is not None}:
        there = [r for r in own if r.chance is not None and bin_of(r.chance) == b]
        share = sum(r.weight for r in there if r.others) / sum(r.weight for r in there)
        again[b] = (len(there) * share + 0.5) / (len(there) + 1)
    weights = sum(r.weight for r in earlier)
    independent = {r.chance: 1 - math.exp(-total * r.chance) for r in rows if r.chance is not None}
    excess = sum(r.weight * ((r.others > 0) - independent[r.chance]) for r in own if r.chance is not None)
    looked_for = [
        (r, max(again[max(first, bin_of(r.chance))], independent[r.chance] if excess < 0 else 0.0))
        for r in earlier
        if r.chance is not None
    ]
    contained = sum(r.weight for r, _ in looked_for if r.others) / weights
    expected = sum(r.weight * e for r, e in looked_for) / weights
    variance = sum(r.weight**2 * e * (1 - e) for r, e in looked_for) / weights**2
    distinct = sum(r.weight for r in own if not r.others) / sum(r.weight for r in own)
    more = 1 + len(earlier) / len(own)
    score = (contained - expected) / math.sqrt(variance * more) if variance else None
    return contained, expected, distinct, (contained - expected) / (1 - expected), score
