"""What attacks found: a sentence each, its numbers next to those of the private table, and all of them as Facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlpriv.checks.verdict import Evidence, Verdict
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number

OWNER_ONLY = (
    "What attacks find is for you, the owner: with the numbers of the private table it is not for publication. Nothing "
    "was published."
)


@dataclass(frozen=True)
class Figure:
    """A number of what is attacked, and that of the private table, where that is at hand."""

    name: str
    """By which machines know it."""
    words: str
    value: float | None = None
    raw: float | None = None
    is_share: bool = False
    """Whether it is a belief or a share, and no count."""
    is_drawn: bool = False
    """Whether it is a number of people that a picture shows."""

    def shown(self, value: float | None) -> str:
        """One of its two numbers in a table."""
        return "" if value is None else shown_number(value, 3 if self.is_share else 4)


@dataclass(frozen=True)
class AttackFinding:
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
    evidence: tuple[Evidence, ...] = ()
    """What it contributes to the verdict."""

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


Findings = Iterator[AttackFinding | NotRun]
"""What an attack gives: often one finding for each sensitive column."""


@dataclass(frozen=True)
class Pair:
    """Numbers of what is attacked, and of the private table, by the same names."""

    own: Mapping[str, float | None]
    raw: Mapping[str, float | None] = field(default_factory=dict)

    def figures(self, named: Sequence[Figure]) -> tuple[Figure, ...]:
        """Those of the named figures that were found, with their numbers."""
        return tuple(replace(f, value=self.own[f.name], raw=self.raw.get(f.name)) for f in named if f.name in self.own)

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


@dataclass(frozen=True)
class AttackReport:
    """What all attacks on one table or release found."""

    attacked: str
    """The name of the table or the release."""
    method: str | None
    """Of a release, the method that made it; None of a table."""
    counts_persons: bool
    owner_only: bool
    """Whether a table of the owner was read."""
    found: tuple[AttackFinding | NotRun, ...]
    verdict: Verdict

    @property
    def title(self) -> str:
        """What stands above it, also above its picture."""
        return f"Attacks on {self.attacked}"

    def facts(self) -> Facts:
        """The facts; they always pass, since an attack reports and does not judge."""
        run = [f for f in self.found if isinstance(f, AttackFinding)]
        not_run = [f for f in self.found if isinstance(f, NotRun)]
        has_raw = any(figure.raw is not None for finding in run for figure in finding.figures)
        content: dict[str, Any] = {
            "attacked": self.attacked,
            "kind": "table" if self.method is None else "release",
            "counts": "persons" if self.counts_persons else "rows",
            "beside_private_table": has_raw,
            "verdict": self.verdict.to_json(),
            "attacks": [finding.to_json() for finding in run],
            "not_run": [vars(f) for f in not_run],
        }
        content |= {} if self.method is None else {"method": self.method}
        content |= {"owner_only": OWNER_ONLY} if self.owner_only else {}
        parts: list[Part] = [Line(OWNER_ONLY, "private")] if self.owner_only else []
        parts += self.verdict.parts()
        counted = "People are counted by their person column." if self.counts_persons else "A row counts as a person."
        parts.append(Line(counted, quiet=True))
        for finding in run:
            parts.append(Line(finding.sentence, finding.attack))
            parts += finding.private
        if run:
            parts.append(_grid(run, has_raw))
        for why in dict.fromkeys(f.why for f in not_run):
            parts.append(Line(f"{', '.join(f.attack for f in not_run if f.why == why)}: {why}", "not run"))
        return Facts(self.title, content, tuple(parts))


def _grid(run: Sequence[AttackFinding], has_raw: bool) -> Grid:
    """All numbers, those of the private table in a column of their own."""
    rows, before = [], ""
    for finding in run:
        of = f"{finding.attack}, {finding.about}" if finding.about else finding.attack
        for figure in finding.figures:
            words = f"{finding.case}: {figure.words}" if finding.case else figure.words
            row = (of if of != before else "", words, figure.shown(figure.value))
            rows.append((*row, figure.shown(figure.raw)) if has_raw else row)
            before = of
    headings = ("attack", "number", "here") + (("private table",) if has_raw else ())
    return Grid(headings, tuple(rows), "In numbers", folded=("attack", "number"))
