"""Superset, the real one, without a window: it connects, lists tables, draws charts and fills filters.

It reads stored views by DuckDB's own driver, and a release through the server. Its packages fight with ours, so it has
an environment of its own, .venv-bi, which `make test-bi` sets up; it takes long to start, and starts once.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support.bi_corpus import exact_release
from support.places import ROOT
from support.serving import SECRET, Running, running

import sqlpriv

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

POLICY = """
[table]
source = "visits.csv"
[columns]
day = { role = "quasi-identifier", hierarchy = "dates:month", domain = "range:2024-01-01..2024-12-31" }
ward = { role = "quasi-identifier", hierarchy = "suppression", domain = ["north", "south", "west"] }
ill = { role = "sensitive", domain = ["flu", "cold"] }
[require]
k = 3
[release]
accept = "made-up people"
method = "generalize"
output = "visits.duckdb"
[views]
by_month = "SELECT date_trunc('month', day) AS month, ward, count(*) AS n FROM visits GROUP BY 1, 2"
"""
MAY_2024 = 1_714_521_600_000
PYTHON = ROOT / ".venv-bi" / "bin" / "python"
SCRIPT = Path(__file__).with_name("talk_to_superset.py")


@pytest.fixture(scope="module")
def with_views(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a stored view."""
    folder = tmp_path_factory.mktemp("views")
    rows = "".join(
        f"2024-{1 + i % 12:02}-{1 + i % 28:02},{('north', 'south', 'west')[i % 3]},{'flu' if i % 5 else 'cold'}\n"
        for i in range(2016)
    )
    (folder / "visits.csv").write_text("day,ward,ill\n" + rows, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    sqlpriv.publish(folder / "policy.toml", ledger_file=folder / "ledger.db")
    return folder / "visits.duckdb"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of a release that answers exactly."""
    with running(exact_release(tmp_path_factory.mktemp("served") / "visits-release.duckdb").path) as found:
        yield found


@pytest.fixture(scope="module")
def drawn(with_views: Path, server: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Superset gave of both."""
    if not PYTHON.exists():
        pytest.skip("Superset is not there: make test-bi sets it up")
    wanted = {"views": of_views(with_views), "server": of_server(server)}
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SQLPRIV"))}
    command = [PYTHON, SCRIPT, tmp_path_factory.mktemp("superset"), json.dumps(wanted)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(told, dict)
    return told


def of_views(release: Path) -> dict[str, Any]:
    """Charts of a stored view, by the engine of DuckDB."""
    grouped = chart(
        columns=["ward"],
        metrics=[metric("n", "sum(n)"), metric("n_low", "sum(n_low)"), metric("n_high", "sum(n_high)")],
        filters=[{"col": "ward", "op": "IN", "val": ["north", "south"]}],
        orderby=[["ward", True]],
    )
    return {
        "uri": f"duckdb:///{release}?access_mode=read_only", "schema": "main", "table": "by_month",
        "charts": {"grouped": grouped, "series": series("month", "ward", metric("n", "sum(n)"))}, "filters": ["ward"],
    }  # fmt: skip


def of_server(server: Running) -> dict[str, Any]:
    """Charts of a private table that the server answers for."""
    counted, year = metric("n", "COUNT(*)"), "2024-01-01 : 2025-01-01"
    grouped = chart(
        columns=["product"],
        metrics=[counted],
        filters=[{"col": "region", "op": "IN", "val": ["north", "south"]}],
        orderby=[["product", True]],
    )
    over_time = {
        **series("day", "product", counted), "granularity": "day", "extras": {"time_grain_sqla": "P1M"},
        "time_range": year, "is_timeseries": True,
        "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": year}],
    }  # fmt: skip
    place = f"127.0.0.1:{server.server.port}/sqlpriv%3Fbounds=off"
    return {
        "uri": f"postgresql+psycopg2://analyst:{quote(SECRET)}@{place}", "schema": "public", "table": "visits",
        "charts": {"grouped": grouped, "series": over_time}, "filters": ["region"],
    }  # fmt: skip


def chart(**query: Any) -> dict[str, Any]:
    return {"columns": [], "metrics": [], "filters": [], "orderby": [], "row_limit": 1000, **query}


def series(axis: str, by: str, measured: dict[str, Any]) -> dict[str, Any]:
    """A time series by month, of the two largest of its groups."""
    over_time = {"columnType": "BASE_AXIS", "sqlExpression": axis, "label": axis, "expressionType": "SQL"}
    return chart(
        columns=[{**over_time, "timeGrain": "P1M"}, by],
        metrics=[measured],
        series_columns=[by],
        series_limit=2,
        series_limit_metric=measured,
    )


def metric(label: str, sql: str) -> dict[str, Any]:
    return {"expressionType": "SQL", "sqlExpression": sql, "label": label}


def test_stored_views_are_drawn_through_the_engine_of_duckdb(drawn: Any) -> None:
    told = drawn["views"]
    assert told["tables"] == ["by_month", "visits"]
    assert set(told["columns"]) == {"month", "ward", "n", "n_low", "n_high"}
    grouped, over_time = (told["charts"][name]["data"] for name in ("grouped", "series"))
    assert [row["ward"] for row in grouped] == ["north", "south"]
    assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in grouped)
    assert len({row["ward"] for row in over_time}) == 2
    assert len(over_time) == 24
    assert sorted(told["filters"]["ward"]) == ["north", "south", "west"]


def test_the_tables_and_columns_of_a_server_are_listed(drawn: Any) -> None:
    assert drawn["server"]["tables"] == ["regions", "visits"]
    assert drawn["server"]["columns"] == {
        "region": "TEXT", "product": "TEXT", "amount": "INTEGER", "quantity": "INTEGER", "day": "DATE",
        "paid": "BOOLEAN",
    }  # fmt: skip


def test_a_grouped_and_filtered_chart_of_a_server_is_drawn(drawn: Any, server: Running) -> None:
    asked = "SELECT product, count(*) AS n FROM visits WHERE region IN ('north', 'south') GROUP BY 1 ORDER BY 1"
    with server.connect(dbname="sqlpriv?bounds=off") as con:
        expected = con.execute(asked).fetchall()
    assert [(row["product"], row["n"]) for row in drawn["server"]["charts"]["grouped"]["data"]] == expected


def test_a_time_series_with_a_series_limit_of_a_server_is_drawn(drawn: Any) -> None:
    told = drawn["server"]["charts"]["series"]
    assert "TO_DATE(" in told["query"]
    assert {row["product"] for row in told["data"]} == {"a", "b"}
    assert len(told["data"]) == 8  # two series of four months
    assert {row["n"] for row in told["data"] if row["day"] == MAY_2024} == {130.0, 131.0}


def test_the_values_of_a_filter_are_those_of_the_domain(drawn: Any) -> None:
    assert {value for value in drawn["server"]["filters"]["region"] if value} == {"north", "south", "east"}
