"""Ctrl-C and the signals that ask a process to end: no traceback, nothing left behind, whatever DuckDB was doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlpriv
from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import attach_new

pytestmark = pytest.mark.one_version


class Interrupted:
    """A connection to DuckDB as it is when Ctrl-C comes during a statement that begins so."""

    def __init__(self, con: duckdb.DuckDBPyConnection, during: str) -> None:
        self._con = con
        self._during = during

    def execute(self, sql: str, parameters: Any = None) -> Any:
        if sql.startswith(self._during):
            raise RuntimeError("Query interrupted")
        return self._con.execute(sql, parameters or [])


def test_an_interrupt_while_a_file_or_macros_are_written_is_one(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        given: Any = Interrupted(con, "ATTACH")
        with pytest.raises(KeyboardInterrupt):
            attach_new(given, tmp_path / "new.duckdb")
        with pytest.raises(KeyboardInterrupt):
            Calls(Interrupted(con, "CREATE")).need("k_anonymity")  # type: ignore[arg-type]


def test_an_interrupted_install_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install = import_module("sqlpriv.macros.install")
    monkeypatch.setattr(install, "_copied", lambda con, old: install._replace(Interrupted(con, "CREATE"), old))
    with pytest.raises(KeyboardInterrupt):
        sqlpriv.install(tmp_path / "new.duckdb")
    assert list(tmp_path.iterdir()) == []


# A command that never ends, with a folder for what does not fit into memory.
ENDLESS = """
import importlib, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from sqlpriv.core.engine import fetch, open_memory
def endless() -> None:
    with open_memory() as con:
        print("running", flush=True)
        while True:  # short ones: DuckDB listens when a task of a query ends
            fetch(con, "SELECT count(*) FROM range(300000) AS r(i) WHERE hash(i) = 7")
importlib.import_module("sqlpriv.apps.cli.checks").check_command = endless
importlib.import_module("sqlpriv.apps.cli.main").main()
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_who_is_asked_to_end_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, "check"], env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["sqlpriv"]
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
