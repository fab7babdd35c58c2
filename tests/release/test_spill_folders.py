"""What does not fit into memory goes to a private folder, whichever command opens a database, and is removed."""

from __future__ import annotations

import ast
import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import places
from support.policies import IN_DATABASE, policy_text, qi, role, write_policy
from support.randomized_policies import noise_policy_text, published
from typer.testing import CliRunner

import sqlpriv
from sqlpriv.apps.cli.main import app
from sqlpriv.core import folders as folders_of_processes
from sqlpriv.core.engine import scratch_folder

PEOPLE = "CREATE TABLE people AS SELECT i % 20 AS a, i % 3 AS b FROM range(300) AS r(i)"
FRAPP = 'method = "frapp"\ngamma = 0.6\nd = 0.1'
# Each names a private folder, or none at all.
IN_PRIVATE = {"core/engine.py", "release/open.py", "macros/expand.py", "macros/install.py", "table/engines/task.py"}


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, bool]]:
    """The folder of every connection that is opened, and whether it was private then."""
    found: list[tuple[Path, bool]] = []
    connect = duckdb.connect

    def noted(*given: Any, **named: Any) -> duckdb.DuckDBPyConnection:
        con = connect(*given, **named)
        setting = con.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        if not setting:  # it never spills
            return con
        folder = Path(setting)
        found.append((folder, folder.is_dir() and stat.S_IMODE(folder.stat().st_mode) == 0o700))
        return con

    monkeypatch.setattr(duckdb, "connect", noted)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_policy(
        tmp_path, noise_policy_text({"a": published('"range:0..19"'), "b": published("[0, 1, 2]")}, FRAPP), PEOPLE
    )
    sqlpriv.publish(tmp_path / "policy.toml", force=True)
    return tmp_path


def run_here(folder: Path, *arguments: str) -> None:
    assert CliRunner().invoke(app, [a.replace("HERE", str(folder)) for a in arguments]).exit_code in {0, 1}


COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("show", "HERE/people-release.duckdb"),
    "verify": ("verify", "HERE/people-release.duckdb"),
    "verify with the policy": ("verify", "HERE/people-release.duckdb", "--policy", "HERE/policy.toml"),
    "query": ("query", "HERE/people-release.duckdb", "SELECT a, count(*) FROM people GROUP BY a"),
    "plan": ("plan", "HERE/policy.toml"),
    "publish": ("publish", "HERE/policy.toml", "--force"),
    "check": ("check", "people", "--database", "HERE/private.duckdb", "--qi", "a"),
    "init": ("init", "people", "--database", "HERE/private.duckdb", "--output", "HERE/new.toml"),
    "sql": ("sql", "FROM priv.k_anonymity('people', ['a'])", "--database", "HERE/private.duckdb"),
    "view": ("view", "add", "HERE/private.duckdb", "hidden", "FROM priv.hide('people', 'a', 'a < 9')"),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_spills_in_private(folder: Path, folders: list[tuple[Path, bool]], command: str) -> None:
    folders.clear()
    run_here(folder, *COMMANDS[command])
    assert folders
    assert all(is_private for _, is_private in folders), folders
    assert not any(path.exists() for path, _ in folders)


def test_a_generalized_release_too(tmp_path: Path, folders: list[tuple[Path, bool]]) -> None:
    write_policy(tmp_path, policy_text({"a": qi(), "b": role("sensitive")}, "k = 5", "", IN_DATABASE), PEOPLE)
    folders.clear()
    for command in ("publish", "lattice", "hierarchy show a --policy"):
        run_here(tmp_path, *command.split(), "HERE/policy.toml")
    run_here(tmp_path, "verify", "HERE/people-release.duckdb")
    assert len(folders) > 4
    assert all(is_private for _, is_private in folders), folders
    assert not any(path.exists() for path, _ in folders)


def test_a_release_that_nobody_closes_leaves_no_folder(folder: Path, folders: list[tuple[Path, bool]]) -> None:
    folders.clear()
    answer = sqlpriv.open_release(folder / "people-release.duckdb").sql("SELECT count(*) AS n FROM people")
    gc.collect()
    assert len(answer.fetchall()) == 1  # the answer outlives its release
    assert not any(path.exists() for path, _ in folders)


def test_a_release_that_cannot_be_opened_leaves_no_folder(folder: Path, folders: list[tuple[Path, bool]]) -> None:
    folders.clear()
    with pytest.raises(sqlpriv.SqlprivError):
        sqlpriv.open_release(folder / "private.duckdb")
    assert folders
    assert not any(path.exists() for path, _ in folders)


def test_no_other_place_opens_a_database() -> None:
    """DuckDB would spill into .tmp, or beside the file, where others can read."""
    found = {
        str(file.relative_to(places.ROOT / "sqlpriv"))
        for file in (places.ROOT / "sqlpriv").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "duckdb.connect"
    }
    assert found == IN_PRIVATE


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files in which nobody was yet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(folders_of_processes, "_swept", set())
    return tmp_path


DIES = """
import os, signal
from sqlpriv.core.engine import open_memory, work_on_disk

os.umask(0)
with open_memory(threads=1) as con:
    work_on_disk(con)
    con.execute("SET memory_limit = '64MB'; CREATE TEMP TABLE t AS SELECT i, hash(i) AS h FROM range(8000000) AS r(i)")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_spilled_the_next_one_removes(empty: Path) -> None:
    assert subprocess.run([sys.executable, "-c", DIES], check=False).returncode == -signal.SIGKILL
    (left,) = empty.iterdir()
    assert {"tables.duckdb", "sqlpriv.lock"} <= {file.name for file in left.iterdir()}
    assert any(file.name.startswith("duckdb_temp") for file in left.iterdir())
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    if sys.platform == "linux":  # elsewhere the folder alone keeps others out
        assert {stat.S_IMODE(file.stat().st_mode) for file in left.iterdir()} == {0o600}
    with scratch_folder() as mine:
        assert not left.exists()
        folders_of_processes.remove_left_folders(empty)
        assert mine.exists(), "one that is in use stays"
        again = "from sqlpriv.core.engine import open_memory\nwith open_memory(): pass"
        assert subprocess.run([sys.executable, "-c", again], check=False).returncode == 0
        assert mine.exists(), "for another process, too"
    assert list(empty.iterdir()) == []


def test_a_folder_of_somebody_else_is_left_alone(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = empty / "sqlpriv-other"
    other.mkdir()
    (other / "sqlpriv.lock").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        folders_of_processes.remove_left_folders(empty)
    assert other.exists()
    folders_of_processes.remove_left_folders(empty)
    assert not other.exists()
