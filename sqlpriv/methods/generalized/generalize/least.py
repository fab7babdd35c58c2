"""How far off the count of a query must be at a node at least, before the node is judged or asked.

Where nothing is suppressed, a count is the sum over all rows of the share of each that has what is asked for: it
depends on the levels of the columns alone that the query mentions, of which there are few. A share is 0 at least and 1
at most, so s rows that are left out make the count smaller by s at most, and never larger; kept as stars they may have
any share instead. So the count of a node lies between two numbers, and the truth may be outside them.

Nothing is known of other aggregates, of rows that a join repeats, and of bins, whose ends move with what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

_HAIR = 1e-9
_Group = tuple[Any, ...]
_PLAIN = {"kind", "expressions", "from", "from_", "where", "group", "order"}
"""The clauses of a SELECT that leave a count what it is."""


def counts_rows(sql: str) -> bool:
    """Whether a query is a count of rows of one table, each once, alone or in groups."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    if not isinstance(tree, exp.Select) or any(value and name not in _PLAIN for name, value in tree.args.items()):
        return False
    nested = [t for t in tree.find_all(exp.Query) if t is not tree]
    several = any(tree.find_all(exp.Rollup, exp.Cube, exp.GroupingSets, exp.TableSample))
    values = [e.unalias() for e in tree.expressions if e.find(exp.AggFunc)]
    counted = len(values) == 1 and isinstance(values[0], exp.Count) and isinstance(values[0].this, exp.Star)
    return counted and not nested and not several and len(list(tree.find_all(exp.Table))) == 1


@dataclass(frozen=True)
class Counts:
    """The counts of a query in each group, by the levels of what it mentions, where nothing is suppressed.

    Levels at which a release refuses the query are not among them.
    """

    truth: Mapping[_Group, float]
    whole: Mapping[tuple[int, ...], Mapping[_Group, float]]
    stars: bool
    """Whether suppressed rows may be kept as stars."""

    def least_error(self, levels: tuple[int, ...], suppressed: int) -> float:
        """What the mean error of the groups is at least, where at most so many rows are suppressed."""
        found = self.whole.get(levels)
        if found is None:
            return 0.0
        return sum(self._least(found.get(g, 0.0), true, suppressed) for g, true in self.truth.items()) / len(self.truth)

    def _least(self, whole: float, true: float, suppressed: int) -> float:
        low, high = max(whole - suppressed, 0.0), whole + suppressed * self.stars
        # A hair less: sums in another order differ in their last digits.
        return max(max(low - true, true - high) * (1 - _HAIR) - _HAIR, 0.0)
