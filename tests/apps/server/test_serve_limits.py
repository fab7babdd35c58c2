"""Who may connect, and how much they may ask for: passwords, TLS, cancels, limits of time, size and number."""

from __future__ import annotations

import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from support.releases import Made
from support.serving import SECRET, Running, certificate, running
from support.wire import Wire, bind, execute, parse

from sqlpriv.apps.server import messages
from sqlpriv.apps.server.settings import Limits
from sqlpriv.rewrite.release import PublicFacts

# Over the pairs of its values a public table makes work enough to be stopped.
SLOW = "SELECT count(*) FROM " + ", ".join(f"regions AS r{i}" for i in range(16))


@pytest.mark.parametrize("other", [{"password": "wrong"}, {"user": "owner"}, {"password": ""}])
def test_without_the_password_nobody_gets_in(server: Running, other: dict[str, str]) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        server.connect(**other)
    server.forgive()


def test_other_databases_and_options_are_refused(server: Running) -> None:
    with pytest.raises(psycopg.OperationalError, match="no such database"):
        server.connect(dbname="postgres")
    with pytest.raises(psycopg.OperationalError, match="unknown option"):
        server.connect(dbname="sqlpriv?bounds=on")
    with pytest.raises(psycopg.OperationalError, match="UTF-8 only"):
        server.connect(client_encoding="latin1")


def test_nothing_is_answered_before_the_password(server: Running) -> None:
    with Wire(server, login=False) as wire:
        wire.start(user="analyst", database="sqlpriv")
        wire.read()
        wire.send(b"Q", b"SELECT count(*) FROM visits\0")
        assert [kind for kind, _ in wire.until_ready()] == [b"E", b""]


def test_a_connection_without_tls_from_another_machine_is_ended(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlpriv.apps.server.listener.is_loopback", lambda _: False)
    with Wire(server, login=False) as wire:
        wire.start(user="analyst", database="sqlpriv")
        (kind, body), end = wire.until_ready()
    assert (kind, end) == (b"E", (b"", b""))
    assert b"SFATAL\0" in body
    assert b"accepts TLS connections only" in body


def test_a_newer_protocol_is_negotiated(server: Running) -> None:
    with Wire(server, login=False) as wire:
        wire.start(messages.PROTOCOL + 2, user="analyst", database="sqlpriv", **{"_pq_.x": "1"})
        kind, body = wire.read()
        assert (kind, body) == (b"v", struct.pack("!ii", 0, 1) + b"_pq_.x\0")
        assert wire.authenticate(SECRET)[-1] == (b"Z", b"I")


def test_a_statement_is_cancelled(server: Running) -> None:
    with server.connect() as con:
        timer = threading.Timer(0.3, con.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="cancelled"):
            con.execute(SLOW)
        timer.join()
        assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_a_cancel_with_the_wrong_secret_does_nothing(server: Running) -> None:
    with server.connect() as con:
        process = con.info.backend_pid
        with socket.create_connection(("127.0.0.1", server.server.port)) as sock:
            sock.sendall(struct.pack("!iii", 16, messages.CANCEL, process) + b"\0\0\0\0")
            assert sock.recv(1) == b""
        assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_too_large_a_message_ends_its_connection_alone(server: Running) -> None:
    with Wire(server) as wire:
        wire.sock.sendall(b"Q" + struct.pack("!i", 1 << 30))
        kind, body = wire.read()
        assert kind == b"E"
        assert b"C54000\0" in body
        assert wire.read() == (b"", b"")
    with server.connect() as con:
        assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_the_log_holds_no_literal(server: Running) -> None:
    with server.connect() as con:
        con.execute("SELECT count(*) FROM visits WHERE region = 'topsecret' -- hidden\n AND amount = 424242")
        con.execute("SELECT count(*) FROM visits WHERE region = %s", ["topsecret"])
        for asked in ('SELECT count("topsecret") FROM visits', "SELECT topsecret FROM visits", "'topsecret"):
            with pytest.raises(psycopg.Error):
                con.execute(asked.encode())
        con.execute("SELECT 'topsecret', version()")
    logged = str(server.events())
    assert "topsecret" not in logged
    assert "hidden" not in logged
    assert "424242" not in logged
    assert "SELECT count ( * ) FROM visits WHERE region = ?" in logged


def test_what_the_rewriter_asks_of_public_tables_is_stopped_too() -> None:
    """And nothing is remembered of it: else one who cancels would change what others are told."""
    with duckdb.connect() as con:
        facts = PublicFacts(con)
        slow = "(SELECT i AS a FROM range(100000000000) AS t(i))"
        timer = threading.Timer(0.2, con.interrupt)
        timer.start()
        with pytest.raises(duckdb.InterruptException):
            facts.is_unique(slow, frozenset({"a"}), frozenset())
        timer.join()
        assert facts._unique == {}


@pytest.mark.slow
def test_tls_and_the_limits_of_time_and_number(visits: Made, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "-newkey", "rsa:2048")
    limits = Limits(connections=2, seconds=0.5, login_seconds=1.0)
    with running(visits.path, cert=cert, key=key, limits=limits) as server:
        verified: dict[str, Any] = {"sslmode": "verify-full", "sslrootcert": str(cert)}
        with server.connect(**verified) as con:
            assert con.pgconn.ssl_in_use
            assert con.execute("SELECT count(*) AS n FROM visits").fetchall()
            start = time.monotonic()
            with pytest.raises(psycopg.errors.QueryCanceled, match="took too long"):
                con.execute(SLOW)
            assert time.monotonic() - start < 5
            with pytest.raises(psycopg.errors.QueryCanceled):
                con.execute("SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d")
            with server.connect(**verified), pytest.raises(psycopg.OperationalError, match="too many connections"):
                server.connect(**verified)
        _a_silent_client_is_let_go(server)
        assert not [e for e in server.events() if e["event"] == "fault"]


def _a_silent_client_is_let_go(server: Running) -> None:
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.server.port), 10) as sock:
        assert sock.recv(1) == b""
    assert time.monotonic() - start < 5


def test_a_plain_text_before_the_handshake_is_not_taken_for_what_comes_after(server: Running) -> None:
    """This server has no certificate: a client that asks for TLS is told so, and may go on without."""
    with Wire(server, login=False) as wire:
        for code in (messages.TLS, messages.GSS):
            wire.sock.sendall(struct.pack("!ii", 8, code))
            assert wire.sock.recv(1) == b"N"
        wire.start(user="analyst", database="sqlpriv")
        assert wire.authenticate(SECRET)[-1] == (b"Z", b"I")
        assert wire.kinds(parse("SELECT 1"), bind(), execute()) == "12DCZ"


def test_a_client_that_vanishes_leaves_nothing(server: Running) -> None:
    wire = Wire(server)
    wire.send(b"Q", SLOW.encode() + b"\0")
    time.sleep(0.2)
    wire.close()
    gone = time.monotonic() + 5
    with server.connect() as con:
        number = con.info.backend_pid - 1
        while {"event": "disconnected", "connection": number}.items() - server.last(number).items():
            assert time.monotonic() < gone, server.last(number)
            time.sleep(0.05)
