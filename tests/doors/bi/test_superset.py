"""Superset, the real one, without a window: it connects, lists tables, draws charts and fills filters.

Its packages fight with ours, so it has an environment of its own, .venv-bi, which `make test-bi` sets up.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

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
method = "generalize"
output = "visits.duckdb"
[views]
by_month = "SELECT date_trunc('month', day) AS month, ward, count(*) AS n FROM visits GROUP BY 1, 2"
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("superset")
    rows = "".join(
        f"2024-{1 + i % 12:02}-{1 + i % 28:02},{('north', 'south', 'west')[i % 3]},{'flu' if i % 5 else 'cold'}\n"
        for i in range(2016)
    )
    (folder / "visits.csv").write_text("day,ward,ill\n" + rows, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    sqlpriv.publish(folder / "policy.toml", ledger_file=folder / "ledger.db")
    return folder / "visits.duckdb"


def superset(folder: Path, **wanted: Any) -> dict[str, Any]:
    """What Superset tells, when it was told where the release is."""
    python = ROOT / ".venv-bi" / "bin" / "python"
    if not python.exists():
        pytest.skip("Superset is not there: make test-bi sets it up")
    script = Path(__file__).with_name("talk_to_superset.py")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SQLPRIV"))}
    done = subprocess.run(
        [python, script, folder, json.dumps(wanted)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(told, dict)
    return told


def chart(**query: Any) -> dict[str, Any]:
    return {"columns": [], "metrics": [], "filters": [], "orderby": [], "row_limit": 1000, **query}


def total(column: str) -> dict[str, Any]:
    return {"expressionType": "SQL", "sqlExpression": f"sum({column})", "label": column}


def test_stored_views_through_the_engine_of_duckdb(release: Path, tmp_path: Path) -> None:
    over_time = {"columnType": "BASE_AXIS", "sqlExpression": "month", "label": "month", "expressionType": "SQL"}
    told = superset(
        tmp_path,
        uri=f"duckdb:///{release}?access_mode=read_only",
        schema="main",
        table="by_month",
        charts={
            "grouped": chart(
                columns=["ward"],
                metrics=[total("n"), total("n_low"), total("n_high")],
                filters=[{"col": "ward", "op": "IN", "val": ["north", "south"]}],
                orderby=[["ward", True]],
            ),
            "series": chart(
                columns=[{**over_time, "timeGrain": "P1M"}, "ward"],
                metrics=[total("n")],
                series_columns=["ward"],
                series_limit=2,
                series_limit_metric=total("n"),
            ),
        },
        filters=["ward"],
    )
    assert sorted(told["tables"]) == ["by_month", "visits"]
    assert set(told["columns"]) == {"month", "ward", "n", "n_low", "n_high"}
    assert [row["ward"] for row in told["charts"]["grouped"]] == ["north", "south"]
    assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in told["charts"]["grouped"])
    assert len({row["ward"] for row in told["charts"]["series"]}) == 2
    assert len(told["charts"]["series"]) == 24
    assert sorted(told["filters"]["ward"]) == ["north", "south", "west"]
