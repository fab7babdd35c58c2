"""What a plan can be drawn as: the numbers of each chart. display/charts makes pictures of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.methods.lattice import Lattice

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class PrivacyCost:
    """The error of a count against the bound of a belief: pairs (gamma, standard error as a share of the rows)."""

    points: Points
    chosen: float
    """The policy's gamma."""


@dataclass(frozen=True)
class Deltas:
    """Delta against epsilon: curves by what they are of, and the pair that the policy has."""

    curves: Mapping[str, Points]
    chosen: tuple[float, float]


@dataclass(frozen=True)
class Sweep:
    """What other thresholds would give: rows of c, risk, utility, and of c, attribute, level, share."""

    thresholds: Sequence[Mapping[str, Any]]
    levels: Sequence[Mapping[str, Any]]
    chosen: float


Chart = PrivacyCost | Deltas | Sweep


@dataclass(frozen=True)
class SearchCharts:
    """A search and its choice: what each column lost, and the lattice, unless it is too large to look at."""

    losses: Sequence[Mapping[str, Any]]
    """Rows of column, loss (1 where all of it is gone) and level."""
    nodes_total: int
    lattice: Lattice | None = None
