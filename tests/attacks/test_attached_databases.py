"""Macros of an attached file work on its tables and on those of others, and always on the one that is named."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from support.attempts import Attempt, cases, refused_by_us, same, usually

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outside(template: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database without macros, with a table of the same name, and the file attached for reading."""
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{template}' AS rel (READ_ONLY)").fetchall()
        con.execute("CREATE TABLE people AS SELECT 'x' AS zip, i AS disease FROM range(7) AS r(i)").fetchall()
        for table in ("tree", "hierarchy_disease", "hierarchy_zip", "town"):  # those that maps and lists name
            con.execute(f"CREATE VIEW {table} AS FROM rel.{table}").fetchall()
        yield con


@pytest.mark.some(3)
@pytest.mark.parametrize("attempt", cases())
def test_every_macro_works_through_attach(
    outside: duckdb.DuckDBPyConnection, shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    """No macro may call another one: DuckDB would not find it."""
    inside = {p: f"rel.{attempt.usual[p]}" for p in attempt.tables} | {"release": "rel"}
    sql = attempt.sql(**inside).replace("priv.", "rel.priv.", 1)
    assert same(outside.execute(sql).fetchall(), usually(shared, attempt))


def k(con: duckdb.DuckDBPyConnection, table: str, schema: str = "rel.priv") -> int:
    return int(con.execute(f"FROM {schema}.k_anonymity('{table}', ['zip'])").fetchall()[0][0])


def test_a_name_means_what_it_means_to_the_one_who_asks(outside: duckdb.DuckDBPyConnection) -> None:
    """An unqualified table is the asker's, not the macro's, also when both have it."""
    assert k(outside, "people") == 7
    assert k(outside, "memory.people") == k(outside, "memory.main.people") == 7
    assert k(outside, "rel.people") == k(outside, "rel.main.people") == 3


def test_one_call_over_two_databases(outside: duckdb.DuckDBPyConnection) -> None:
    outside.execute("CREATE TABLE few AS SELECT zip, age FROM rel.people").fetchall()
    found = outside.execute("FROM rel.priv.k_map('few', 'rel.town', ['zip', 'age'])").fetchall()
    assert found == [(6,)]
    outside.execute("CREATE VIEW seen AS FROM rel.people").fetchall()
    assert k(outside, "seen") == 3


def test_the_current_database_and_schema_decide(file: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS rel").fetchall()
        con.execute("CREATE SCHEMA rel.other; CREATE TABLE rel.other.people AS SELECT 1 AS zip").fetchall()
        con.execute("CREATE TABLE people AS SELECT 1 AS zip FROM range(7)").fetchall()
        con.execute("USE rel").fetchall()
        assert (k(con, "people", "priv"), k(con, "memory.main.people", "priv")) == (3, 7)
        con.execute("USE rel.other").fetchall()
        assert (k(con, "people", "priv"), k(con, "rel.main.people", "priv")) == (1, 3)
        con.execute("USE memory").fetchall()
        with pytest.raises(duckdb.CatalogException, match="k_anonymity"):
            k(con, "people", "priv")


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["main.people", "MAIN.people", '"main".people', '"main"."people"'])
def test_main_is_not_taken_for_another_schema(file: Path, name: str) -> None:
    """query_table reads `main.people` as `people` of the current schema: the check of another table."""
    with duckdb.connect(file) as con:
        con.execute("CREATE SCHEMA other; CREATE TABLE other.people AS SELECT 1 AS zip FROM range(9)").fetchall()
        assert k(con, name, "priv") == 3
        con.execute("USE other").fetchall()
        said = refused_by_us(con, f"FROM priv.k_anonymity('{name}', ['zip'])")
        assert said.startswith("name the database too, as in db.main.t")
        assert (k(con, "people", "priv"), k(con, "attacked.main.people", "priv")) == (9, 3)


def test_our_schema_in_the_search_path(outside: duckdb.DuckDBPyConnection) -> None:
    """There `version` is a macro of ours and a function of DuckDB's, which the guards call."""
    with outside.cursor() as con:
        con.execute("SET search_path = 'rel.priv,memory.main'").fetchall()
        assert con.execute("FROM k_anonymity('people', ['zip'])").fetchall() == [(7,)]
        assert con.execute("SELECT count(*) FROM report('people', ['zip'], 'disease')").fetchall() == [(20,)]


def test_two_files_with_macros_and_no_mix(template: Path, file: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{template}' AS a (READ_ONLY); ATTACH '{file}' AS b").fetchall()
        con.execute("DELETE FROM b.people WHERE record > 4").fetchall()
        assert [k(con, f"{table}.people", f"{macro}.priv") for macro in "ab" for table in "ab"] == [3, 4, 3, 4]
        con.execute("DROP MACRO TABLE b.priv.k_anonymity").fetchall()
        assert k(con, "b.people", "a.priv") == 4
        with pytest.raises(duckdb.CatalogException, match="k_anonymity"):
            k(con, "b.people", "b.priv")
