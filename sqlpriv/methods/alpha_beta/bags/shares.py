"""A bag whose noise follows the public shares of one sensitive column: a rarer value needs less of it.

Somebody who knows every other column of a person is left with the values of this one, and believes in each with at most
`times` times the odds of its share. So each value has a factor of its own, and its tuples the noise for it; a tuple has
one value, which makes the odds of that value, and no other, change by its factor. Other sensitive columns are guessed
evenly: the least of their factors bounds those of the values. A value as common as gamma cannot be covered, and has the
largest noise of the others. Only the shares of what is wanted: noise by the share of a whole tuple would leave one bare
that is rare for what is known of a person. sql/estimates/bag_shares.sql has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import Known, row_prior
from sqlpriv.methods.randomized.terms import SCOPE, NoiseByValue


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
    def bare(self) -> int:
        """How many values are not covered."""
        return self.covered.count(False)

    @property
    def largest_prior(self) -> float:
        """The largest belief in a value that is covered."""
        return max(d for d, covered in zip(self.priors, self.covered, strict=True) if covered)


def read_shares(calls: Calls, known: Known, gamma: float) -> Shares:
    """From what is known, by the macros; the least factor of the other columns bounds all."""
    shared = known.shared
    assert shared is not None
    others = [w for w in known.wanted if w is not shared and w.choices > 1]
    limits = [calls.row("odds_factor", row_prior(calls, w, known.times), gamma)[0] for w in others]
    most = [min(limits)] if limits else []
    rows = calls.rows("bag_share_factors", shared.shares, known.times, gamma, *most)
    _, priors, factors, covered = zip(*rows, strict=True)
    return Shares(shared.column, tuple(w.column for w in others), known.times, priors, factors, covered)


def noise_of(calls: Calls, shares: Shares, p: float) -> NoiseByValue:
    """The noise of the tuples with each value."""
    rows = calls.rows("bag_share_noise", p, shares.factors)
    ratios, copies = tuple(r[1] for r in rows), tuple(r[2] for r in rows)
    return NoiseByValue(shares.column, shares.factors, ratios, copies, shares.bare)


def choose_p(calls: Calls, n_public: int, tuples: float, shares: Shares) -> float:
    """The share of rows to keep that makes the error of count(*) smallest."""
    return float(calls.row("bag_share_choice", n_public, tuples, shares.factors)[0])


def promise(shares: Shares, gamma: float, epsilons: tuple[float, float | None]) -> str:
    """The guarantee: two sentences to say aloud; the epsilons of a row replaced, and of one more or less if claimed."""
    replaced, added = epsilons
    bare = shares.bare
    without = "" if not bare else ", its commonest left out," if bare == 1 else f", its {bare} commonest left out,"
    named = " or ".join(repr(name) for name in shares.others)
    others = f", or in one of {named} with as many times those of an even guess," if named else ""
    change = "" if added is None else f", and {added:.3g} when a person is added or left out"
    return (
        f"Whoever believes in a value of {shares.column!r}{without} with at most {shares.times:g} times the odds of "
        f"its public share{others} believes in it with at most {gamma:g} after seeing this release, even when they "
        f"know everything else. It is differential privacy with epsilon {replaced:.3g} when a person's row is replaced"
        f"{change}."
    )


def details(calls: Calls, shares: Shares, *, told_size: bool) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    least, most = min(shares.factors), max(shares.factors)
    low, high = (calls.row("posterior_bound", 0.5, factor)[0] for factor in (least, most))
    told = "The number of rows, rounded up, is told: nothing is claimed of who is in the table at all."
    return (
        f"Any belief b in a value of {shares.column!r} becomes at most b L / (1 - b + b L), with L from {least:.4g} "
        f"for the commonest to {most:.4g} for the rarest: one half becomes at most {low:.3g} to {high:.3g}. Of any "
        "other statement, and downwards, L is the largest.",
        "Who knows better than the public shares is bounded by these lines alone.",
        *((told,) if told_size else ()),
        *SCOPE,
    )
