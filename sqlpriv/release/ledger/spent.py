"""The cost of several releases of a table, where they compose: differential privacy adds up, and nothing else does.

There are two kinds of it, by what a table is compared with: itself with a row added or left out, and itself with a row
replaced by another. Each release declares both, or the one that it has; each is added up by itself, and never to
the other. A release without either (a generalized table, a view of a sequence) does not compose with anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.facts import Grid, Line, Part
from sqlpriv.macros.calls import Calls

UNITS = ("row", "person")
KINDS = ("added", "replaced")
"""A row or person added or left out; one replaced by another."""
WORDS = {"added": "added or left out", "replaced": "replaced by another"}
_PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5)
Pair = tuple[float, float]
"""Epsilon and delta."""


@dataclass(frozen=True)
class Spent:
    """The cost of one or more releases: epsilon and delta of each kind, per row or per person."""

    unit: str
    added: Pair | None
    replaced: Pair | None
    releases: int = 1

    def of(self, kind: str) -> Pair | None:
        """The cost of one kind."""
        return self.added if kind == "added" else self.replaced

    def to_json(self) -> dict[str, Any]:
        """As the ledger and a release keep it."""
        pairs = {kind: None if (pair := self.of(kind)) is None else list(pair) for kind in KINDS}
        return {"unit": self.unit, **pairs, "releases": self.releases}


def spent_of(content: object) -> Spent | None:
    """The cost from its JSON; None where that makes no sense."""
    if not isinstance(content, Mapping) or set(content) != {"unit", *KINDS, "releases"} or content["unit"] not in UNITS:
        return None
    releases, pairs = content["releases"], [content[kind] for kind in KINDS]
    is_count = isinstance(releases, int) and not isinstance(releases, bool) and releases >= 1
    if not is_count or all(pair is None for pair in pairs) or not all(_is_pair(pair) for pair in pairs):
        return None
    added, replaced = (None if pair is None else (float(pair[0]), float(pair[1])) for pair in pairs)
    return Spent(content["unit"], added, replaced, releases)


def _is_pair(given: object) -> bool:
    if given is None:
        return True
    if not isinstance(given, list) or len(given) != 2:
        return False
    return all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in given)


def together(calls: Calls, parts: Sequence[Spent | None]) -> Spent | None:
    """The cost of all together; None where one does not compose, or some protect rows and others persons."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts) or len({part.unit for part in known}) > 1:
        return None
    added, replaced = (_sum(calls, [part.of(kind) for part in known]) for kind in KINDS)
    if added is None and replaced is None:
        return None
    return Spent(known[0].unit, added, replaced, sum(part.releases for part in known))


def _sum(calls: Calls, pairs: Sequence[Pair | None]) -> Pair | None:
    if any(pair is None for pair in pairs):
        return None
    found = calls.row("composition", [p[0] for p in pairs if p], [p[1] for p in pairs if p])
    return float(found[0]), float(found[1])


def total_parts(calls: Calls, total: Spent) -> Iterator[Part]:
    """Sentence and table about the posterior beliefs after all releases of a table."""
    listed = "; ".join(
        f"({pair[0]:.4g}, {pair[1]:.3g}) when a {total.unit} is {WORDS[kind]}"
        for kind in KINDS
        if (pair := total.of(kind)) is not None
    )
    yield Line(f"Together with the releases before it, {total.releases} in all, it is differential privacy: {listed}.")
    yield Grid(
        ("belief before", *(f"after, {WORDS[kind]}" for kind in KINDS if total.of(kind) is not None)),
        tuple(
            (f"{prior:g}", *(f"{belief:.3g}" for belief in _beliefs(calls, total, prior).values())) for prior in _PRIORS
        ),
        caption=f"the most that one comes to believe about a {total.unit} from all of them, knowing all others",
    )


def _beliefs(calls: Calls, total: Spent, prior: float) -> dict[str, float]:
    found = {}
    for kind in KINDS:
        if (pair := total.of(kind)) is not None:
            bounded = calls.row("posterior_bound", prior, float(calls.value(f"exp({pair[0]!r})")))[0]
            found[kind] = float(calls.value(f"_belief_but_for({bounded!r}, {pair[1]!r})"))
    return found


def posteriors(calls: Calls, total: Spent) -> list[dict[str, float]]:
    """The posterior beliefs after all releases of a table, as data."""
    return [{"prior": prior, **_beliefs(calls, total, prior)} for prior in _PRIORS]


def read_together(text: str) -> Spent | None:
    """The total that a release declares, of all releases up to it; None where that makes no sense."""
    try:
        found = spent_of(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return found if found is not None and found.releases > 1 and json.dumps(found.to_json()) == text else None
