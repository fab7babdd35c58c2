"""From what the owner asks for to the coins, and back: what they guarantee, cost, and why they may be refused.

The formulas are macros (alpha_beta.sql, frapp.sql); each method calls its own for a policy and a table. Nothing
that is published depends on the private number of rows: where a size is needed it is n_public, declared or rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import Attacker, Known, linking_prior, person_prior, uncovered
from sqlpriv.methods.randomized.policy import RandomizedPolicy

FINEST = 2.0**-40
"""The least probability that a coin here can toss."""
SCOPE = (
    "A row is taken as independent of the others: rows that come in pairs by nature (couples, several visits of one "
    "person) are not covered together.",
    "What the release teaches of people in general is not hidden, and may be used on a person.",
    "The domains, the parameters and the numbers given here are public.",
)
"""What no guarantee of these methods covers."""


@dataclass(frozen=True)
class Asked:
    """What the terms of a release are made from: sizes, and the prior bound."""

    rows: int
    n_public: int
    tuples: int
    share: Fraction
    """The largest share of a tuple, and the least."""
    least_share: Fraction
    d: float
    """The prior bound, of a person."""
    known: Known
    """What attackers are made from."""


@dataclass(frozen=True)
class NoiseByValue:
    """Of each value of a column, in the order of its domain: what noise by its public share is like."""

    column: str
    factors: tuple[float, ...]
    """By how much the odds of the value may change."""
    ratios: tuple[float, ...]
    """The q of its tuples."""
    copies: tuple[float, ...]
    """How many copies of noise a tuple has in the mean."""
    bare: int
    """How many values are not covered, being as common as gamma."""


@dataclass(frozen=True)
class Terms:
    """What would be published: sizes, the bound, the coins by name, and what they mean."""

    rows: int
    n_public: int
    tuples: int
    d: float
    gamma: float
    adversary: str
    coins: Mapping[str, float]
    kept: float
    """The probability that a row stays where it is, and that noise falls on a tuple."""
    noise: float
    expected_rows: float
    """Of the view; with n_public, so that it can be told."""
    half_domain_error: float
    small_error: float
    """The standard error of a count of a twentieth of the rows and the domain, as a share of it."""
    possible: bool
    epsilon: float
    promise: str
    """The guarantee, in two sentences that a steward can sign and an adversary can read."""
    details: tuple[str, ...]
    """What belongs to it: how far other beliefs go, and what is not covered."""
    factor: float
    """By how much the odds of a statement about a person may change, for one who knows everybody else."""
    replaced_epsilon: float
    """Its logarithm: the epsilon of a person's rows replaced by others."""
    attackers: tuple[Attacker, ...]
    independent_posterior: float | None = None
    exclusive_posterior: float | None = None
    added_epsilon: float | None = None
    """The epsilon of a person added or left out, where it may be claimed."""
    slots: int = 1
    views: int = 1
    rows_each: int = 1
    by_value: NoiseByValue | None = None
    """Where noise follows the public shares of a column."""
    warnings: tuple[str, ...] = ()
    """What the release may tell, too."""

    @property
    def for_the_owner(self) -> tuple[str, ...]:
        """All warnings: also what the release must not tell, since it depends on the private number of rows."""
        if self.n_public >= self.rows:
            return self.warnings
        return (*self.warnings, "n_public is below the number of rows, so the prior bound of k is lower than it says")

    @property
    def elements(self) -> int:
        """Tuples times slots."""
        return self.tuples * self.slots

    @property
    def uncovered(self) -> list[Attacker]:
        """The linking attackers that are not covered."""
        return uncovered(self.attackers)


def asked_for(
    calls: Calls,
    policy: RandomizedPolicy,
    rows: int,
    known: Known,
    sizes: Sequence[int],
    shares: tuple[Fraction, Fraction] | None,
) -> Asked:
    """The sizes and the prior bound of a policy for a table of so many rows, or why there can be none."""
    tuples = math.prod(sizes)
    if tuples < 2 or tuples > 10**300:
        raise PolicyError(
            f"the domain has {'one tuple' if tuples < 2 else 'more than 10^300 tuples'}; change the domains"
        )
    n_public = int(calls.row("public_size", rows)[0]) if policy.n_public is None else policy.n_public
    share, least_share = (Fraction(1, tuples),) * 2 if shares is None else shares
    if policy.d is not None:
        d = policy.d
    elif policy.k is not None:
        d = calls.row("prior_of_multiple", policy.k, n_public, float(1 / share))[0]
    else:
        d = linking_prior(calls, known, policy.gamma)
    if d < 1:
        d = person_prior(calls, d, known.rows_each)
    if d >= policy.gamma:
        raise NoBound(_no_bound(calls, policy, d, n_public, share))
    return Asked(rows, n_public, tuples, share, least_share, d, known)


class NoBound(PolicyError):
    """What attackers believe beforehand is not below gamma: there is nothing to keep below it."""


def _no_bound(calls: Calls, policy: RandomizedPolicy, d: float, n_public: int, share: Fraction) -> str:
    what = f"the prior bound d = {d:.4g} is not below gamma = {policy.gamma:g}, so there is nothing to keep below it"
    if policy.k is not None:
        most = policy.gamma / calls.row("prior_of_multiple", 1, n_public, float(1 / share))[0]
        return f"{what}; k must be below {most:.4g} here, or take a larger gamma or a larger domain"
    if policy.d is not None:
        return f"{what}; take a smaller d, or a larger gamma"
    return f"a linking attacker believes in some value with {d:.4g} before the release, and gamma is {policy.gamma:g}"


def refuse_coins(probability: float) -> None:
    """Coins have 52 bits: one that falls on the same side all the time, or nearly so, is none."""
    if not FINEST <= probability <= 1 - FINEST:
        raise PolicyError(
            f"rows would be kept with probability {probability:.3g}, which no coin here can toss; "
            + ("every row would be published" if probability > 0.5 else "the view would say nothing")
        )


def refuse_noise(probability: float) -> None:
    """Noise that no coin can make hides nobody."""
    if probability < FINEST:
        raise PolicyError(
            f"noise would fall with probability {probability:.3g}, which no coin here can toss, so every published row "
            "would be true; take a larger d or a smaller gamma"
        )


def useless(terms: Terms) -> str:
    """Why a view says nothing."""
    return (
        f"the view would say nothing: a count over half the domain would be off by {terms.half_domain_error:,.0f}, "
        f"more than the {terms.n_public:,} rows there are; ask for less privacy, or force it"
    )


def not_covered(terms: Terms, *, is_given: bool) -> str:
    """Which linking attackers are not covered, and what to do about it; `is_given`: the policy has d or k."""
    worst = max(terms.uncovered, key=lambda a: a.posterior)
    wants = worst.wants if terms.by_value is not None else f"a value of {worst.wants!r}"
    instead = "Take a larger gamma, or publish by another method"
    if is_given:
        instead = "Leave out d and k, and the bound comes from this attacker"
    elif terms.slots > 1 or terms.views > 1:
        instead = 'Publish a bag, duplicates = "bag", which covers them'
    return (
        f"an attacker who knows {worst.knows} of a person is not covered: a belief of {worst.prior:.4g} in {wants} may "
        f"become {worst.posterior:.4g}, and gamma is {terms.gamma:g}. {instead}; or say in [release] why to publish "
        'all the same: uncovered = "..."'
    )


def too_many_rows(terms: Terms, most: int) -> str:
    """That a release would be larger than its policy allows."""
    return (
        f"the release would have about {terms.expected_rows:,.0f} rows, and max_rows is {most:,}; publish fewer or "
        "coarser columns, or raise max_rows in [release]"
    )


def with_uncovered(terms: Terms, why: str | None) -> Terms:
    """What is not covered, and why it is published all the same, is the first sentence of the guarantee."""
    if why is None or not terms.uncovered:
        return terms
    return replace(terms, promise=f"{uncovered_sentence(terms.attackers, terms.gamma, why)} {terms.promise}")


def uncovered_sentence(attackers: Sequence[Attacker], gamma: float, why: str) -> str:
    """Who is not covered, how far they may come, and the owner's reason."""
    worst = max(uncovered(attackers), key=lambda a: a.posterior)
    reason = why.strip().rstrip(".")
    about = "" if worst.knows.endswith(worst.wants) else f" in {worst.wants}"
    return (
        f"NOT covered is an attacker who knows {worst.knows} of a person: a belief of {worst.prior:.3g}{about} may "
        f"become {worst.posterior:.3g}, above {gamma:g}; it is published all the same, in the owner's words because "
        f'"{reason}".'
    )
