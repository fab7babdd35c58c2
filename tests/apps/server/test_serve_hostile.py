"""A client that has logged in sends little and would make the server hold much, or work for long: it is refused."""

from __future__ import annotations

import psycopg
import pytest
from support.serving import Running
from support.wire import Wire, bind, describe, execute, parse

from sqlpriv.apps.server.pre_login import PendingLogins
from sqlpriv.apps.server.statements import split_statements


def test_many_statements_in_one_message_are_not_many_texts() -> None:
    """Each was kept with all that stood before it: a message of a megabyte became gigabytes, in minutes."""
    text = "SELECT 1;\n" * 200
    found = split_statements(text, frozenset(), frozenset())
    assert len(found) == 200
    assert all(each.full_text is text for each in found)
    assert found[2].text == (" " * 9 + "\n") * 2 + "SELECT 1"


def test_the_log_holds_the_beginning_of_a_long_statement() -> None:
    (found,) = split_statements("SELECT " + ", ".join(["1"] * 400), frozenset(), frozenset())
    assert found.log_text.startswith("SELECT ? , ?")
    assert found.log_text.endswith(" ...")
    assert len(found.log_text) < 1000


@pytest.mark.some(2)
@pytest.mark.parametrize("number", ["99999999999", "500000000", "9" * 5000, "65536"])
def test_a_parameter_of_a_huge_number_is_refused(server: Running, number: str) -> None:
    """A list of so many types was made for it."""
    with Wire(server) as wire:
        for of in ("visits", "pg_class"):
            answers = wire.ask(parse(f"SELECT count(*) FROM {of} WHERE 1 = ${number}"))
            assert [kind for kind, _ in answers] == [b"E", b"Z"]
            assert b"C54023\0" in answers[0][1]


def test_more_types_than_parameters_are_no_fault(server: Running) -> None:
    with Wire(server) as wire:
        for of in ("visits", "pg_class"):
            answers = wire.ask(parse(f"SELECT count(*) FROM {of}", types=(25,) * 40_000), describe("S"))
            assert answers[0][0] in {b"1", b"E"}
            assert b"CXX000\0" not in answers[0][1]
    assert [event for event in server.events() if event["event"] == "fault"] == []


def test_the_catalog_takes_so_much_memory_and_no_more(server: Running) -> None:
    """For each client; whatever a client sets."""
    with server.connect() as con:
        con.execute("SELECT set_config('work_mem', '2000MB', false)")
        with pytest.raises(psycopg.errors.OutOfMemory):
            con.execute("SELECT length(repeat('x', 600000000)), version()")
        assert con.execute("SELECT current_user").fetchall() == [("analyst",)]


def by_twos(first: str, last: str) -> str:
    """Twenty CTEs, each of which names the one before twice."""
    twice = (f"c{i} AS (SELECT x.a FROM c{i - 1} AS x JOIN c{i - 1} AS y ON x.a = y.a)" for i in range(1, 20))
    return f"WITH c0 AS ({first}), {', '.join(twice)} SELECT {last} FROM c19"


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        # A thousand signs took an hour of rewriting, which no time limit stops, and kept all others waiting.
        (by_twos("SELECT amount AS a, count(*) AS n FROM visits GROUP BY 1", "count(*)"), "0A000"),
        (by_twos("SELECT region AS a FROM regions", "count(*)"), "0A000"),
        (by_twos("SELECT region AS a FROM regions", "(SELECT count(*) FROM visits), a"), "0A000"),
        # So did planning what became of many columns.
        pytest.param(
            "SELECT " + ", ".join(f"sum(amount + {i})" for i in range(1000)) + " FROM visits",
            "0A000",
            marks=pytest.mark.slow,
        ),
        ("SELECT count(*) FROM visits WHERE amount IN (" + ", ".join(map(str, range(10_001))) + ")", "54001"),
    ],
    ids=["estimates", "public", "both", "columns", "values"],
)
def test_a_question_that_takes_too_long_to_rewrite_or_plan_is_refused(server: Running, asked: str, state: str) -> None:
    with server.connect() as con, pytest.raises(psycopg.Error) as refused:
        con.execute(asked.encode())
    assert refused.value.diag.sqlstate == state
    assert refused.value.diag.message_hint


@pytest.mark.slow
def test_what_the_catalog_makes_of_little_is_not_held(server: Running) -> None:
    with server.connect() as con:
        for asked in (
            "SELECT repeat('x', 30000000), version()",
            "SELECT version(), g FROM generate_series(1, 400000) g",
        ):
            with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="too large"):
                con.execute(asked.encode())
        with pytest.raises(psycopg.errors.InvalidTextRepresentation) as refused:
            con.execute("SELECT repeat('x', 30000000)::integer, version()")
        assert len(str(refused.value)) < 10_000
        assert con.execute("SELECT current_user").fetchall() == [("analyst",)]


@pytest.mark.slow
def test_portals_and_statements_hold_so_much_and_no_more(server: Running) -> None:
    """A thousand portals with the largest answer each would be gigabytes."""
    with Wire(server) as wire:
        large = "SELECT repeat('x', 10000000), version()"
        wire.kinds(parse("BEGIN"), bind(), execute(), parse(large, name="s"))
        kinds = [wire.kinds(bind(statement="s", portal=str(i)), describe("P", str(i))) for i in range(8)]
        assert kinds == ["2TZ"] * 7 + ["EZ"]
    long = "SELECT 1" + " " * 1_000_000
    with Wire(server) as wire:
        kinds = [wire.kinds(parse(long, name=str(i))) for i in range(70)]
        assert kinds[:60] == ["1Z"] * 60
        assert kinds[-1] == "EZ"


class Caller:
    """A connection that waits to log in."""

    def __init__(self) -> None:
        self.is_there = True

    def hang_up(self) -> None:
        """It is let go."""
        self.is_there = False


def test_who_comes_finds_room_at_the_expense_of_the_host_that_takes_most() -> None:
    pending, callers = PendingLogins(4), [Caller() for _ in range(7)]
    for number, host in enumerate("abbaaca"):
        pending.add(number, callers[number], host)  # type: ignore[arg-type]
        if number == 4:
            pending.remove(4)
    assert [number for number, caller in enumerate(callers) if not caller.is_there] == [0, 1]


def test_silent_clients_keep_nobody_out(server: Running) -> None:
    """All places were taken by clients that never said who they are, and everybody else was turned away."""
    silent = [Wire(server, login=False) for _ in range(80)]
    try:
        with server.connect(connect_timeout=10) as con:
            assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
    finally:
        for wire in silent:
            wire.close()


def test_after_a_wrong_password_the_next_guess_waits_before_it_is_judged(server: Running) -> None:
    """Not after it: who hangs up early would have guessed for nothing."""
    pending = server.server._pending
    assert not pending.failed_recently("192.0.2.7")
    pending.record_failure("192.0.2.7")
    assert pending.failed_recently("192.0.2.7")
    for number in range(2000):
        pending.record_failure(f"host {number}")
    assert not pending.failed_recently("192.0.2.7")
    with pytest.raises(psycopg.OperationalError, match="password"):
        server.connect(password="wrong, but long")
    assert pending.failed_recently("127.0.0.1")
    ended = [event for event in server.events() if event["event"] == "ended"][-1]
    assert {"host": "127.0.0.1", "state": "28P01"}.items() <= ended.items()
    server.forgive()
