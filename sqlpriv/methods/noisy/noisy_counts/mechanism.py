"""The mechanisms of noisy counts: what each guarantees, how many rows it makes, and what its rows weigh.

Noise may follow the public shares of one sensitive column: a rarer value needs less of it. An attacker who knows every
other column of a person is left with the values of this one, and believes in each with at most `times` times the odds
of its share. So each value has a factor of its own, and its tuples the noise for it; a tuple has one value, which makes
the odds of that value, and no other, change by its factor. Other sensitive columns are guessed evenly: the least of
their factors bounds those of the values. A value as common as gamma cannot be covered, and has the largest noise of the
others. Only the shares of what is wanted: noise by the share of a whole tuple would leave one bare that is rare for
what is known of a person. sql/bag_shares.sql has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import Background, row_prior
from sqlpriv.methods.noisy.mechanism import AllWeights, Mechanism, NoiseByValue
from sqlpriv.methods.noisy.read import background_of
from sqlpriv.release.file import ReleaseFile
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
    noise_by_value: NoiseByValue

    @classmethod
    def read(cls, calls: Calls, file: ReleaseFile) -> OneSidedByShares:
        """The noise of a value is what its public share asks for."""
        numbers = file.parameters
        shares = read_shares(calls, background_of(file), numbers["gamma"])
        return cls(numbers["p"], numbers["q"], noise_of(calls, shares, numbers["p"]))

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

    def weights(self, calls: Calls) -> AllWeights:
        """One for each sign."""
        return _weights(calls, "signed_bag_weights", self.a)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """What it keeps of beliefs of at most d."""
        return Guarantee(*calls.row("signed_bag_guarantee", d, gamma, self.a, rows_each))


NoisyCountsMechanism = OneSided | OneSidedByShares | Signed
MECHANISMS = (OneSided, OneSidedByShares, Signed)


def read_mechanism(calls: Calls, file: ReleaseFile) -> NoisyCountsMechanism:
    """The mechanism that a file declares."""
    declared = next(m for m in MECHANISMS if m.name == file.about["mechanism"])
    found = declared.read(calls, file)
    assert isinstance(found, OneSided | Signed)
    return found


def _weights(calls: Calls, macro: str, *numbers: float) -> AllWeights:
    found = {source: Weights(*weights) for source, *weights in calls.rows(macro, *numbers)}
    return AllWeights({k: w for k, w in found.items() if k != "domain"}, {0: found["domain"]})


@dataclass(frozen=True)
class Shares:
    """What the public shares of a column come to: of each value d, the factor, and whether it is covered."""

    column: str
    others: tuple[str, ...]
    """The other columns that are wanted."""
    times: float
    priors: tuple[float, ...]
    factors: tuple[float, ...]
    covered: tuple[bool, ...]

    @property
    def uncovered(self) -> int:
        """How many values are not covered."""
        return self.covered.count(False)

    @property
    def largest_prior(self) -> float:
        """The largest belief in a value that is covered."""
        return max(d for d, covered in zip(self.priors, self.covered, strict=True) if covered)


def read_shares(calls: Calls, background: Background, gamma: float) -> Shares:
    """From what attackers know, by the macros; the least factor of the other columns bounds all."""
    shared = background.shared
    assert shared is not None
    others = [w for w in background.wanted if w is not shared and w.choices > 1]
    limits = [calls.row("odds_factor", row_prior(calls, w, background.times), gamma)[0] for w in others]
    most = [min(limits)] if limits else []
    rows = calls.rows("bag_share_factors", shared.shares, background.times, gamma, *most)
    _, priors, factors, covered = zip(*rows, strict=True)
    return Shares(shared.column, tuple(w.column for w in others), background.times, priors, factors, covered)


def noise_of(calls: Calls, shares: Shares, p: float) -> NoiseByValue:
    """The noise of the tuples with each value."""
    rows = calls.rows("bag_share_noise", p, shares.factors)
    ratios, copies = tuple(r[1] for r in rows), tuple(r[2] for r in rows)
    return NoiseByValue(shares.column, shares.factors, ratios, copies, shares.uncovered)


def choose_p(calls: Calls, n_public: int, tuples: float, shares: Shares) -> float:
    """The share of rows to keep that makes the error of count(*) smallest."""
    return float(calls.row("bag_share_choice", n_public, tuples, shares.factors)[0])
