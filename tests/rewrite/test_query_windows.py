"""Windows over estimates, statistics and quantiles have the moments of the sums that they are, under each method.

Where the same can be written with aggregates alone, both have the same estimate and the same deviation; FRAPP's groups
depend on each other, so that a covariance that is missing would show.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from support.estimates import same
from support.query_releases import METHODS, made

from sqlpriv.publishing import open_release
from sqlpriv.release.file import attach_release
from sqlpriv.release.open import OpenRelease
from sqlpriv.release.read import describe
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Release

Con = duckdb.DuckDBPyConnection
OF = "SELECT x FROM ({}) WHERE age = 30"
BY_AGE = "SELECT age, {} AS x FROM people GROUP BY age"
SAME_INTERVALS = [
    ("sum(count(*)) OVER ()", "count(*)"),
    ("sum(sum(score)) OVER ()", "sum(score)"),
    ("sum(count(*)) OVER (ORDER BY age)", "count(*) FILTER (WHERE age <= 30)"),
    ("sum(sum(score)) OVER (ORDER BY age DESC)", "sum(score) FILTER (WHERE age >= 30)"),
    ("lag(count(*)) OVER (ORDER BY age)", "count(*) FILTER (WHERE age = 28)"),
    ("lead(avg(score), 2) OVER (ORDER BY age)", "avg(score) FILTER (WHERE age = 34)"),
    ("count(*) / sum(count(*)) OVER ()", "count(*) FILTER (WHERE age = 30) / count(*)"),
    ("count(*) / (SELECT count(*) FROM people)", "count(*) FILTER (WHERE age = 30) / count(*)"),
    ("sum(score) / sum(sum(score)) OVER ()", "sum(score) FILTER (WHERE age = 30) / sum(score)"),
    ("sum(sum(age - 30)) OVER ()", "sum(age - 30)"),
]
SAME_DEVIATIONS = [
    (
        "count(*) - lag(count(*)) OVER (ORDER BY age)",
        "count(*) FILTER (WHERE age = 30) - count(*) FILTER (WHERE age = 28)",
    ),
    (
        "avg(sum(score)) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        "sum(score) FILTER (WHERE age BETWEEN 28 AND 32) / 3",
    ),
    (
        "sum(count(*)) OVER (ORDER BY age) / sum(count(*)) OVER (ORDER BY age ROWS 1 PRECEDING)",
        "count(*) FILTER (WHERE age <= 30) / count(*) FILTER (WHERE age BETWEEN 28 AND 30)",
    ),
    (
        "avg(score) - lag(avg(score)) OVER (ORDER BY age)",
        "avg(score) FILTER (WHERE age = 30) - avg(score) FILTER (WHERE age = 28)",
    ),
    (
        "sum(count(*)) OVER (ORDER BY age) - 0.3 * sum(count(*)) OVER ()",
        "sum(CASE WHEN age <= 30 THEN 0.7 ELSE -0.3 END)",
    ),
]
STATISTICS = [
    ("var_pop(age)", "avg(age * age) - avg(age) * avg(age)"),
    ("covar_pop(age, score)", "avg(age * score) - avg(age) * avg(score)"),
    (
        "regr_slope(score, age)",
        "(avg(age * score) - avg(age) * avg(score)) / (avg(age * age) - avg(age) * avg(age))",
    ),
    (
        "regr_intercept(score, age)",
        "avg(score) - avg(age) * (avg(age * score) - avg(age) * avg(score)) / (avg(age * age) - avg(age) * avg(age))",
    ),
]


@pytest.fixture(scope="module", params=METHODS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp(request.param) / "release.duckdb"
    made(request.param, found)
    return found


@pytest.fixture(scope="module")
def opened(path: Path) -> Iterator[OpenRelease]:
    with open_release(path) as found:
        yield found


@pytest.fixture(scope="module")
def described(path: Path) -> Iterator[tuple[Con, Release]]:
    with duckdb.connect(config={"threads": 1}) as con:
        yield con, describe([attach_release(con, path, "made")])


@pytest.mark.some(12)
@pytest.mark.parametrize(("window", "flat"), SAME_INTERVALS)
def test_a_window_is_the_aggregate_that_it_is(opened: OpenRelease, window: str, flat: str) -> None:
    (found,) = opened.sql(OF.format(BY_AGE.format(window))).fetchall()
    (expected,) = opened.sql(f"SELECT {flat} AS x FROM people").fetchall()
    assert same(found, expected)


def deviation(described: tuple[Con, Release], query: str) -> tuple[float, float]:
    """The estimate, and half of an interval of one deviation to each side, if what is divided by is surely not 0."""
    con, release = described
    (row,) = con.execute(rewrite(query, release, Options(deviations=True)).sql).fetchall()
    if row[1] is None:
        pytest.skip("divides by what may be 0")
    return row[0], (row[2] - row[1]) / 2


@pytest.mark.parametrize(("window", "flat"), SAME_DEVIATIONS)
def test_groups_vary_together(described: tuple[Con, Release], window: str, flat: str) -> None:
    found = deviation(described, OF.format(BY_AGE.format(window)))
    expected = deviation(described, f"SELECT {flat} AS x FROM people")
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.some(8)
@pytest.mark.parametrize(("statistic", "flat"), STATISTICS)
@pytest.mark.parametrize("where", ["true", "nationality = 'AT'"])
def test_a_statistic_is_the_function_of_sums_that_it_is(
    described: tuple[Con, Release], statistic: str, flat: str, where: str
) -> None:
    found, expected = (deviation(described, f"SELECT {x} AS x FROM people WHERE {where}") for x in (statistic, flat))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_a_correlation_varies_as_its_square_does(described: tuple[Con, Release]) -> None:
    square = (
        "(avg(age * score) - avg(age) * avg(score)) * (avg(age * score) - avg(age) * avg(score)) / "
        "((avg(age * age) - avg(age) * avg(age)) * (avg(score * score) - avg(score) * avg(score)))"
    )
    r, half = deviation(described, "SELECT corr(age, score) AS x FROM people")
    squared, half_squared = deviation(described, f"SELECT {square} AS x FROM people")
    assert squared == pytest.approx(r * r)
    assert half_squared == pytest.approx(2 * abs(r) * half, rel=1e-6)


@pytest.mark.slow
def test_a_skewness_varies_as_its_square_does(described: tuple[Con, Release]) -> None:
    n, m, s = "count(*)", "avg(age)", "avg(age * age)"
    third = f"(avg(age * age * age) - 3 * {m} * {s} + 2 * {m} * {m} * {m})"
    second = f"({s} - {m} * {m})"
    corrected = f"{n} * ({n} - 1) / (({n} - 2) * ({n} - 2))"
    square = f"{corrected} * {third} * {third} / ({second} * {second} * {second})"
    g, half = deviation(described, "SELECT skewness(age) AS x FROM people")
    squared, half_squared = deviation(described, f"SELECT {square} AS x FROM people")
    assert squared == pytest.approx(g * g)
    assert half_squared == pytest.approx(2 * abs(g) * half, rel=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_quantile_is_where_the_counts_pass(opened: OpenRelease, share: float) -> None:
    """By asking for D at each value, one by one."""
    at = opened.sql("SELECT DISTINCT age FROM people ORDER BY age").fetchall()
    form = f"sum(count(*)) OVER (ORDER BY age) - {share} * sum(count(*)) OVER ()"
    curve = opened.sql(f"SELECT age, {form} AS x FROM people GROUP BY age ORDER BY age").fetchall()
    assert [row[:1] for row in curve] == at
    first = next(age for age, d, _, _ in curve if d >= 0)
    before = [0.0, *(low for _, _, low, _ in curve[:-1])]
    held = [age for (age, _, _, high), low in zip(curve, before, strict=True) if high >= 0 and low <= 0]
    (found,) = opened.sql(f"SELECT quantile_disc(age, {share}) AS q FROM people").fetchall()
    assert found == (first, min(held), max(held))
    (near,) = opened.sql(f"SELECT quantile_cont(age, {share}) AS q FROM people").fetchall()
    assert near[1] <= near[0] <= near[2]
    assert near[1] <= found[1]


def test_ranks_have_no_interval(opened: OpenRelease) -> None:
    query = "SELECT age, rank() OVER (ORDER BY count(*) DESC, age) AS r FROM people GROUP BY age ORDER BY r"
    found = opened.sql(query).fetchall()
    assert [row[1:] for row in found] == [(place, None, None) for place in range(1, 11)]


def test_groups_are_counted_as_they_are_answered(opened: OpenRelease) -> None:
    """How many there are in the table is not known, so that number has no bounds."""
    answer = opened.sql("SELECT nationality, count(*) OVER () AS n FROM people GROUP BY nationality")
    rows = answer.fetchall()
    assert {row[1] for row in rows} == {len(rows)}
