"""Elements of the domain as whole numbers.

An element is a tuple with its slot. Its number in mixed radix would be too large for a machine word when the domain has
10^30 tuples, so it is cut into limbs, each below 2^36: a 60-bit word modulo a limb is uniform up to 2^-24, and one
SHA-256 gives four words. With up to 7 * 10^10 elements there is one limb, and sorting, comparing and removing
duplicates are operations on one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

LIMB = 2**36


@dataclass(frozen=True)
class Digit:
    """Where one attribute stands: which limb, times what, below what."""

    limb: int
    stride: int
    size: int

    def of(self, limbs: Sequence[str]) -> str:
        """SQL for the attribute's number, from the limbs."""
        limb = limbs[self.limb]
        shifted = limb if self.stride == 1 else f"{limb} // {self.stride}"
        return f"({shifted}) % {self.size}"


@dataclass(frozen=True)
class Elements:
    """The numbering of all elements: a digit for every attribute, and a last one for the slot."""

    digits: tuple[Digit, ...]
    limbs: tuple[int, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that hold an element."""
        return [f"e{i}" for i in range(len(self.limbs))]

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.limbs)

    def number(self, ids: Sequence[str]) -> list[str]:
        """SQL for the limbs, from the numbers of all digits."""
        terms: list[list[str]] = [[] for _ in self.limbs]
        for digit, number in zip(self.digits, ids, strict=True):
            terms[digit.limb].append(f"({number}) * {digit.stride}")
        return [" + ".join(parts) for parts in terms]


def number_elements(sizes: Sequence[int]) -> Elements:
    """Give every digit its place; the first attribute weighs most, so numbers sort as the tuples do.

    >>> [(d.limb, d.stride) for d in number_elements([10, 2**30, 100]).digits]
    [(0, 1073741824), (0, 1), (1, 1)]
    """
    groups: list[list[int]] = [[]]
    for size in sizes:
        if prod(groups[-1]) * size > LIMB and groups[-1]:
            groups.append([])
        groups[-1].append(size)
    digits = [
        Digit(limb, prod(group[i + 1 :]), size) for limb, group in enumerate(groups) for i, size in enumerate(group)
    ]
    return Elements(tuple(digits), tuple(prod(group) for group in groups))
