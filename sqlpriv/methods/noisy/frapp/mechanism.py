"""FRAPP: a record stays with `stay`, or becomes any other tuple of the domain with `move` each.

How likely that is for a bound, what it guarantees, and what it costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.calibration import Bound, Calibration, Meaning, refuse_unreachable
from sqlpriv.methods.noisy.mechanism import AllWeights, Mechanism
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.methods.noisy.wording import SCOPE, warnings_of_policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import NumberNames
from sqlpriv.rewrite.release import Weights
from sqlpriv.table.source import Source

ROWS_ARE_PUBLIC = "frapp publishes as many rows as the table has, so their number is public"


@dataclass(frozen=True)
class Replacement(Mechanism):
    """Records are replaced at random, each by itself."""

    name: ClassVar[str] = "replacement"
    held: ClassVar[NumberNames] = NumberNames(frozenset({"stay", "move", "rows"}))
    stay: float
    move: float
    rows: float
    """Their number, which is published."""
    kept: float
    """By how much `stay` is above `move`: with this probability a record stays, else it goes anywhere."""

    @property
    def numbers(self) -> dict[str, float]:
        """As plans list them."""
        return {"alpha": self.kept, "beta": self.move, "stay": self.stay, "move": self.move}

    @property
    def seed(self) -> dict[str, float]:
        """As noise is drawn from them."""
        return {"alpha": 0.0, "beta": 0.0, "stay": self.stay}

    @classmethod
    def read(cls, calls: Calls, file: ReleaseFile) -> Replacement:
        """The mechanism of a file."""
        return replacement(calls, *(file.parameters[name] for name in ("stay", "move", "rows")))

    def weights(self, calls: Calls) -> AllWeights:
        """Records land somewhere, so the counts of two tuples are not independent: the cross terms say how."""
        given = (self.stay, self.move, self.rows)
        found = {source: Weights(*weights) for source, *weights in calls.rows("frapp_weights", *given)}
        return AllWeights({"view": found["view"]}, {0: found["domain"]}, *calls.row("frapp_cross_terms", *given))


def replacement(calls: Calls, stay: float, move: float, rows: float) -> Replacement:
    """The mechanism with these numbers."""
    return Replacement(stay, move, rows, float(calls.value(f"_gap({stay!r}, {move!r})")))


def calibrate(source: Source, policy: RandomizedPolicy, bound: Bound) -> Calibration:
    """The noise of a policy. A record stays with alpha + beta, and goes elsewhere with beta."""
    calls, m, n = source.calls, float(bound.tuples), max(bound.rows, 1)
    stay, move = calls.row("frapp_parameters", bound.d, policy.gamma, m)
    _, posterior, epsilon = calls.row("frapp_guarantee", bound.d, policy.gamma, stay, move)
    hits, domain_hits = calls.row("small_count", n, m)
    error, half, possible = calls.row("frapp_error", n, m, stay, hits, domain_hits)
    mechanism = replacement(calls, stay, move, bound.rows)
    refuse_unreachable(mechanism.kept)
    meant = meaning(calls, bound.d, policy.gamma, epsilon, bound.rows)
    return Calibration(
        **vars(bound),
        gamma=policy.gamma,
        adversary="independent",
        mechanism=mechanism,
        kept=stay,
        noise=move,
        expected_rows=float(bound.rows),
        half_domain_error=half,
        small_error=float(calls.value(f"_relative_error({error!r}, {hits!r})")),
        possible=bool(possible),
        epsilon=epsilon,
        meaning=meant,
        replaced_epsilon=epsilon,
        attackers=meant.attackers(calls, bound.background, policy.gamma),
        independent_posterior=posterior,
        warnings=(ROWS_ARE_PUBLIC, *warnings_of_policy(policy, bound.n_public)),
    )


def meaning(calls: Calls, d: float, gamma: float, epsilon: float, rows: int) -> Meaning:
    """The guarantee in words, and its factor."""
    promise = (
        f"Whoever believes of a record, with at most {d:.4g}, that it is a certain tuple, believes so with at "
        f"most {gamma:g} after seeing this release, even when they know every other record. It is differential privacy "
        f"with epsilon {epsilon:.3g} when a record is replaced by another."
    )
    size = f"The number of rows, {rows:,}, is published: who is in the table at all is not hidden."
    return Meaning(promise, (size, *SCOPE), float(calls.value(f"exp({epsilon!r})")))
