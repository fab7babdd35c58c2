"""Answers of releases whose columns are published apart: against every table that they may stand for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from oracles.buckets import Bucket, Row, all_tables, sum_bounds

from sqlpriv.methods.split.method import OneSide
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Attribute, PublicTable, Release, Side, SplitRelease

Con = duckdb.DuckDBPyConnection
VALUES = (None, -1, 0, 2)
SIDES = {2: (("a", "b"), ("s",)), 3: (("a", "b"), ("s",), ("u",))}


def literal_row(row: Row) -> str:
    return f"({', '.join('NULL::INTEGER' if cell is None else str(cell) for cell in row)})"


def make_release(con: Con, buckets: Sequence[Bucket], sides: Sequence[Sequence[str]]) -> Release:
    """The release of these buckets, in tables of a connection."""
    made, attributes = [], []
    for number, columns in enumerate(((*sides[0], "g"), *sides[1:])):
        table = f"side_{number}"
        rows = [(i, *row) for i, bucket in enumerate(buckets) for row in bucket[number]]
        listed = ", ".join(literal_row(row) for row in rows)
        names = ", ".join(("__bucket", *columns))
        con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM (VALUES {listed}) AS v({names})").fetchall()
        made.append(Side(table, frozenset(columns)))
        attributes += [Attribute(c, "INTEGER", 4, f"(SELECT DISTINCT {c} AS value FROM {table})") for c in columns]
    sizes = [len(bucket[0]) for bucket in buckets]
    return SplitRelease(
        table="t",
        attributes=tuple(attributes),
        rows=OneSide(tuple(made), sum(sizes)).relation,
        sides=tuple(made),
        bucket="__bucket",
        size=sum(sizes),
        largest_bucket=max(sizes),
    )


def ask(con: Con, release: Release, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(rewrite(sql, release, Options()).sql).fetchall()


def random_buckets(sides: int, number: int, most: int = 4, seed: int = 1) -> list[Bucket]:
    """Buckets of a few rows, with NULLs and equal rows; column g is the number of the bucket."""
    draw = random.Random(seed)
    made = []
    for g in range(number):
        size = draw.randint(1, most)
        values = [[[draw.choice(VALUES) for _ in columns] for _ in range(size)] for columns in SIDES[sides]]
        made.append([[(*row, g) for row in map(tuple, values[0])], *(list(map(tuple, side)) for side in values[1:])])
    return made


def is_true(*parts: Any) -> bool:
    return all(part is True for part in parts)


def equal(one: Any, other: Any) -> bool | None:
    return None if one is None or other is None else one == other


def below(one: Any, other: Any) -> bool | None:
    return None if one is None or other is None else one < other


def either(one: bool | None, other: bool | None) -> bool | None:
    return True if one or other else None if one is None or other is None else False


# A question, what a row adds to its answer, and whether its bounds are the best there are.
QUESTIONS: list[tuple[str, Callable[[Row], float], bool]] = [
    ("SELECT count(*) FROM t WHERE a = 2 AND s = 0", lambda r: is_true(equal(r[0], 2), equal(r[3], 0)), True),
    ("SELECT count(*) FROM t WHERE a < 1 AND s IS NULL", lambda r: is_true(below(r[0], 1), r[3] is None), True),
    ("SELECT count(*) FROM t WHERE a = 2 OR s = 0", lambda r: either(equal(r[0], 2), equal(r[3], 0)) is True, True),
    ("SELECT count(*) FROM t WHERE NOT (a = 2 AND b = 0 AND s = 0)",
     lambda r: not all((r[0] == 2, r[1] == 0, r[3] == 0)) and not _unknown(r), True),
    ("SELECT count(*) FROM t WHERE a < s", lambda r: below(r[0], r[3]) is True, False),
    ("SELECT sum(a) FROM t WHERE s = 0", lambda r: (r[0] or 0) if r[3] == 0 else 0, False),
    ("SELECT sum(a * s) FROM t", lambda r: 0 if r[0] is None or r[3] is None else r[0] * r[3], False),
    ("SELECT sum(coalesce(a, 0) + coalesce(s, 0)) FROM t", lambda r: (r[0] or 0) + (r[3] or 0), True),
    ("SELECT count(*) FROM t WHERE a = 2", lambda r: r[0] == 2, True),
    ("SELECT sum(s) FROM t", lambda r: r[3] or 0, True),
    ("SELECT count(*) FROM t", lambda r: 1, True),
]  # fmt: skip


def _unknown(row: Row) -> bool:
    """Whether NOT (a = 2 AND b = 0 AND s = 0) is NULL."""
    parts = [equal(row[0], 2), equal(row[1], 0), equal(row[3], 0)]
    return False not in parts and None in parts


@pytest.fixture(scope="module")
def con() -> Iterator[Con]:
    with duckdb.connect() as opened:
        yield opened


def check(con: Con, buckets: list[Bucket], sides: int, sql: str, added: Callable[[Row], float], exact: bool) -> None:
    """Compare an answer bucket by bucket, and as a whole."""
    release = make_release(con, buckets, SIDES[sides])
    by_bucket = sql.replace("SELECT ", "SELECT g, ") + " GROUP BY g"
    found = {g: rest for g, *rest in ask(con, release, by_bucket)}
    for g, bucket in enumerate(buckets):
        mean, least, greatest = sum_bounds([bucket], added)
        estimate, low, high = found.get(g, (0, 0, 0))
        assert estimate == pytest.approx(mean), bucket
        assert low <= least + 1e-9, bucket
        assert high >= greatest - 1e-9, bucket
        if exact:
            assert (low, high) == (pytest.approx(least), pytest.approx(greatest)), bucket
    ((*together,),) = ask(con, release, sql)
    assert together == [pytest.approx(sum(row[i] for row in found.values())) for i in range(3)]


@pytest.mark.parametrize(("sql", "added", "is_exact"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_every_table_lies_within_the_bounds(con: Con, sql: str, added: Callable[[Row], float], is_exact: bool) -> None:
    check(con, random_buckets(2, 120), 2, sql, added, is_exact)


THREE: list[tuple[str, Callable[[Row], float], bool]] = [
    ("SELECT count(*) FROM t WHERE a = 2 AND s = 0 AND u = 2", lambda r: (r[0], r[3], r[4]) == (2, 0, 2), False),
    ("SELECT count(*) FROM t WHERE a = 2 OR s = 0 OR u = 2", lambda r: r[0] == 2 or r[3] == 0 or r[4] == 2, False),
    ("SELECT count(*) FROM t WHERE s = 0 AND u = 2", lambda r: (r[3], r[4]) == (0, 2), True),
    ("SELECT sum(a * s * u) FROM t", lambda r: 0 if None in (r[0], r[3], r[4]) else r[0] * r[3] * r[4], False),
]


@pytest.mark.parametrize(("sql", "added", "is_exact"), THREE, ids=[q[0] for q in THREE])
def test_three_sides(con: Con, sql: str, added: Callable[[Row], float], is_exact: bool) -> None:
    # The group is a column of the first side, so that even what asks of the others looks at three.
    check(con, random_buckets(3, 60, most=3, seed=2), 3, sql, added, is_exact)


def test_averages_lie_within_their_bounds(con: Con) -> None:
    for seed in range(6):
        buckets = random_buckets(2, 2, most=4, seed=seed)
        release = make_release(con, buckets, SIDES[2])
        for sql, value, inside in (
            ("SELECT avg(a) FROM t WHERE s = 0", lambda r: r[0], lambda r: r[3] == 0),
            ("SELECT avg(s) FROM t WHERE a >= 0", lambda r: r[3], lambda r: r[0] is not None and r[0] >= 0),
        ):
            ((_, low, high),) = ask(con, release, sql)
            means = []
            for rows in all_tables(buckets):
                values = [value(r) for r in rows if inside(r) and value(r) is not None]
                means += [sum(values) / len(values)] if values else []
            assert not means or (low <= min(means) + 1e-9 and high >= max(means) - 1e-9), (seed, sql)
            assert bool(means) == (low is not None)


def test_groups_of_both_sides_are_bounded_one_by_one(con: Con) -> None:
    buckets = random_buckets(2, 20, most=4, seed=5)
    release = make_release(con, buckets, SIDES[2])
    found = {(a, s): rest for a, s, *rest in ask(con, release, "SELECT a, s, count(*) FROM t GROUP BY a, s")}
    for a in VALUES:
        for s in VALUES:
            mean, least, greatest = sum_bounds(buckets, lambda r, a=a, s=s: (r[0], r[3]) == (a, s))
            estimate, low, high = found.get((a, s), (0, 0, 0))
            assert (estimate, low, high) == tuple(map(pytest.approx, (mean, least, greatest)))


def test_infinite_values_are_no_bounds(con: Con) -> None:
    buckets = random_buckets(2, 3, seed=3)
    release = make_release(con, buckets, SIDES[2])
    sql = "SELECT sum(CASE WHEN a = 2 AND s = 0 THEN CAST('inf' AS DOUBLE) ELSE 1 END) FROM t"
    ((_, low, high),) = ask(con, release, sql)
    least = [sum(float("inf") if (r[0], r[3]) == (2, 0) else 1 for r in rows) for rows in all_tables(buckets)]
    assert low <= min(least)
    assert high >= max(least)


def test_a_row_that_meets_several_public_rows_counts_with_all_of_them(con: Con) -> None:
    buckets = random_buckets(2, 40, most=3, seed=6)
    priced = [(0, 5), (0, 7), (2, 1), (-1, 0)]
    con.execute(
        f"CREATE OR REPLACE TABLE priced AS FROM (VALUES {', '.join(map(str, priced))}) AS v(s, price)"
    ).fetchall()
    table = PublicTable("priced", ("memory", "main", "priced"), {"s": "INTEGER", "price": "INTEGER"}, len(priced))
    release = replace(make_release(con, buckets, SIDES[2]), public={"priced": table})
    sql = "SELECT g, sum(p.price) FROM t JOIN priced AS p ON t.s = p.s WHERE a = 2 GROUP BY g"
    found = {g: rest for g, *rest in ask(con, release, sql)}
    for g, bucket in enumerate(buckets):
        mean, least, greatest = sum_bounds([bucket], lambda r: sum(p for s, p in priced if s == r[3] and r[0] == 2))
        estimate, low, high = found.get(g, (0, 0, 0))
        assert estimate == pytest.approx(mean)
        assert low <= least + 1e-9
        assert high >= greatest - 1e-9
