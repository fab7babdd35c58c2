"""The weights of a release: what a row of the view and a tuple of the domain count for in an estimate.

A weight makes sums unbiased, a variance gives their squared error, and a skew how that error grows with the true sum
(for score intervals). Each method has macros for its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.rewrite.release import Weights


@dataclass(frozen=True)
class AllWeights:
    """By kind of row in the view, and by power of the share for a tuple of the domain; and cross terms, if any."""

    view: dict[str, Weights]
    domain: dict[int, Weights]
    cross_estimate: float = 0.0
    cross_square: float = 0.0
