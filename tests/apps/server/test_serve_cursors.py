"""Cursors by statements: as psycopg's named cursors, psqlODBC and Tableau read large answers."""

from __future__ import annotations

import threading

import psycopg
import pytest
from psycopg import sql as composed
from support.serving import Running
from support.wire import Wire, bind, describe, execute, parse

from sqlpriv.apps.server import cursors
from sqlpriv.apps.server.errors import ReplyError
from sqlpriv.apps.server.statements import split_statements

ASKED = "SELECT amount, count(*) AS n FROM visits WHERE amount > 0 GROUP BY amount ORDER BY amount"
AMOUNTS = [5, 10, 20, 30, 50]


@pytest.mark.parametrize("binary", [False, True])
def test_named_cursors_of_psycopg_read_bit_by_bit(server: Running, binary: bool) -> None:
    with server.connect(autocommit=False) as con:
        with con.cursor("by amount", binary=binary) as cursor:
            cursor.itersize = 2
            cursor.execute(ASKED.replace("> 0", "> %s"), [7])
            assert [column.name for column in cursor.description or []] == ["amount", "n", "n_low", "n_high"]
            assert [row[0] for row in cursor] == AMOUNTS[1:]
        with con.cursor("Again") as cursor:
            cursor.execute(ASKED)
            assert [row[0] for row in cursor.fetchmany(3)] == AMOUNTS[:3]
            assert cursor.fetchone()[0] == AMOUNTS[3]  # type: ignore[index]
            assert [row[0] for row in cursor.fetchall()] == AMOUNTS[4:]
            assert cursor.fetchall() == []
    with server.connect(autocommit=False) as con, con.cursor("of the catalog") as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname = ANY(%s) ORDER BY 1", [["visits", "regions"]])
        assert cursor.fetchmany(1) == [("regions",)]
        assert cursor.fetchall() == [("visits",)]


def test_a_cursor_that_is_held_outlives_its_transaction(server: Running) -> None:
    with server.connect(autocommit=False) as con:
        with con.cursor("held", withhold=True) as cursor:
            cursor.execute(ASKED)
            con.commit()
            assert [row[0] for row in cursor.fetchmany(2)] == AMOUNTS[:2]
            con.rollback()  # it was committed before
            assert [row[0] for row in cursor.fetchall()] == AMOUNTS[2:]
        con.execute(f"DECLARE a CURSOR WITH HOLD FOR {ASKED}".encode())
        con.rollback()
        with pytest.raises(psycopg.errors.InvalidCursorName, match="no such portal or cursor"):
            con.execute("FETCH a")
        con.rollback()
        con.execute(f"DECLARE a CURSOR FOR {ASKED}".encode())
        con.commit()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            con.execute("FETCH a")
    with server.connect() as con:  # as psqlODBC writes it, outside of transactions
        held = f'declare "SQL_CUR7" cursor with hold for {ASKED};fetch 2 in "SQL_CUR7"'
        assert con.execute(held.encode()).nextset()
        assert [row[0] for row in con.execute('fetch 100 in "SQL_CUR7"').fetchall()] == AMOUNTS[2:]
        con.execute('close "SQL_CUR7"')
        con.execute(f"DECLARE b CURSOR WITH HOLD FOR {ASKED}".encode())
        con.execute("DISCARD ALL")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            con.execute("FETCH b")


def test_tags_formats_and_limits_are_those_of_postgresql(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"Q", f"BEGIN; DECLARE c BINARY NO SCROLL CURSOR FOR {ASKED}; FETCH FORWARD 2 FROM c\0".encode())
        found = wire.until_ready()
        assert b"".join(kind for kind, _ in found) == b"CCTDDCZ"
        assert found[1] == (b"C", b"DECLARE CURSOR\0")
        assert found[-2] == (b"C", b"FETCH 2\0")
        assert found[3][1].startswith(b"\0\4\0\0\0\4\0\0\0\5")  # of four columns the first: 5, in four bytes
        # By the extended protocol the formats are those of Bind; a limit of Execute is heard beside that of FETCH.
        fetch = (parse("FETCH 2 FROM c"), bind(columns=(0,)), describe("P"))
        found = wire.ask(*fetch, execute(1), execute(1), execute(0))
        assert b"".join(kind for kind, _ in found) == b"12TDsDCCZ"
        assert found[3][1].startswith(b"\0\4\0\0\0\00220")
        assert (
            wire.kinds(parse("FETCH ALL c", name="s"), describe("S", "s"), bind(statement="s"), execute()) == "1tT2DCZ"
        )
        assert wire.kinds(parse("FETCH c"), bind(), execute()) == "12CZ"
        assert wire.ask(parse("CLOSE ALL"), bind(), describe("P"), execute())[3] == (b"C", b"CLOSE CURSOR ALL\0")
        assert wire.kinds(parse("FETCH c"), describe("S")) == "1tEZ"
        for command in ("ROLLBACK", "BEGIN", "COMMIT", "DISCARD ALL"):  # what ends portals ends not its own
            assert wire.kinds(parse(command), bind(), describe("P"), execute()) == "12nCZ"


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("asked", "state"),
    [
        ("DECLARE c SCROLL CURSOR FOR SELECT 1", "0A000"), ("FETCH PRIOR FROM c", "0A000"),
        ("FETCH -1 FROM c", "0A000"),
        ("FETCH ABSOLUTE 2 FROM c", "0A000"), ("MOVE 1 FROM c", "0A000"), ("FETCH 0 FROM c", "0A000"),
        ("FETCH", "0A000"), ("CLOSE nothing", "34000"), ("FETCH 99999999999999999999 FROM c", "0A000"),
        ("DECLARE d CURSOR FOR BEGIN", "42601"), ("DECLARE d CURSOR FOR FETCH c", "42601"),
        ("DECLARE d CURSOR FOR SELECT * FROM visits", "0A000"), ("DECLARE c CURSOR FOR SELECT 1", "42P03"),
        ("DECLARE d CURSOR FOR DELETE FROM visits", "0A000"), ("DECLARE d CURSOR FOR", "0A000"),
        ("DECLARE d CURSOR FOR SELECT count(*), version() FROM visits", "0A000"),
    ],
)  # fmt: skip
def test_other_cursors_are_refused_in_words(server: Running, asked: str, state: str) -> None:
    with server.connect() as con:
        con.execute(f"BEGIN; DECLARE c CURSOR FOR {ASKED}".encode())
        with pytest.raises(psycopg.Error) as refused:
            con.execute(composed.SQL(asked))
        assert refused.value.diag.sqlstate == state
        assert refused.value.diag.message_hint


def test_a_cursor_lives_in_a_transaction_and_says_where_its_query_is_wrong(server: Running) -> None:
    with server.connect() as con:
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction, match="lives in a transaction"):
            con.execute("DECLARE c CURSOR FOR SELECT 1")
        asked = "BEGIN;\nDECLARE c CURSOR FOR\n SELECT max(amount) FROM visits"
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"max\(\) at line 3, column 9") as refused:
            con.execute(asked.encode())
        assert refused.value.diag.statement_position == str(asked.index("max") + 1)
        con.execute("ROLLBACK")


def test_names_are_folded_as_postgresql_does() -> None:
    def read(text: str) -> cursors.CursorCommand:
        (statement,) = split_statements(text, frozenset(), frozenset())
        return cursors.read_command(statement)

    assert read('FETCH NEXT FROM "C ""d"" "') == cursors.Fetch('C "d" ', 1)
    assert read("fetch forward all in Straße") == cursors.Fetch("straße", None)
    assert read("FETCH FORWARD c") == cursors.Fetch("c", 1)
    assert read("CLOSE C") == cursors.Close("c")
    with pytest.raises(ReplyError):
        read("FETCH 1 FROM c d")


def test_a_cursor_is_cancelled_and_logged_without_literals(server: Running) -> None:
    slow = "SELECT count(*) FROM " + ", ".join(f"regions AS r{i}" for i in range(16))
    with server.connect() as con:
        con.execute("BEGIN")
        timer = threading.Timer(0.3, con.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            con.execute(f"DECLARE topsecret CURSOR FOR {slow}; FETCH ALL FROM topsecret".encode())
        timer.join()
        con.execute("ROLLBACK; BEGIN")
        con.execute("DECLARE topsecret CURSOR FOR SELECT count(*) FROM visits WHERE region = 'topsecret'")
        con.execute("FETCH ALL FROM topsecret; CLOSE topsecret")
    assert "topsecret" not in str(server.events())
