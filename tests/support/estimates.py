"""The oracle of queries: every sum over the view and over all tuples of the domain, one by one, in plain Python.

DuckDB evaluates the conditions and expressions, row by row, on a table that holds the whole domain; the weights, sums
and intervals are computed here. An element that a join meets with several rows is one element still: its values are
summed up before anything is multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import duckdb

from support.agreement import literal
from support.releases import Made, Weighted, insert, quoted

Interval = tuple[float | None, float | None, float | None]


@dataclass
class Element:
    """A row of the view or a tuple of the domain that meets a condition."""

    weights: Weighted
    of_domain: bool
    values: list[float]
    """Of each expression, summed over the joined rows."""
    joined: int
    """How many joined rows it is about: of a count, those that are counted."""


class Oracle:
    """Answers for one release."""

    def __init__(self, made: Made, table: str = "people") -> None:
        self.made = made
        self.con = duckdb.connect(config={"threads": 1})
        typed = ", ".join(f"{quoted(n)} {kind}" for n, kind in zip(made.names, made.types, strict=True))
        self.con.execute(
            f"CREATE TABLE {quoted(table)} ({typed}, __w DOUBLE, __v DOUBLE, __t DOUBLE, __d INT, __id INT)"
        ).fetchall()
        view = made.view_weights
        rows = [(*row, view.weight, view.variance, view.skew, 0) for row in made.view]
        rows += [(*row, *self._weights(row), 1) for row in made.domain]
        insert(self.con, quoted(table), [(*row, number) for number, row in enumerate(rows)])
        self.table = quoted(table)
        self.con.execute(f"ATTACH '{made.path}' AS made (READ_ONLY)").fetchall()
        for name in made.public:
            self.con.execute(f'CREATE TABLE {quoted(name)} AS FROM made."public".{quoted(name)}').fetchall()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def _weights(self, element: tuple[Any, ...]) -> tuple[float, float, float]:
        def total(pick: str) -> float:
            return sum(
                getattr(w, pick) * (self.made.share(element) ** power if power else 1.0)
                for power, w in self.made.domain_weights.items()
            )

        return total("weight"), total("variance"), total("skew")

    def groups(self, key: str, where: str = "true", source: str | None = None) -> list[Any]:
        """The values of a group key over the domain, in DuckDB's order."""
        sql = f"SELECT DISTINCT {key} AS k FROM {source or self.table} WHERE __d = 1 AND ({where}) ORDER BY k"
        return [row[0] for row in self.con.execute(sql).fetchall()]

    def literal(self, value: object) -> str:
        """A value as SQL."""
        return literal(value)

    def elements(self, expressions: Sequence[str], where: str, source: str | None = None) -> list[Element]:
        """The elements that meet the condition, with the values of some expressions."""
        listed = ", ".join(f"({e})::DOUBLE" for e in expressions)
        sql = f"SELECT __id, __w, __v, __t, __d, {listed} FROM {source or self.table} WHERE {where}"
        joined = [(row[:5], [x or 0.0 for x in row[5:]]) for row in self.con.execute(sql).fetchall()]
        counts = all(x in (0.0, 1.0) for _, values in joined for x in values)
        found: dict[int, Element] = {}
        for (number, w, v, t, d), values in joined:
            element = found.setdefault(number, Element(Weighted(w, v, t), d == 1, [0.0] * len(values), 0))
            element.values = [a + b for a, b in zip(element.values, values, strict=True)]
            element.joined += any(values) or not counts
        return list(found.values())

    def moments(self, expressions: Sequence[str], where: str, source: str | None = None) -> Moments:
        """Those of the sums of some expressions."""
        return self.both_moments(expressions, where, source)[0]

    def moments_of(self, elements: list[Element], width: int) -> Moments:
        """Estimates, covariances and third moments of the sums over elements, and the variance of their number."""
        places, found = range(width), [(e.weights, e.values) for e in elements]
        e = [math.fsum(w.weight * x[i] for w, x in found) for i in places]
        f = [math.fsum(each.values[i] for each in elements if each.of_domain) for i in places]
        raw = [[math.fsum(w.variance * x[i] * x[j] for w, x in found) for j in places] for i in places]
        third = [
            [[math.fsum(w.skew * x[i] * x[j] * x[k] for w, x in found) for k in places] for j in places] for i in places
        ]
        ce, cs = self.made.cross_estimate, self.made.cross_square
        v = [
            [raw[i][j] + ce * (f[i] * e[j] + f[j] * e[i]) / 2 + cs * f[i] * f[j] for j in places] for i in places
        ]  # fmt: skip
        # Where some elements have more joined rows than others, those with few count less: the effective number.
        once = math.fsum(each.weights.variance * each.joined for each in elements)
        twice = math.fsum(each.weights.variance * each.joined**2 for each in elements)
        return Moments(e, v, raw, third, f, ce, once * once / twice if twice > 0 else 0.0)

    def both_moments(self, expressions: Sequence[str], where: str, source: str | None) -> list[Moments]:
        """Those of all elements, and those of the view alone where they are another opinion."""
        elements, width = self.elements(expressions, where, source), len(expressions)
        found = [self.moments_of(elements, width)]
        is_count = all(x in (0.0, 1.0) for each in elements for x in each.values)
        if not (self.made.cross_estimate or self.made.cross_square or is_count):
            found.append(self.moments_of([each for each in elements if not each.of_domain], width))
        return found

    @property
    def largest(self) -> float:
        """The largest weight of a row of the view."""
        return float(self.made.view_weights.weight) if self.made.view else 0.0

    def linear(
        self,
        expression: str,
        where: str = "true",
        confidence: float = 0.95,
        source: str | None = None,
        apart: bool = True,
    ) -> Interval:
        """A sum with its score interval, and part of a jump to each side.

        Values above and below 0 are treated apart, but not where an element may have both in its joined rows.
        """
        elements = self.elements([expression], where, source)
        z, about = quantile(confidence), self.moments_of(elements, 1)
        apart = apart and all(each.joined <= 1 for each in elements)
        if self.made.cross_estimate or self.made.cross_square or not apart:
            below, above = self._distances(about, about.rows, z)
            return about.estimates[0], about.estimates[0] - below, about.estimates[0] + above
        gains, losses = (
            self.moments_of([replace(each, values=[max(sign * each.values[0], 0.0)]) for each in elements], 1)
            for sign in (1.0, -1.0)
        )
        gain_below, gain_above = self._distances(gains, about.rows, z)
        loss_below, loss_above = self._distances(losses, about.rows, z)
        estimate = gains.estimates[0] - losses.estimates[0]
        return estimate, estimate - math.hypot(gain_below, loss_above), estimate + math.hypot(gain_above, loss_below)

    def _distances(self, sums: Moments, rows: float, z: float) -> tuple[float, float]:
        """How far the bounds of the score interval are below and above the estimate."""
        variance, lean = max(sums.covariances[0][0], 0.0), z * z * sums.slope([1.0]) / 2
        jump = 0.4 * self.largest * math.sqrt(variance / rows) if rows > 0 else 0.0
        half = math.sqrt(lean**2 + z * z * variance) + jump
        return half - lean, half + lean

    def ratio(
        self, upper: str, lower: str, where: str = "true", confidence: float = 0.95, source: str | None = None
    ) -> Interval:
        """A ratio with Fieller's interval, by solving its quadratic equation."""
        both = self.both_moments([upper, lower], where, source)
        (a, c), rows = both[0].estimates, both[0].rows
        if c == 0:
            return None, None, None
        z = quantile(confidence) + (0.4 * self.largest / math.sqrt(rows) if rows > 0 else 0.0)
        lows, highs = [], []
        for m in both:
            ((vaa, vac), (_, vcc)), b = m.covariances, m.slope([1.0, -a / c])
            p = c * c - z * z * max(vcc, 0.0)
            q, r = a * c - z * z * (vac - b * c / 2), a * a - z * z * (vaa - b * a)
            if p <= 0:
                return a / c, None, None
            root = math.sqrt(max(q * q - p * r, 0.0))
            lows.append((q - root) / p)
            highs.append((q + root) / p)
        return a / c, min(lows), max(highs)

    def average(self, column: str, where: str = "true", confidence: float = 0.95) -> Interval:
        """The average of a column: the ratio, its bounds cut to what the domain of the column allows."""
        place = self.made.names.index(column)
        values = [row[place] for row in self.made.domain if row[place] is not None]
        estimate, low, high = self.ratio(column, "1", where, confidence)
        if estimate is None:
            return None, None, None
        if low is None or high is None or low > max(values) or high < min(values):
            return estimate, min(values), max(values)
        return estimate, max(low, min(values)), min(high, max(values))


@dataclass(frozen=True)
class Moments:
    """Of several sums."""

    estimates: list[float]
    covariances: list[list[float]]
    raw: list[list[float]]
    third: list[list[list[float]]]
    totals: list[float]
    cross_estimate: float
    rows: float

    def slope(self, c: Sequence[float]) -> float:
        """How the variance of a combination of the sums grows with it."""
        places = range(len(c))
        second = math.fsum(c[i] * c[j] * self.raw[i][j] for i in places for j in places)
        third = math.fsum(c[i] * c[j] * c[k] * self.third[i][j][k] for i in places for j in places for k in places)
        total = math.fsum(c[i] * self.totals[i] for i in places)
        parts = math.fsum(c[i] * c[i] * self.raw[i][i] for i in places)
        return (third / second if second > 1e-9 * max(parts, 0.0) else 0.0) + self.cross_estimate * total


def quantile(confidence: float) -> float:
    """The z of a two-sided interval."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """The same numbers, or almost; NULL only where NULL is expected. What differs is printed."""
    agree = len(found) == len(expected) and all(map(_close, found, expected))
    if not agree:
        print("found   ", found)
        print("expected", expected)
    return agree


def _close(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, (int, float)):
        # Where an interval is a point, its width is a root of rounding errors.
        return math.isclose(found, expected, rel_tol=1e-7, abs_tol=1e-6)
    return bool(found == expected)
