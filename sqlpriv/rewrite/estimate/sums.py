"""The sums that estimates need, and the one query that computes them: over the view, over the domain, and joined.

A sum of f is estimated by sum(weight f) over the view plus the same over the domain; its variance likewise from
variance f f', its third moment from skew f f' f'', where f is all that a row adds, summed over the public rows it is
joined with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlpriv.rewrite.estimate.multiplying import Joins
from sqlpriv.rewrite.estimate.parts import PLAIN, DomainPart, ViewPart, ViewPartByRow
from sqlpriv.rewrite.estimate.signs import is_never_below_zero
from sqlpriv.rewrite.estimate.summands import Kept, Summands
from sqlpriv.rewrite.estimate.texts import Texts, number
from sqlpriv.rewrite.release import Weights

SUMS = "__priv_s"
_WEIGHT, _VARIANCE, _SKEW = "weight", "variance", "skew"


class Sums:
    """Collects what is to be summed while an answer is put together; owns its summands, and is given its joins."""

    def __init__(self, texts: Texts, joins: Joins) -> None:
        self.release = joins.release
        self.joins = joins
        self.summands = Summands(texts)
        self._columns: dict[tuple[str, object], tuple[str, tuple[int, ...]]] = {}
        """What is computed: under which name, and the numbers of the summands that are multiplied."""

    # --- what the formulas ask for: names of columns of the sums -------------------------------------

    def estimate(self, i: int) -> str:
        """The estimate of a sum."""
        return self._column("e", i)

    def variance(self, i: int, j: int) -> str:
        """The variance of an estimate, or the covariance of two."""
        return self._column("c" if self.release.has_cross_terms else "v", i, j)

    def raw_variance(self, i: int, j: int) -> str:
        """The part of the variance that is a sum over rows."""
        return self._column("v", i, j)

    def third(self, i: int, j: int, k: int) -> str:
        """The third moment; divided by kappa, where that is the same for all rows: a sum like those of variances."""
        return self._column("t" if self.release.kappa is None else "v", i, j, k)

    def view_variance(self, i: int, j: int) -> str:
        """The part of the variance that the rows of the view make."""
        return self._column("w", i, j)

    def view_third(self, i: int, j: int, k: int) -> str:
        """The part of the third moment that the rows of the view make, as above."""
        return self._column("u" if self.release.kappa is None else "w", i, j, k)

    def counted(self, i: int) -> int:
        """The number of the summand that counts the rows of the private table behind another one."""
        return self.summands.number(Kept((), self.summands[i].filters, self.joins.multiply))

    def domain_total(self, i: int) -> str:
        """The plain sum over the domain."""
        return self._column("f", i)

    def is_count(self, i: int) -> bool:
        """Whether a summand is 0 or 1 for every row of the private table."""
        return self.counts_rows(i) and not self.joins.multiply

    def counts_rows(self, i: int) -> bool:
        """Whether a summand is a count, perhaps of joined rows."""
        return not self.summands[i].factors

    def never_below_zero(self, i: int) -> bool:
        """Whether all that a summand sums is known to be at least 0."""
        return all(is_never_below_zero(self.summands.node(f), self.release) for f in self.summands[i].factors)

    def _column(self, kind: str, *numbers: int) -> str:
        numbers = tuple(sorted(numbers))
        # Where nothing multiplies, equal products are equal sums, whatever the number of their factors.
        what: object = numbers if self.joins.multiply or kind == "c" else self.summands.product(numbers)
        name, _ = self._columns.setdefault((kind, what), (f"{kind}{len(self._columns)}", numbers))
        return f'"{SUMS}"."{name}"'

    # --- the query --------------------------------------------------------------------------------

    def query(
        self, groups: list[exp.Expr | None], budget: float, grouping: Mapping[str, int] | None = None
    ) -> Computed:
        """One row per group of the domain, with all columns asked for; a group that is None is NULL here."""
        present = [g for g in groups if g is not None]
        parts = _Parts(self, present, max((len(numbers) for _, numbers in self._columns.values()), default=1))
        columns = [
            f"{self._text(parts, kind, numbers)} AS {name}" for (kind, _), (name, numbers) in self._columns.items()
        ]
        place = iter(range(len(present)))
        keys = [f"NULL AS g{i}" if g is None else f"__priv_d.g{next(place)} AS g{i}" for i, g in enumerate(groups)]
        marks = [f"{value} AS {name}" for name, value in (grouping or {}).items()]
        return parts.computed(", ".join([*keys, *columns, *marks]) or "1 AS nothing", budget)

    def _text(self, parts: _Parts, kind: str, numbers: tuple[int, ...]) -> str:
        if self.summands[numbers[0]].once:
            return self._effective_rows(parts, numbers[0])
        if kind == "c":
            return self._with_cross_terms(parts, *numbers)
        if kind == "f":
            return parts.domain(numbers, 0)
        weight = {"e": _WEIGHT, "v": _VARIANCE, "w": _VARIANCE, "t": _SKEW, "u": _SKEW}[kind]
        return parts.weighted_view(numbers, weight) if kind in ("w", "u") else parts.both(numbers, weight)

    def _with_cross_terms(self, parts: _Parts, i: int, j: int) -> str:
        f1, f2 = parts.domain((i,), 0), parts.domain((j,), 0)
        e1, e2 = parts.both((i,), _WEIGHT), parts.both((j,), _WEIGHT)
        half, square = number(self.release.cross_estimate / 2), number(self.release.cross_square)
        text = parts.both((i, j), _VARIANCE)
        return f"{text} + {half} * ({f1} * ({e2}) + {f2} * ({e1})) + {square} * {f1} * {f2}"

    def _effective_rows(self, parts: _Parts, once: int) -> str:
        """The variance of the number of rows that count once: (sum v N)^2 / sum v N^2 for N joined rows each.

        That is the sum of v where all have the same N, and less where they have not, as if the rows with few joined
        rows were fewer. Whether a row has any cannot be summed over the domain.
        """
        joined = self.summands.number(replace(self.summands[once], once=False))
        first, second = parts.both((joined,), _VARIANCE), parts.both((joined, joined), _VARIANCE)
        return f"CASE WHEN {second} > 0 THEN ({first}) * ({first}) / ({second}) ELSE 0e0 END"


@dataclass(frozen=True)
class Computed:
    """The SQL of the sums, and what the sums over the domain cost."""

    sql: str
    cost: float
    plan: str


class _Parts:
    """Which sums are computed over the view and over the domain in these groups, each once."""

    def __init__(self, sums: Sums, groups: list[exp.Expr], degree: int) -> None:
        self._release = sums.release
        self._groups = groups
        copies = [sums.joins.copies(groups, d) for d in range(1, degree + 1)]
        alike = len(copies[-1].reads) == len(copies[0].reads)
        if alike:
            copies = copies[-1:]
        given = sums.release, sums.summands
        self._view = ViewPart(*given, copies[0]) if alike else ViewPartByRow(*given, copies[0])
        self._domains = [DomainPart(*given, c, d) for d, c in enumerate(copies, 1)]

    def both(self, numbers: tuple[int, ...], weight: str) -> str:
        """A weighted sum over view and domain."""
        parts = [self.weighted_view(numbers, weight)]
        for power, weights in self._release.domain_weights.items():
            if factor := _of(weights, weight):
                parts.append(f"{number(factor)} * {self.domain(numbers, power)}")
        return " + ".join(parts)

    def weighted_view(self, numbers: tuple[int, ...], weight: str) -> str:
        """A weighted sum over the view."""
        constant = self._release.constant
        if constant is None:
            return f"coalesce({self._view.column(numbers, weight)}, 0e0)"
        return f"{number(_of(constant, weight))} * coalesce({self._view.column(numbers, PLAIN)}, 0)"

    def domain(self, numbers: tuple[int, ...], power: int) -> str:
        """A sum over the domain, times a power of the shares."""
        part = self._domains[min(len(numbers), len(self._domains)) - 1]
        return f"coalesce({part.column(numbers, power)}, 0)"

    def computed(self, listed: str, budget: float) -> Computed:
        """The query that lists this: the groups of the domain, and beside them what else there is of each."""
        first, *others = [part for part in self._domains if part.is_needed]
        sums = {part.name: part.computed(budget) for part in (first, *others)}
        texts = {self._view.name: self._view.sql(), **{name: d.sql for name, d in sums.items()}}
        source = first.name
        for part in (self._view, *others):
            keys = [f"{first.name}.g{i} IS NOT DISTINCT FROM {part.name}.g{i}" for i in range(len(self._groups))]
            source += f" LEFT JOIN {part.name} ON {' AND '.join(keys)}" if keys else f" CROSS JOIN {part.name}"
        ctes = ", ".join(f"{name} AS ({text})" for name, text in texts.items())
        plans = "\n".join(f"{part.about}{sums[part.name].plan}" for part in (first, *others))
        return Computed(f"WITH {ctes} SELECT {listed} FROM {source}", sum(d.cost for d in sums.values()), plans)


def _of(weights: Weights, weight: str) -> float:
    return float(getattr(weights, weight))
