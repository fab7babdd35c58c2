"""What an attack found: a sentence, its numbers, and the same numbers of the private table beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlpriv.core.facts import Part, shown_number


@dataclass(frozen=True)
class Figure:
    """A number of what is attacked, and the same of the private table, where that is at hand."""

    name: str
    """By which machines know it."""
    words: str
    value: float | None
    raw: float | None = None
    is_share: bool = False
    """Whether it is a belief or a share, and no count."""
    is_drawn: bool = False
    """Whether it is a number of people that a picture shows."""


@dataclass(frozen=True)
class Finding:
    """An attack that was run."""

    attack: str
    sentence: str
    figures: tuple[Figure, ...]
    about: str | None = None
    """The sensitive column that it is about."""
    case: str = ""
    """Which of several cases of one attack it is, in a few words."""
    private: tuple[Part, ...] = ()
    """Parts with values of people, for who asks for them."""

    def to_json(self) -> dict[str, Any]:
        """As `--json` lists it."""
        of = {} if self.about is None else {"sensitive": self.about}
        of |= {"case": self.case} if self.case else {}
        found = {f.name: {"value": f.value, "raw": f.raw} for f in self.figures}
        return {"attack": self.attack, **of, "sentence": self.sentence, "figures": found}


@dataclass(frozen=True)
class NotRun:
    """An attack that was not run, and why."""

    attack: str
    why: str


Findings = Iterator[Finding | NotRun]
"""What an attack gives: often one finding for each sensitive column."""


@dataclass(frozen=True)
class Pair:
    """Numbers of what is attacked, and of the private table, by the same names."""

    own: Mapping[str, float | None]
    raw: Mapping[str, float | None] = field(default_factory=dict)

    def figure(self, name: str, words: str, *, is_share: bool = False, is_drawn: bool = False) -> Figure:
        """One of them."""
        return Figure(name, words, self.own.get(name), self.raw.get(name), is_share, is_drawn)

    def raw_text(self, name: str, words: str) -> str:
        """What stands behind a number in a sentence: that of the private table, if there is one."""
        raw = self.raw.get(name)
        return "" if raw is None else f" ({words} {number(raw)})"


def number(value: float | None) -> str:
    """A number in a sentence."""
    return "none" if value is None else shown_number(value)


def people(value: float | None) -> str:
    """A number of people in a sentence.

    >>> people(1), people(0), people(2400)
    ('1 person', 'nobody', '2,400 people')
    """
    if not value:
        return "nobody"
    return "1 person" if value == 1 else f"{shown_number(value)} people"


def of_all(value: float | None, total: float | None) -> str:
    """A number of people among all of them.

    >>> of_all(0, 12), of_all(3, 12)
    ('none of 12 people', '3 of 12 people')
    """
    return f"{'none' if not value else shown_number(value)} of {people(total)}"
