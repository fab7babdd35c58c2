"""Which mechanism makes the noise of a release: a type each, with its numbers, that a file names in table about.

A mechanism also decides the weights: what a row of the view and a tuple of the domain count for in an estimate. A
weight makes sums unbiased, a variance gives their squared error, and a skew how that error grows with the true sum (for
score intervals). Each method has macros for its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, TypeVar

from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import ReleaseFile, double
from sqlpriv.release.layout import NumberNames
from sqlpriv.rewrite.release import Weights

WEIGHTS = ("weight", "variance", "skew")
"""The weights of a row; in the view two underscores stand before each."""


@dataclass(frozen=True)
class NoiseByValue:
    """Where noise follows the public shares of a column: of each value, in the order of its domain, what it is like."""

    column: str
    others: tuple[str, ...]
    """The other columns that are wanted."""
    times: float
    """How many times the odds of its share an attacker may believe in a value."""
    priors: tuple[float, ...]
    """What is then believed of the value before the release."""
    factors: tuple[float, ...]
    """By how much the odds of the value may change."""
    covered: tuple[bool, ...]
    """Whether the value is covered: one as common as gamma is not."""
    ratios: tuple[float, ...]
    """The q of its tuples."""
    copies: tuple[float, ...]
    """How many copies of noise a tuple has in the mean."""

    @property
    def uncovered(self) -> int:
        """How many values are not covered."""
        return self.covered.count(False)

    @property
    def largest_prior(self) -> float:
        """The largest belief in a value that is covered."""
        return max(d for d, covered in zip(self.priors, self.covered, strict=True) if covered)


M = TypeVar("M", bound="Mechanism")


@dataclass(frozen=True)
class Mechanism(ABC):
    """How noise is made, with the numbers of one release. A method has one of them or several."""

    name: ClassVar[str]
    """As table about has it."""
    held: ClassVar[NumberNames]
    """The numbers of its own that a file holds in table parameters."""
    composes: ClassVar[bool] = True
    """Whether it is differential privacy, which the ledger adds up."""
    follows: ClassVar[Literal["nothing", "column", "tuple"]] = "nothing"
    """Whose public shares the noise follows: nobody's, those of one column, or of whole tuples."""
    row_kind: ClassVar[str] = "'view'"
    """SQL for the kind of a published row: rows of a kind weigh alike (AllWeights.view)."""

    @classmethod
    def read(cls: type[M], calls: Calls, file: ReleaseFile) -> M:
        """The mechanism of a file that names it."""
        return cls(**{f.name: file.parameters[f.name] for f in fields(cls)})

    @abstractmethod
    def weights(self, calls: Calls) -> AllWeights:
        """What the rows of the view and the tuples of the domain weigh."""

    def error_weights(self, calls: Calls) -> ErrorWeights:
        """The weights with which the private table gives the error of estimates beforehand.

        Here of a release whose rows in the view have all the same weights.
        """
        weights = self.weights(calls)
        view, row, domain = weights.view["view"], {}, {}
        for power, of_tuple in weights.domain.items():
            given = (view.weight, view.variance, view.skew, of_tuple.weight, of_tuple.variance, of_tuple.skew)
            found = {source: numbers for source, *numbers in calls.rows("expected_weights", *given)}
            row = {part: double(number) for part, number in zip(WEIGHTS, found["table"], strict=True)}
            domain[power] = Weights(*found["domain"])
        return ErrorWeights(row, domain, weights.cross_estimate, weights.cross_square)

    @property
    def numbers(self) -> dict[str, float]:
        """Its numbers by name, as plans list them."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name in self.held.always}

    @property
    def seed(self) -> dict[str, float]:
        """Those that its noise is drawn from. Frozen: with another name or number every release would change."""
        return self.numbers

    @property
    def by_value(self) -> NoiseByValue | None:
        """Where noise follows the public shares of one column, what that of each value is like."""
        return None


@dataclass(frozen=True)
class AllWeights:
    """By kind of row in the view, and by power of the share for a tuple of the domain; and cross terms, if any."""

    view: dict[str, Weights]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0


@dataclass(frozen=True)
class ErrorWeights:
    """The weights with which the private table itself gives the error that estimates will have.

    `row` has the SQL of a row's weight, variance and skew; in it the column __share is that of the row's tuple.
    """

    row: Mapping[str, str]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0
