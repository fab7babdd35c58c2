"""The query over the classes of a sample: of each group, what its sampled rows add at least, and at most.

Published classes have all their sampled rows, and `hidden` ones are classes that could be there and are not: of each
not more rows were sampled than its copies say, and maybe none. What is positive and what is negative in a sum is kept
apart, since rows that are not seen can only add to either. `most` is the largest that one row may add: by the public
domain, so that it does not depend on the sample.
"""

from __future__ import annotations

from sqlpriv.rewrite.estimate.hard_classes import HIGH, LOW, Classes
from sqlpriv.rewrite.estimate.intervals import formula
from sqlpriv.rewrite.estimate.texts import number

ABOVE, BELOW = "above", "below"
MOST = "most"
_INFINITE = "CAST('inf' AS DOUBLE)"
_EXTREME = {LOW: "min", HIGH: "max", MOST: "max"}


def kind_of(part: str, side: str) -> str:
    """What a column of sums is asked for by: the positive or negative part of a sum, and which end of it."""
    return f"{part} {side}"


class SampledClasses(Classes):
    """What one grouping set asks of the classes of a sample."""

    shows_hidden = True

    def text(self, kind: str, numbers: tuple[int, ...]) -> str:
        """The estimate of a sum, or what sampled rows add at least or at most to a part of it."""
        sampling = self._release.sampling
        assert sampling is not None
        (i,) = numbers
        if kind == "e":
            average = self._over_leaves(f"sum(weight * {self._summand(i)})")
            seen = f"sum({self._copied(average)} / c.total) FILTER (WHERE NOT c.hidden)"
            return f"coalesce({seen}, 0e0) / {number(sampling.share)}"
        part, side = kind.split()
        sign = "" if part == ABOVE else "-"
        own = self._over_leaves(f"{_EXTREME[side]}(greatest({sign}({self._summand(i)}), 0e0))")
        if side == MOST:
            return f"coalesce(max({own}), 0e0)"
        if side == HIGH and not sampling.is_closed:
            return _INFINITE
        added = self._copied(formula(f"_class_{side}", own, "c.inside", "c.leaves"))
        return f"coalesce(sum({added}){' FILTER (WHERE NOT c.hidden)' if side == LOW else ''}, 0e0)"
