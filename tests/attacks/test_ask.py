"""priv.ask in a connection of one's own fails closed: it answers what may be answered, or nothing runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from support.query_releases import made

import sqlpriv
from sqlpriv.core.errors import ReleaseError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("alpha_beta", tmp_path_factory.mktemp("asked") / "people.duckdb").path


@pytest.fixture
def own(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        sqlpriv.attach(con, path)
        yield con


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("SELECT * FROM people", "a SELECT of single rows"),
        ("SELECT max(age) FROM people", r"max\(\)"),
        ("SELECT count(*) FROM people.sqlpriv_release.published", "sqlpriv: "),
        ("SELECT count(*) FROM sqlpriv_release.published", "sqlpriv: "),
        ("SELECT content FROM read_text(''/etc/hostname'')", "sqlpriv: "),
        ("SELECT getenv(''HOME''), count(*) FROM people", "sqlpriv: "),
        ("SELECT count(*) FROM people; DROP TABLE mine", "one query at a time"),
        ("DROP TABLE mine", "the statement DROP"),
        ("SELECT count(*) FROM mine", "there is no table ''?mine"),
        ("SELECT count(*) FROM people WHERE age > (SELECT x FROM mine)", "there is no table ''?mine"),
        ("", "the query is empty"),
    ],
)
def test_what_the_release_refuses_does_not_run(own: duckdb.DuckDBPyConnection, question: str, message: str) -> None:
    own.execute("CREATE TABLE mine AS SELECT 1 AS x").fetchall()
    for sql in (
        "FROM priv.ask('{}')",
        "CREATE TABLE got AS FROM priv.ask('{}')",
        "CREATE VIEW got AS FROM priv.ask('{}')",
    ):
        with pytest.raises(duckdb.InvalidInputException, match=f"^Invalid Input Error: sqlpriv: .*{message}|{message}"):
            own.execute(sql.format(question)).fetchall()
    assert own.execute("FROM mine").fetchall() == [(1,)]
    assert own.execute("FROM duckdb_views() WHERE view_name = 'got'").fetchall() == []


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "sql",
    [
        "FROM questions, priv.ask(questions.q)",
        "FROM questions, LATERAL (FROM priv.ask(questions.q))",
        "FROM priv.ask((SELECT q FROM questions))",
        "FROM priv.ask(NULL)",
        "FROM priv.ask('SELECT count(*) FROM people', NULL)",
        "FROM priv.ask('SELECT count(*) FROM people', 1.5)",
        "FROM priv.ask(12)",
        "SELECT priv.ask('SELECT count(*) FROM people')",
    ],
)
def test_an_argument_that_is_no_constant_text_is_refused(own: duckdb.DuckDBPyConnection, sql: str) -> None:
    own.execute("CREATE TABLE questions AS SELECT 'SELECT count(*) FROM people' AS q").fetchall()
    with pytest.raises(duckdb.Error):
        own.execute(sql).fetchall()


def test_a_release_that_was_detached_is_not_replaced_by_variables(own: duckdb.DuckDBPyConnection, path: Path) -> None:
    """DuckDB looks for a Python variable with the last part of a name that it does not find."""
    question = "FROM priv.ask('SELECT count(*) AS n FROM people')"
    assert own.execute(question).fetchall()
    published = own.execute("FROM people.sqlpriv_release.published").df()
    age = nationality = score = pd.DataFrame({"value": [1], "share": [1.0]})
    own.execute("DETACH people").fetchall()
    with pytest.raises(duckdb.Error):
        own.execute(question).fetchall()
    assert all(len(frame) for frame in (published, age, nationality, score))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "setting",
    ["integer_division = true", "default_collation = 'nocase'", "default_null_order = 'nulls_first'",
     "default_order = 'desc'", "ieee_floating_point_ops = false", "scalar_subquery_error_on_multiple_rows = false"],
)  # fmt: skip
def test_settings_that_change_what_sql_means_stop_it(own: duckdb.DuckDBPyConnection, setting: str) -> None:
    own.execute("CREATE VIEW seen AS FROM priv.ask('SELECT count(*) AS n FROM people')").fetchall()
    wanted = own.execute("FROM seen").fetchall()
    name = setting.partition(" ")[0]
    own.execute(f"SET {setting}").fetchall()
    with pytest.raises(duckdb.Error, match=f"estimates are right only where {name} is"):
        own.execute("FROM seen").fetchall()
    own.execute(f"RESET {name}").fetchall()
    assert own.execute("FROM seen").fetchall() == wanted


def test_a_table_is_described_and_any_of_a_list_answered(own: duckdb.DuckDBPyConnection) -> None:
    for question in ("describe people", "SELECT count(*) AS n FROM people WHERE age = ANY (SELECT 30)"):
        assert own.execute(f"CREATE OR REPLACE TABLE got AS FROM priv.ask('{question}')").fetchall() != [(0,)]


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "macro",
    ["sum(x) AS 42", "sqrt(x) AS 42", "greatest(x, y) AS 42", "least(x, y) AS 42", "nullif(x, y) AS 42",
     "lower(x) AS 'at'", "query(x) AS TABLE SELECT 1 AS n", "starts_with(x, y) AS false", "error(x) AS 'SELECT 42'",
     "current_setting(x) AS 'false'"],
)  # fmt: skip
def test_macros_called_like_functions_of_duckdb_do_not_take_their_place(
    own: duckdb.DuckDBPyConnection, macro: str
) -> None:
    question = (
        "FROM priv.ask('SELECT nationality, sum(age) AS s, avg(age) AS m, stddev(score) AS d FROM people "
        "WHERE lower(nationality) = ''at'' GROUP BY nationality')"
    )
    wanted = own.execute(question).fetchall()
    for kind in ("", "TEMP "):
        own.execute(f"CREATE {kind}MACRO {macro}").fetchall()
        assert own.execute(question).fetchall() == wanted
    with pytest.raises(duckdb.InvalidInputException, match="sqlpriv: a SELECT of single rows"):
        own.execute("FROM priv.ask('SELECT * FROM people')").fetchall()
    own.execute("SET integer_division = true").fetchall()
    with pytest.raises(duckdb.InvalidInputException, match="estimates are right only where integer_division is"):
        own.execute(question).fetchall()


def test_another_release_under_the_same_name_is_not_taken_for_it(
    own: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """Its weights are others, and the answer would be that of neither."""
    other = made("frapp", tmp_path / "other.duckdb").path
    own.execute("CREATE VIEW seen AS FROM priv.ask('SELECT count(*) AS n FROM people')").fetchall()
    own.execute(f"DETACH people; ATTACH '{other}' AS people (READ_ONLY)").fetchall()
    with pytest.raises(
        duckdb.InvalidInputException, match="sqlpriv: another file is attached as people: DETACH people"
    ):
        own.execute("FROM seen").fetchall()


def test_another_database_of_the_process_is_not_asked(own: duckdb.DuckDBPyConnection) -> None:
    with duckdb.connect() as other, pytest.raises(duckdb.Error):
        other.execute("FROM priv.ask('SELECT count(*) FROM people')").fetchall()


def test_a_file_that_would_run_sql_of_its_own_is_not_attached(tmp_path: Path) -> None:
    release = made("alpha_beta", tmp_path / "people.duckdb").path
    with duckdb.connect(str(release)) as con:
        con.execute("ALTER TABLE sqlpriv_release.published RENAME TO hidden").fetchall()
        con.execute("CREATE VIEW sqlpriv_release.published AS FROM sqlpriv_release.hidden").fetchall()
    with duckdb.connect() as con:
        with pytest.raises(ReleaseError, match="published is a view, which would run when it is read"):
            sqlpriv.attach(con, release)
        assert con.execute("FROM duckdb_databases() WHERE path IS NOT NULL").fetchall() == []
