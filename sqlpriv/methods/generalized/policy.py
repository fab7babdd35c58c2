"""Policies of methods that publish labels: hierarchies, nodes, and for boxes where the cuts come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlpriv.core.errors import SqlprivError, did_you_mean
from sqlpriv.core.sqltext import folded
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import COARSE_KEYS, PERSON_KEYS, Fail, Key, Keys, choice

# Hierarchies that need a number or a date, or leave it to the owner's SQL.
_TYPED = ("ranges", "dates", "bins")
_HIGHEST = 1000  # no hierarchy has so many levels
DATA, PUBLIC = "data", "public"
CUTS = Key(
    "cuts",
    choice(DATA, PUBLIC),
    "where cut points come from: the rows themselves, or hierarchies and public domains alone",
    DATA,
)
BOX_ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": PERSON_KEYS,
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


@dataclass(frozen=True)
class GeneralizedPolicy(Policy):
    """A policy whose quasi-identifiers have hierarchies."""

    coarsens: ClassVar[bool] = True

    @property
    def suppression(self) -> float:
        """The share of the rows that may be left out: none, unless a method has such an option."""
        return 0.0

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """Where the hierarchy of each quasi-identifier comes from."""
        return {c.name: c.given["hierarchy"] for c in self.columns if c.role == "quasi-identifier"}

    @property
    def importance(self) -> tuple[float, ...]:
        """How much each quasi-identifier counts for a search; 1 on average."""
        given = [float(c.given.get("importance") or 1) for c in self.columns if c.role == "quasi-identifier"]
        return tuple(weight * len(given) / sum(given) for weight in given)

    @property
    def max_levels(self) -> tuple[int | None, ...]:
        """The highest level of each quasi-identifier that the owner wants, if any."""
        return tuple(c.given.get("max_level") for c in self.columns if c.role == "quasi-identifier")

    def check_table(self, fail: Fail, action: str) -> None:
        """Refuse a policy without quasi-identifiers or requirements, or with several persons."""
        if not self.qis:
            raise fail(f"no column is a quasi-identifier, so there is nothing to {action}", "columns")
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        if not self.requirements:
            raise fail("nothing is required: write at least k = 5", "require")

    @property
    def by_text(self) -> tuple[str, ...]:
        """The quasi-identifiers whose hierarchy goes by text."""
        return tuple(q for q, given in self.hierarchies.items() if hierarchy_by_text(given))


def hierarchy_by_text(hierarchy: str | tuple[str, ...]) -> bool:
    """Whether a hierarchy is one of texts: it needs no number or date, and no SQL of the owner."""
    return isinstance(hierarchy, str) and hierarchy.partition(":")[0] not in _TYPED


def read_node(value: object) -> dict[str, int] | None:
    """The levels of a node by the names of columns; None where it is none."""
    if not isinstance(value, Mapping) or not value:
        return None
    levels = all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= _HIGHEST for v in value.values())
    return {str(name): int(level) for name, level in value.items()} if levels else None


def folded_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node by folded names."""
    return {folded(str(name)): level for name, level in node.items()}


def check_node(qis: Sequence[str], node: Mapping[str, int], fail: Callable[[str], SqlprivError]) -> None:
    """A node names every quasi-identifier once, and nothing else."""
    named, wanted = [folded(name) for name in node], {folded(q): q for q in qis}
    strange = [name for name in node if folded(name) not in wanted]
    if strange:
        near = did_you_mean(strange[0], qis)
        raise fail(f"{strange[0]!r} is no quasi-identifier, so it has no level; there are {', '.join(qis)}{near}")
    missing = [q for key, q in wanted.items() if named.count(key) != 1]
    if missing:
        raise fail(f"the node needs one level for each quasi-identifier, also for {missing[0]!r}")


@dataclass(frozen=True)
class BoxPolicy(GeneralizedPolicy):
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
        self.check_table(fail, "cut")
