"""The reader who learns from a whole release, against the promise of a method that publishes people and values apart.

`best_guesses` tries every way to find a person that the release offers, and returns the one that guesses best;
`learned_evidence` is what the verdict is judged by. The mathematics is in sqlpriv/risk/learned.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import shown_number
from sqlpriv.core.relation import Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.records import GroupedPeople, PublishedClasses
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


def guesses_by_shares(calls: Calls, classes: PublishedClasses, sensitive: str) -> LearnedFigures:
    """What the reader reaches in classes of equal labels: all that they teach is the shares of values in each."""
    call = f"{calls.need('alpha_k_anonymity_classes')}({literal(classes.table)}, {literal(list(classes.columns))}, "
    people, certain_90, certain_99, expected = fetch(
        calls.con,
        "SELECT coalesce(sum(size), 0), coalesce(sum(size) FILTER (value >= .9), 0), coalesce(sum(size) FILTER "
        f"(value >= .99), 0), coalesce(sum(size * value), 0) FROM {call}{literal(sensitive)}, -1.0)",
    )[0]
    return LearnedFigures(int(people), int(certain_90), int(certain_99), float(expected))


def learned_evidence(found: BestGuesses, sensitive: str) -> Iterator[Evidence]:
    """That the reader passes the promise, where that is so."""
    if found.figures.breaks:
        yield Evidence(
            "learned",
            float(found.figures.guessed_right or 0),
            sensitive,
            f"from {', '.join(found.learned_from)}, where {shown_number(found.promised)} is promised",
        )
