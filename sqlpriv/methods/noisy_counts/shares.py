"""Noise that follows the public shares of one sensitive column: a rarer value needs less of it.

An attacker who knows every other column of a person is left with the values of this one, and believes in each with at
most `times` times the odds of its share. So each value has a factor of its own, and its tuples the noise for it; a
tuple has one value, which makes the odds of that value, and no other, change by its factor. Other sensitive columns are
guessed evenly: the least of their factors bounds those of the values. A value as common as gamma cannot be covered, and
has the largest noise of the others. Only the shares of what is wanted: noise by the share of a whole tuple would leave
one bare that is rare for what is known of a person. sql/bag_shares.sql has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import Background, row_prior
from sqlpriv.methods.randomized.mechanism import NoiseByValue


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
