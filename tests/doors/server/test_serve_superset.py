"""Superset, headless: it connects to the server, lists tables, and draws charts of estimates. By `make test-bi`."""

from __future__ import annotations

import json
import subprocess
from typing import Any
from urllib.parse import quote

import pytest
from support import places
from support.serving import SECRET, Running

pytestmark = [pytest.mark.slow, pytest.mark.one_version]
MAY_2024 = 1_714_521_600_000


@pytest.fixture(scope="module")
def drawn(server: Running) -> Any:
    """What Superset's REST API gave."""
    python = places.ROOT / ".venv-bi" / "bin" / "python"
    if not python.exists():
        pytest.skip("Superset is not there: make test-bi sets it up")
    uri = f"postgresql+psycopg2://analyst:{quote(SECRET)}@127.0.0.1:{server.server.port}/sqlpriv%3Fbounds=off"
    probe = places.TESTS / "support" / "superset_probe.py"
    done = subprocess.run([str(python), str(probe), uri], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_tables_and_columns_are_listed(drawn: Any) -> None:
    assert drawn["tables"] == ["regions", "visits"]
    assert drawn["columns"] == {
        "region": "TEXT", "product": "TEXT", "amount": "INTEGER", "quantity": "INTEGER", "day": "DATE",
        "paid": "BOOLEAN",
    }  # fmt: skip


def test_a_grouped_and_filtered_chart_is_drawn(drawn: Any, server: Running) -> None:
    asked = "SELECT product, count(*) AS n FROM visits WHERE region IN ('north', 'south') GROUP BY 1 ORDER BY 1"
    with server.connect(dbname="sqlpriv?bounds=off") as con:
        expected = con.execute(asked).fetchall()
    assert [(row["product"], row["n"]) for row in drawn["grouped"]["data"]] == expected


def test_a_time_series_with_a_series_limit_is_drawn(drawn: Any) -> None:
    rows = drawn["series"]["data"]
    assert "TO_DATE(" in drawn["series"]["query"]
    assert {row["product"] for row in rows} == {"a", "b"}
    assert len(rows) == 8  # two series of four months
    assert {row["n"] for row in rows if row["day"] == MAY_2024} == {130.0, 131.0}


def test_the_values_of_a_filter_are_those_of_the_domain(drawn: Any) -> None:
    assert {value for value in drawn["values"]["result"] if value} == {"north", "south", "east"}
