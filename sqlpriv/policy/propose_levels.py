"""Proposals that can be planned quickly: levels of hierarchies, and columns, are left out until a lattice is small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from sqlpriv.policy.propose_roles import Proposal

MOST_NODES = 20_000
"""A search of so many nodes takes seconds, whatever the table."""
_MOST_COMBINATIONS = 2**120
"""Combinations of values are numbered by a HUGEINT."""
_FEWEST_LEVELS = 2


def few_columns(columns: Sequence[Proposal], values: Mapping[str, int], most: int) -> tuple[Proposal, ...]:
    """So many quasi-identifiers at most: those with the fewest values, which lose the least."""
    qis = sorted((c for c in columns if c.role == "quasi-identifier"), key=lambda c: values[c.name])
    return _without(columns, {c.name for c in qis[most:]}, f"more than {most} columns that others may know")


def few_sensitive(columns: Sequence[Proposal], most: int, method: str) -> tuple[Proposal, ...]:
    """So many sensitive columns at most: the first of those of which most is required."""
    sensitive = sorted((c for c in columns if c.role == "sensitive"), key=lambda c: -(c.distinct_l or 0))
    return _without(columns, {c.name for c in sensitive[most:]}, f"{method} hides one sensitive column")


def small_lattice(columns: Sequence[Proposal], values: Mapping[str, int]) -> tuple[Proposal, ...]:
    """Hierarchies with fewer levels, and where that is not enough fewer columns, until the lattice is small."""
    found = tuple(columns)
    while nodes(found) > MOST_NODES:
        longest = max((c for c in found if c.role == "quasi-identifier"), key=lambda c: levels(thinned(c.hierarchy)))
        if thinned(longest.hierarchy) == longest.hierarchy:
            break
        found = tuple(replace(c, hierarchy=thinned(c.hierarchy)) if c is longest else c for c in found)
    kept: list[Proposal] = []
    for c in sorted((c for c in found if c.role == "quasi-identifier"), key=lambda c: values[c.name]):
        if nodes([*kept, c]) <= MOST_NODES and prod(values[k.name] for k in [*kept, c]) <= _MOST_COMBINATIONS:
            kept.append(c)
    lost = {c.name for c in found if c.role == "quasi-identifier"} - {c.name for c in kept}
    return _without(found, lost, "with it the levels have too many combinations to search")


def nodes(columns: Sequence[Proposal]) -> int:
    """How many nodes the lattice of the quasi-identifiers has."""
    return prod(c.levels or levels(c.hierarchy) for c in columns if c.role == "quasi-identifier")


def levels(hierarchy: str | None) -> int:
    """How many levels a proposed hierarchy has, with the values and the star."""
    kind, _, given = (hierarchy or "").partition(":")
    if kind == "mask":
        return int(given) + 1
    return _FEWEST_LEVELS + (len(given.split(",")) if given else 0)


def thinned(hierarchy: str | None) -> str | None:
    """Every other level of a list of levels; the same where there is but one, or no list."""
    kind, _, given = (hierarchy or "").partition(":")
    steps = given.split(",")
    return f"{kind}:{','.join(steps[::2])}" if kind in {"ranges", "dates"} and len(steps) > 1 else hierarchy


def _without(columns: Sequence[Proposal], names: set[str], why: str) -> tuple[Proposal, ...]:
    return tuple(Proposal(c.name, "drop", f"{c.reason}; left out: {why}") if c.name in names else c for c in columns)
