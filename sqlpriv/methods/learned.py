"""The reader who learns from a whole release, against the promise of a method that publishes people and values apart.

`best_guesses` tries every way to find a person that the release offers, and returns the one that guesses best;
`learned_evidence` is what the verdict is judged by. The mathematics is in sqlpriv/risk/learned.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.facts import shown_number
from sqlpriv.core.relation import Scratch
from sqlpriv.methods.records import GroupedPeople
from sqlpriv.risk.learned import learn_values
from sqlpriv.risk.learned_figures import LearnedFigures, judge_guesses


@dataclass(frozen=True)
class BestGuesses:
    """What the reader reaches: by which columns, how often, and what the method promises."""

    learned_from: tuple[str, ...]
    figures: LearnedFigures
    promised: float


def best_guesses(scratch: Scratch, ways: Sequence[GroupedPeople], sensitive: str, truth: str | None) -> BestGuesses:
    """Learn from a release; `truth` is a relation, as SQL, with all columns of the ways and the true values."""
    tried = []
    for way in ways:
        with scratch.nested() as inner:
            model = learn_values(inner, way.people, way.values, way.group, way.columns, sensitive)
            figures = judge_guesses(inner, model, way.promised, truth, way.columns, sensitive)
        tried.append(BestGuesses(model.columns, figures, way.promised))
    return max(tried, key=lambda found: found.figures.expected_right)


def learned_evidence(found: BestGuesses, sensitive: str) -> Iterator[Evidence]:
    """That the reader passes the promise, where that is so."""
    if found.figures.breaks:
        yield Evidence(
            "learned",
            float(found.figures.guessed_right or 0),
            sensitive,
            f"from {', '.join(found.learned_from)}, where {shown_number(found.promised)} is promised",
        )
