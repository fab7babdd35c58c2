"""What a policy of generalization may say: hierarchies of the quasi-identifiers, what to minimise, what to suppress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.policy.domains import COARSE_KEYS, DOMAIN_KEYS
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import FLAG, HIERARCHY, Fail, Key, Keys, Kind, share

OBJECTIVES = ("loss", "height", "precision", "discernibility", "average_class_size", "kl", "entropy")
WORKLOAD = "workload:"
# Hierarchies that need a number or a date, or leave it to the owner's SQL.
_TYPED = ("ranges", "dates", "bins")
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": (
        Key(
            "hierarchy", HIERARCHY, "how its values become coarser, level by level", required=True,
            complaint='{column} needs a hierarchy: text such as "suppression", "mask:5" or "file.csv", '
            "or a list of SQL expressions, one a level",
        ),
        *DOMAIN_KEYS,
    ),
    "sensitive": COARSE_KEYS,
    "other": COARSE_KEYS,
    "drop": (),
}  # fmt: skip


def _read_objective(value: object) -> str | None:
    is_workload = isinstance(value, str) and value.startswith(WORKLOAD) and value != WORKLOAD
    return value if isinstance(value, str) and (value in OBJECTIVES or is_workload) else None


_OBJECTIVE = Kind(f'one of {", ".join(OBJECTIVES)}, or "{WORKLOAD}queries.sql"', _read_objective)
OPTIONS: Keys = (
    Key("objective", _OBJECTIVE, "what the best node makes smallest", "loss"),
    Key("suppression", share(), "the share of the rows that may be left out", 0.0,
        complaint="suppression is a share of the rows: from 0 to less than 1"),
    Key("keep_suppressed", FLAG, "whether suppressed rows stay, with stars", False),
)  # fmt: skip


@dataclass(frozen=True)
class GeneralizePolicy(Policy):
    """A policy for generalization."""

    @property
    def objective(self) -> str:
        """What the best node makes smallest."""
        return str(self.release["objective"])

    @property
    def suppression(self) -> float:
        """The share of the rows that may be left out."""
        return float(self.release["suppression"])

    @property
    def keep_suppressed(self) -> bool:
        """Whether suppressed rows stay, with stars."""
        return bool(self.release["keep_suppressed"])

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """Where the hierarchy of each quasi-identifier comes from."""
        return {c.name: c.given["hierarchy"] for c in self.columns if c.role == "quasi-identifier"}

    @property
    def by_text(self) -> tuple[str, ...]:
        """The quasi-identifiers whose hierarchy goes by text."""
        return tuple(q for q, given in self.hierarchies.items() if _goes_by_text(given))

    def check(self, fail: Fail) -> None:
        """There is something to generalize, one person at most, and something is required."""
        if not self.qis:
            raise fail("no column is a quasi-identifier, so there is nothing to generalize", "columns")
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        if not self.requirements:
            raise fail("nothing is required: write at least k = 5", "require")


def _goes_by_text(hierarchy: str | tuple[str, ...]) -> bool:
    return isinstance(hierarchy, str) and hierarchy.partition(":")[0] not in _TYPED
