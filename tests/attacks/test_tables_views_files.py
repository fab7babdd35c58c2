"""Whatever DuckDB reads by a name can be checked: tables, views, temporary ones, files, data frames."""

from pathlib import Path

import duckdb
import pytest
from support.attempts import Attempt, attempts, refusal, same

pytestmark = pytest.mark.one_version


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", ["TEMP TABLE", "TEMP VIEW", "TABLE", "VIEW"])
def test_tables_and_views(own: duckdb.DuckDBPyConnection, kind: str) -> None:
    own.execute(f"CREATE {kind} t AS FROM people").fetchall()
    assert own.execute("FROM priv.k_anonymity('t', ['zip'])").fetchall() == [(3,)]


def test_a_temporary_table_comes_before_a_table_of_its_name(own: duckdb.DuckDBPyConnection) -> None:
    """As everywhere in DuckDB; a qualified name is never mistaken."""
    own.execute("CREATE TEMP TABLE people AS SELECT 1 AS zip FROM range(9)").fetchall()
    asked = "FROM priv.k_anonymity('{}', ['zip'])"
    plain = own.execute("SELECT count(*) FROM people").fetchall()[0][0]
    assert own.execute(asked.format("people")).fetchall() == [(9 if plain == 9 else 3,)]
    assert own.execute(asked.format("temp.people")).fetchall() == [(9,)]
    assert own.execute(asked.format("attacked.main.people")).fetchall() == [(3,)]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_file_by_its_path(db: duckdb.DuckDBPyConnection, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"with space.{suffix}"
    db.execute(f"COPY people TO '{path}'").fetchall()
    for name in (str(path), f'"{path}"'):
        found = db.execute("FROM priv.k_anonymity(?, ['zip', 'age'])", [name]).fetchall()
        assert found == [(3,)]
    assert "Binder Error" in refusal(db, f"FROM priv.k_anonymity('{path}', ['zipp'])")


def test_all_tables_of_a_call_may_be_files(db: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    names = ("people", "town", "prior", "shape", "sets", "tree")
    for name in names:
        db.execute(f"COPY {name} TO '{tmp_path / name}.parquet'").fetchall()
    for attempt in attempts("population", "hierarchy", "prior", "shape"):
        given = {p: f"{tmp_path / str(v)}.parquet" for p, v in attempt.usual.items() if v in names}
        assert same(attempt.ask(db, **given), attempt.ask(db))


def test_a_file_that_is_not_there(db: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    said = refusal(db, f"FROM priv.k_anonymity('{tmp_path}/none.parquet', ['zip'])")
    assert said.startswith("IO Error: No files found")


def test_a_data_frame_of_the_program(db: duckdb.DuckDBPyConnection) -> None:
    frame = db.sql("SELECT zip, age FROM people").to_arrow_table()
    assert frame.num_rows == 10
    assert db.execute("FROM priv.k_anonymity('frame', ['zip', 'age'])").fetchall() == [(3,)]


@pytest.mark.parametrize(
    "given", ["NULL", "5", "['people']", "['people', 'town']", "true", "CAST('people' AS BLOB)", "{'a': 'people'}"]
)
@pytest.mark.parametrize("param", ["tbl", "population", "prior", "shape", "hierarchy", "original"])
def test_what_is_no_name_of_a_table_is_refused(shared: duckdb.DuckDBPyConnection, param: str, given: str) -> None:
    """query_table would take a list for the union of its tables."""
    attempt: Attempt = attempts(param)[0]
    said = refusal(shared, attempt.sql(**{param: "<table>"}).replace("'<table>'", given))
    assert said == "Invalid Input Error: sqlpriv: the table must be given by its name, as text"


def test_an_unknown_table_is_refused_by_name(shared: duckdb.DuckDBPyConnection) -> None:
    assert "Table with name nowhere does not exist" in refusal(shared, "FROM priv.k_anonymity('nowhere', ['zip'])")
