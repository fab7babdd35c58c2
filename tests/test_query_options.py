"""Options of a query, intervals of all forms, views of a sequence, public tables, the command line, closed doors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from estimates import Oracle, quantile, same
from query_releases import COLUMNS, REGIONS, made
from releases import Made, Weighted, alpha_beta, random_view, write_release
from typer.testing import CliRunner

import sqlpriv
from sqlpriv.cli import app
from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.open_release import OpenRelease, open_release

Z = quantile(0.95)


def one(opened: OpenRelease, expression: str, where: str = "true", **options: object) -> tuple[float, ...]:
    rows = opened.sql(f"SELECT {expression} AS x FROM people WHERE {where}", **options).fetchall()  # type: ignore[arg-type]
    assert len(rows) == 1
    return tuple(rows[0])


# --- the intervals of all forms -----------------------------------------------------------------


@pytest.mark.parametrize("where", ["true", "age < 26 AND nationality IS NOT NULL"])
@pytest.mark.parametrize(
    ("expression", "summed"),
    [
        ("sum(age) - 2 * count(*)", "age - 2"),
        ("count(*) FILTER (WHERE age > 24)", "(age > 24)::INT"),
        ("sum(score) FILTER (WHERE age > 24) - sum(age)", "CASE WHEN age > 24 THEN score ELSE 0 END - age"),
        ("-sum(age)", "-age"),
        ("3 * count(*)", "3"),
        ("sum(age) / 2", "age / 2"),
        ("sum(CASE WHEN nationality = 'AT' THEN score END)", "CASE WHEN nationality = 'AT' THEN score END"),
    ],
)
def test_a_combination_of_sums_is_one_sum(
    opened: OpenRelease, oracle: Oracle, expression: str, summed: str, where: str
) -> None:
    assert same(one(opened, expression, where), oracle.linear(summed, where))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_confidence_widens_the_interval(opened: OpenRelease, oracle: Oracle, confidence: float) -> None:
    found = one(opened, "count(*)", "age > 30", confidence=confidence)
    assert same(found, oracle.linear("1", "age > 30", confidence))
    found = one(opened, "avg(score)", "age > 30", confidence=confidence)
    assert same(found, oracle.ratio("score", "1", "age > 30", confidence))


@pytest.mark.parametrize(
    ("expression", "upper", "lower"),
    [
        ("100.0 * count(*) FILTER (WHERE age > 26) / count(*)", "100 * (age > 26)::INT", "1"),
        ("sum(score) / nullif(sum(age), 0)", "score", "age"),
        ("(sum(score) + sum(age)) / (2 * count(*))", "score + age", "2"),
        ("avg(score) / 2", "score / 2", "1"),
        ("count(*) FILTER (WHERE age > 26)::DOUBLE / count(*)", "(age > 26)::INT", "1"),
        ("coalesce(sum(score), 0) / CAST(count(*) AS DOUBLE)", "score", "1"),
    ],
)
def test_a_ratio_has_fiellers_interval(
    opened: OpenRelease, oracle: Oracle, expression: str, upper: str, lower: str
) -> None:
    assert same(one(opened, expression), oracle.ratio(upper, lower))


def test_a_shift_moves_and_a_rising_function_takes_the_bounds_along(opened: OpenRelease) -> None:
    low, high = one(opened, "avg(score)")[1:]
    assert one(opened, "avg(score) + 5")[1:] == pytest.approx((low + 5, high + 5))
    assert one(opened, "5 - avg(score)")[1:] == pytest.approx((5 - high, 5 - low))
    assert one(opened, "round(avg(score), 1)")[1:] == pytest.approx((round(low, 1), round(high, 1)))
    assert one(opened, "CAST(avg(score) AS INTEGER)")[1:] == (round(low), round(high))


@pytest.mark.parametrize(
    ("expression", "value", "slopes"),
    [
        ("count(*) * sum(age)", lambda n, a: n * a, lambda n, a: (a, n)),
        ("sum(age) / count(*) * sum(age)", lambda n, a: a * a / n, lambda n, a: (-a * a / n**2, 2 * a / n)),
        ("avg(age) - sum(age) / 50", lambda n, a: a / n - a / 50, lambda n, a: (-a / n**2, 1 / n - 1 / 50)),
        ("avg(age) * avg(age)", lambda n, a: (a / n) ** 2, lambda n, a: (-2 * a * a / n**3, 2 * a / n**2)),
    ],
)
def test_smooth_arithmetic_has_the_delta_methods_interval(
    opened: OpenRelease, oracle: Oracle, expression: str, value: object, slopes: object
) -> None:
    m = oracle.moments(["1", "age"], "true")
    d = slopes(*m.estimates)  # type: ignore[operator]
    variance = sum(d[i] * d[j] * m.covariances[i][j] for i in range(2) for j in range(2))
    centre, half = value(*m.estimates), Z * math.sqrt(max(variance, 0.0))  # type: ignore[operator]
    assert one(opened, expression) == pytest.approx((centre, centre - half, centre + half), rel=1e-6)


def test_what_has_no_sound_bounds_has_none(opened: OpenRelease) -> None:
    for expression in (
        "abs(count(*))",
        "count(*) > 3",
        "CASE WHEN count(*) > 3 THEN 1 ELSE 2 END",
        "round(avg(age)) * count(*)",
    ):
        assert one(opened, expression)[1:] == (None, None)


def test_an_average_whose_count_may_be_0_has_no_bounds(opened: OpenRelease) -> None:
    assert one(opened, "avg(score)", "age = 20 AND score = 81 AND nationality = 'US'")[1:] == (None, None)


# --- options ------------------------------------------------------------------------------------


def test_counts_are_clamped_only_when_asked(opened: OpenRelease) -> None:
    query = "SELECT age, score, count(*) AS n, sum(age) AS s FROM people WHERE nationality = 'US' GROUP BY age, score"
    free, clamped = opened.sql(query).fetchall(), opened.sql(query, nonnegative=True).fetchall()
    assert any(row[2] < 0 for row in free)
    assert all(min(row[2:5]) >= 0 for row in clamped)
    assert any(row[5] < 0 for row in clamped)
    assert sorted((max(r[2], 0), r[5]) for r in free) == sorted((r[2], r[5]) for r in clamped)


def test_intervals_can_be_left_out(opened: OpenRelease) -> None:
    assert opened.sql("SELECT count(*) AS n, avg(age) AS a FROM people", intervals=False).columns == ["n", "a"]


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan])
def test_a_confidence_lies_between_0_and_1(opened: OpenRelease, confidence: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        opened.sql("SELECT count(*) FROM people", confidence=confidence)


def test_estimates_over_answers_keep_their_bounds(opened: OpenRelease) -> None:
    inner = "SELECT nationality AS c, count(*) AS n FROM people GROUP BY c"
    plain = sorted(opened.sql(inner).fetchall(), key=repr)
    assert sorted(opened.sql(f"SELECT * FROM ({inner})").fetchall(), key=repr) == plain
    assert sorted(opened.sql(f"SELECT c, n FROM ({inner})").fetchall(), key=repr) == plain
    assert opened.sql(f"SELECT n, n_high, c FROM ({inner})").columns == ["n", "n_high", "c"]
    doubled = opened.sql(f"SELECT c, -n AS m FROM ({inner})").fetchall()
    assert sorted([(c, -n, -high, -low) for c, n, low, high in plain], key=repr) == sorted(doubled, key=repr)


# --- views and public tables ----------------------------------------------------------------------


def test_views_of_a_sequence_answer_together(tmp_path: Path) -> None:
    """The mean of their estimates, with the variance of a mean."""
    weights = alpha_beta(0.4, 0.02)
    files = [
        write_release(
            tmp_path / f"v{i}.duckdb", COLUMNS, random_view(COLUMNS, 100 + i, i), weights, view_number=f"{i} of 3"
        )
        for i in (1, 2, 3)
    ]
    query = "SELECT count(*) AS n FROM people WHERE age > 26"
    with open_release(*(f.path for f in files)) as opened:
        n, low, high = opened.sql(query).fetchall()[0]
    variance, estimates = 0.0, []
    for file in files:
        with Oracle(file) as oracle:
            m = oracle.moments(["1"], "age > 26")
            estimates.append(m.estimates[0])
            variance += m.covariances[0][0] / 9
            slope, jump = m.slope([1.0]) / 3, 0.4 * oracle.largest / 3
    root = math.sqrt((Z * Z * slope) ** 2 + 4 * Z * Z * variance) + 2 * jump
    centre = sum(estimates) / 3 + Z * Z * slope / 2
    assert (n, low, high) == pytest.approx((sum(estimates) / 3, centre - root / 2, centre + root / 2))


def test_views_of_different_sequences_are_not_combined(tmp_path: Path) -> None:
    weights = alpha_beta(0.4, 0.02)
    first = write_release(tmp_path / "a.duckdb", COLUMNS, [], weights, view_number="1 of 2")
    again = write_release(tmp_path / "b.duckdb", COLUMNS, [], weights, view_number="1 of 2")
    other = write_release(tmp_path / "c.duckdb", COLUMNS, [], weights, table="others", view_number="2 of 2")
    wider = {**COLUMNS, "score": ("INTEGER", list(range(10)))}
    domain = write_release(tmp_path / "d.duckdb", wider, [], weights, view_number="2 of 2")
    for second, message in (
        (again, "given twice"),
        (other, "their table differ"),
        (domain, "domains of 'score' differ"),
    ):
        with pytest.raises(ReleaseError, match=message):
            open_release(first.path, second.path)


def test_public_tables_come_from_files_and_frames(tmp_path: Path) -> None:
    file = tmp_path / "countries.csv"
    file.write_text("code,continent\nAT,Europe\nDE,Europe\n", encoding="utf-8")
    written = made("alpha_beta", tmp_path / "people.duckdb")
    frame = pd.DataFrame({"code": ["AT", "DE"], "continent": ["Europe", "Europe"]})
    query = "SELECT count(*) AS n FROM people JOIN {} ON code = nationality"
    with open_release(written.path, public={"countries": file, "frame": frame}) as opened:
        one_way = opened.sql(query.format("countries")).fetchall()
        assert one_way == opened.sql(query.format("frame")).fetchall()
        assert one_way == opened.sql("SELECT count(*) AS n FROM people WHERE nationality IN ('AT', 'DE')").fetchall()
    for public, message in (
        ({"people": file}, "already a table"),
        ({"regions": file}, "already a table"),
        ({"x": tmp_path / "missing.csv"}, "there is no file"),
        ({"x": 5}, "neither a file nor a data frame"),
    ):
        with pytest.raises(InputError, match=message):
            open_release(written.path, public=public)


def test_a_release_without_noise_answers_from_its_view_alone(tmp_path: Path) -> None:
    """Nothing is summed over the domain, which still says which groups there are."""
    view = random_view(COLUMNS, 30, 5)
    for weights in ({0: Weighted(0.0, 0.0, 0.0)}, {}):
        file = write_release(tmp_path / "plain.duckdb", COLUMNS, view, (Weighted(1.0, 0.0, 0.0), weights))
        with open_release(file.path) as opened:
            assert opened.sql("SELECT count(*) AS n FROM people").fetchall() == [(30, 30, 30)]
            assert opened.sql("SELECT count(*) AS n FROM people WHERE age < score").fetchall() == [(30, 30, 30)]
            assert opened.sql("SELECT sum(age) AS s FROM people WHERE false").fetchall() == [(0, 0, 0)]
            grouped = opened.sql("SELECT nationality, count(*) AS n FROM people GROUP BY nationality").fetchall()
            assert sum(row[1] for row in grouped) == 30
            assert len(grouped) == 4


# --- doors ------------------------------------------------------------------------------------------


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no release file"):
        open_release(tmp_path / "missing.duckdb")
    (tmp_path / "text.duckdb").write_text("hello" * 1000, encoding="utf-8")
    with pytest.raises(ReleaseError, match="no DuckDB file"):
        open_release(tmp_path / "text.duckdb")
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with pytest.raises(ReleaseError, match="no randomized release"):
        open_release(tmp_path / "empty.duckdb")


def test_the_engine_is_locked(opened: OpenRelease) -> None:
    """Even if a query got through: no file can be read, nothing attached, no setting changed."""
    for statement in ("FROM read_text('/etc/hostname')", "ATTACH 'x.duckdb'", "SET enable_external_access = true"):
        with pytest.raises(duckdb.Error):
            opened._con.execute(statement).fetchall()


def test_engine_errors_show_no_values(opened: OpenRelease) -> None:
    with pytest.raises(InputError) as error:
        opened.sql("SELECT count(*) FROM people WHERE CAST(nationality AS INTEGER) = 3")
    assert "AT" not in str(error.value).replace("TRY_CAST", "")
    with pytest.raises(InputError, match="types"):
        opened.sql("SELECT sum(nationality) FROM people")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) / (SELECT count(*) FROM people WHERE age > 20 GROUP BY nationality) AS r FROM people",
        "SELECT count(*) AS n FROM people WHERE nationality = (SELECT country FROM regions)",
    ],
)
def test_a_scalar_subquery_of_several_rows_is_named(opened: OpenRelease, query: str) -> None:
    with pytest.raises(InputError, match="a scalar subquery has several rows"):
        opened.sql(query)


def test_an_answer_can_be_looked_at_twice_and_outlives_other_queries(opened: OpenRelease) -> None:
    first = opened.sql("SELECT count(*) AS n FROM people")
    second = opened.sql("SELECT sum(age) AS s FROM people")
    assert first.fetchall() == opened.sql("SELECT count(*) AS n FROM people").fetchall()
    assert len(second.df()) == 1
    assert second.to_arrow_table().num_rows == 1


def test_explaining_runs_nothing_and_tells_the_cost(opened: OpenRelease) -> None:
    explained = opened.explain("SELECT count(*) AS n FROM people WHERE score < 3 * age")
    assert explained.cost >= 100
    assert explained.sql.startswith("SELECT")
    assert "rows" in str(explained)


# --- the command line -------------------------------------------------------------------------------


def test_the_command_prints_rows_as_objects(release: Made, opened: OpenRelease) -> None:
    query = "SELECT nationality, count(*) AS n FROM people GROUP BY nationality ORDER BY nationality"
    done = CliRunner().invoke(app, ["query", str(release.path), query, "--json"])
    assert done.exit_code == 0, done.output
    names = ["nationality", "n", "n_low", "n_high"]
    assert [list(row.values()) for row in json.loads(done.output)] == [list(r) for r in opened.sql(query).fetchall()]
    assert all(list(row) == names for row in json.loads(done.output))


@pytest.mark.parametrize("release", ["alpha_beta"], indirect=True)
def test_the_command_has_all_options(release: Made, tmp_path: Path) -> None:
    file = tmp_path / "extra.csv"
    file.write_text("code\nAT\n", encoding="utf-8")
    query = "SELECT count(*) AS n FROM people JOIN extra ON code = nationality"
    options = ["--no-intervals", "--nonnegative", "--confidence", "0.9", "--public", f"extra={file}", "--budget", "1e6"]
    done = CliRunner().invoke(app, ["query", str(release.path), query, *options])
    assert done.exit_code == 0, done.output
    assert "n_low" not in done.output
    done = CliRunner().invoke(app, ["query", str(release.path), query, *options, "--explain"])
    assert "__priv_d" in done.output
    done = CliRunner().invoke(app, ["query", str(release.path), query, "--public", "extra"])
    assert isinstance(done.exception, InputError)
    other = write_release(
        tmp_path / "second.duckdb",
        COLUMNS,
        random_view(COLUMNS, 9, 2),
        alpha_beta(0.4, 0.02),
        public=REGIONS,
        view_number="2 of 2",
    )
    done = CliRunner().invoke(
        app, ["query", str(release.path), "SELECT count(*) AS n FROM people", "--with", str(other.path)]
    )
    assert done.exit_code == 0, done.output


def test_it_is_part_of_the_package() -> None:
    assert sqlpriv.open_release is open_release


@pytest.mark.parametrize("function", ["sqrt", "ln", "log", "log10", "log2"])
def test_a_function_that_is_not_defined_there_is_null(opened: OpenRelease, function: str) -> None:
    """An estimate, or its lower bound, may be below 0 where the true number cannot be."""
    below = one(opened, f"{function}(count(*) - 100000)")
    assert below[0] is None
    value, low, high = one(opened, f"{function}(count(*) FILTER (WHERE age = 20 AND score = 81))")
    assert all(v is None or math.isfinite(v) for v in (value, low, high))


def test_mean_is_avg(opened: OpenRelease) -> None:
    assert one(opened, "mean(age)") == one(opened, "avg(age)")
