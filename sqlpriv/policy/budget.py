"""The budget of a table: how much all its releases may cost together, in epsilon and delta of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.policy.keys import Kind, number

_NEIGHBOURS = {"add-remove": "added", "replace-one": "replaced"}


@dataclass(frozen=True)
class Budget:
    """Epsilon and delta, of a row or person that is added or left out, or replaced by another."""

    epsilon: float
    delta: float
    kind: str = "added"

    @property
    def neighbours(self) -> str:
        """The word of the policy for its kind."""
        return next(word for word, kind in _NEIGHBOURS.items() if kind == self.kind)


def _read(value: Any) -> Budget | None:
    if not isinstance(value, Mapping) or not {"epsilon"} <= set(value) <= {"epsilon", "delta", "neighbours"}:
        return None
    neighbours = value.get("neighbours", "add-remove")
    epsilon = number(0, 1e6).read(value["epsilon"])
    delta = 0.0 if "delta" not in value else number(0, 1).read(value["delta"])
    if epsilon is None or delta is None or not isinstance(neighbours, str) or neighbours not in _NEIGHBOURS:
        return None
    return Budget(float(epsilon), float(delta), _NEIGHBOURS[neighbours])


BUDGET = Kind('as in { epsilon = 3, delta = 1e-5 }, with neighbours = "replace-one" where rows are replaced', _read)
