"""A release attached to a connection of one's own: priv.ask answers there as the release itself does."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from support.bi_corpus import cases, exact_release
from support.query_releases import made
from support.releases import Made

import sqlpriv
from sqlpriv.core.errors import InputError
from sqlpriv.publishing import open_release
from sqlpriv.release.attach import SYSTEM, by_full_name, functions_of_duckdb

QUESTION = "SELECT nationality, count(*) AS n, avg(score) AS mean FROM people GROUP BY nationality"
ASKED = f"priv.ask('{QUESTION}')"


@pytest.fixture(scope="module")
def of_people(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made("alpha_beta", tmp_path_factory.mktemp("attached") / "people.duckdb")


@pytest.fixture
def own(of_people: Made) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        sqlpriv.attach(con, of_people.path)
        yield con


def answered(path: Path, question: str, confidence: float = 0.95) -> list[tuple[object, ...]]:
    with open_release(path) as release:
        return sorted(release.sql(question, confidence).fetchall(), key=str)


@pytest.mark.some(1)
def test_it_answers_as_the_release_does(release: Made) -> None:
    with duckdb.connect() as con:
        sqlpriv.attach(con, release.path)
        assert sorted(con.execute(f"FROM {ASKED}").fetchall(), key=str) == answered(release.path, QUESTION)
        found = con.execute(f"FROM priv.ask('{QUESTION}', 0.5)").fetchall()
        assert sorted(found, key=str) == answered(release.path, QUESTION, 0.5)
        ordered = f"{QUESTION} ORDER BY n DESC LIMIT 2"
        with open_release(release.path) as opened:
            assert con.execute(f"FROM priv.ask('{ordered}')").fetchall() == opened.sql(ordered).fetchall()


def test_it_stands_wherever_a_table_does(own: duckdb.DuckDBPyConnection, of_people: Made) -> None:
    wanted = answered(of_people.path, QUESTION)
    own.execute(f"CREATE VIEW seen AS FROM {ASKED}").fetchall()
    own.execute(f"CREATE TABLE kept AS FROM {ASKED}").fetchall()
    own.execute("CREATE TABLE places AS SELECT 'AT' AS code, 'Austria' AS place").fetchall()
    own.execute(f"PREPARE prepared AS FROM {ASKED}").fetchall()
    for sql in ("FROM seen", "FROM kept", f"WITH c AS (FROM {ASKED}) FROM c", "EXECUTE prepared"):
        assert sorted(own.execute(sql).fetchall(), key=str) == wanted
    joined = own.execute(f"SELECT place, n FROM places JOIN {ASKED} ON nationality = code").fetchall()
    assert joined == [("Austria", row[1]) for row in wanted if row[0] == "AT"]
    assert own.cursor().execute("SELECT count(*) FROM seen").fetchall() == [(len(wanted),)]


def test_functions_by_their_full_names_answer_the_same(tmp_path: Path) -> None:
    with open_release(exact_release(tmp_path / "visits-release.duckdb").path) as release:
        names = functions_of_duckdb(release.con)
        for case in cases()[::4]:
            if not case.refused and not case.parameters:
                sql = release.explain(case.query).sql
                full = by_full_name(sql, names)
                assert (f"{SYSTEM}." in full) == ("sum(" in sql.lower() or full != sql), case.name
                found, wanted = (release.con.execute(text).fetchall() for text in (full, sql))
                assert sorted(found, key=str) == sorted(wanted, key=str), case.name


def test_eight_threads_ask_at_once(own: duckdb.DuckDBPyConnection, of_people: Made) -> None:
    questions = [f"SELECT count(*) AS n FROM people WHERE age > {age}" for age in range(20, 40, 3)]
    wanted = [answered(of_people.path, question) for question in questions]
    found: list[list[object]] = []

    def ask(con: duckdb.DuckDBPyConnection) -> None:
        found.append([con.execute(f"FROM priv.ask('{question}')").fetchall() for question in questions])

    threads = [threading.Thread(target=ask, args=(own.cursor(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8


@pytest.mark.slow
def test_a_view_in_a_file_answers_again_once_the_release_is_attached(tmp_path: Path, of_people: Made) -> None:
    file = tmp_path / "own.duckdb"
    with duckdb.connect(str(file)) as con:
        sqlpriv.attach(con, of_people.path)
        con.execute(f"CREATE VIEW seen AS FROM {ASKED}").fetchall()
    script = (
        "import duckdb, sys\n"
        "con = duckdb.connect(sys.argv[1])\n"
        "try:\n    con.execute('FROM seen').fetchall()\n"
        "except duckdb.Error as error:\n    assert '__priv_rewrite' in str(error), error\n"
        "else:\n    raise SystemExit('it ran without the release')\n"
        "import sqlpriv\nsqlpriv.attach(con, sys.argv[2])\n"
        "print(sorted(con.execute('FROM seen').fetchall(), key=str))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), str(of_people.path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(answered(of_people.path, QUESTION)), done.stderr


def test_a_connection_for_reading_only_can_ask(tmp_path: Path, of_people: Made) -> None:
    file = tmp_path / "own.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE places AS SELECT 'AT' AS code").fetchall()
    before = file.read_bytes()
    with duckdb.connect(str(file), read_only=True) as con:
        sqlpriv.attach(con, of_people.path, public={"codes": pd.DataFrame({"code": ["AT"]})})
        assert len(con.execute(f"FROM places JOIN {ASKED} ON nationality = code").fetchall()) == 1
        joined = "SELECT count(*) AS n FROM people JOIN codes ON nationality = code"
        assert len(con.execute(f"FROM priv.ask('{joined}')").fetchall()) == 1
    assert file.read_bytes() == before


def test_a_release_open_for_reading_only_has_no_place_for_it(of_people: Made) -> None:
    with duckdb.connect(str(of_people.path), read_only=True) as con:
        con.execute("ATTACH ':memory:' AS m (READ_WRITE)").fetchall()
        con.execute("CREATE SCHEMA m.priv; USE m").fetchall()
        sqlpriv.attach(con, of_people.path)
        assert con.execute(f"FROM {ASKED}").fetchall()


def test_public_tables_are_joined(of_people: Made, tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,bloc\nAT,EU\nDE,EU\nUS,other\n")
    question = "SELECT bloc, count(*) AS n FROM people JOIN codes ON nationality = code GROUP BY bloc ORDER BY bloc"
    public = {"codes": tmp_path / "codes.csv"}
    with duckdb.connect() as con, open_release(of_people.path, public=public) as release:
        sqlpriv.attach(con, of_people.path, public=public)
        assert con.execute(f"FROM priv.ask('{question}')").fetchall() == release.sql(question).fetchall()
        assert con.execute("FROM priv.ask('SELECT bloc FROM codes WHERE code = ''AT''')").fetchall() == [("EU",)]


def test_two_releases_are_told_apart_by_their_tables(tmp_path: Path, of_people: Made) -> None:
    other = made("frapp", tmp_path / "others.duckdb")
    with duckdb.connect(str(other.path)) as con:
        con.execute("UPDATE sqlpriv_release.about SET value = 'others' WHERE name = 'table'").fetchall()
    with duckdb.connect() as con:
        sqlpriv.attach(con, of_people.path)
        sqlpriv.attach(con, other.path)
        for table, path in (("people", of_people.path), ("others", other.path)):
            question = f"SELECT count(*) AS n FROM {table}"
            assert con.execute(f"FROM priv.ask('{question}')").fetchall() == answered(path, question)
        with pytest.raises(duckdb.Error, match="a question is about one release at a time"):
            con.execute("FROM priv.ask('SELECT count(*) FROM people, others')").fetchall()
        with pytest.raises(duckdb.Error, match="reads no table of a release that is attached: there is 'others', 'peo"):
            con.execute("FROM priv.ask('SELECT count(*) FROM nobody')").fetchall()


def test_a_second_release_of_a_table_takes_the_place_of_one_that_was_detached(
    own: duckdb.DuckDBPyConnection, of_people: Made, tmp_path: Path
) -> None:
    other = made("frapp", tmp_path / "people.duckdb")
    with pytest.raises(InputError, match="a release of 'people' is attached already; DETACH people first"):
        sqlpriv.attach(own, other.path)
    own.execute("DETACH people").fetchall()
    sqlpriv.attach(own, other.path)
    assert sorted(own.execute(f"FROM {ASKED}").fetchall(), key=str) == answered(other.path, QUESTION)
    assert answered(other.path, QUESTION) != answered(of_people.path, QUESTION)


def test_loading_the_macros_leaves_it_in_place(own: duckdb.DuckDBPyConnection) -> None:
    sqlpriv.load(own)
    assert own.execute(f"FROM {ASKED}").fetchall()
    assert own.execute("FROM priv.version()").fetchall() == [(sqlpriv.__version__,)]
    sqlpriv.load(own)
    assert own.execute(f"FROM {ASKED}").fetchall()


def test_names_that_are_taken_are_not_used_again(of_people: Made) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA people; CREATE TABLE people.people AS SELECT 1 AS x").fetchall()
        sqlpriv.attach(con, of_people.path)
        assert con.execute(f"SELECT count(*) FROM {ASKED}").fetchall() == [(4,)]
        assert con.execute("FROM people.people").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ("BEGIN", "the connection is in a transaction: commit it first"),
        ("ATTACH ':memory:' AS priv", "a database is called priv, and DuckDB could not tell it from the schema"),
        ("CREATE SCHEMA priv; CREATE MACRO priv.ask(q) AS TABLE SELECT 1", "a macro priv.ask of your own"),
    ],
)
def test_where_it_cannot_be_attached_nothing_is(of_people: Made, prepare: str, message: str) -> None:
    with duckdb.connect() as con:
        con.execute(prepare).fetchall()
        before = con.execute("SELECT database_name FROM duckdb_databases() ORDER BY ALL").fetchall()
        with pytest.raises(InputError, match=message):
            sqlpriv.attach(con, of_people.path)
        assert con.execute("SELECT database_name FROM duckdb_databases() ORDER BY ALL").fetchall() == before


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with duckdb.connect() as con, pytest.raises(InputError, match="there is no release file"):
        sqlpriv.attach(con, tmp_path / "nothing.duckdb")


def test_a_public_table_that_can_be_read_once_is_refused(of_people: Made) -> None:
    """The second reading would be empty, and every join with it."""
    once = pa.RecordBatchReader.from_batches(
        pa.schema([("code", pa.string())]), iter([pa.record_batch({"code": ["AT"]})])
    )
    with duckdb.connect() as con:
        with pytest.raises(InputError, match="the public table 'codes' "):
            sqlpriv.attach(con, of_people.path, public={"codes": once})
        assert con.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]
