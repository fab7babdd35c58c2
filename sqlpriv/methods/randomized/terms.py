"""From what the owner asks for to the coins, and back: what they guarantee, cost, and why they may be refused.

The formulas are macros (sql/alpha_beta.sql, sql/frapp.sql); each method calls its own for a policy and a table. Nothing
that is published depends on the private number of rows: where a size is needed it is n_public, declared or rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.policy import RandomizedPolicy

_FINEST = 2.0**-40
SCOPE = (
    " A row is taken as independent of the others: rows that come in pairs by nature (couples, several visits of one "
    "person) are not covered together. The domains, the parameters and the numbers given here are public."
)


@dataclass(frozen=True)
class Asked:
    """What the terms of a release are made from: sizes, and the prior bound."""

    rows: int
    n_public: int
    tuples: int
    share: Fraction
    """The largest share of a tuple."""
    d: float


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
    expected_rows: float
    """Of the view; with n_public, so that it can be told."""
    half_domain_error: float
    possible: bool
    epsilon: float
    promise: str
    """The guarantee, in sentences that a steward can sign and an adversary can read."""
    independent_posterior: float | None = None
    exclusive_posterior: float | None = None
    slots: int = 1
    views: int = 1
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


def asked_for(
    calls: Calls, policy: RandomizedPolicy, rows: int, sizes: Sequence[int], largest: Fraction | None
) -> Asked:
    """The sizes and the prior bound of a policy for a table of so many rows, or why there can be none."""
    tuples = math.prod(sizes)
    if tuples < 2 or tuples > 10**300:
        raise PolicyError(
            f"the domain has {'one tuple' if tuples < 2 else 'more than 10^300 tuples'}; change the domains"
        )
    n_public = int(calls.row("public_size", rows)[0]) if policy.n_public is None else policy.n_public
    share = Fraction(1, tuples) if largest is None else largest
    d = policy.d if policy.d is not None else calls.row("prior_of_multiple", policy.k, n_public, float(1 / share))[0]
    if d >= policy.gamma:
        raise PolicyError(
            f"the prior bound d = {d:.4g} is not below gamma = {policy.gamma:g}, so there is nothing to keep below it; "
            "take a smaller k or d, a larger gamma, or a larger domain"
        )
    return Asked(rows, n_public, tuples, share, d)


def refuse_coins(probability: float) -> None:
    """Coins have 52 bits: one that falls on the same side all the time, or nearly so, is none."""
    if not _FINEST <= probability <= 1 - _FINEST:
        raise PolicyError(
            f"rows would be kept with probability {probability:.3g}, which no coin here can toss; "
            + ("every row would be published" if probability > 0.5 else "the view would say nothing")
        )


def refuse_noise(probability: float) -> None:
    """Noise that no coin can make hides nobody."""
    if probability < _FINEST:
        raise PolicyError(
            f"noise would fall with probability {probability:.3g}, which no coin here can toss, so every published row "
            "would be true; take a larger d or a smaller gamma"
        )


def refuse_useless(terms: Terms) -> None:
    """Refuse a view that says nothing about the table (Theorem 3.3, whose constant is not known)."""
    if not terms.possible:
        raise PolicyError(
            f"the view would say nothing: a count over half the domain would be off by {terms.half_domain_error:,.0f}, "
            f"more than the {terms.n_public:,} rows there are; ask for less privacy, or force it"
        )


def active_domains(policy: RandomizedPolicy) -> tuple[str, ...]:
    """The warning of domains that are read from the data."""
    active = [repr(c.name) for c in policy.published if c.domain == "active"]
    if not active:
        return ()
    return (
        f"the domains of {', '.join(active)} are what occurs in the table: the release tells that these values "
        "occur, and that no others do",
    )
