"""A table that PostgreSQL keeps is published as if DuckDB had read it, and what it compares otherwise is settled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.postgres import postgres

import sqlpriv
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.publishing import publish, read_policy
from sqlpriv.table.engines import engine_table
from sqlpriv.table.source import open_source

PEOPLE = """
    SELECT i AS id, CAST(20 + i * 7 % 50 AS INTEGER) AS age, lpad(CAST(1300 + i * 13 % 4 AS VARCHAR), 5, '0') AS zip,
        CASE i % 3 WHEN 0 THEN 'flu' WHEN 1 THEN 'cold' END AS ill, CAST(i % 7 / 2.0 AS NUMERIC(10, 2)) AS dose,
        CAST('2020-02-28' AS DATE) + CAST(i % 5 AS INTEGER) AS day
    FROM {numbers}"""
POLICY = """
[table]
{source}
[ledger]
path = "{engine}.db"
[columns]
id = {{ role = "identifier" }}
age = {{ role = "quasi-identifier", hierarchy = "ranges:10,30", domain = "range:20..69" }}
zip = {{ role = "quasi-identifier", hierarchy = "mask:5" }}
ill = {{ role = "sensitive", domain = ["flu", "cold"], null = true }}
dose = {{ role = "{other}" }}
day = {{ role = "{other}" }}
{require}
[release]
accept = "made-up people"
method = "{method}"
output = "{engine}.duckdb"
"""
SOURCES = {
    "postgres": 'engine = "postgres"\nsource = "health.people"\nconnection = "env:PEOPLE_AT"',
    "duckdb": 'source = "people.parquet"',
}


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver comes with make test-spark")
    with postgres() as uri, driver.connect(uri, autocommit=True) as con, con.cursor() as cursor:
        yield uri, cursor


@pytest.fixture
def folder(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    uri, cursor = server
    monkeypatch.setenv("PEOPLE_AT", uri)
    cursor.execute("DROP SCHEMA IF EXISTS health CASCADE")
    cursor.execute("CREATE SCHEMA health")
    cursor.execute(f"CREATE TABLE health.people AS {PEOPLE.format(numbers='generate_series(0, 1199) AS r(i)')}")
    duckdb.sql(f"COPY ({PEOPLE.format(numbers='range(1200) AS r(i)')}) TO '{tmp_path}/people.parquet'")
    (tmp_path / "key").write_text("5a" * 32)
    return tmp_path


def policy(folder: Path, engine: str, method: str) -> Path:
    path = folder / f"{engine}-{method}.toml"
    noisy = method == "noisy_counts"
    text = POLICY.format(
        source=SOURCES[engine], engine=engine, method=method, other="drop" if noisy else "other",
        require="" if noisy else "[require]\nk = 9",
    )  # fmt: skip
    if noisy:
        text = text.replace('zip = { role = "quasi-identifier", hierarchy = "mask:5" }', 'zip = { role = "drop" }')
        text = text.replace(', hierarchy = "ranges:10,30"', "")
        text += "gamma = 0.8\nd = 0.05\nn_public = 1200\nuncovered = 'only a test'\n"
    path.write_text(text)
    return path


def rows(file: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as con:
        return con.sql("SELECT CAST(t AS VARCHAR), count(*) FROM main.people AS t GROUP BY 1 ORDER BY 1").fetchall()


@pytest.mark.parametrize("method", ["generalize", "noisy_counts"])
def test_the_release_of_a_table_of_postgres_is_that_of_duckdb(folder: Path, method: str) -> None:
    found = {}
    for engine in SOURCES:
        publish(policy(folder, engine, method), key_file=folder / "key" if method == "noisy_counts" else None)
        found[engine] = rows(folder / f"{engine}.duckdb")
    assert found["postgres"] == found["duckdb"]
    assert found["postgres"]


def test_no_release_and_no_message_holds_the_connection(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = policy(folder, "postgres", "generalize")
    publish(path)
    written = (folder / "postgres.duckdb").read_bytes()
    assert b"PEOPLE_AT" not in written
    assert b"postgresql://" not in written
    monkeypatch.setenv("PEOPLE_AT", "postgresql://owner:hunter2@127.0.0.1:1/none")
    with pytest.raises(InputError, match="postgres cannot read the address in PEOPLE_AT") as caught:
        sqlpriv.plan(path)
    assert "hunter2" not in str(caught.value)
    monkeypatch.delenv("PEOPLE_AT")
    with pytest.raises(InputError, match="the variable PEOPLE_AT is not set"):
        sqlpriv.plan(path)


def test_a_password_is_in_no_policy(folder: Path) -> None:
    path = policy(folder, "postgres", "generalize")
    for given in ('connection = "postgresql://owner:hunter2@host/db"', ""):
        path.write_text(path.read_text().replace('connection = "env:PEOPLE_AT"', given))
        with pytest.raises(PolicyError, match="env:NAME") as caught:
            read_policy(path)
        assert "hunter2" not in str(caught.value)


MOMENT = "TIMESTAMP WITH TIME ZONE"


def counted(cursor: Any, values: str, columns: str = "x") -> list[tuple[Any, ...]]:
    cursor.execute(f"CREATE OR REPLACE VIEW health.traps AS SELECT * FROM (VALUES {values}) AS t({columns})")
    try:
        with open_source(engine_table("postgres", "health.traps", Path(), "traps", "env:PEOPLE_AT")) as source:
            assert source.counted is not None
            # A moment as text: DuckDB makes a value of Python of it by a package that is not needed otherwise.
            moments = [c for c, kind in source.types.items() if kind == MOMENT]
            replaced = ", ".join(f'CAST("{c}" AS VARCHAR) AS "{c}"' for c in moments)
            star = f"* REPLACE ({replaced})" if moments else "*"
            found = source.con.sql(f"SELECT {star} FROM {source.counted.name}").fetchall()
            return [tuple(source.types.values()), *sorted(tuple(map(str, row)) for row in found)]
    finally:
        cursor.execute("DROP VIEW health.traps")


def test_what_postgres_takes_for_equal_is_what_a_reader_sees(server: Any, folder: Path) -> None:
    _, cursor = server
    # The wheel has neither ICU, whose collations may ignore case, nor citext: a padded text is what is left to try.
    assert counted(cursor, "(CAST('a' AS char(3))), ('A')") == [("VARCHAR",), ("A", "1"), ("a", "1")]
    zeros = counted(cursor, "(CAST('-0' AS float8)), (0), ('NaN'), ('NaN'), (NULL)")
    assert zeros == [("DOUBLE",), ("0.0", "2"), ("None", "1"), ("nan", "2")]
    same = "(CAST(1.10 AS numeric(9, 2))), (CAST(1.1 AS numeric(9, 2)))"
    assert counted(cursor, same) == [("DECIMAL(9,2)",), ("1.10", "2")]
    assert counted(cursor, "(CAST('12.5' AS money))") == [("DECIMAL(20,2)",), ("12.50", "1")]
    days = counted(cursor, "(CAST('infinity' AS date)), ('-infinity'), ('2024-02-29'), (NULL)")
    with duckdb.connect() as con:
        ends = con.sql("SELECT unnest(['infinity', '-infinity']::DATE[])").fetchall()
    shown = sorted([*((str(day), "1") for (day,) in ends), ("2024-02-29", "1"), ("None", "1")])
    assert days == [("DATE",), *shown]
    moments = "(CAST('2024-03-31 02:30' AS timestamp), CAST('2024-03-31 02:30+00' AS timestamptz))"
    assert counted(cursor, moments, "x, y")[0] == ("TIMESTAMP", MOMENT)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("CAST('1 month' AS interval)", "is interval, which is not read"),
        ("CAST('{}' AS jsonb)", "is jsonb, which is not read"),
        ("CAST(1.5 AS numeric)", "is numeric, which is not read"),
        ("CAST('NaN' AS numeric(9, 2))", "holds what DECIMAL.9,2. cannot hold"),
        ("CAST(ARRAY[1] AS integer[])", r"is integer\[\], which is not read"),
    ],
)
def test_what_duckdb_would_compare_otherwise_is_refused(server: Any, folder: Path, value: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        counted(server[1], f"({value})")


def test_no_cell_is_in_what_postgres_complains_of(server: Any, folder: Path) -> None:
    with pytest.raises(InputError, match="postgres cannot read traps") as caught:
        counted(server[1], "(CAST('Mallory' || CAST(random() AS text) AS integer))")
    assert "Mallory" not in str(caught.value)
    with pytest.raises(InputError, match="there is no table 'nowhere'"):
        sqlpriv.plan(_other(policy(folder, "postgres", "generalize"), "health.people", "nowhere"))


def _other(path: Path, before: str, after: str) -> Path:
    path.write_text(path.read_text().replace(before, after))
    return path
