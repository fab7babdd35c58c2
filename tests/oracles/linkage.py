"""Record linkage: every record with every entry, compared one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .counting import TOLERANCE
from .disclosure import Cells


def jaro(one: str, other: str) -> Fraction:
    """Jaro's similarity: letters in common, not too far apart, and how many of them change places."""
    if one == other:
        return Fraction(1)
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken: list[int] = []
    own = []
    for at, letter in enumerate(one):
        near = range(max(at - reach, 0), min(at + reach + 1, len(other)))
        match = next((place for place in near if other[place] == letter and place not in taken), None)
        if match is not None:
            taken.append(match)
            own.append(letter)
    if not own:
        return Fraction(0)
    moved = sum(a != b for a, b in zip(own, (other[place] for place in sorted(taken)), strict=True)) // 2
    common = len(own)
    return (Fraction(common, len(one)) + Fraction(common, len(other)) + Fraction(common - moved, common)) / 3


def linkage(
    records: Sequence[Cells], entries: Sequence[Cells], similarities: Sequence[float | None], blocks: Sequence[int]
) -> list[tuple[int, int]]:
    """The numbers of the records and entries that belong together; of the cells at `blocks` one must be equal."""

    def linked(record: Cells, entry: Cells) -> bool:
        if not any(record[place] == entry[place] and record[place] not in (None, "*") for place in blocks):
            return False
        for own, other, least in zip(record, entry, similarities, strict=True):
            if own in (None, "*") or other in (None, "*") or own == other:
                continue
            if least is None or jaro(str(own), str(other)) < Fraction(str(least)) - TOLERANCE:
                return False
        return True

    return [(r, e) for r, record in enumerate(records) for e, entry in enumerate(entries) if linked(record, entry)]


def linkage_risk(losses: Sequence[float], ids: Sequence[int]) -> tuple[int, float, float]:
    """records, risk and worst, from the loss of each way to link a record."""
    own = [[loss for loss, of in zip(losses, ids, strict=True) if of == name] for name in sorted(set(ids))]
    means = [sum(some) / len(some) for some in own]
    return len(means), sum(means) / len(means), max(means)
