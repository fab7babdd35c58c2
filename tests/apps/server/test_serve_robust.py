"""Nothing that a client sends, and no way in which anything dies, takes the server or leaves anything behind."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import psycopg
import pytest
from support.releases import Made
from support.serving import SECRET, Running, started
from support.wire import Wire, bind, close, describe, execute, parse

from sqlpriv.apps.server.messages import message

VALID = [
    parse("SELECT count(*) FROM visits WHERE amount > $1", name="s"), bind(b"7", statement="s"), describe("S", "s"),
    describe("P"), execute(1), close("S", "s"), message(b"Q", b"SELECT 1\0"), message(b"S"),
    message(b"H"), message(b"Q", b"SELECT relname FROM pg_class LIMIT 1\0"), message(b"Q", b"BEGIN\0"),
    message(b"Q", b"DECLARE c CURSOR WITH HOLD FOR SELECT amount, count(*) FROM visits GROUP BY 1\0"),
    message(b"Q", b"FETCH 2 FROM c\0"), message(b"Q", b"CLOSE c; DISCARD ALL\0"), describe("P", "c"),
]  # fmt: skip


def packet(chance: random.Random) -> bytes:
    """Bytes that look like a message, more or less."""
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(1, 60))
    if kind == 1:
        return message(chance.choice(b"QPBDCESHXpdcfF".decode()).encode(), chance.randbytes(chance.randrange(40)))
    if kind == 2:
        return chance.randbytes(1) + struct.pack("!i", chance.choice([-1, 0, 3, 4, 5, 2**31 - 1, 1 << 20])) + b"\0" * 9
    made = bytearray(chance.choice(VALID))
    for _ in range(chance.randrange(1, 4)):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made[: chance.randrange(1, len(made) + 1)] if kind == 3 else made)


def throw(server: Running, chance: random.Random, number: int) -> int:
    """Random packets over one connection, until the server hangs up; how many it took."""
    login = chance.random() < 0.7
    thrown = 0
    with Wire(server, login=login, timeout=5) as wire:
        try:
            for _ in range(number):
                wire.sock.sendall(packet(chance))
                thrown += 1
            wire.sock.shutdown(socket.SHUT_WR)
            while wire.sock.recv(1 << 16):
                pass
        except OSError:
            pass
    return max(thrown, 1)


@pytest.mark.parametrize(
    "number", [pytest.param(300, id="some"), pytest.param(10_000, id="ten thousand", marks=pytest.mark.slow)]
)
def test_a_malformed_packet_never_ends_the_server(server: Running, number: int) -> None:
    chance = random.Random(7)
    thrown = 0
    while thrown < number:
        thrown += throw(server, chance, chance.randrange(1, 12))
    with server.connect() as con:
        assert con.execute("SELECT count(*) AS n FROM visits").fetchall() == [(2330.0, 2330.0, 2330.0)]
    assert [event for event in server.events() if event["event"] == "fault"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000, "/*" * 9000, "SELECT 1" + " " * 900_000, "SELECT " + "-" * 1000 + "1", ";" * 9000,
        "SELECT count(*) FROM visits WHERE " + " OR ".join(["amount = 1"] * 900), "SELECT '" + "x" * 900_000,
        "$" * 9999, "SELECT " + ", ".join(["1"] * 300), "WITH " * 5000, "SELECT " + "CASE WHEN 1 THEN " * 900,
    ],
    ids=range(11),
)  # fmt: skip
def test_a_statement_of_any_size_is_answered_or_refused(server: Running, sql: str) -> None:
    with server.connect() as con:
        try:
            con.execute(sql.encode())
            state = "00000"
        except psycopg.Error as error:
            state = str(error.diag.sqlstate)
        assert con.execute("SELECT 1 AS one").fetchall() == [(1,)]
    assert state in {"00000", "0A000", "42601", "22023"}
    assert [event for event in server.events() if event["event"] == "fault"] == []


def test_the_catalog_can_be_asked_again_after_its_connection_broke(server: Running) -> None:
    with server.connect() as con:
        con.execute("SELECT version()")
        with psycopg.connect(host=str(server.server._catalog.folder), user="owner", dbname="sqlpriv") as owner:
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'analyst'"
            owner.execute(ended).fetchall()
        with pytest.raises(psycopg.Error):
            con.execute("SELECT version()")
        assert con.execute("SELECT count(*) AS n FROM visits").fetchall() == [(2330.0, 2330.0, 2330.0)]
        assert "PostgreSQL" in con.execute("SELECT version()").fetchall()[0][0]


def processes() -> list[str]:
    """All processes of a catalog server whose folder is one of this test's, by their command lines."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found.append((entry / "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return [line for line in found if "sqlpriv-catalog-" in line]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_leaves_no_process_no_folder_and_no_lock(visits: Made, number: signal.Signals) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        release = shutil.copy(visits.path, folder)
        process, port = started(release, Path(folder))
        about = f"host=127.0.0.1 port={port} user=analyst password='{SECRET}' dbname=sqlpriv"
        with psycopg.connect(about) as con:
            assert con.execute("SELECT count(*) FROM pg_class").fetchone()
            mine = [line for line in processes() if folder in line]
            assert len(mine) >= 2, mine
            process.send_signal(number)
            process.wait(20)
            end = time.monotonic() + 10
            while [line for line in processes() if folder in line] or list(Path(folder).glob("sqlpriv-catalog-*")):
                assert time.monotonic() < end, (processes(), list(Path(folder).iterdir()))
                time.sleep(0.05)
            con.close()
        assert process.stdout is not None
        process.stdout.close()
        # Nobody holds the file: it can be opened for writing.
        duckdb.connect(release).close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is looked up in /proc")
@pytest.mark.parametrize(
    ("options", "condition"),
    [
        (("--memory", "100MB", "--timeout", "30"), "length(repeat(product || amount, 400000000)) > amount"),
        (("--timeout", "1"), "levenshtein(repeat('x', 90000), repeat('y', 90000) || product) > amount"),
    ],
)
def test_a_question_that_cannot_be_stopped_ends_one_process_and_not_the_service(
    visits: Made, options: tuple[str, ...], condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its memory, or by time. No question is known that does it since texts are bounded, so that is taken away."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        # A module that is read before all others: the bounds of texts are gone in the server alone.
        (Path(folder) / "sitecustomize.py").write_text(
            "import sqlpriv.rewrite.bind.parse as parse\nparse.refuse_long = lambda *_: None\n", encoding="utf-8"
        )
        monkeypatch.setenv("PYTHONPATH", folder)
        process, port = started(shutil.copy(visits.path, folder), Path(folder), *options)
        about = f"host=127.0.0.1 port={port} user=analyst password='{SECRET}' dbname=sqlpriv"
        asked = "SELECT count(*) AS n FROM visits"
        try:
            with psycopg.connect(about, autocommit=True) as other, psycopg.connect(about, autocommit=True) as con:
                expected = other.execute(asked.encode()).fetchall()
                with pytest.raises(psycopg.OperationalError):
                    con.execute(
                        "SELECT count(*) FROM visits WHERE length(repeat(product || amount, 400000000)) > amount"
                    )
                with pytest.raises(psycopg.errors.AdminShutdown):
                    other.execute(asked.encode())
            with psycopg.connect(about, autocommit=True, connect_timeout=60) as again:
                assert again.execute(asked.encode()).fetchall() == expected
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            assert process.stdout is not None
            process.stdout.close()


@pytest.mark.slow
def test_many_clients_at_once_all_get_their_answers(server: Running) -> None:
    asked = "SELECT region, count(*) AS n FROM visits WHERE amount > %s GROUP BY region ORDER BY region"
    values = [1, 7, 15, 25, 45]
    with server.connect() as con:
        expected = {value: con.execute(asked, [value]).fetchall() for value in values}

    def client(number: int) -> int:
        right = 0
        with server.connect() as con:
            for turn in range(20):
                value = values[(number + turn) % len(values)]
                right += con.execute(asked, [value]).fetchall() == expected[value]
        return right

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(client, range(16))) == 16 * 20
