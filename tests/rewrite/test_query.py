"""Queries over a release, against the formulas computed in plain Python over the view and the whole domain."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.estimates import Oracle, same
from support.releases import alpha_beta, write_release

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

CONDITIONS = (
    "true",
    "score < 3*age",
    "age*age + score >= 700 AND nationality = 'AT'",
    "nationality LIKE 'A%' OR age BETWEEN 25 AND 27",
    "NOT (nationality IN ('AT', 'DE'))",
    "nationality IS NULL",
    "nationality IN (SELECT country FROM regions WHERE continent = 'Europe')",
    "EXISTS (SELECT 1 FROM regions AS r WHERE r.country = people.nationality AND r.weight * 20 > people.age)",
    "age > (SELECT 20 * max(weight) FROM regions WHERE regions.country = nationality)",
    "regexp_matches(nationality, '^[AU]') AND score % 7 = 2",
    "regexp_full_match(nationality, 'A.')",
    "age IN (21, 22, NULL)",
    "CASE WHEN age > 30 THEN score > 90 ELSE nationality = 'US' END",
)


@pytest.mark.some(20)
@pytest.mark.parametrize("where", CONDITIONS)
def test_counts_sums_and_averages(opened: OpenRelease, oracle: Oracle, where: str) -> None:
    sql = (
        f"SELECT count(*) AS n, count(nationality) AS c, sum(age - 25) AS s, avg(score) AS a FROM people WHERE {where}"
    )
    found = opened.sql(sql).fetchall()
    assert len(found) == 1
    expected = [*oracle.linear("1", where), *oracle.linear("1", f"({where}) AND nationality IS NOT NULL")]
    expected += [*oracle.linear("age - 25", where), *oracle.average("score", where)]
    assert same(found[0], expected)


@pytest.mark.parametrize("key", ["nationality", "age // 7", "nationality || '!'", "score > 2 * age + 40"])
def test_every_group_of_the_domain_comes_back(opened: OpenRelease, oracle: Oracle, key: str) -> None:
    sql = f"SELECT {key} AS k, count(*) AS n, sum(score) AS s FROM people WHERE age < 38 GROUP BY k ORDER BY k"
    found = opened.sql(sql).fetchall()
    groups = oracle.groups(key, "age < 38")
    assert [row[0] for row in found] == groups
    for row in found:
        where = f"age < 38 AND ({key}) IS NOT DISTINCT FROM {oracle.literal(row[0])}"
        assert same(row[1:], [*oracle.linear("1", where), *oracle.linear("score", where)])


def test_example_4_1_of_the_paper(tmp_path: Path) -> None:
    """With the domains of the example n_D is 549 and the estimate 3.51; reference.md corrects the printed 7.1."""
    columns = {
        "age": ("INTEGER", list(range(20, 40))),
        "nationality": ("VARCHAR", ["British", "Indian", "American"]),
        "score": ("INTEGER", list(range(81, 101))),
    }
    alpha, beta = 2 / 3, 1 / 150
    view = [(36, "British", 99), (38, "Indian", 99), (32, "American", 82), (36, "American", 97), (30, "Indian", 85)]
    view += [(33, "British", 90), (20, "Indian", 100)]
    file = write_release(tmp_path / "example.duckdb", columns, view, alpha_beta(alpha, beta), table="students")
    with open_release(file.path) as opened:
        rows = opened.sql("SELECT count(*) AS n FROM students WHERE score < 3*age", intervals=False).fetchall()
    assert rows == [(pytest.approx(3.51),)]


def test_the_answer_is_a_relation(opened: OpenRelease) -> None:
    answer = opened.sql("SELECT nationality, count(*) AS n FROM people GROUP BY nationality")
    assert answer.columns == ["nationality", "n", "n_low", "n_high"]
    assert len(answer.df()) == 4
    assert isinstance(answer, duckdb.DuckDBPyRelation)
