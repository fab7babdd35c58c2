"""The demo's table is the same everywhere, and has the troubles that real tables have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlpriv.demo import hospital

pytestmark = pytest.mark.one_version

# One number for the whole table: DuckDB 1.5.6 and 2.0.0 must both come to it.
FINGERPRINT = "e598ba0aa7c716e2bcc86edf4ffd0aef"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        hospital.create(con)
        yield con


def one(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
    return con.execute(sql).fetchall()[0][0]


def fingerprint(con: duckdb.DuckDBPyConnection, table: str) -> Any:
    return one(
        con,
        f"""SELECT md5(string_agg(md5(concat_ws('|', patient_id, coalesce(zip, '?'), birth_date,
            sex, coalesce(nationality, '?'), admission_date, coalesce(diagnosis, '?'),
            length_of_stay)), '' ORDER BY rowid)) FROM {table}""",
    )


def test_the_table_is_the_same_on_every_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    assert fingerprint(con, "hospital") == FINGERPRINT


def test_the_seed_decides(con: duckdb.DuckDBPyConnection) -> None:
    hospital.create(con, "again", seed=7)
    hospital.create(con, "other", seed=8)
    assert fingerprint(con, "again") == FINGERPRINT
    assert fingerprint(con, "other") != FINGERPRINT


def test_threads_do_not_matter() -> None:
    with duckdb.connect(config={"threads": 1}) as con:
        hospital.create(con)
        assert fingerprint(con, "hospital") == FINGERPRINT


def test_columns_and_rows(con: duckdb.DuckDBPyConnection) -> None:
    types = con.execute(
        "SELECT column_name, column_type FROM (DESCRIBE hospital)",
    ).fetchall()
    assert types == [
        ("patient_id", "VARCHAR"),
        ("zip", "VARCHAR"),
        ("birth_date", "DATE"),
        ("sex", "VARCHAR"),
        ("nationality", "VARCHAR"),
        ("admission_date", "DATE"),
        ("diagnosis", "VARCHAR"),
        ("length_of_stay", "INTEGER"),
    ]
    assert one(con, "SELECT count(*) FROM hospital") == 24000


@pytest.mark.parametrize("column", ["zip", "nationality", "diagnosis"])
def test_some_values_are_unknown(con: duckdb.DuckDBPyConnection, column: str) -> None:
    share = one(con, f"SELECT avg(CAST({column} IS NULL AS INTEGER)) FROM hospital")
    assert 0.005 <= share <= 0.02


@pytest.mark.parametrize("column", ["patient_id", "birth_date", "sex", "admission_date", "length_of_stay"])
def test_the_rest_is_known(con: duckdb.DuckDBPyConnection, column: str) -> None:
    assert one(con, f"SELECT count(*) FROM hospital WHERE {column} IS NULL") == 0


def test_some_rows_are_there_twice(con: duckdb.DuckDBPyConnection) -> None:
    assert one(con, "SELECT count(*) FROM (SELECT DISTINCT * FROM hospital)") == 24000 - 120


def test_some_patients_come_back(con: duckdb.DuckDBPyConnection) -> None:
    share = one(
        con,
        """SELECT avg(CAST(stays > 1 AS INTEGER)) FROM (
            SELECT count(*) AS stays FROM (SELECT DISTINCT * FROM hospital) GROUP BY patient_id)""",
    )
    assert 0.13 <= share <= 0.17


def test_a_patient_is_one_person(con: duckdb.DuckDBPyConnection) -> None:
    persons = one(
        con,
        """SELECT count(*) FROM (
            SELECT DISTINCT patient_id, zip, birth_date, sex, nationality FROM hospital)""",
    )
    assert persons == one(con, "SELECT count(DISTINCT patient_id) FROM hospital")


@pytest.mark.parametrize(
    "impossible",
    [
        "birth_date >= admission_date",
        "year(admission_date) <> 2024",
        "length_of_stay < 1",
        "length(zip) <> 5",
        "sex <> 'F' AND diagnosis = 'Delivery'",
        "sex = 'F' AND diagnosis = 'Prostate cancer'",
        "birth_date > DATE '2006-01-01' AND diagnosis IN ('Delivery', 'Stroke')",
    ],
)
def test_nothing_impossible(con: duckdb.DuckDBPyConnection, impossible: str) -> None:
    assert one(con, f"SELECT count(*) FROM hospital WHERE {impossible}") == 0


def test_values_are_many_and_skewed(con: duckdb.DuckDBPyConnection) -> None:
    for column, values, skew in [("zip", 60, 10), ("nationality", 12, 100), ("diagnosis", 31, 5)]:
        sizes = con.execute(f"SELECT count(*) FROM hospital WHERE {column} IS NOT NULL GROUP BY {column}").fetchall()
        assert len(sizes) == values
        assert max(sizes)[0] > skew * min(sizes)[0]


def test_the_taxonomy_covers_every_diagnosis(con: duckdb.DuckDBPyConnection) -> None:
    missing = one(
        con,
        """SELECT count(*) FROM hospital AS h WHERE NOT EXISTS (
            SELECT 1 FROM hospital_diagnosis AS t
            WHERE t.diagnosis IS NOT DISTINCT FROM h.diagnosis)""",
    )
    assert missing == 0
    unknown = con.execute("FROM hospital_diagnosis WHERE diagnosis IS NULL").fetchall()
    assert unknown == [(None, "unknown", "*")]


def test_the_taxonomy_is_a_hierarchy(con: duckdb.DuckDBPyConnection) -> None:
    taxonomy = con.execute("FROM hospital_diagnosis").fetchall()
    assert len({diagnosis for diagnosis, _, _ in taxonomy}) == len(taxonomy) == 32
    assert {top for _, _, top in taxonomy} == {"*"}
    assert 5 <= len({chapter for _, chapter, _ in taxonomy}) <= 15


def test_any_table_name_will_do(con: duckdb.DuckDBPyConnection) -> None:
    hospital.create(con, "my hospital", rows=400)
    assert one(con, 'SELECT count(*) FROM "my hospital"') == 400
    assert one(con, 'SELECT count(*) FROM "my hospital_diagnosis"') == 32


def test_an_existing_table_is_not_overwritten(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.CatalogException):
        hospital.create(con, "hospital", rows=1)
    assert one(con, "SELECT count(*) FROM hospital") == 24000


def test_files_hold_the_same_tables(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = hospital.write(tmp_path / "new" / "folder")
    for table, file in [("hospital", files.admissions), ("hospital_diagnosis", files.diagnosis)]:
        written = con.execute(f"FROM read_parquet('{file}')").fetchall()
        assert written == con.execute(f"FROM {table}").fetchall()
