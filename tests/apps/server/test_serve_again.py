"""The process that serves is started again where a question takes too much or it dies, and every client is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.bi_corpus import exact_release
from support.serving import SECRET

from sqlpriv.apps.server.scram import PASSWORD_VARIABLE
from sqlpriv.apps.supervisor import bytes_of
from sqlpriv.core.errors import InputError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_version,
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is looked up in /proc"),
]
SERVE = """
import sys
from pathlib import Path
from sqlpriv.apps import supervisor
from sqlpriv.apps.cli.main import main
from sqlpriv.apps.server.runner import Runner

too_much, stuck = Path("too-much"), Path("stuck")
supervisor._SHORTEST = 0.0
supervisor.Overseer.has_too_much = lambda self: too_much.exists() and not too_much.unlink()
Runner.is_stuck = lambda self: stuck.exists() and not stuck.unlink()
sys.argv = ["sqlpriv", "serve", sys.argv[1], "--port", "0"]
main()
"""
"""The command, where a file says that the process has too much memory, or that a question heeds no interrupt."""


class Serving:
    """The command, and who connects to it."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], port: int) -> None:
        self.folder, self.process, self.port = folder, process, port

    def connect(self) -> psycopg.Connection[Any]:
        about = {"host": "127.0.0.1", "port": self.port, "user": "analyst", "password": SECRET, "dbname": "sqlpriv"}
        return psycopg.connect(**about, autocommit=True, connect_timeout=60)  # type: ignore[arg-type]

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(number) for number in listed.split()]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    pytest.importorskip("pgserver")
    tmp_path.chmod(0o755)
    release = exact_release(tmp_path / "visits.duckdb")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(release.path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, cwd=tmp_path, env={**os.environ, PASSWORD_VARIABLE: SECRET, "COLUMNS": "200"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        yield Serving(tmp_path, process, int(said.partition("port ")[2].partition(".")[0]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def last_word(con: psycopg.Connection[Any], asked: str) -> str | None:
    """With which state a session that asks again and again is ended."""
    for _ in range(600):
        try:
            con.execute(asked).fetchall()
        except psycopg.OperationalError as error:
            return error.sqlstate
        time.sleep(0.05)
    return None


@pytest.mark.parametrize("why", ["too-much", "stuck"])
def test_every_client_is_told_and_the_next_ones_are_served(serving: Serving, why: str) -> None:
    asked = "SELECT count(*) FROM visits"
    before = serving.children()
    with serving.connect() as first, serving.connect() as second:
        answer = first.execute(asked).fetchall()
        (serving.folder / why).touch()
        assert last_word(second, asked) == "57P01"
        with pytest.raises(psycopg.OperationalError):
            first.execute(asked)
    with serving.connect() as again:
        assert again.execute(asked).fetchall() == answer
    assert serving.process.poll() is None
    assert serving.children() != before


def test_a_killed_process_is_started_again(serving: Serving) -> None:
    (child,) = serving.children()
    with serving.connect() as con:
        answer = con.execute("SELECT count(*) FROM visits").fetchall()
    os.kill(child, signal.SIGKILL)
    with serving.connect() as con:
        assert con.execute("SELECT count(*) FROM visits").fetchall() == answer
    assert serving.children() != [child]


@pytest.mark.parametrize(("text", "number"), [("2GB", 2 * 10**9), ("512MiB", 512 << 20), ("1.5 kb", 1500)])
def test_amounts_of_memory_are_read(text: str, number: int) -> None:
    assert bytes_of(text) == number


def test_what_is_no_amount_of_memory_is_refused() -> None:
    with pytest.raises(InputError, match="write it like 2GB"):
        bytes_of("much")
