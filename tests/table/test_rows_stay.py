"""Rows stay in the database: of a relation of a program, only combinations of the columns that are read leave it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from support.crossing import counting

import sqlpriv
from sqlpriv.core.errors import SqlprivError
from sqlpriv.methods.generalized.hilbert import curve
from sqlpriv.table import source as sources
from sqlpriv.table.source import open_source

PEOPLE = """CREATE TEMP TABLE people AS SELECT i AS id, CAST(20 + hash(5 * i) % 60 AS INTEGER) AS age,
CAST(13000 + hash(5 * i + 1) % 100 AS VARCHAR) AS zip, CASE WHEN hash(5 * i + 2) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
'ill ' || hash(5 * i + 3) % 5 AS ill FROM range({}) AS r(i)"""
KINDS = 60 * 100 * 2 * 5
"""How many combinations there can be without the ids."""
QIS = {"age": 'hierarchy = "ranges:5,10"', "zip": 'hierarchy = "mask:5"', "sex": 'hierarchy = "suppression"'}
DOMAINS = {"sex": 'domain = ["f", "m"]', "ill": f"domain = {[f'ill {i}' for i in range(5)]}"}
NOISE = "gamma = 0.8\nn_public = 1000"
METHODS = {
    "generalize": ("k = 5", ""),
    "hilbert": ("k = 5\ndistinct_l = { ill = 2 }", ""),
    "mondrian": ("k = 5", ""),
    "noisy_counts": ("", NOISE),
    "frapp": ("", NOISE),
}


def policy_of(method: str, folder: Path) -> Path:
    required, options = METHODS[method]
    columns = {"id": 'role = "drop"'}
    if method in {"noisy_counts", "frapp"}:
        columns |= {
            "age": 'role = "drop"',
            "zip": 'role = "drop"',
            "sex": f'role = "quasi-identifier", {DOMAINS["sex"]}',
        }
        columns["ill"] = f'role = "sensitive", {DOMAINS["ill"]}'
    else:
        columns |= {name: f'role = "quasi-identifier", {given}' for name, given in QIS.items()}
        columns["ill"] = 'role = "sensitive"'
    text = '[table]\nsource = "people.csv"\n[columns]\n'
    text += "\n".join(f"{name} = {{ {given} }}" for name, given in columns.items())
    text += f"\n[require]\n{required}" if required else ""
    text += f'\n[release]\naccept = "made-up people"\nmethod = "{method}"\noutput = "{method}.duckdb"\n{options}\n'
    path = folder / f"{method}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def check_it(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    found = sqlpriv.check(con.table("people"), ["age", "zip", "sex"], "ill", require=["k>=1"])
    assert found.passed


def propose_it(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    sqlpriv.init(con.table("people"), folder / "policy.toml", name="people", method="generalize")


def publish_by(method: str) -> Callable[[duckdb.DuckDBPyConnection, Path], None]:
    def work(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
        path = policy_of(method, folder)
        sqlpriv.publish(path, data=con.table("people"), ledger_file=folder / "ledger", force=True)
        assert sqlpriv.verify(folder / f"{method}.duckdb").passed

    return work


WORKS = {"check": check_it, "init": propose_it, **{method: publish_by(method) for method in METHODS}}


def cross(rows: int, name: str, folder: Path, patched: pytest.MonkeyPatch, most: int) -> None:
    """Do the work on a table of that many rows: no call fetches more, and only combinations cross besides; of a large
    table `init` takes a sample of fewer rows."""
    with duckdb.connect() as con:
        con.execute(PEOPLE.format(rows)).fetchall()
        with counting(patched) as (crossed, combinations):
            WORKS[name](con, folder)
    assert {place: n for place, n in crossed.items() if n > most} == {}
    assert crossed, "nothing was counted"
    assert all(n <= KINDS for n in combinations), list(combinations)


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.some(2)
def test_no_call_fetches_the_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "BATCH", 500)
    monkeypatch.setattr("sqlpriv.methods.generalized.hilbert.grouping.BATCH", 500)
    cross(20_000, name, tmp_path, monkeypatch, 1100)  # a sketch has 1,024 hashes


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_of_a_million_rows_no_call_fetches_more_than_a_few_thousand(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross(1_000_000, name, tmp_path, monkeypatch, 4096)


def test_temporary_tables_and_rows_that_are_not_committed_are_seen() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS zip, 'flu' AS ill FROM range(3)").fetchall()
        con.execute("BEGIN").fetchall()
        con.execute("INSERT INTO t VALUES (2, 'flu'), (2, 'cold')").fetchall()
        con.execute("CREATE TEMP TABLE own AS FROM t").fetchall()
        for name in ("t", "own"):
            found = sqlpriv.check(con.table(name), "zip", "ill", require="k>=2")
            assert (found.content["rows"], found.passed) == (5, True)
        con.execute("ROLLBACK").fetchall()
        assert con.table("t").fetchall() == [(1, "flu")] * 3
        assert con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DOUBLE", ["'nan'", "0.0", "-0.0", "NULL", "1.5"]),
        ("HUGEINT", ["170141183460469231731687303715884105727", "-1", "NULL"]),
        ("UUID", ["'3f2504e0-4f89-11d3-9a0c-0305e82c3301'", "NULL"]),
        ("ENUM('a', 'b')", ["'b'", "'a'", "NULL"]),
        ("TIME WITH TIME ZONE", ["'10:00:00+02'", "'08:00:00+00'"]),
        ("BIT", ["'101'", "'0101'"]),
        ("INTERVAL", ["'1 month'", "'30 days'"]),
        ("VARCHAR", ["'a'", "'A'", "''", "NULL"]),
        ("DATE", ["'2026-11-18'", "'infinity'", "NULL"]),
        ("DECIMAL(9,2)", ["1.50", "NULL"]),
        ("INTEGER[]", ["[1, NULL]", "[]", "NULL"]),
    ],
)
def test_values_keep_their_types_and_what_is_missing(kind: str, values: list[str]) -> None:
    """Also where the connection takes texts for equal that a reader can distinguish."""
    with duckdb.connect() as con:
        con.execute("SET default_collation = 'nocase'").fetchall()
        listed = ", ".join(f"(CAST({value} AS {kind}))" for value in values * 3)
        con.execute(f"CREATE TABLE t AS FROM (VALUES {listed}) AS v(c)").fetchall()
        with open_source(con.table("t")) as source:
            described = source.con.execute(f"DESCRIBE FROM {source.table}").fetchall()
            read = source.con.execute(f"SELECT CAST(c AS VARCHAR) FROM {source.table}").fetchall()
        texts = con.execute("SELECT CAST(c AS VARCHAR) FROM t").fetchall()
    assert described[0][1] == kind
    expected = [text if text != "-0.0" else "0.0" for (text,) in texts]
    assert sorted(str(text) for (text,) in read) == sorted(map(str, expected))


def test_a_sample_is_drawn_once() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, i % 7 AS zip FROM range(5000) AS r(i)").fetchall()
        with open_source(con.sql("FROM t WHERE random() < 0.5"), columns=["zip"]) as source:
            rows = source.everything
            whole = rows.con.execute(f"SELECT count(*) FROM {rows.table}").fetchall()[0][0]
            assert source.held_rows == whole
            assert source.columns == ("id", "zip")
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]


@pytest.mark.slow
def test_a_relation_and_its_rows_in_arrow_are_the_same_table(tmp_path: Path) -> None:
    """The release is the same, the ledger knows it again, and so it does where tables are kept on disk."""
    path = policy_of("generalize", tmp_path)
    with duckdb.connect() as con:
        con.execute(PEOPLE.format(3000)).fetchall()
        given: list[Any] = [con.table("people"), con.table("people").to_arrow_table(), con.sql("FROM people")]
        found = [sqlpriv.publish(path, data=data, ledger_file=tmp_path / "ledger").content for data in given]
    assert len(sqlpriv.ledger(ledger_file=tmp_path / "ledger").content) == 1
    assert found[0]["rows"] == found[1]["rows"] == found[2]["rows"] == 3000


@pytest.mark.slow
@pytest.mark.parametrize("method", ["generalize", "hilbert"])
def test_tables_on_disk_give_the_same_release(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Any] = []
    for many in (10**9, 10):
        monkeypatch.setattr(sources, "_MANY", many)
        folder = tmp_path / str(many)
        folder.mkdir()
        with duckdb.connect() as con:
            con.execute(PEOPLE.format(2000)).fetchall()
            sqlpriv.publish(policy_of(method, folder), data=con.table("people"), ledger_file=folder / "ledger")
        with duckdb.connect(str(folder / f"{method}.duckdb"), read_only=True) as file:
            published.append(file.execute("FROM sqlpriv_release.published").fetchall())
    assert published[0] == published[1]


def test_an_empty_relation_is_refused_as_any_empty_table() -> None:
    empty = pa.table({"zip": pa.array([], pa.int32())})
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (zip INTEGER)").fetchall()
        for data in (con.table("t"), empty):
            with pytest.raises(SqlprivError):
                sqlpriv.check(data, "zip")
