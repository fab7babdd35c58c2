"""No refusal repeats a cell of a table. (Every test here that calls `refusal` checks it too.)"""

import duckdb
import pytest
from support.attempts import MARKER, Attempt, cases, refusal

pytestmark = pytest.mark.one_version

TYPES = ["VARCHAR", "INTEGER", "DOUBLE", "DATE", "UUID", "BOOLEAN", "INTEGER[]", "STRUCT(a INTEGER)", "BLOB"]


@pytest.mark.some(16)
@pytest.mark.parametrize("attempt", cases("population"))
@pytest.mark.parametrize("kind", TYPES[1:])
def test_columns_of_two_types_are_refused_before_a_value_is_read(
    db: duckdb.DuckDBPyConnection, attempt: Attempt, kind: str
) -> None:
    """DuckDB's complaint about a text that is no date shows the text."""
    db.execute(f"CREATE TEMP TABLE other AS SELECT * REPLACE (CAST(NULL AS {kind}) AS zip) FROM town").fetchall()
    for tables in ({"population": "other"}, {"tbl": "other", "population": "people"}):
        refusal(db, attempt.sql(**tables))


@pytest.mark.parametrize("attempt", cases("population"))
def test_whole_numbers_of_two_widths_are_compared(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    db.execute("CREATE TEMP TABLE other AS SELECT * REPLACE (CAST(age AS BIGINT) AS age) FROM town").fetchall()
    assert attempt.ask(db, population="other") == attempt.ask(db)


@pytest.mark.xfail(reason="DuckDB's own refusal to mix types spells out the values of an ENUM", strict=True)
def test_an_enum_against_a_number_does_not_show_its_values(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(f"CREATE TEMP TABLE e AS SELECT CAST('{MARKER}' AS ENUM('{MARKER}')) AS zip").fetchall()
    db.execute("CREATE TEMP TABLE n AS SELECT 1 AS zip").fetchall()
    refusal(db, "FROM priv.k_map('e', 'n', ['zip'])")


@pytest.mark.parametrize("param", ["threshold", "sigma", "b", "l", "k"])
def test_a_column_of_the_table_is_no_number(shared: duckdb.DuckDBPyConnection, param: str) -> None:
    """A name without quotes is a column to DuckDB, and outside the table there is none."""
    reading = [c.values[0] for c in cases(param) if "tbl" in c.values[0].params]
    assert reading
    for attempt in reading:
        sql = attempt.sql(**{param: "<n>"}).replace("'<n>'", "disease")
        refusal(shared, sql)
