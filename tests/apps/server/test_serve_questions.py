"""Questions by psycopg: answered through the rewriter with bounds, or refused with SQLSTATE, hint and place."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg import sql as composed
from support.releases import Made
from support.serving import Running
from support.wire import Wire, bind, close, describe, execute, parse

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease


@pytest.fixture(scope="module")
def release(visits: Made) -> Iterator[OpenRelease]:
    """The same release, asked without a server."""
    with open_release(visits.path) as found:
        yield found


BY_REGION = "SELECT region, count(*) AS n, avg(amount) AS mean FROM visits GROUP BY region ORDER BY region"


@pytest.mark.parametrize("binary", [False, True])
def test_answers_are_those_of_the_release(server: Running, release: OpenRelease, binary: bool) -> None:
    asked = (
        "SELECT day, paid, quantity, product, count(*) AS n, sum(amount) AS total FROM visits GROUP BY ALL ORDER BY ALL"
    )
    with server.connect() as con:
        expected = release.sql(asked)
        found = con.execute(asked, binary=binary)
        assert [c.name for c in found.description or []] == expected.columns
        assert found.fetchall() == expected.fetchall()


def test_bounds_are_left_out_where_a_name_says_so(server: Running) -> None:
    for other in ({"dbname": "sqlpriv?bounds=off"}, {"user": "analyst?bounds=off"}, {"dbname": "sqlpriv%3Fbounds=off"}):
        with server.connect(**other) as con:
            assert [c.name for c in con.execute(BY_REGION).description or []] == ["region", "n", "mean"]
    with server.connect() as con:
        columns = [c.name for c in con.execute(BY_REGION).description or []]
    assert columns == ["region", "n", "n_low", "n_high", "mean", "mean_low", "mean_high"]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("region = %s", "north"),
        ("region = %s", "o'clock; DROP TABLE visits --"),
        ("amount > %s", 7),
        ("amount > %s", 2**40),
        ("amount > %s", 7.5),
        ("amount > %s", Decimal("7.5")),
        ("day >= %s", datetime.date(2024, 1, 31)),
        ("paid = %s", True),
        ("region IS NOT DISTINCT FROM %s", None),
    ],
)
@pytest.mark.parametrize("how", ["%s", "%t", "%b"])
def test_parameters_are_values_and_never_sql(
    server: Running, release: OpenRelease, condition: str, value: Any, how: str
) -> None:
    with server.connect() as con:
        asked = f"SELECT count(*) AS n FROM visits WHERE {condition}"
        expected = release.sql(asked.replace("%s", "$1"), parameters=[value]).fetchall()
        assert con.execute(asked.replace("%s", how), [value]).fetchall() == expected


def test_a_parameter_without_a_type_gets_the_one_that_postgres_infers(server: Running) -> None:
    asked = "SELECT count(*) AS n FROM visits WHERE amount > $1 AND day = $2 AND region = $3"
    with Wire(server) as wire:
        answers = dict(wire.ask(parse(asked), describe("S")))
    assert answers[b"t"] == struct.pack("!hIII", 3, 23, 1082, 25)
    assert all(name in answers[b"T"] for name in (b"n\0", b"n_low\0", b"n_high\0"))


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", [16, 23, 700, 1082, 1114, 1700, 2950])
def test_a_parameter_that_is_no_value_of_its_type_is_refused_and_not_repeated(server: Running, kind: int) -> None:
    with Wire(server) as wire:
        asked = parse("SELECT count(*) AS n FROM visits WHERE amount > $1", types=(kind,))
        answers = wire.ask(asked, bind(b"topsecret"), execute())
        assert [letter for letter, _ in answers] == [b"1", b"2", b"E", b"Z"]
        assert b"topsecret" not in answers[2][1]
        assert b"M" + b"the parameter 1 is no value of its type" in answers[2][1]


@pytest.mark.some(3)
@pytest.mark.parametrize("cell", [b"t", b"TRUE", b"f", b"true", b"on", b"1", b"yes", b"false", b"0", b"off", b"n"])
def test_a_truth_is_read_as_postgresql_reads_it(server: Running, cell: bytes) -> None:
    """psycopg's adapter, which reads what PostgreSQL writes, takes all but `t` for false."""
    asked = parse("SELECT count(*) AS n FROM visits WHERE paid = $1", types=(16,))
    with Wire(server) as wire, server.connect() as con:
        is_true = cell.lower() in {b"t", b"true", b"on", b"1", b"yes"}
        ((expected, *_),) = con.execute("SELECT count(*) FROM visits WHERE paid = %b", [is_true]).fetchall()
        cells = wire.ask(asked, bind(cell), execute())[2][1]
        assert cells[6:].startswith(str(int(expected)).encode())


def test_what_only_duckdb_knows_takes_texts(server: Running) -> None:
    with server.connect() as con:
        rows = con.execute("SELECT amount / 10, count(*) AS n FROM visits WHERE amount > %s GROUP BY ALL", ["7"])
        assert len(rows.fetchall()) == 4


@pytest.mark.parametrize(
    ("asked", "state", "hint", "place"),
    [
        ("SELECT nope FROM visits", "42703", "there are region", 8),
        ("SELECT count(*) FROM nowhere", "42P01", "the release answers for", 22),
        ("SELECT\n  max(amount) FROM visits", "0A000", "extremes", 10),
        ("SELECT * FROM visits", "0A000", "write an aggregate", 8),
        ("SELEC 1", "0A000", "only one SELECT", 1),
        ("SELECT (1", "42601", "check it", None),
        ("DROP TABLE visits", "0A000", "only one SELECT", 1),
        ("COPY visits TO STDOUT", "0A000", "COPY (SELECT ...)", None),
        ("INSERT INTO visits VALUES (1)", "0A000", "only one SELECT", 1),
        ("SELECT count(*) FROM visits, pg_class", "42P01", "the release answers for", 30),
        ("SELECT * FROM read_csv('/etc/passwd')", "0A000", "", 15),
        ("SELECT 'visits'::regclass, x FROM visits", "0A000", "cast to", 8),
    ],
)
def test_refusals_say_what_where_and_what_to_do(
    server: Running, asked: str, state: str, hint: str, place: int | None
) -> None:
    with server.connect() as con, pytest.raises(psycopg.Error) as refused:
        con.execute(composed.SQL(asked))
    said = refused.value.diag
    assert said.sqlstate == state
    assert (said.message_hint or "").startswith(hint)
    assert place is None or said.statement_position == str(place)


def test_a_cell_is_never_told_in_an_error(server: Running) -> None:
    with server.connect() as con, pytest.raises(psycopg.Error) as refused:
        con.execute("SELECT count(*) FROM visits WHERE CAST(region AS INTEGER) = 1").fetchall()
    assert not {"north", "south", "east"} & set(str(refused.value).replace("'", " ").split())


def test_a_value_outside_the_domain_is_warned_of(server: Running) -> None:
    told: list[str] = []
    with server.connect() as con:
        con.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        assert con.execute("SELECT count(*) FROM visits WHERE region = 'nowhere'").fetchall() == [(0.0, 0.0, 0.0)]
    assert len(told) == 1
    assert "nowhere" in told[0]


def test_transactions_look_as_expected(server: Running) -> None:
    with server.connect(autocommit=False) as con:
        con.execute("SELECT 1")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            con.execute("SELECT max(amount) FROM visits")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            con.execute("SELECT 1")
        con.rollback()
        with con.transaction(), con.transaction():
            assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_rows_come_bit_by_bit(server: Running) -> None:
    """Portals with limits, two at once, and what closes them."""
    asked = "SELECT amount, count(*) AS n FROM visits GROUP BY amount ORDER BY amount"
    with Wire(server) as wire:
        begin = (parse("BEGIN"), bind(), execute())
        two = (parse(asked, name="s"), bind(statement="s", portal="a"), bind(statement="s", portal="b"))
        assert wire.kinds(*begin, *two, execute(2, "a"), execute(2, "b")) == "12C122DDsDDsZ"
        assert wire.kinds(execute(2, "a"), execute(3, "b"), execute(1, "b")) == "DDsDDDsCZ"
        assert wire.kinds(execute(2, "a"), execute(2, "a")) == "DCCZ"
        assert wire.kinds(close("P", "a"), execute(1, "a")) == "3EZ"
        assert wire.kinds(parse("ROLLBACK"), bind(), execute(), execute(1, "b")) == "12CEZ"
        assert wire.kinds(bind(statement="s"), execute(0)) == "2DDDDDCZ"
        assert wire.kinds(close("S", "s"), bind(statement="s"), execute()) == "3EZ"


def test_a_question_that_is_asked_again_has_the_same_answer(server: Running, release: OpenRelease) -> None:
    """Also in the midst of the first answer, and when others were asked meanwhile."""
    questions = [
        f"SELECT amount, count(*) AS n FROM visits WHERE amount > {i} GROUP BY 1 ORDER BY 1" for i in range(12)
    ]
    with server.connect() as con:
        for question in (*questions, *reversed(questions), questions[3], questions[3]):
            assert con.execute(question.encode()).fetchall() == release.sql(question).fetchall()
    prepared = parse(questions[0], name="s")
    with Wire(server) as wire:
        wire.kinds(parse("BEGIN"), bind(), execute(), prepared)
        for _ in range(3):
            two = (bind(statement="s", portal="a"), bind(statement="s", portal="b"))
            assert wire.kinds(*two, execute(1, "a"), execute(0, "b"), execute(0, "a")) == "22DsDDDDDCDDDDCZ"
            assert wire.kinds(close("P", "a"), close("P", "b")) == "33Z"


def test_the_simple_protocol_takes_many_statements_up_to_the_first_that_fails(server: Running) -> None:
    with Wire(server) as wire:
        wire.send(b"Q", b"BEGIN; SELECT 1; ; SELECT max(amount) FROM visits; SELECT 2\0")
        answers = wire.until_ready()
        assert b"".join(kind for kind, _ in answers) == b"CTDCEZ"
        assert answers[-1] == (b"Z", b"E")
        wire.send(b"Q", b" ; -- nothing\0")
        assert wire.until_ready() == [(b"I", b""), (b"Z", b"E")]


def test_settings_and_discards_change_nothing(server: Running) -> None:
    with server.connect() as con:
        for command in (
            "SET search_path TO nowhere",
            "SET TIME ZONE 'UTC'",
            "SET datestyle = ISO, DMY",
            "SET DateStyle TO 'ISO, MDY'",
            "SET standard_conforming_strings = on",
            "SET SESSION client_encoding TO 'utf-8'",
            "SET NAMES 'UTF8'",
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET statement_timeout = 5000",
            "RESET ALL",
            "DISCARD ALL",
            "DEALLOCATE ALL",
        ):
            con.execute(composed.SQL(command))
        for refused, said in (
            ("SET client_encoding TO 'LATIN1'", "UTF-8 only"),
            ("SET NAMES latin1", "UTF-8 only"),
            ("SET DateStyle TO 'German, DMY'", "ISO 8601 only"),
            ("SET LOCAL standard_conforming_strings TO off", "a backslash"),
        ):
            with pytest.raises(psycopg.errors.InvalidParameterValue, match=said):
                con.execute(composed.SQL(refused))
        assert con.execute("SHOW search_path").fetchall() == [('"$user", public',)]
        assert con.execute("SHOW TABLES").fetchall() == [("regions",), ("visits",)]
