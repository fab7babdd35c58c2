"""The mechanisms of noisy counts: what each guarantees, how many rows it makes, and what its rows weigh.

Noise may follow the public shares of one sensitive column: a rarer value needs less of it. An attacker who knows every
other column of a person is left with the values of this one, and believes in each with at most `times` times the odds
of its share. So each value has a factor of its own, and its tuples the noise for it; a tuple has one value, which makes
the odds of that value, and no other, change by its factor. Other sensitive columns are guessed evenly: the least of
their factors bounds those of the values. A value as common as gamma cannot be covered, and has the largest noise of the
others. Only the shares of what is wanted: noise by the share of a whole tuple would leave one bare that is rare for
what is known of a person. sql/estimates/bag_shares.sql has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from sqlpriv.core.engine import Row
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import row_prior
from sqlpriv.methods.noisy.background import Background, declared_background
from sqlpriv.methods.noisy.mechanism import AllWeights, Mechanism, NoiseByValue
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import NumberNames
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
    held: ClassVar[NumberNames] = NumberNames(frozenset({"p", "q", "n_public"}))
    p: float
    q: float

    def weights(self, calls: Calls) -> AllWeights:
        """The same for every row."""
        return _weights(calls, "bag_weights", self.p, self.q)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """What it keeps of beliefs of at most d."""
        return Guarantee(*calls.row("bag_guarantee", d, gamma, self.p, self.q, rows_each))

    def cost(self, calls: Calls, n: int, tuples: float, hits: float, domain_hits: float) -> Row:
        """Expected rows, the errors of a count of so many hits and of half the domain, and whether that is of use."""
        return calls.row("bag_error", n, tuples, self.p, self.q, hits, domain_hits)

    def rows(self, calls: Calls, rows: int, tuples: float) -> tuple[float, float]:
        """How many rows it makes of so many, in the mean, and their variance."""
        mean, variance = calls.row("bag_rows", rows, tuples, self.p, self.q)[:2]
        return float(mean), float(variance)

    @property
    def least_noise(self) -> float:
        """The q of the tuples with the least noise."""
        return self.q


@dataclass(frozen=True)
class OneSidedByShares(OneSided):
    """The same, where a tuple has the noise that the public share of its sensitive value asks for; q is the largest."""

    name: ClassVar[str] = "one_sided_by_shares"
    follows: ClassVar[Literal["nothing", "column", "tuple"]] = "column"
    noise_by_value: NoiseByValue

    @classmethod
    def of(cls, calls: Calls, background: Background, gamma: float, p: float | None, n_public: int) -> OneSidedByShares:
        """By what attackers know; where p is not given, it is the one with the smallest error of count(*)."""
        shared = background.shared
        assert shared is not None
        others = [w for w in background.open if w is not shared]
        limits = [calls.row("odds_factor", row_prior(calls, w.choices, background.times), gamma)[0] for w in others]
        most = [min(limits)] if limits else []
        rows = calls.rows("bag_share_factors", shared.shares, background.times, gamma, *most)
        _, priors, factors, covered = zip(*rows, strict=True)
        if p is None:
            p = float(calls.row("bag_share_choice", n_public, float(background.tuples), factors)[0])
        _, ratios, copies = zip(*calls.rows("bag_share_noise", p, factors), strict=True)
        names = tuple(w.column for w in others)
        noise = NoiseByValue(shared.column, names, background.times, priors, factors, covered, ratios, copies)
        return cls(p, max(ratios), noise)

    @classmethod
    def read(cls, calls: Calls, file: ReleaseFile) -> OneSidedByShares:
        """The noise of a value is what its public share asks for."""
        numbers = file.parameters
        found = cls.of(calls, declared_background(file), numbers["gamma"], numbers["p"], 1)
        return replace(found, q=numbers["q"])

    @property
    def by_value(self) -> NoiseByValue:
        """The noise of each value."""
        return self.noise_by_value

    @property
    def least_noise(self) -> float:
        """The q of the tuples with the rarest value."""
        return min(self.noise_by_value.ratios)

    def weights(self, calls: Calls) -> AllWeights:
        """The same for every row; a tuple of the domain weighs by powers of its noise."""
        (_, _, *view), *domain = calls.rows("bag_share_weights", self.p)
        return AllWeights({"view": Weights(*view)}, {int(power): Weights(*rest) for _, power, *rest in domain})

    def rows(self, calls: Calls, rows: int, tuples: float) -> tuple[float, float]:
        """How many rows it makes of so many, in the mean, and their variance."""
        mean, variance = calls.row("bag_share_rows", rows, tuples, self.p, self.noise_by_value.ratios)[:2]
        return float(mean), float(variance)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """The rarest value has the least noise, and the largest belief is the commonest's. Each person has one row.

        It is private since the noise of every value is made from the belief in it: `d` is not needed here.
        """
        noise = self.noise_by_value
        _, factor, replaced, added, _ = calls.row(
            "bag_guarantee", min(noise.priors), gamma, self.p, self.least_noise, 1
        )
        posterior = calls.row("posterior_bound", noise.largest_prior, min(noise.factors))[0]
        return Guarantee(True, factor, replaced, added, posterior)

    def cost(self, calls: Calls, n: int, tuples: float, hits: float, domain_hits: float) -> Row:
        """Expected rows, the errors of a count of so many hits and of half the domain, and whether that is of use."""
        return calls.row("bag_share_error", n, tuples, self.p, self.noise_by_value.ratios, hits, domain_hits)


@dataclass(frozen=True)
class Signed(Mechanism):
    """All rows stay, and noise goes both ways: a difference of two geometric numbers, with ratio a."""

    name: ClassVar[str] = "signed"
    held: ClassVar[NumberNames] = NumberNames(frozenset({"a", "n_public"}))
    row_kind: ClassVar[str] = "CASE WHEN __weight < 0 THEN 'negative' ELSE 'view' END"
    a: float

    def weights(self, calls: Calls) -> AllWeights:
        """One for each sign."""
        return _weights(calls, "signed_bag_weights", self.a)

    def guarantee(self, calls: Calls, d: float, gamma: float, rows_each: int) -> Guarantee:
        """What it keeps of beliefs of at most d."""
        return Guarantee(*calls.row("signed_bag_guarantee", d, gamma, self.a, rows_each))

    def cost(self, calls: Calls, n: int, tuples: float, hits: float, domain_hits: float) -> Row:
        """Expected rows, the errors of a small count and of half the domain, and whether that is of use."""
        return calls.row("signed_bag_error", n, tuples, self.a, domain_hits)


NoisyCountsMechanism = OneSided | OneSidedByShares | Signed
MECHANISMS = (OneSided, OneSidedByShares, Signed)


def _weights(calls: Calls, macro: str, *numbers: float) -> AllWeights:
    found = {source: Weights(*weights) for source, *weights in calls.rows(macro, *numbers)}
    return AllWeights({k: w for k, w in found.items() if k != "domain"}, {0: found["domain"]})
