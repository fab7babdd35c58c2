"""Noise calibrated to what the owner asks for: the prior bound first, then a mechanism, its guarantee and its cost.

The formulas are macros (sql/estimates); each method calls its own for a policy and a
table. Nothing that is published depends on the private number of rows: where a size is needed it is n_public, declared
or rounded up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy import wording
from sqlpriv.methods.noisy.attackers import Attacker, linking_prior, list_attackers, person_prior, uncovered
from sqlpriv.methods.noisy.background import Background
from sqlpriv.methods.noisy.mechanism import Mechanism
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.table.source import Source

FINEST = 2.0**-40
"""The least probability that a random draw here can have."""


@dataclass(frozen=True)
class Bound:
    """What noise is calibrated to: sizes, and the prior bound."""

    rows: int
    n_public: int
    tuples: int
    share: Fraction
    """The largest share of a tuple, and the least."""
    least_share: Fraction
    d: float
    """The prior bound, of a person."""
    background: Background
    """What attackers know."""


@dataclass(frozen=True)
class Meaning:
    """What the numbers of a release guarantee: in words, and by how much odds may change."""

    promise: str
    """The guarantee, in two sentences that a steward can sign and an adversary can read."""
    details: tuple[str, ...]
    """What belongs to it: how far other beliefs go, and what is not covered."""
    factor: float
    """By how much the odds of a statement about a person may change, for one who knows everybody else."""
    of_values: tuple[float, ...] = ()
    """By how much the odds of each value of the column with public shares may change."""

    def attackers(self, calls: Calls, background: Background, gamma: float) -> tuple[Attacker, ...]:
        """Who might attack the release, and what they come to believe."""
        return list_attackers(calls, background, gamma, self.factor, self.of_values)


@dataclass(frozen=True)
class Calibration(Bound):
    """What would be published: sizes, the bound, the mechanism, what it guarantees and what it costs."""

    gamma: float
    adversary: str
    mechanism: Mechanism
    kept: float
    """The probability that a row stays where it is, and that noise falls on a tuple."""
    noise: float
    expected_rows: float
    """Of the view; with n_public, so that it can be published."""
    half_domain_error: float
    small_error: float
    """The standard error of a count of a twentieth of the rows and the domain, as a share of it."""
    possible: bool
    epsilon: float
    meaning: Meaning
    replaced_epsilon: float
    """The logarithm of the factor of its meaning: the epsilon of a person's rows replaced by others."""
    attackers: tuple[Attacker, ...]
    independent_posterior: float | None = None
    exclusive_posterior: float | None = None
    added_epsilon: float | None = None
    """The epsilon of a person added or left out, where it may be claimed."""
    warnings: tuple[str, ...] = ()
    """What the release may reveal, too."""

    @property
    def for_the_owner(self) -> tuple[str, ...]:
        """All warnings: also what the release must not reveal, since it depends on the private number of rows."""
        return self.warnings if self.n_public >= self.rows else (*self.warnings, wording.SIZE_IS_BELOW)

    @property
    def uncovered(self) -> list[Attacker]:
        """The linking attackers that are not covered."""
        return uncovered(self.attackers)


Calibrate = Callable[[Source, Any, Bound], Calibration]
"""What each method does with a bound: from the open table and its policy."""


class NoBound(PolicyError):
    """What attackers believe beforehand is not below gamma: there is nothing to keep below it."""


def find_bound(
    calls: Calls,
    policy: RandomizedPolicy,
    rows: int,
    background: Background,
    shares: tuple[Fraction, Fraction] | None,
) -> Bound:
    """The sizes and the prior bound of a policy for a table of so many rows, or why there can be none."""
    tuples = background.tuples
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
        d = linking_prior(calls, background, policy.gamma)
    if d < 1:
        d = person_prior(calls, d, background.rows_each)
    if d >= policy.gamma:
        most_k = None
        if policy.k is not None:
            most_k = policy.gamma / calls.row("prior_of_multiple", 1, n_public, float(1 / share))[0]
        raise NoBound(wording.no_bound(d, policy.gamma, most_k, is_given=policy.d is not None))
    return Bound(rows, n_public, tuples, share, least_share, d, background)


def refuse_unreachable(kept: float, noise: float = 1.0) -> None:
    """Draws have 52 bits: one that comes out the same all the time, or nearly so, is none; no noise hides nobody."""
    if not FINEST <= kept <= 1 - FINEST:
        raise PolicyError(wording.probability_out_of_reach(kept))
    if noise < FINEST:
        raise PolicyError(wording.noise_out_of_reach(noise))
