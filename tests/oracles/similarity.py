"""Jaro's similarity of two texts, letter by letter."""

from __future__ import annotations

from fractions import Fraction

from .counting import TOLERANCE


def similar(one: str, other: str, least: float) -> bool:
    """Whether two texts are at least so similar."""
    return jaro(one, other) >= Fraction(str(least)) - TOLERANCE


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
