"""What does not fit into memory goes to a private folder, whichever command opens a database, and is removed."""

from __future__ import annotations

import ast
import gc
import stat
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

PEOPLE = "CREATE TABLE people AS SELECT i % 20 AS a, i % 3 AS b FROM range(300) AS r(i)"
FRAPP = 'method = "frapp"\ngamma = 0.6\nd = 0.1'
# Each names a private folder, or none at all.
IN_PRIVATE = {"core/engine.py", "release/open.py", "macros/expand.py", "macros/install.py"}


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
