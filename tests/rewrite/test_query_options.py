"""Views of a sequence, public tables, the command line, closed doors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from support.estimates import Oracle, quantile
from support.query_releases import COLUMNS, REGIONS, made
from support.releases import Made, Weighted, alpha_beta, random_view, write_release
from typer.testing import CliRunner

import sqlpriv
from sqlpriv.apps.cli.main import app
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

# --- views and public tables ----------------------------------------------------------------------


def test_views_of_a_sequence_answer_together(tmp_path: Path) -> None:
    """The mean of their estimates, with the variance of a mean."""
    weights = alpha_beta(0.4, 0.02)
    files = [
        write_release(tmp_path / f"v{i}.duckdb", COLUMNS, random_view(COLUMNS, 100 + i, i), weights, view_number=i)
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
    zz = quantile(0.95) ** 2
    root = math.sqrt((zz * slope) ** 2 + 4 * zz * variance) + 2 * jump
    centre = sum(estimates) / 3 + zz * slope / 2
    assert (n, low, high) == pytest.approx((sum(estimates) / 3, centre - root / 2, centre + root / 2))


def test_views_of_different_sequences_are_not_combined(tmp_path: Path) -> None:
    weights = alpha_beta(0.4, 0.02)
    first = write_release(tmp_path / "a.duckdb", COLUMNS, [], weights, view_number=1)
    again = write_release(tmp_path / "b.duckdb", COLUMNS, [], weights, view_number=1)
    other = write_release(tmp_path / "c.duckdb", COLUMNS, [], weights, table="others", view_number=2)
    wider = {**COLUMNS, "score": ("INTEGER", list(range(10)))}
    domain = write_release(tmp_path / "d.duckdb", wider, [], weights, view_number=2)
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
    with pytest.raises(ReleaseError, match=r"empty.duckdb is no release: it has no table"):
        open_release(tmp_path / "empty.duckdb")


def test_the_engine_is_locked(opened: OpenRelease) -> None:
    """Even if a query got through: no file can be read, nothing attached, no setting changed."""
    for statement, why in (
        ("SELECT filename FROM read_text('/etc/hostname')", "disabled by configuration"),
        ("ATTACH 'x.duckdb'", "disabled by configuration"),
        ("COPY (SELECT 1) TO 'x.csv'", "disabled by configuration"),
        ("SET enable_external_access = true", "configuration has been locked"),
        ("SET threads = 1", "configuration has been locked"),
    ):
        with pytest.raises(duckdb.Error, match=why):
            opened.con.execute(statement).fetchall()


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
        view_number=2,
    )
    done = CliRunner().invoke(
        app, ["query", str(release.path), "SELECT count(*) AS n FROM people", "--with", str(other.path)]
    )
    assert done.exit_code == 0, done.output


def test_it_is_part_of_the_package() -> None:
    assert sqlpriv.open_release is open_release
