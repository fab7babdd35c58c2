"""To know a table again, slowly: cells as text, sums of words, and what two sketches share beyond chance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

WORDS = 2**52


def cell_text(cell: str | None) -> str:
    """A cell, given as DuckDB writes it."""
    text = (cell or "").strip(" ").lower()
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text) and abs(float(text)) < 9e15:
        number = float(text)
        return str(int(number)) if number == int(number) else repr(number)
    if re.match(r"....-..-..", text):
        text = re.sub(r"^(.{10})t", r"\1 ", text)
        return re.sub(r" 00:00:00$", "", text)
    return text


def row_word(words: list[int]) -> int:
    """The word of a row from those of its cells."""
    return sum(words) % WORDS


def row_digest(word: int, other: int) -> int:
    """What a row adds to the digest of its table."""
    return (word % 2**40) * (other % 2**40)


Cells = Mapping[int, int]
"""Hashes with the copies of their rows."""


def reach(sketch: Cells, size: int) -> float:
    """Up to where a sketch says what there is."""
    return math.inf if len(sketch) < size else max(sketch)


def resemblance(known: Cells, given: Cells, size: int) -> tuple[int, int, float, float | None, bool]:
    """Shared and smaller number of rows, how many are shared by chance, evenness, and whether they are alike."""
    end = min(reach(known, size), reach(given, size))
    pairs = [(known.get(h, 0), given.get(h, 0)) for h in {*known, *given} if h <= end]
    shared = sum(a > 0 and b > 0 for a, b in pairs)
    firsts, seconds = sum(a > 0 for a, _ in pairs), sum(b > 0 for _, b in pairs)
    smaller = min(firsts, seconds)
    larger = [a for a, _ in pairs if a] if firsts >= seconds else [b for _, b in pairs if b]
    rows = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    ratio = rows[1] / rows[0] if firsts >= seconds else rows[0] / rows[1]
    by_chance = min(seen_again(larger, ratio), smaller)
    evens = [evenness(pairs, 1), evenness([(a, b) for a, b in pairs if a and b], 5)]
    known_evens = [e for e in evens if e is not None]
    even = min(known_evens) if known_evens else None
    telling = shared - by_chance >= 3 * math.sqrt(by_chance + 1) or (even is not None and even <= -3)
    return shared, smaller, by_chance, even, shared >= smaller / 2 and telling


def listed_rows(private: Cells, public: Cells, size: int) -> tuple[bool, bool, bool]:
    """Whether all public rows are equally often there, most are alone in the private table, half of it is theirs."""
    end = min(reach(private, size), reach(public, size))
    copies = [n for h, n in public.items() if h <= end]
    alone = [h for h in public if h <= end and private.get(h, 0) == 1]
    both = [h for h in public if h <= end and h in private]
    rows = sum(n for h, n in private.items() if h <= end)
    return len(set(copies)) == 1, len(alone) > len(copies) / 2, len(both) >= rows / 2


def seen_again(copies: list[int], ratio: float) -> float:
    """How many kinds of rows a sample `ratio` times as large sees again (Good and Turing)."""
    once, twice = copies.count(1), copies.count(2)
    again = once * (1 - math.exp(-ratio * 2 * twice / once)) if once else 0.0
    return again + sum(1 - math.exp(-ratio * n) for n in copies if n > 1)


def evenness(pairs: list[tuple[int, int]], enough: float) -> float | None:
    """How much more even the copies are than those of two samples of one population."""
    first = share_of(pairs)
    pairs = [(a, b) for a, b in pairs if (a + b) * min(first, 1 - first) >= enough]
    share = share_of(pairs)
    if len(pairs) < 2 or not 0 < share < 1:
        return None
    statistic = sum((a - share * (a + b)) ** 2 / (share * (1 - share) * (a + b)) for a, b in pairs)
    degrees = len(pairs) - 1
    return ((statistic / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))


def share_of(pairs: list[tuple[int, int]]) -> float:
    """The part of the rows that the first table has."""
    total = sum(a + b for a, b in pairs)
    return sum(a for a, _ in pairs) / total if total else 0.0
