"""What policies share of methods that publish boxes: hierarchies where they are needed, and where cuts come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlpriv.methods.generalized.policy import LabelledPolicy
from sqlpriv.policy.keys import COARSE_KEYS, Fail, Key, Keys, choice

DATA, PUBLIC = "data", "public"
CUTS = Key(
    "cuts",
    choice(DATA, PUBLIC),
    "where cut points come from: the rows themselves, or hierarchies and public domains alone",
    DATA,
)
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": tuple(
        replace(
            key,
            help="how its values become coarser, level by level; numbers and dates need none where the rows give the "
            "cuts, and other values become * without one",
        )
        if key.name == "hierarchy"
        else key
        for key in COARSE_KEYS
    ),
    "sensitive": COARSE_KEYS,
    "other": COARSE_KEYS,
    "drop": (),
}
_SAFE = "safe in the sense of section 3.2 of Li, Qardaji and Su (2011)"
WARNINGS = {
    DATA: f"The cuts were chosen by the data, so this release is not {_SAFE}: where it is cut tells something of the "
    "rows, ends of ranges are values of rows, and no differential privacy follows, not even after sampling",
    PUBLIC: "The cut points come from hierarchies and public bounds alone, so no end of a range tells a value; but "
    f"which of them were taken was chosen by the data, so this release is not {_SAFE} either",
}
"""What the plan and the release say of the cuts."""


@dataclass(frozen=True)
class BoxPolicy(LabelledPolicy):
    """A policy for boxes."""

    @property
    def cuts(self) -> str:
        """Where cut points come from."""
        return str(self.release["cuts"])

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """The hierarchies that the policy gives."""
        return {q: given for q, given in super().hierarchies.items() if given is not None}

    def check(self, fail: Fail) -> None:
        """There is something to cut, one person at most, and something is required."""
        if not self.qis:
            raise fail("no column is a quasi-identifier, so there is nothing to cut", "columns")
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        if not self.requirements:
            raise fail("nothing is required: write at least k = 5", "require")
