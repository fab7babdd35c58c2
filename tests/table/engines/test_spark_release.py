"""A table that Spark reads is published as if DuckDB had read it: the same rows, the same noise, the same digests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.spark import session
from typer.testing import CliRunner

import sqlpriv
from sqlpriv.apps.cli.main import app
from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import publish

PEOPLE = """
    SELECT 1000 * {part} + i AS id, CAST(20 + i * 7 % 50 AS INTEGER) AS age,
        lpad(CAST(1300 + i * 13 % 4 AS VARCHAR), 5, '0') AS zip, ['flu', 'cold', NULL][1 + i % 3] AS ill,
        CASE i % 5 WHEN 0 THEN -0.0 WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 0.0 WHEN 3 THEN NULL ELSE i % 7 END AS dose
    FROM range(400) AS r(i)"""
SOURCES = {"spark": 'engine = "spark"\nsource = "people"', "duckdb": 'source = "people/*.parquet"\nname = "people"'}
COLUMNS = {
    "labels": """
        id = { role = "identifier" }
        age = { role = "quasi-identifier", hierarchy = "ranges:10,30" }
        zip = { role = "quasi-identifier", hierarchy = "mask:5" }
        ill = { role = "sensitive" }
        dose = { role = "other" }
        [require]
        k = 9""",
    "cuts": """
        id = { role = "drop" }
        age = { role = "quasi-identifier" }
        zip = { role = "quasi-identifier" }
        ill = { role = "sensitive" }
        dose = { role = "other" }
        [require]
        k = 9""",
    "buckets": """
        id = { role = "drop" }
        age = { role = "quasi-identifier" }
        zip = { role = "quasi-identifier" }
        ill = { role = "sensitive" }
        dose = { role = "drop" }""",
    "split": """
        id = { role = "drop" }
        age = { role = "quasi-identifier" }
        zip = { role = "quasi-identifier" }
        ill = { role = "drop" }
        dose = { role = "sensitive" }
        [require]
        distinct_l = 2""",
    "noise": """
        id = { role = "drop" }
        age = { role = "published", domain = "range:20..69" }
        zip = { role = "drop" }
        ill = { role = "published", domain = ["flu", "cold"], null = true }
        dose = { role = "drop" }""",
    "sample": """
        id = { role = "drop" }
        age = { role = "quasi-identifier", hierarchy = "ranges:10,50", domain = "range:20..69" }
        zip = { role = "drop" }
        ill = { role = "sensitive", domain = ["flu", "cold"], null = true }
        dose = { role = "drop" }""",
    "weights": """
        id = { role = "drop" }
        age = { role = "quasi-identifier", hierarchy = "ranges:10,30", weight = 0.5 }
        zip = { role = "quasi-identifier", hierarchy = "mask:5", weight = 0.3 }
        ill = { role = "sensitive", weight = 2 }
        dose = { role = "other" }""",
}
BOUND = "gamma = 0.8\nd = 0.05\nuncovered = 'only a test'"
METHODS = {
    "generalize": ("labels", ""),
    "mondrian": ("cuts", ""),
    "hilbert": ("cuts", ""),
    "anatomy": ("split", ""),
    "slicing": ("buckets", "groups = [['age', 'ill'], ['zip']]"),
    "noisy_counts": ("noise", f"{BOUND}\nn_public = 1200"),
    "alpha_beta": ("noise", f"{BOUND}\nduplicates = 'distinct'"),
    "frapp": ("noise", BOUND),
    "sdgs": ("sample", "epsilon = 2.0\ndelta = 1e-3\nbeta = 0.2\nnode = { age = 1 }\nnode_is_public = 'usual'\n"
             "n_public = 1200"),
    "disclose": ("weights", "goal = 'utility'\nc = 0.05\ndictionary = 'voters.parquet'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def spark() -> Any:
    return session()


@pytest.fixture
def folder(tmp_path: Path, spark: Any) -> Path:
    (tmp_path / "people").mkdir()
    for part in range(3):
        duckdb.sql(f"COPY ({PEOPLE.format(part=part)}) TO '{tmp_path}/people/{part}.parquet'")
    duckdb.sql(f"COPY (SELECT DISTINCT age, zip FROM '{tmp_path}/people/*.parquet') TO '{tmp_path}/voters.parquet'")
    (tmp_path / "key").write_text("5a" * 32)
    return tmp_path


def policy(folder: Path, method: str, engine: str) -> Path:
    path, (columns, options) = folder / f"{engine}-{method}.toml", METHODS[method]
    path.write_text(
        f"[table]\n{SOURCES[engine]}\n[ledger]\npath = '{engine}.db'\n[columns]{COLUMNS[columns]}\n"
        f"[release]\naccept = 'made-up people'\nmethod = '{method}'\n{options}\noutput = '{engine}.duckdb'\n"
    )
    return path


def rows(file: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as con:
        views = con.sql("SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal").fetchall()
        table = "main.people" if ("people",) in views else "sqlpriv_release.published"  # split columns have other views
        return con.sql(f"SELECT CAST(t AS VARCHAR), count(*) FROM {table} AS t GROUP BY 1 ORDER BY 1").fetchall()


def rounded(value: Any) -> Any:
    """Sums of floats differ in their last digits, as DuckDB adds them in another order."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("method", METHODS)
def test_the_release_of_a_table_of_spark_is_that_of_duckdb(folder: Path, method: str) -> None:
    key = folder / "key" if METHODS[method][0] in {"noise", "sample", "buckets", "split"} else None
    found, planned = {}, {}
    for engine in SOURCES:
        path = policy(folder, method, engine)
        planned[engine] = sqlpriv.plan(path).content
        publish(path, key_file=key)
        found[engine] = rows(folder / f"{engine}.duckdb")
    assert found["spark"]
    assert found["spark"] == found["duckdb"]
    assert rounded(planned["spark"]) == rounded(planned["duckdb"])


def test_a_frame_of_spark_is_checked_and_published_like_its_files(folder: Path, spark: Any) -> None:
    frame = spark.read.parquet(str(folder / "people"))
    path = policy(folder, "generalize", "duckdb")
    assert sqlpriv.publish(path, data=frame).content["rows"] == 1200
    mine = rows(folder / "duckdb.duckdb")
    (folder / "duckdb.duckdb").unlink()
    sqlpriv.publish(path, folder / "duckdb.duckdb")
    assert mine == rows(folder / "duckdb.duckdb")
    files = sqlpriv.check(str(folder / "people"), ["age", "zip"], "ill", require="k>=2").content
    assert sqlpriv.check(frame, ["age", "zip"], "ill", require="k>=2").content == {**files, "data": "the data"}


def test_the_command_line_checks_what_spark_reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    asked = ["--qi", "age,zip", "--sensitive", "ill", "--json"]
    files, spark = (
        CliRunner().invoke(app, ["check", *given, *asked]) for given in (["people"], ["people", "--engine", "spark"])
    )
    assert spark.exit_code == 0, spark.output
    assert json.loads(spark.stdout) == json.loads(files.stdout)


def test_attacks_and_comparisons_are_those_of_duckdb(folder: Path) -> None:
    found = {}
    for engine in SOURCES:
        path = policy(folder, "generalize", engine)
        publish(path)
        attacks = sqlpriv.attack(folder / f"{engine}.duckdb", policy=path).content
        compared = sqlpriv.compare(path, methods="generalize,mondrian", tune=False).content
        found[engine] = rounded(without_times((attacks, compared)))
    assert found["spark"] == json.loads(json.dumps(found["duckdb"]).replace("duckdb.duckdb", "spark.duckdb"))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(v) for name, v in value.items() if "seconds" not in name}
    return [without_times(v) for v in value] if isinstance(value, list | tuple) else value


def test_a_table_that_changes_between_its_passes_is_not_published(folder: Path, spark: Any) -> None:
    """A frame that draws at random: each pass of Spark reads other rows."""
    frame = spark.read.parquet(str(folder / "people")).selectExpr(
        "id", "IF(java_method('java.lang.Math', 'random') < '0.5', age, 20) AS age", "zip", "ill", "dose"
    )
    with pytest.raises(ReleaseError, match="the table changed while it was read"):
        sqlpriv.publish(policy(folder, "generalize", "duckdb"), data=frame)
    assert not (folder / "duckdb.duckdb").exists()
