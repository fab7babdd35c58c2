"""COPY, PREPARE, EXECUTE and EXPLAIN, as psql, drivers and tools send them."""

from __future__ import annotations

import csv
import io

import psycopg
import pytest
from support.serving import Running

ASKED = "SELECT region, paid, day, amount, count(*) AS n FROM visits GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"


def copied(server: Running, statement: str) -> bytes:
    with (
        server.connect(dbname="sqlpriv?bounds=off") as con,
        con.cursor() as cursor,
        cursor.copy(statement.encode()) as copy,
    ):
        return b"".join(bytes(part) for part in copy)


def test_a_copy_has_the_rows_of_the_query(server: Running) -> None:
    with server.connect(dbname="sqlpriv?bounds=off") as con:
        rows = con.execute(ASKED.encode()).fetchall()
        with con.cursor() as cursor, cursor.copy(f"COPY ({ASKED}) TO STDOUT".encode()) as copy:
            copy.set_types(["text", "bool", "date", "int4", "float8"])
            assert list(copy.rows()) == rows
        with con.cursor() as cursor, cursor.copy(f"COPY ({ASKED}) TO STDOUT (FORMAT binary)".encode()) as copy:
            copy.set_types(["text", "bool", "date", "int4", "float8"])
            assert list(copy.rows()) == rows
            assert cursor.statusmessage is None or cursor.statusmessage.startswith("COPY")
    for options in ("CSV HEADER", "WITH (FORMAT csv, HEADER)", "WITH (FORMAT CSV, HEADER true, NULL '')"):
        found = list(csv.reader(io.StringIO(copied(server, f"COPY ({ASKED}) TO STDOUT {options}").decode())))
        assert found[0] == ["region", "paid", "day", "amount", "n"]
        written = [["" if v is None else {True: "t", False: "f"}.get(v, str(v)) for v in row[:4]] for row in rows]
        assert [line[:4] for line in found[1:]] == written


def test_signs_of_files_are_escaped(server: Running) -> None:
    strange = "SELECT 'a;b' AS a, 'c\"d' AS b, NULL AS c, '' AS d, '\\' || chr(10) AS e"
    assert copied(server, f"COPY ({strange}) TO STDOUT") == b'a;b\tc"d\t\\N\t\t\\\\\\n\n'
    made = copied(server, f"COPY ({strange}) TO STDOUT WITH (FORMAT csv, DELIMITER ';', NULL 'none')")
    assert made == b'"a;b";"c""d";none;;"\\\n"\n'


def test_the_catalog_can_be_copied(server: Running) -> None:
    asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
    assert copied(server, f"COPY ({asked}) TO STDOUT") == b"regions\nvisits\n"


@pytest.mark.parametrize(
    "statement",
    [
        "COPY visits TO STDOUT",
        "COPY (SELECT * FROM visits) TO STDOUT",
        "COPY (SELECT count(*) FROM visits) TO '/tmp/x'",
        "COPY (SELECT count(*) FROM visits) TO PROGRAM 'cat'",
        "COPY visits FROM STDIN",
        "COPY (SELECT count(*) FROM visits) TO STDOUT (FORMAT parquet)",
        "COPY (SELECT count(*) FROM visits) TO STDOUT (FORMAT csv, QUOTE '!')",
        "COPY (COPY (SELECT 1) TO STDOUT) TO STDOUT",
        "EXPLAIN ANALYZE SELECT count(*) FROM visits",
        "EXPLAIN SELECT amount FROM visits",
        "PREPARE p AS BEGIN",
        "PREPARE p AS SELECT amount FROM visits WHERE amount > $1; EXECUTE p(1)",
    ],
)
def test_what_is_no_estimate_is_refused(server: Running, statement: str) -> None:
    with server.connect() as con, pytest.raises(psycopg.Error) as refused:
        con.execute(statement.encode())
    assert refused.value.sqlstate in {"0A000", "42601"}
    with server.connect() as con:
        assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_prepared_statements_are_run_by_name(server: Running) -> None:
    with server.connect(dbname="sqlpriv?bounds=off") as con:
        con.execute("PREPARE p AS SELECT count(*) FROM visits WHERE amount > $1 AND product = $2")
        for amount, product in ((7, "a"), (-1, "b")):
            expected = con.execute(
                "SELECT count(*) FROM visits WHERE amount > %s AND product = %s", [amount, product]
            ).fetchall()
            assert con.execute(f"EXECUTE p({amount}, '{product}')".encode()).fetchall() == expected
        assert con.execute("EXECUTE p(NULL, 'a')").fetchall() == [(0.0,)]
        for wrong in ("EXECUTE p(1)", "EXECUTE q", "EXECUTE p(1, (SELECT 2))", "PREPARE p AS SELECT 1"):
            with pytest.raises(psycopg.Error):
                con.execute(wrong.encode())
        con.execute("DEALLOCATE p")
        with pytest.raises(psycopg.Error):
            con.execute("EXECUTE p(1, 'a')")


def test_explain_shows_the_query_that_would_run(server: Running) -> None:
    with server.connect() as con:
        found = con.execute("EXPLAIN SELECT region, count(*) FROM visits GROUP BY region")
        assert [column.name for column in found.description or ()] == ["QUERY PLAN"]
        (sql,), *_ = found.fetchall()
    assert "published" in sql
    assert "count_low" in sql


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT region, count(*) AS n FROM visits GROUP BY region",
        "SELECT region, product, sum(amount) FROM visits GROUP BY 1, 2 LIMIT 5",
        "SELECT region, avg(amount) FROM visits GROUP BY region HAVING count(*) > 300",
        "SELECT count(*) FROM visits",
    ],
)
def test_tools_count_the_rows_of_an_answer_before_they_ask_for_it(server: Running, inside: str) -> None:
    said: list[str] = []
    with server.connect() as con:
        rows = len(con.execute(inside.encode()).fetchall())
        con.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
        for count in ("count(*)", "count(1)", "count(*) AS n"):
            assert con.execute(f"SELECT {count} FROM ({inside}) AS t".encode()).fetchall() == [(rows,)]
        assert con.execute(f"WITH t AS ({inside}) SELECT count(*) FROM t".encode()).fetchall() == [(rows,)]
        assert con.execute(f"SELECT count(*), 1 FROM ({inside}) t".encode()).fetchall() == [(rows, 1)]
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            con.execute(b"SELECT count(*) FROM (SELECT DISTINCT region FROM visits) t")
    assert len(said) == 5
    assert all("each group of the domain" in text for text in said)
