"""The mechanism of FRAPP: a record stays with `stay`, or becomes any other tuple of the domain with `move` each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.mechanism import AllWeights, Mechanism
from sqlpriv.release.layout import Names
from sqlpriv.rewrite.release import Weights


@dataclass(frozen=True)
class Replacement(Mechanism):
    """Records are replaced at random, each by itself."""

    name: ClassVar[str] = "replacement"
    held: ClassVar[Names] = Names(frozenset({"stay", "move", "rows"}))
    stay: float
    move: float
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

    def weights(self, calls: Calls, rows: float) -> AllWeights:
        """Records land somewhere, so the counts of two tuples are not independent: the cross terms say how."""
        given = (self.stay, self.move, rows)
        found = {source: Weights(*weights) for source, *weights in calls.rows("frapp_weights", *given)}
        return AllWeights({"view": found["view"]}, {0: found["domain"]}, *calls.row("frapp_cross_terms", *given))


def replacement(calls: Calls, stay: float, move: float) -> Replacement:
    """The mechanism with these numbers."""
    return Replacement(stay, move, float(calls.value(f"_gap({stay!r}, {move!r})")))
