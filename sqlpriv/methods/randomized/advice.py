"""What can be published where a policy asks for too much: the largest sets of its columns that still say something.

A set will do when it holds a sensitive column, a linking attacker is covered on each that it holds, and a count of a
twentieth of the rows and of the domain has a standard error below a fifth of it. Fewer columns make a smaller domain
and less noise, so sets are tried from the largest down, and only as far as the first size at which some will do. All
of it is made from sizes that are public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

from sqlpriv.errors import SqlprivError
from sqlpriv.facts import Grid
from sqlpriv.methods.randomized.attackers import Known
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.terms import Asked, Terms, asked_for
from sqlpriv.table.source import Source

GOOD_ERROR = 0.2
_MOST_TRIED = 200
_MOST_LISTED = 5
MakeTerms = Callable[[Source, Any, Asked], Terms]


@dataclass(frozen=True)
class ColumnSet:
    """Columns that could be published together, and the error of a count of a twentieth of them."""

    columns: tuple[str, ...]
    tuples: int
    error: float

    def to_json(self) -> dict[str, Any]:
        """As `plan` lists it."""
        return {"columns": list(self.columns), "m": self.tuples, "small_count_error": self.error}


def suggested_sets(
    source: Source,
    policy: RandomizedPolicy,
    rows: int,
    known: Known,
    sizes: Mapping[str, int],
    make_terms: MakeTerms,
) -> tuple[ColumnSet, ...]:
    """The largest sets that will do, best first; none where none was found among those tried."""
    asks = replace(policy, release={**policy.release, "d": None, "k": None, "p": None, "alpha": None, "beta": None})
    found: list[ColumnSet] = []
    for columns in _subsets(known, sizes):
        if found and len(columns) < len(found[0].columns):
            break
        part = replace(
            known,
            wanted=tuple(w for w in known.wanted if w.column in columns),
            quasi_identifiers=tuple(q for q in known.quasi_identifiers if q in columns),
            tuples=prod(sizes[c] for c in columns),
        )
        try:
            asked = asked_for(source.calls, asks, rows, part, [sizes[c] for c in columns], None)
            terms = make_terms(source, asks, asked)
        except SqlprivError:
            continue
        if _will_do(terms, policy.max_rows):
            found.append(ColumnSet(columns, part.tuples, terms.small_error))
    return tuple(sorted(found, key=lambda s: s.error)[:_MOST_LISTED])


def _will_do(terms: Terms, most_rows: int) -> bool:
    is_useful = terms.possible and terms.small_error < GOOD_ERROR
    return not terms.uncovered and is_useful and terms.expected_rows <= most_rows


def _subsets(known: Known, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Sets of the columns with at least one that is wanted and not known anyway, from the largest, so many in all."""
    open_columns = {w.column for w in known.wanted if w.choices > 1}
    tried = 0
    for number in range(len(sizes), 0, -1):
        for columns in combinations(sizes, number):
            if open_columns & set(columns):
                tried += 1
                if tried > _MOST_TRIED:
                    return
                yield columns


def advice(policy: RandomizedPolicy, known: Known, sets: Sequence[ColumnSet]) -> str:
    """What can be done where a linking attacker's belief is not below gamma, in one sentence."""
    few = min((w for w in known.wanted if w.choices > 1), key=lambda w: w.choices)
    listed = " or ".join(", ".join(s.columns) for s in sets[:2])
    fewer = f"publish fewer columns, as {listed}" if sets else "no set of the columns will do"
    return (
        f"of {few.column!r} only {few.choices} values are possible: leave it out or take a larger gamma; {fewer}; or "
        "take another method (generalize with distinct_l); or give d yourself and say why in uncovered"
    )


def set_grid(sets: Sequence[ColumnSet]) -> Grid:
    """The sets as a table for people."""
    rows = tuple((", ".join(s.columns), f"{s.tuples:,}", f"{s.error:.1%}") for s in sets)
    return Grid(
        ("columns", "domain", "error of 5%"), rows, title="What could be published", folded=("columns",),
        caption="The largest sets of columns for which a linking attacker is covered, and a count of 5% of the rows "
        f"and the domain is off by less than {GOOD_ERROR:.0%}.",
    )  # fmt: skip
