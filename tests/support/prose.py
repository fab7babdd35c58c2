"""What makes prose hard to read, found by rules: `python -m tests.support.prose docs/*.md` lists it.

    words       no word or phrase that design.md replaces by a plain one
    length      no sentence above 35 words; the median of a page is below 18
    spelling    every word is in a dictionary, or in the glossary of this project
    page        at most 250 lines

Code, tables and links' addresses are no prose. Pages that are written by the code (All macros) are left out.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LONGEST, MEDIAN, LINES = 35, 18, 250
GLOSSARY = Path(__file__).parents[1] / "fixtures" / "glossary.txt"
GENERATED = ("macros.md",)
# The "today" column of the table of plain words, as far as it is not also ordinary English.
_DIALECT = (
    r"is told|are told|tells of",
    r"throws? (a )?coins?|thrown coins|coins? decides?",
    r"stands? beside",
    r"hang together",
    r"who knows only",
    r"of which there",
    r"can become certain",
    r"is called after its rows",
    r"date and version are some",
    r"how many they are",
    r"the same of the entropy",
    r"make some coarser before",
    r"\bminds\b|\bpriced\b|\bdoorstep\b",
    r"\bbags?\b",
)
DIALECT = re.compile("|".join(_DIALECT), re.IGNORECASE)


def paragraphs(markdown: str) -> Iterator[str]:
    """The prose of a page: paragraphs and items of lists, without code, tables and headings."""
    text = re.sub(r"<!--.*?-->|```.*?```|<svg.*?</svg>|<details>|</details>", "\n\n", markdown, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in block.splitlines()]
        kept = [line for line in lines if line and not line.startswith(("|", "#", "!!!", "<"))]
        yield from (item for item in re.split(r"\n(?:[-*>]|\d+\.) ", "\n" + "\n".join(kept)) if item.strip())


def plain(text: str) -> str:
    """Without marks and addresses; a piece of code is one word."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))
    return " ".join(re.sub(r"[*_]+", " ", text).split())


def sentences(paragraph: str) -> list[str]:
    """A paragraph, cut where sentences end."""
    return [s for s in re.split(r"(?<=[.!?])\s+", plain(paragraph)) if len(s.split()) > 1]


@cache
def _dictionary() -> frozenset[str]:
    from spellchecker import SpellChecker

    known = SpellChecker().word_frequency.words()
    return frozenset(known) | frozenset(GLOSSARY.read_text(encoding="utf-8").split())


def misspelt(text: str) -> set[str]:
    """The words that neither the dictionary nor the glossary has."""
    words = {w.casefold().removesuffix("'s") for w in re.findall(r"\b[A-Za-z][a-z]+(?:'[a-z]+)?\b", plain(text))}
    return {w for w in words if w not in _dictionary() and w.rstrip("s") not in _dictionary()}


def problems(name: str, markdown: str) -> list[str]:
    """All that makes a page hard to read, a line each."""
    found = []
    if (lines := markdown.count("\n")) > LINES:
        found.append(f"{name}: {lines} lines, more than {LINES}")
    lengths = []
    for paragraph in paragraphs(markdown):
        found += [
            f"{name}: {match.group(0)!r} in: {plain(paragraph)[:80]}" for match in DIALECT.finditer(plain(paragraph))
        ]
        for sentence in sentences(paragraph):
            lengths.append(len(sentence.split()))
            if lengths[-1] > LONGEST:
                found.append(f"{name}: {lengths[-1]} words: {sentence[:90]}")
        found += [f"{name}: spelling: {word}" for word in sorted(misspelt(paragraph))]
    if lengths and (median := statistics.median(lengths)) >= MEDIAN:
        found.append(f"{name}: the median sentence has {median:g} words")
    return found


def main() -> None:
    """List the problems of the pages that are named."""
    found = [p for page in sys.argv[1:] for p in problems(page, Path(page).read_text(encoding="utf-8"))]
    print("\n".join(found) or "nothing to complain about")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
