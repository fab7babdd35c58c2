"""Queries that mean the same have the same estimates and the same bounds, under each method.

On the left what analysts write: relations of public tables. On the right the same with conditions on the columns
themselves, for the rows of test_query.REGIONS; no row of the private table meets two public rows here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from estimates import same
from test_query import METHODS, made

from sqlpriv.open_release import OpenRelease, open_release

CONTINENT = "CASE WHEN nationality IN ('AT', 'DE') THEN 'Europe' WHEN nationality = 'US' THEN 'America' END"

PUBLIC_RELATIONS = [
    (
        "SELECT r.continent, count(*) AS n, avg(score) AS a FROM people JOIN (SELECT country, max(continent) AS continent "
        "FROM regions GROUP BY country) AS r ON r.country = nationality GROUP BY r.continent ORDER BY 1",
        f"SELECT {CONTINENT} AS continent, count(*) AS n, avg(score) AS a FROM people "
        "WHERE nationality IS NOT NULL GROUP BY 1 ORDER BY 1",
    ),
    (
        "WITH big AS (SELECT continent, sum(weight) AS w FROM regions GROUP BY continent) "
        "SELECT sum(w * age) AS s FROM people JOIN regions ON country = nationality JOIN big USING (continent)",
        "SELECT sum(CASE WHEN nationality IN ('AT', 'DE') THEN 3.5 * age WHEN nationality = 'US' THEN age END) AS s "
        "FROM people WHERE nationality IS NOT NULL",
    ),
    (
        "SELECT age, count(*) AS n FROM people JOIN (SELECT * FROM regions ORDER BY weight DESC NULLS LAST LIMIT 1) "
        "ON country = nationality GROUP BY age ORDER BY age",
        "SELECT age, count(*) AS n FROM people WHERE nationality = 'DE' GROUP BY age ORDER BY age",
    ),
    (
        "SELECT count(*) AS n, sum(score) AS s FROM people JOIN (SELECT country FROM regions UNION SELECT 'CH') AS r "
        "ON country = nationality WHERE age > 30",
        "SELECT count(*) AS n, sum(score) AS s FROM people WHERE nationality IS NOT NULL AND age > 30",
    ),
    (
        "SELECT count(*) AS n FROM people, (SELECT max(weight) FROM regions WHERE false)",
        "SELECT count(*) AS n FROM people",
    ),
    (
        "SELECT count(*) AS n FROM people CROSS JOIN (SELECT DISTINCT continent FROM regions WHERE weight > 5)",
        "SELECT count(*) AS n FROM people WHERE false",
    ),
]


@pytest.fixture(scope="module", params=METHODS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    path: Path = tmp_path_factory.mktemp(request.param) / "release.duckdb"
    made(request.param, path)
    with open_release(path) as found:
        yield found


def assert_equivalent(opened: OpenRelease, query: str, flat: str) -> None:
    one, other = opened.sql(query), opened.sql(flat)
    assert one.columns == other.columns
    found, expected = one.fetchall(), other.fetchall()
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert same(row, wanted)


@pytest.mark.parametrize(("query", "flat"), PUBLIC_RELATIONS)
def test_relations_of_public_tables(opened: OpenRelease, query: str, flat: str) -> None:
    assert_equivalent(opened, query, flat)


def test_a_public_relation_is_computed_once(opened: OpenRelease) -> None:
    """Else a tie in ORDER BY could give the view one row, and the domain another."""
    query = (
        "SELECT country, count(*) AS n FROM people JOIN (SELECT country FROM regions WHERE continent = 'Europe' "
        "ORDER BY continent LIMIT 1) ON country = nationality GROUP BY country"
    )
    assert opened.explain(query).sql.count("LIMIT 1") == 1
    country, *found = opened.sql(query).fetchall()[0]
    assert same(found, opened.sql(f"SELECT count(*) AS n FROM people WHERE nationality = '{country}'").fetchall()[0])
