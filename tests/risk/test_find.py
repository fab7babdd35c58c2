"""`find` in steps against the macro that defines it, and what it says of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import real_tables, strategies
from support.commands import run

import sqlpriv
from sqlpriv.core.errors import InputError
from sqlpriv.risk.find import FindOptions, find_people

Row = tuple[int, int, int, int, int]
ROWS = st.lists(st.tuples(*(st.integers(0, most) for most in (30, 2, 5, 3, 4))), min_size=1, max_size=40)


def table(rows: list[Row], con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    listed = ", ".join(map(str, rows))
    con.execute(
        f"CREATE OR REPLACE TABLE t AS SELECT nullif(a, 0) AS a, b, c, d, p FROM (VALUES {listed}) AS v(a, b, c, d, p)"
    )
    return con.table("t")


def measured(one: dict[str, Any]) -> tuple[float, int, float]:
    return one["entropy"], one["uniques"], one["unique_share"]


@strategies.fewer(20)
@given(rows=ROWS, person=st.sampled_from([None, "p"]), most=st.integers(1, 4))
def test_the_steps_do_what_the_macro_defines(
    con: duckdb.DuckDBPyConnection, rows: list[Row], person: str | None, most: int
) -> None:
    own = table(rows, con)
    columns = ["a", "b", "c", "d"]
    asked = f"{columns}, {most}{f', {person!r}' if person else ''}"
    macro = con.execute(f"FROM priv.uniqueness('t', {asked})").fetchall()
    found = sqlpriv.find(own, columns, most=most, person=person).content
    steps = {
        **{
            (one["name"],): (one["values"], one["entropy"], one["uniques"], one["unique_share"])
            for one in found["columns"]
        },
        **{
            one["columns"]: (one["classes"], one["entropy"], one["uniques"], one["unique_share"])
            for one in found["sets"]
        },
    }
    assert steps.keys() == {tuple(row[0]) for row in macro}
    for names, *numbers, _ in macro:
        assert steps[tuple(names)] == pytest.approx(tuple(numbers))
    special = {one["columns"]: one["special"] for one in found["sets"]}
    assert special == {tuple(row[0]): row[5] for row in macro if len(row[0]) > 1}


@strategies.fewer(20)
@given(rows=ROWS, person=st.sampled_from([None, "p"]), fraction=st.sampled_from([0.05, 0.5]))
def test_the_population_is_estimated_as_the_macro_does(
    con: duckdb.DuckDBPyConnection, rows: list[Row], person: str | None, fraction: float
) -> None:
    found = sqlpriv.find(table(rows, con), ["b", "c"], person=person, fraction=fraction).content
    columns = list(found["together"]["columns"])
    more = f", {person!r}" if person else ""
    (expected,) = con.execute(f"FROM priv.population_uniques('t', {columns}, {fraction}{more})").fetchall()
    assert tuple(found["population"].values()) == pytest.approx(expected)


def test_a_number_of_its_own_in_every_row_is_named_and_left_out_of_sets() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i AS number, i % 7 AS ward, i % 30 AS age FROM range(100) AS r(i)")
        found = sqlpriv.find(con.table("t"))
        assert found.content["identifiers"] == ("number",)
        assert [one["columns"] for one in found.content["sets"]] == [("ward", "age")]
        assert found.content["together"]["columns"] == ("ward", "age")
        assert "number finds 95%" in str(found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": "age,zip"}, "no column 'age,zip'"),
        ({"columns": ["zip", "ZIP"]}, "named twice"),
        ({"columns": ["zip"], "person": "Zip"}, "says whose row it is"),
        ({"most": 0}, "at least one column"),
        ({"fraction": 0.0}, "share of the population"),
        ({"fraction": 1.5}, "share of the population"),
        ({"database": "x.duckdb"}, "leave database and options out"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], message: str) -> None:
    with duckdb.connect() as con, pytest.raises(InputError, match=message):
        sqlpriv.find(con.sql("SELECT 1 AS zip, 2 AS job"), **given)


def test_no_value_is_printed_or_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,town\n" + "".join(f"Xa{i},Xb{i % 3}\n" for i in range(40)), encoding="utf-8")
    for more in ([], ["--json"]):
        done = run(tmp_path, "find", "t.csv", "--most", "2", *more)
        assert done.returncode == 0, done.stderr
        assert "name" in done.stdout
        assert "Xa" not in done.stdout
        assert "Xb" not in done.stdout


def test_an_encoding_is_taken_as_by_check(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("ort;alter\nK\xf6ln;3\nUlm;4\n".encode("latin-1"))
    done = run(tmp_path, "find", "t.csv", "--encoding", "latin-1", "--delimiter", ";", "--columns", "ort,alter")
    assert done.returncode == 0, done.stderr
    assert "t.csv: 2 rows" in done.stdout


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="the extra `report` is not installed")
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 9},{i % 11}\n" for i in range(80)), encoding="utf-8")
    done = run(tmp_path, "find", "t.csv", "--chart", "found.svg")
    assert done.returncode == 0, done.stderr
    assert "only together" in (tmp_path / "found.svg").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "identifiers"), [("ACTG175", {"pidnum"}), ("nhefs", {"seqn"}), ("thornton_hiv", set())]
)
def test_real_tables(name: str, identifiers: set[str]) -> None:
    file = real_tables.find(name)
    if file is None:
        pytest.skip("the real tables are not here: make real-tables")
    found = find_people(file, None, {}, FindOptions())
    assert identifiers <= set(found.found.identifiers)
    assert not set(found.found.identifiers) & {name for one in found.sets for name in one.columns}
    assert found.found.together.unique_share > 0.8
