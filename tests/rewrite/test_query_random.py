"""Constructs combined at random: the private rows of joins and unions, below joins with public relations, aggregated
once, or twice by sum(). The answer is DuckDB's, as in test_query_rewrite, which says what «» are for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import fewer
from test_query_rewrite import COLUMNS, PUBLIC, Con, assert_same, everything, exact_release

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

CONDITIONS = [
    "age > 22",
    "member",
    "NOT member",
    "nationality IS NULL",
    "coalesce(nationality, 'x') <> 'DE'",
    "score < 3 * age + 10",
    "nationality IN (SELECT country FROM regions)",
]
PUBLIC_RELATIONS = [
    "(SELECT country AS k, max(continent) AS v, count(*) AS w FROM regions GROUP BY country)",
    "(SELECT nationality AS k, label AS v, weight AS w FROM nations)",
    "(SELECT DISTINCT continent AS k, continent AS v, 1 AS w FROM regions)",
    "(SELECT country AS k, continent AS v, weight AS w FROM regions UNION ALL FROM nations)",
    "(SELECT nationality AS k, nationality AS v, x AS w FROM nothing)",
    "(SELECT r.country AS k, n.label AS v, n.weight AS w FROM regions AS r "
    "LEFT JOIN nations AS n ON n.nationality = r.country)",
    "(SELECT country AS k, continent AS v, weight AS w FROM regions ORDER BY country DESC LIMIT 2)",
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenRelease, Con]]:
    path: Path = tmp_path_factory.mktemp("random") / "release.duckdb"
    made = exact_release(path, COLUMNS, public=PUBLIC)
    with open_release(path) as opened, everything(made) as con:
        yield opened, con


def condition(chance: Random) -> str:
    one, other = chance.choice(CONDITIONS), chance.choice(CONDITIONS)
    return chance.choice([one, f"({one} OR {other})", f"({one} AND {other})", f"NOT ({one} AND {other})"])


def rows(chance: Random, depth: int) -> str:
    """A query of private rows with the columns a and s, which are numbers, c, and m."""
    kind = chance.randrange(5) if depth else 0
    if kind == 0:
        return f"SELECT age AS a, nationality AS c, score AS s, member AS m FROM people WHERE {condition(chance)}"
    inner = rows(chance, depth - 1)
    if kind == 1:
        return f"SELECT a + 1 AS a, c, s, m FROM ({inner}) WHERE a <> 22"
    if kind == 2:
        return f"{inner} UNION ALL {rows(chance, depth - 1)}"
    if kind == 3:
        on = chance.choice(["y.nationality = x.c", "y.nationality IS NOT DISTINCT FROM x.c AND y.weight < x.a"])
        join = chance.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT x.a, x.c, y.weight AS s, x.m FROM ({inner}) AS x {join} nations AS y ON {on}"
    join = chance.choice(["SEMI JOIN", "ANTI JOIN"])
    return f"SELECT a, c, s, m FROM ({inner}) AS x {join} regions ON country = c AND weight * 12 > a"


def source(chance: Random) -> tuple[str, list[str]]:
    """FROM, and the columns that it brings."""
    private = rows(chance, chance.randrange(3))
    sql, columns = f"({private}) AS p", ["p.a", "p.c", "p.s", "p.m"]
    for number in range(chance.randrange(3)):
        q, key = f"q{number}", chance.choice(["p.c", "p.c", *(f"q{earlier}.k" for earlier in range(number))])
        on = chance.choice(
            [f"{q}.k = {key}", f"{q}.k = {key} AND {q}.w < p.a", f"{q}.k IS NOT DISTINCT FROM {key}", f"{q}.w > p.a"]
        )
        # The rewriter takes the columns of a union for those of a public table, and refuses LEFT JOIN by those of two.
        by_two = key != "p.c" and key in on and "p.a" in on and "UNION ALL" in private
        join = "JOIN" if by_two else chance.choice(["JOIN", "LEFT JOIN"])
        sql += f" {join} {chance.choice(PUBLIC_RELATIONS)} AS {q} ON {on}"
        columns += [f"{q}.v", f"{q}.w"]
    return sql, columns


def numbers(columns: list[str]) -> list[str]:
    return [c for c in columns if c[-1] in "asw"]


def counted(chance: Random, columns: list[str]) -> str:
    """An aggregate that is never NULL: what NULL plus a number is depends on whether a sum over nothing is 0."""
    one = chance.choice(numbers(columns))
    found = ["count(*)", f"count({chance.choice(columns)})", f"«sum(coalesce({one}, 0))»"]
    return chance.choice([*found, f"count(*) FILTER (WHERE {one} > 22)"])


def once(chance: Random) -> str:
    sql, columns = source(chance)
    keys = chance.sample(columns, chance.randrange(3))
    one, other = chance.choice(numbers(columns)), chance.choice(numbers(columns))
    value = chance.choice([counted(chance, columns), f"«sum({one} * {other})»", f"avg({one})"])
    listed = [*(f"{k} AS k{i}" for i, k in enumerate(keys)), f"{value} AS x"]
    query = f"SELECT {', '.join(listed)} FROM {sql} WHERE {chance.choice(columns)} IS NOT NULL"
    return f"{query} GROUP BY {', '.join(f'k{i}' for i in range(len(keys)))}" if keys else query


def twice(chance: Random) -> str:
    sql, columns = source(chance)
    keys = chance.sample(columns, 2)
    factor = chance.choice(["2", *(f"k{i}" for i, k in enumerate(keys) if k in numbers(columns))])
    listed = ", ".join([*(f"{k} AS k{i}" for i, k in enumerate(keys)), f"{counted(chance, columns)} AS x"])
    inner = f"SELECT {listed}, {counted(chance, columns)} AS y FROM {sql} GROUP BY ALL"
    value = chance.choice(
        [
            "«sum(x)»",
            f"«sum(y - {factor} * x)»",
            "«sum(x) FILTER (WHERE k0 IS NOT NULL)»",
            "«sum(CASE WHEN k0 IS NULL THEN x ELSE y / 2 END)»",
            "«sum(x)» / nullif(«sum(y)», 0)",
        ]
    )
    join = chance.choice(["", " LEFT JOIN regions ON country = k0::VARCHAR"])
    key, group = chance.choice([("", ""), ("k1, ", " GROUP BY k1")])
    return f"SELECT {key}{value} AS v FROM ({inner}) AS g{join}{group}"


@fewer(2)
@given(st.randoms(use_true_random=False))
def test_constructs_combine(both: tuple[OpenRelease, Con], chance: Random) -> None:
    opened, con = both
    assert_same(opened, con, chance.choice([once, twice])(chance), False)
