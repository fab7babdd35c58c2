"""What a page is made of: sections with sentences, tables and charts, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.core.facts import Part
from sqlpriv.display.charts import Picture


@dataclass(frozen=True)
class Code:
    """Text to copy, as it is."""

    text: str


@dataclass(frozen=True)
class Signature:
    """Places to fill in, by hand or by keyboard."""

    places: tuple[str, ...]


Piece = Part | Picture | Code | Signature


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, and what stands in it."""

    name: str
    title: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Page:
    """All of it. `passed` is None where nothing was judged."""

    title: str
    verdict: str
    passed: bool | None
    audience: str
    """Who may read it."""
    sections: tuple[Section, ...]
