"""What policies share of methods that publish labels: where the hierarchies come from."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.policy.file import Policy

# Hierarchies that need a number or a date, or leave it to the owner's SQL.
_TYPED = ("ranges", "dates", "bins")


@dataclass(frozen=True)
class LabelledPolicy(Policy):
    """A policy whose quasi-identifiers have hierarchies."""

    @property
    def suppression(self) -> float:
        """The share of the rows that may be left out: none, unless a method has such an option."""
        return 0.0

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """Where the hierarchy of each quasi-identifier comes from."""
        return {c.name: c.given["hierarchy"] for c in self.columns if c.role == "quasi-identifier"}

    @property
    def by_text(self) -> tuple[str, ...]:
        """The quasi-identifiers whose hierarchy goes by text."""
        return tuple(q for q, given in self.hierarchies.items() if _goes_by_text(given))


def _goes_by_text(hierarchy: str | tuple[str, ...]) -> bool:
    return isinstance(hierarchy, str) and hierarchy.partition(":")[0] not in _TYPED
