"""The weights of a release: what a row of the view and a tuple of the domain count for in an estimate.

A weight makes sums unbiased, a variance gives their squared error, and a skew how that error grows with the true sum
(for score intervals). Each method has macros for its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import double
from sqlpriv.rewrite.release import Weights


@dataclass(frozen=True)
class AllWeights:
    """By kind of row in the view, and by power of the share for a tuple of the domain; and cross terms, if any."""

    view: dict[str, Weights]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0


@dataclass(frozen=True)
class Expected:
    """The weights by which the private table itself tells the error that estimates will have.

    `row` has the SQL of a row's weight, variance and skew; in it the column __share is that of the row's tuple.
    """

    row: Mapping[str, str]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0


def expected(calls: Calls, weights: AllWeights) -> Expected:
    """Those of a release whose rows in the view have all the same weights, and tuples of the domain by their share."""
    view, row, domain = weights.view["view"], {}, {}
    for power, of_tuple in weights.domain.items():
        given = (view.weight, view.variance, view.skew, of_tuple.weight, of_tuple.variance, of_tuple.skew)
        found = {source: numbers for source, *numbers in calls.rows("expected_weights", *given)}
        row = {part.name: double(number) for part, number in zip(fields(Weights), found["table"], strict=True)}
        domain[power] = Weights(*found["domain"])
    return Expected(row, domain, weights.cross_estimate, weights.cross_square)
