"""Spark that is not in this process: over Spark Connect, and on a cluster whose executors die."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from support.places import ROOT

import sqlpriv
from sqlpriv.table.digest import whole_digest
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import take_fingerprint

PEOPLE = """SELECT 1000 * {part} + i AS id, CAST(20 + i * 7 % 50 AS INTEGER) AS age,
    lpad(CAST(1300 + i * 13 % 4 AS VARCHAR), 5, '0') AS zip, ['flu', 'cold', NULL][1 + i % 3] AS ill
    FROM range(400) AS r(i)"""
POLICY = """
    [table]
    source = "people/*.parquet"
    name = "people"
    [ledger]
    path = "ledger.db"
    [columns]
    id = { role = "identifier" }
    age = { role = "quasi-identifier", hierarchy = "ranges:10,30" }
    zip = { role = "quasi-identifier", hierarchy = "mask:5" }
    ill = { role = "sensitive" }
    [require]
    k = 9
    [release]
    accept = "made-up people"
    method = "generalize"
    output = "files.duckdb"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("pyspark", reason="Spark has an environment of its own: make test-spark")
    (tmp_path / "people").mkdir()
    for part in range(12):
        duckdb.sql(f"COPY ({PEOPLE.format(part=part)}) TO '{tmp_path}/people/{part}.parquet'")
    return tmp_path


def run(program: str, folder: Path) -> str:
    command = [sys.executable, str(ROOT / "tests" / "support" / program), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_frame_of_spark_connect_is_published_like_its_files(folder: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect comes with make test-spark")
    (folder / "policy.toml").write_text(POLICY)
    run("spark_connect.py", folder)
    sqlpriv.publish(folder / "policy.toml")
    found = []
    for name in ("connect", "files"):
        with duckdb.connect(str(folder / f"{name}.duckdb"), read_only=True) as con:
            found.append(con.sql("SELECT t::VARCHAR, count(*) FROM main.people AS t GROUP BY 1 ORDER BY 1").fetchall())
    assert found[0] == found[1]
    assert found[0]


@pytest.mark.slow
def test_an_executor_that_dies_in_any_pass_changes_nothing(folder: Path) -> None:
    found = json.loads(run("spark_killed.py", folder).splitlines()[-1])
    assert found["killed"] == ["counting", "digest", "sketches"]
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE people AS FROM '{folder}/people/*.parquet'").fetchall()
        combinations = con.sql("SELECT age, zip, count(*) FROM people GROUP BY ALL ORDER BY ALL").fetchall()
        assert found["counted"] == [list(row) for row in combinations]
        whole = WholeRows(con, "people")
        known = take_fingerprint(whole, "a secret")
        assert found["digest"] == [whole_digest(whole), known.digest]
        cells = sorted([s.kind, list(s.columns), s.cells] for s in known.sketches)
    assert found["cells"] == json.loads(json.dumps(cells))
