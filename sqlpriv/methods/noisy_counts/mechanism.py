"""The mechanisms of noisy counts: what each guarantees, how many rows it makes, and what its rows weigh."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.mechanism import AllWeights, Mechanism, NoiseByValue
from sqlpriv.release.layout import Names
from sqlpriv.rewrite.release import Weights


@dataclass(frozen=True)
class Guarantee:
    """What the noise guarantees, by the macros."""

    private: bool
    factor: float
    replaced: float
    added: float
    posterior: float


@dataclass(frozen=True)
class OneSided(Mechanism):
    """Every row is kept with probability p; every tuple of the domain has geometric noise, one more with q each."""

    name: ClassVar[str] = "one_sided"
    held: ClassVar[Names] = Names(frozenset({"p", "q", "n_public"}))
    p: float
    q: float

    @property
    def numbers(self) -> dict[str, float]:
        """As plans list them."""
        return {"p": self.p, "q": self.q}

    @property
    def seed(self) -> dict[str, float]:
        """As noise is drawn from them."""
        return {"p": self.p, "q": self.q}

    def weights(self, calls: Calls) -> AllWeights:
        """The same for every row."""
        return _weights(calls, "bag_weights", self.p, self.q)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """What it keeps of beliefs of at most d."""
        return Guarantee(*calls.row("bag_guarantee", d, gamma, self.p, self.q, rows_each))

    def rows(self, calls: Calls, rows: int, tuples: float) -> tuple[float, float]:
        """How many rows it makes of so many, in the mean, and their variance."""
        mean, variance = calls.row("bag_rows", rows, tuples, self.p, self.q)[:2]
        return float(mean), float(variance)


@dataclass(frozen=True)
class OneSidedByShares(OneSided):
    """The same, where a tuple has the noise that the public share of its sensitive value asks for; q is the largest."""

    name: ClassVar[str] = "one_sided_by_shares"
    follows: ClassVar[Literal["nothing", "column", "tuple"]] = "column"
    noise_by_value: NoiseByValue = field(kw_only=True)

    @property
    def by_value(self) -> NoiseByValue:
        """The noise of each value."""
        return self.noise_by_value

    def weights(self, calls: Calls) -> AllWeights:
        """The same for every row; a tuple of the domain weighs by powers of its noise."""
        (_, _, *view), *domain = calls.rows("bag_share_weights", self.p)
        return AllWeights({"view": Weights(*view)}, {int(power): Weights(*rest) for _, power, *rest in domain})

    def rows(self, calls: Calls, rows: int, tuples: float) -> tuple[float, float]:
        """How many rows it makes of so many, in the mean, and their variance."""
        mean, variance = calls.row("bag_share_rows", rows, tuples, self.p, self.noise_by_value.ratios)[:2]
        return float(mean), float(variance)


@dataclass(frozen=True)
class Signed(Mechanism):
    """All rows stay, and noise goes both ways: a difference of two geometric numbers, with ratio a."""

    name: ClassVar[str] = "signed"
    held: ClassVar[Names] = Names(frozenset({"a", "n_public"}))
    row_kind: ClassVar[str] = "CASE WHEN __weight < 0 THEN 'negative' ELSE 'view' END"
    a: float

    @property
    def numbers(self) -> dict[str, float]:
        """As plans list them."""
        return {"a": self.a}

    @property
    def seed(self) -> dict[str, float]:
        """As noise is drawn from them."""
        return {"a": self.a}

    def weights(self, calls: Calls) -> AllWeights:
        """One for each sign."""
        return _weights(calls, "signed_bag_weights", self.a)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """What it keeps of beliefs of at most d."""
        return Guarantee(*calls.row("signed_bag_guarantee", d, gamma, self.a, rows_each))


NoisyCountsMechanism = OneSided | OneSidedByShares | Signed
MECHANISMS = (OneSided, OneSidedByShares, Signed)


def _weights(calls: Calls, macro: str, *numbers: float) -> AllWeights:
    found = {source: Weights(*weights) for source, *weights in calls.rows(macro, *numbers)}
    return AllWeights({k: w for k, w in found.items() if k != "domain"}, {0: found["domain"]})
