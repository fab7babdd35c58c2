"""What clients ask beside the query: values of parameters, ranges of controls, and which tables there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.bi_corpus import exact_release
from support.query_releases import made
from typer.testing import CliRunner

from sqlpriv.apps.cli.main import app
from sqlpriv.core.errors import InputError, UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.one_version


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("bi") / "visits-release.duckdb"
    exact_release(found)
    return found


@pytest.fixture(scope="module")
def opened(path: Path) -> Iterator[OpenRelease]:
    with open_release(path) as found:
        yield found


@pytest.mark.parametrize(
    ("query", "parameters", "same"),
    [
        ("region = ? AND amount > ?", ["north", 10], "region = 'north' AND amount > 10"),
        ("region = $2 AND amount > $1", [10, "north"], "region = 'north' AND amount > 10"),
        ("region = $r OR region = $r", {"r": "it's"}, "region = 'it''s'"),
        ("region = ? OR '?' = region OR paid = ?", ["a ? $1", True], "paid"),
        ("day >= ?", [date(2024, 2, 29)], "day >= DATE '2024-02-29'"),
        ("day >= ?", [datetime(2024, 2, 29, 1)], "day > DATE '2024-02-29'"),
        ("amount > ? AND amount < ?", [9.5, Decimal("20.5")], "amount IN (10, 20)"),
        ("region IS NOT DISTINCT FROM ?", [None], "region IS NULL"),
        ("region = ?", ["' OR true --"], "false"),
        ("region in ($1,$2)", ["north", "south"], "region IN ('north', 'south')"),
        ("region in ($a,$b) and '$1,$2'<>region", {"a": "north", "b": "south"}, "region IN ('north', 'south')"),
        ("region = ANY($1)", [["north", "it's"]], "region = 'north'"),
        ("region <> all($1)", [["north"]], "region <> 'north'"),
        ("region = ANY($1)", [[]], "false"),
        ("paid limit $1::INTEGER", [2], "paid"),
        ("paid limit CAST(? AS BIGINT)", [None], "paid"),
    ],
)
def test_values_are_bound_before_anything_is_read(opened: OpenRelease, query: str, parameters: Any, same: str) -> None:
    counted = "SELECT count(*) AS n FROM visits WHERE "
    found = opened.sql(counted + query, parameters=parameters).fetchall()
    assert found == opened.sql(counted + same).fetchall()


def test_parameters_are_taken_in_the_order_of_the_text(opened: OpenRelease) -> None:
    query = "SELECT ? AS a, count(*) AS n FROM (SELECT * FROM visits WHERE region = ?) WHERE amount > ? LIMIT ?"
    found = opened.sql(query, intervals=False, parameters=["x", "north", 5, 3]).fetchall()
    expected = opened.sql("SELECT count(*) AS n FROM visits WHERE region = 'north' AND amount > 5").fetchall()
    assert found == [("x", expected[0][0])]


def test_true_is_not_one(opened: OpenRelease) -> None:
    query = "SELECT ? AS x, count(*) AS n FROM visits"
    assert [opened.sql(query, parameters=[v]).fetchall()[0][0] for v in (1, True)] == [1, True]
    assert type(opened.sql(query, parameters=[True]).fetchall()[0][0]) is bool


@pytest.mark.parametrize(
    ("query", "parameters", "error", "message"),
    [
        ("amount > ?", [], UnsupportedSQLError, "a parameter without a value at line 2, column 16"),
        ("amount > ? AND region = ?", [1], UnsupportedSQLError, "a parameter without a value at line 2, column 31"),
        ("amount > ?", [1, 2], InputError, "the query has no parameter 2"),
        ("amount > ? AND region = $r", {"1": 1, "r": "x"}, InputError, r"mixes \? with \$r at line 2, column 31"),
        ("amount > ?", [float("nan")], InputError, "the parameter 1 is no finite number"),
        ("amount > ?", [object()], InputError, "the parameter 1 is of a type that cannot be bound"),
        ("day > ?", [datetime(2024, 1, 1, tzinfo=timezone.utc)], InputError, "the parameter 1 has a time zone"),
        ("amount > ? AND nosuch = 1", [10], UnsupportedSQLError, "no column 'nosuch' at line 2, column 22"),
    ],
)
def test_wrong_parameters(
    opened: OpenRelease, query: str, parameters: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        opened.sql(f"SELECT count(*) FROM visits\nWHERE {query}", parameters=parameters)


def test_extremes_of_the_domain_say_so(opened: OpenRelease) -> None:
    query = 'SELECT MIN(v.amount) AS "lo", max(amount * quantity) FROM main.visits AS v WHERE amount > 5'
    answer = opened.sql(query, domain_extremes=True)
    assert answer.columns == ["lo_domain", "max(amount * quantity)_domain"]
    assert answer.fetchall() == [(10, 200)]
    tableau = "SELECT MAX(day) AS hi FROM visits HAVING (COUNT(1) > 0)"
    assert opened.sql(tableau, domain_extremes=True).fetchall() == [(date(2024, 12, 31),)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT min(amount), count(*) FROM visits",
        "SELECT region, min(amount) FROM visits GROUP BY region",
        "SELECT min(amount) FROM visits HAVING count(*) > 5",
        "SELECT max(amount) - min(amount) FROM visits",
    ],
)
def test_extremes_beside_estimates_are_refused(opened: OpenRelease, query: str) -> None:
    with pytest.raises(UnsupportedSQLError, match=r"m(in|ax)\(\)"):
        opened.sql(query, domain_extremes=True)


def test_tables_and_columns_are_those_an_analyst_sees(opened: OpenRelease) -> None:
    assert opened.sql("SHOW TABLES").fetchall() == [("regions",), ("visits",)]
    described = opened.sql("DESCRIBE visits").fetchall()
    assert [row[:2] for row in described][:3] == [("region", "VARCHAR"), ("product", "VARCHAR"), ("amount", "INTEGER")]
    seen = opened.sql("SELECT DISTINCT table_name FROM information_schema.columns ORDER BY 1").fetchall()
    assert seen == [("regions",), ("visits",)]
    answer = opened.sql("DESCRIBE SELECT region, count(*) AS n FROM visits GROUP BY region").fetchall()
    assert [row[0] for row in answer] == ["region", "n", "n_low", "n_high"]
    empty = opened.sql("SELECT *, amount / 2 AS half FROM visits WHERE 1 = 0")
    assert list(map(str, empty.types))[-2:] == ["BOOLEAN", "DOUBLE"]


def test_the_root_of_what_has_no_bounds_has_none(tmp_path: Path) -> None:
    """greatest(NULL, 0) is 0 to DuckDB."""
    made("alpha_beta", tmp_path / "people.duckdb")
    with open_release(tmp_path / "people.duckdb") as people:
        few = "age = 20 AND nationality = 'US' AND score < 90"
        query = f"SELECT sum(score) / sum(age) AS a, sqrt(sum(score) / sum(age)) AS r FROM people WHERE {few}"
        a, a_low, _, _, r_low, r_high = people.sql(query).fetchall()[0]
    assert a is not None
    assert a_low is None
    assert (r_low, r_high) == (None, None)


def test_the_command_line(path: Path) -> None:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["query", str(path), *arguments])

    counted = "SELECT count(*) AS n FROM visits WHERE region = ?"
    found = json.loads(run(counted, "--json", "--no-intervals", "--parameters", '["north"]').stdout)
    named = json.loads(
        run(counted.replace("?", "$r"), "--json", "--no-intervals", "--parameters", '{"r": "north"}').stdout
    )
    assert found == named
    extremes = json.loads(run("SELECT min(amount) AS x FROM visits", "--json", "--domain-extremes").stdout)
    assert extremes == [{"x_domain": 5}]
    wrong = run(counted, "--parameters", "north")
    assert wrong.exit_code != 0
    assert "--parameters takes a JSON list or object" in wrong.output + str(wrong.exception)
