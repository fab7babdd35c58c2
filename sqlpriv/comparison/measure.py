"""How far the answers of a release are off: asked the same questions as the private table, and measured by its answers.

An error is |estimate - truth|, of a count in rows. A group that a release does not list has an estimate of 0 rows; of
other aggregates there is none then, and none is measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sqlpriv.comparison.truth import Key, TrueAnswers, Truth, as_number, key_of
from sqlpriv.comparison.workload import LeftOut, Question
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import OnProgress
from sqlpriv.release.open import OpenRelease

SIZES = ((0.01, "up to 1% of rows"), (0.1, "1% to 10%"), (math.inf, "above 10%"))
"""Of counts: how large the true answer is, as a share of the rows."""
_HAIR = 1e-9


@dataclass(frozen=True)
class Number:
    """One estimate with its truth, with its bounds, if it has some."""

    truth: float
    estimate: float
    low: float | None
    high: float | None
    is_count: bool

    @property
    def error(self) -> float:
        """How far it is off; not at all where both are the same infinity."""
        return 0.0 if self.estimate == self.truth else abs(self.estimate - self.truth)

    @property
    def relative_error(self) -> float:
        """The same as a share of a truth other than 0: infinite where the truth is, and the estimate is another."""
        return self.error if math.isinf(self.error) else self.error / abs(self.truth)

    @property
    def has_bounds(self) -> bool:
        """Whether it has both."""
        return self.low is not None and self.high is not None

    @property
    def width(self) -> float:
        """How far the bounds are apart; not at all where both are the same infinity."""
        assert self.low is not None
        assert self.high is not None
        return 0.0 if self.low == self.high else self.high - self.low

    @property
    def is_inside(self) -> bool:
        """Whether the truth lies in the bounds, but for the last digits."""
        assert self.low is not None
        assert self.high is not None
        room = 0.0 if math.isinf(self.truth) else _HAIR * max(abs(self.truth), 1.0)
        return self.low - room <= self.truth <= self.high + room


@dataclass(frozen=True)
class BySize:
    """The errors of counts of one size."""

    size: str
    numbers: int
    median_error: float | None


@dataclass(frozen=True)
class Measured:
    """What the answers of a release are worth for a workload."""

    answered: int
    """Of the questions."""
    numbers: int
    median_error: float | None
    p90_error: float | None
    median_relative_error: float | None
    """Of truths other than 0."""
    typical_error: float | None
    """The same without counts of less than a hundredth of the rows."""
    inside: float | None
    """The share of truths inside the bounds."""
    width: float | None
    """The median width of the bounds; infinite where half of them have no end."""
    by_size: tuple[BySize, ...]
    refused: tuple[LeftOut, ...]
    queries: tuple[str, ...]
    """The questions that were answered."""
    by_question: Mapping[int, tuple[Number, ...]] = field(default_factory=dict, repr=False)
    """By the number of the question, its answers."""
    rows: int = 0
    """Of the private table."""

    def only(self, questions: Collection[int]) -> Measured:
        """The same by these questions alone, with how many were answered in all."""
        kept = {question: numbers for question, numbers in self.by_question.items() if question in questions}
        return replace(self, **_summary(kept, self.rows))


def measure(release: OpenRelease, truth: Truth, on_progress: OnProgress = None) -> Measured:
    """Ask a release all questions of a workload, one after the other, and measure its answers."""
    by_question: dict[int, tuple[Number, ...]] = {}
    refused, asked = [], []
    for place, known in enumerate(truth.known):
        try:
            by_question[known.question.number] = tuple(_numbers(release, known))
            asked.append(known.question.sql)
        except SqlprivError as error:
            refused.append(LeftOut(known.question.number, str(error)))
        if on_progress:
            on_progress((place + 1) / len(truth.known))
    return Measured(
        answered=len(asked),
        refused=tuple(refused),
        queries=tuple(asked),
        by_question=by_question,
        rows=truth.rows,
        **_summary(by_question, truth.rows),
    )


def _summary(by_question: Mapping[int, Sequence[Number]], rows: int) -> dict[str, Any]:
    """What answers are worth, over all of them."""
    numbers = [number for answers in by_question.values() for number in answers]
    bounded = [n for n in numbers if n.has_bounds]
    typical = [n.relative_error for n in numbers if n.truth and not _is_small(n, rows)]
    return {
        "numbers": len(numbers),
        "median_error": _quantile([n.error for n in numbers], 0.5),
        "p90_error": _quantile([n.error for n in numbers], 0.9),
        "median_relative_error": _quantile([n.relative_error for n in numbers if n.truth], 0.5),
        "typical_error": _quantile(typical, 0.5),
        "inside": float(np.mean([n.is_inside for n in bounded])) if bounded else None,
        "width": _quantile([n.width for n in bounded], 0.5),
        "by_size": tuple(_by_size([n for n in numbers if n.is_count], rows)),
    }


def _is_small(number: Number, rows: int) -> bool:
    return number.is_count and number.truth < SIZES[0][0] * rows


def _numbers(release: OpenRelease, known: TrueAnswers) -> Iterator[Number]:
    """All estimates of one question, each with its truth."""
    given = _by_group(*release.fetch(known.question.sql), known.question)
    counts = [c for c, is_value in zip(known.question.is_count, known.question.is_value, strict=True) if is_value]
    nothing: tuple[Any, ...] = (None,) * len(counts)
    for key in dict.fromkeys((*known.answers, *given)):
        truths = known.answers.get(key, nothing)
        estimates = given.get(key, ((None, None, None),) * len(counts))
        for truth, (estimate, low, high), is_count in zip(truths, estimates, counts, strict=True):
            if is_count:
                yield Number(truth or 0.0, estimate or 0.0, low, high, True)
            elif truth is not None and estimate is not None:
                yield Number(truth, estimate, low, high, False)


Estimate = tuple[float | None, float | None, float | None]


def _by_group(columns: Sequence[str], rows: Sequence[Sequence[Any]], question: Question) -> dict[Key, list[Estimate]]:
    """By group, the estimates with their bounds, which stand behind them."""
    places, place = [], 0
    for is_value in question.is_value:
        has_bounds = is_value and list(columns[place + 1 : place + 3]) in _bounds_of(columns[place])
        places.append((place, has_bounds))
        place += 3 if has_bounds else 1
    if place != len(columns):
        raise SqlprivError("it answers with other columns than the question names")
    found: dict[Key, list[Estimate]] = {}
    for row in rows:
        values = [(p, b) for (p, b), is_value in zip(places, question.is_value, strict=True) if is_value]
        key = key_of([row[p] for p, _ in places], question)
        found[key] = [
            (as_number(row[p]), *(map(as_number, row[p + 1 : p + 3]) if b else (None, None))) for p, b in values
        ]
    return found


def _bounds_of(name: str) -> list[list[str]]:
    """How the bounds of an estimate may be called: of two of one name, the engine numbers the second, a_1."""
    base, _, number = name.rpartition("_")
    named = [[f"{name}_{end}" for end in ("low", "high")]]
    return [*named, [f"{base}_{end}_{number}" for end in ("low", "high")]] if number.isdigit() else named


def _by_size(counts: Sequence[Number], rows: int) -> Iterator[BySize]:
    least = -math.inf
    for most, size in SIZES:
        errors = [n.error for n in counts if least < n.truth / rows <= most]
        yield BySize(size, len(errors), _quantile(errors, 0.5))
        least = most


def _quantile(values: Sequence[float], share: float) -> float | None:
    """Between two values where it falls between them; the larger of both where that one is infinite."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return high if math.isinf(high) else float(low + (high - low) * (place - math.floor(place)))
