"""The operators of the dbt package on other warehouses: built by dbt on PostgreSQL, and their SQL run by SQLite.

`make test-dbt` runs this, where dbt-postgres is: what comes out is compared with what DuckDB gets of the same tables.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from support.commands import run
from support.places import ROOT
from support.postgres import postgres

import sqlpriv

pytest.importorskip("dbt.adapters.postgres", reason="dbt is not installed here; `make test-dbt` runs this")
psycopg2 = pytest.importorskip("psycopg2")
pytestmark = [pytest.mark.slow, pytest.mark.one_version]

SOURCE = ROOT / "tests" / "apps" / "dbt_project"
INPUTS = ("stays", "labels", "hierarchy_zip", "labels_twice", "hierarchy_sex")
OPERATORS = {
    "hidden": "priv.hide('stays', 'diagnosis', 'decade < 60 and sex = ''F''')",
    "labelled": "priv.gen('stays', 'patient', 'diagnosis', 'labels', 'sex = ''F''')",
    "coarse": "priv.generalize('stays', MAP {'zip': 1}, MAP {'zip': 'hierarchy_zip'})",
    "coarse_top": "priv.generalize('stays', MAP {'ZIP': 2}, MAP {'ZIP': 'hierarchy_zip'})",
    # What stops DuckDB, by hand: a cell that has no label, or two, is hidden.
    "with_gaps": "(SELECT * REPLACE (CASE sex WHEN 'F' THEN 'a woman' END AS sex) FROM stays)",
    "with_two_labels": "(SELECT * REPLACE (CASE WHEN patient < 'p007' THEN NULL WHEN patient < 'p050' THEN 'ill' "
    "ELSE diagnosis END AS diagnosis) FROM stays)",
}
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Elsewhere:
    """What PostgreSQL holds after the build, and the SQL of the models."""

    tables: dict[str, Rows]
    compiled: dict[str, str]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    folder = tmp_path_factory.mktemp("elsewhere") / "hospital"
    shutil.copytree(SOURCE, folder)
    assert run(folder, "dbt", "init").returncode == 0
    with postgres() as address:
        _build(folder, parse_qs(urlsplit(address).query)["host"][0])
        results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
        compiled = {r["unique_id"].split(".")[2]: r.get("compiled_code") for r in results}
        con = psycopg2.connect(address)
        try:
            yield Elsewhere({name: _rows_of(con, name) for name in (*INPUTS, *OPERATORS)}, compiled)
        finally:
            con.close()


def _build(folder: Path, socket: str) -> None:
    # Without the tests of models, which are macros of DuckDB.
    what = ["--resource-type", "seed", "--resource-type", "model", "--select", *(f"+{name}" for name in OPERATORS)]
    environment = {**os.environ, "POSTGRES_SOCKET": socket, "DO_NOT_TRACK": "1"}
    for command in (["deps"], ["build", "--target", "elsewhere", *what]):
        words = [sys.executable, "-m", "dbt.cli.main", *command, "--project-dir", str(folder)]
        done = subprocess.run(
            [*words, "--profiles-dir", str(folder)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _rows_of(con: Any, name: str) -> Rows:
    with con.cursor() as cursor:
        cursor.execute(f'SELECT * FROM public."{name}"')
        return sorted(cursor.fetchall(), key=repr)


@pytest.fixture(scope="module")
def expected(elsewhere: Elsewhere) -> dict[str, Rows]:
    """What DuckDB gets of the same rows."""
    with duckdb.connect() as con:
        sqlpriv.load(con)
        con.execute(
            "CREATE TABLE stays (patient VARCHAR, zip VARCHAR, decade INTEGER, sex VARCHAR, diagnosis VARCHAR);"
            "CREATE TABLE labels (patient VARCHAR, diagnosis VARCHAR);"
            "CREATE TABLE hierarchy_zip (zip VARCHAR, district VARCHAR, top VARCHAR)"
        ).fetchall()
        for name in ("stays", "labels", "hierarchy_zip"):
            rows = elsewhere.tables[name]
            con.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows).fetchall()
        return {
            name: sorted(con.execute(f"SELECT * FROM {call}").fetchall(), key=repr) for name, call in OPERATORS.items()
        }


@pytest.mark.parametrize("model", OPERATORS)
def test_postgres_gets_the_rows_that_duckdb_gets(elsewhere: Elsewhere, expected: dict[str, Rows], model: str) -> None:
    assert len(expected[model]) >= 200
    assert expected[model] != elsewhere.tables["stays"]
    assert elsewhere.tables[model] == expected[model]


@pytest.mark.parametrize("model", OPERATORS)
def test_sqlite_gets_the_rows_that_duckdb_gets(elsewhere: Elsewhere, expected: dict[str, Rows], model: str) -> None:
    """By the SQL that dbt wrote for PostgreSQL, but for the database and schema before names."""
    con = sqlite3.connect(":memory:")
    try:
        for name in INPUTS:
            rows = elsewhere.tables[name]
            columns = {"stays": "patient, zip, decade, sex, diagnosis", "hierarchy_zip": "zip, district, top",
                       "hierarchy_sex": "sex, label, top"}.get(name, "patient, diagnosis")  # fmt: skip
            con.execute(f"CREATE TABLE {name} ({columns})")
            con.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        found = con.execute(elsewhere.compiled[model].replace('"postgres"."public".', "")).fetchall()
    finally:
        con.close()
    assert sorted(found, key=repr) == expected[model]
