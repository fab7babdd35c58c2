"""The oracle of queries: every sum over the view and over all tuples of the domain, one by one, in plain Python.

DuckDB evaluates the conditions and expressions, row by row, on a table that holds the whole domain; the weights, sums
and intervals are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import duckdb
from agreement import literal
from releases import Made, Weighted, insert, quoted

Interval = tuple[float | None, float | None, float | None]


class Oracle:
    """Answers for one release."""

    def __init__(self, made: Made, table: str = "people") -> None:
        self.made = made
        self.con = duckdb.connect(config={"threads": 1})
        typed = ", ".join(f"{quoted(n)} {kind}" for n, kind in zip(made.names, made.types, strict=True))
        self.con.execute(
            f"CREATE TABLE {quoted(table)} ({typed}, __w DOUBLE, __v DOUBLE, __t DOUBLE, __d INT)"
        ).fetchall()
        view = made.view_weights
        rows = [(*row, view.weight, view.variance, view.skew, 0) for row in made.view]
        rows += [(*row, *self._weights(row), 1) for row in made.domain]
        insert(self.con, quoted(table), rows)
        self.table = quoted(table)
        for name, (columns, values) in made.public.items():
            listed = ", ".join(f"({', '.join(literal(v) for v in row)})" for row in values)
            names = ", ".join(map(quoted, columns))
            self.con.execute(f"CREATE TABLE {quoted(name)} AS FROM (VALUES {listed}) AS v({names})").fetchall()

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

    def values(
        self, expressions: Sequence[str], where: str, source: str | None = None
    ) -> list[tuple[Weighted, bool, list[float]]]:
        """For each element that meets the condition: its weights, whether it is of the domain, and the values."""
        listed = ", ".join(f"({e})::DOUBLE" for e in expressions)
        sql = f"SELECT __w, __v, __t, __d, {listed} FROM {source or self.table} WHERE {where}"
        return [
            (Weighted(w, v, t), d == 1, [x or 0.0 for x in rest])
            for w, v, t, d, *rest in self.con.execute(sql).fetchall()
        ]

    def moments(self, expressions: Sequence[str], where: str, source: str | None = None) -> Moments:
        """Estimates and covariances of the sums of some expressions."""
        rows = self.values(expressions, where, source)
        count = len(expressions)
        e = [math.fsum(w.weight * x[i] for w, _, x in rows) for i in range(count)]
        f = [math.fsum(x[i] for _, d, x in rows if d) for i in range(count)]
        raw = [[math.fsum(w.variance * x[i] * x[j] for w, _, x in rows) for j in range(count)] for i in range(count)]
        third = [math.fsum(w.skew * x[i] ** 3 for w, _, x in rows) for i in range(count)]
        ce, cs = self.made.cross_estimate, self.made.cross_square
        v = [
            [raw[i][j] + ce * (f[i] * e[j] + f[j] * e[i]) / 2 + cs * f[i] * f[j] for j in range(count)]
            for i in range(count)
        ]
        slope = [(third[i] / raw[i][i] if raw[i][i] > 0 else 0.0) + ce * f[i] for i in range(count)]
        return Moments(e, v, slope)

    def linear(
        self, expression: str, where: str = "true", confidence: float = 0.95, source: str | None = None
    ) -> Interval:
        """A sum with its score interval."""
        m = self.moments([expression], where, source)
        z = quantile(confidence)
        e, v, b = m.estimates[0], max(m.covariances[0][0], 0.0), m.slopes[0]
        root = math.sqrt((z * z * b) ** 2 + 4 * z * z * v)
        return e, e + (z * z * b - root) / 2, e + (z * z * b + root) / 2

    def ratio(
        self, upper: str, lower: str, where: str = "true", confidence: float = 0.95, source: str | None = None
    ) -> Interval:
        """A ratio with Fieller's interval, by solving its quadratic equation."""
        m = self.moments([upper, lower], where, source)
        z = quantile(confidence)
        (a, c), ((vaa, vac), (_, vcc)) = m.estimates, m.covariances
        if c == 0:
            return None, None, None
        p, q, r = c * c - z * z * max(vcc, 0.0), a * c - z * z * vac, a * a - z * z * vaa
        if p <= 0:
            return a / c, None, None
        root = math.sqrt(max(q * q - p * r, 0.0))
        return a / c, (q - root) / p, (q + root) / p


class Moments:
    """Of several sums."""

    def __init__(self, estimates: list[float], covariances: list[list[float]], slopes: list[float]) -> None:
        self.estimates = estimates
        self.covariances = covariances
        self.slopes = slopes


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
