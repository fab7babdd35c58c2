"""A server for tests, in this process and on any free port."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sqlpriv.apps.server.listener import Server, serving
from sqlpriv.apps.server.scram import PASSWORD_VARIABLE
from sqlpriv.apps.server.settings import Log

SECRET = "correct horse battery"


class Running:
    """A server that runs, and what it logs."""

    def __init__(self, server: Server, log: io.StringIO) -> None:
        self.server = server
        self._log = log

    def events(self) -> list[dict[str, Any]]:
        """The log."""
        return [json.loads(line) for line in self._log.getvalue().splitlines()]

    def last(self, connection: int) -> dict[str, Any]:
        """What was logged last of a connection."""
        return [event for event in self.events() if event.get("connection") == connection][-1]

    def forgive(self) -> None:
        """Wrong passwords are forgotten, which would make the logins of other tests wait."""
        self.server._pending._failures.clear()

    @property
    def about(self) -> dict[str, Any]:
        """How to connect."""
        return {
            "host": "127.0.0.1", "port": self.server.port, "user": "analyst", "password": SECRET, "dbname": "sqlpriv",
        }  # fmt: skip

    def connect(self, **other: Any) -> psycopg.Connection[Any]:
        """A connection of psycopg."""
        return psycopg.connect(**{**self.about, "autocommit": True, **other})


@contextmanager
def running(*releases: Path, **given: Any) -> Iterator[Running]:
    """A server of releases."""
    if find_spec("pgserver") is None and shutil.which("postgres") is None:
        pytest.skip("there is no PostgreSQL for this Python: neither the package pgserver nor postgres on the path")
    log = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSWORD_VARIABLE, SECRET)
        with serving(releases, log=Log(log), **given) as server:
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                yield Running(server, log)
            finally:
                server.stop()
                thread.join(10)


def started(release: str, folder: Path, *options: str) -> tuple[subprocess.Popen[str], int]:
    """The command itself, in a process of its own, and its port."""
    command = [sys.executable, "-m", "sqlpriv", "serve", release, "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder,
        env={**os.environ, PASSWORD_VARIABLE: SECRET, "TMPDIR": str(folder), "COLUMNS": "200"},
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline()
    assert "Serving regions, visits at 127.0.0.1, port " in said
    return process, int(said.partition("port ")[2].partition(".")[0])


def certificate(folder: Path, *kind: str) -> tuple[Path, Path]:
    """A certificate for this machine, made by openssl."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost", *kind, "-out", str(cert)]
    try:
        made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key)]
        subprocess.run(made, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make such a certificate here")
    return cert, key


def psql(server: Running, *commands: str, database: str = "sqlpriv") -> subprocess.CompletedProcess[str]:
    """What psql says to commands."""
    program = shutil.which("psql")
    if program is None:
        pytest.skip("psql is not installed")
    about = f"host=127.0.0.1 port={server.server.port} user=analyst dbname={database}"
    listed = [part for command in commands for part in ("-c", command)]
    environment = {"PGPASSWORD": SECRET, "PATH": os.environ["PATH"], "PGCLIENTENCODING": "UTF8"}
    asked = [program, about, "-X", "-A", "-t", *listed]
    return subprocess.run(asked, capture_output=True, text=True, env=environment, timeout=30, check=False)
