"""The lazy table of the commands: it says what the commands say, and imports none of them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.commands import run

from sqlpriv.apps.cli.main import COMMANDS, load_command

pytestmark = pytest.mark.one_version

# The command that tells the whole story is not there yet while it is being rewritten.
LOADED = [name for name, (place, _) in COMMANDS.items() if "." not in place or find_spec(place.partition(":")[0])]
HEAVY = ("duckdb", "sqlglot", "pyarrow", "numpy", "altair", "vl_convert")


def first_paragraph(name: str) -> str:
    text = inspect.cleandoc(load_command(name).help or "")
    return " ".join(text.partition("\n\n")[0].split())


@pytest.mark.parametrize("name", LOADED)
def test_the_table_says_what_the_command_says(name: str) -> None:
    assert COMMANDS[name][1] == first_paragraph(name)


def test_every_command_is_a_sentence_once() -> None:
    helps = [text for _, text in COMMANDS.values()]
    assert len(set(helps)) == len(helps)
    assert all(text.endswith((".", "?")) and text[0].isupper() for text in helps)


@pytest.mark.parametrize("name", LOADED)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(tmp_path: Path, name: str, option: str) -> None:
    done = run(tmp_path, name, option)
    assert done.returncode == 0, done.stderr
    assert f"sqlpriv {name} " in " ".join(done.stdout.split())
    assert first_paragraph(name) in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert not re.search(r"\w(…|\.\.\.)$|<bool>|<list|range>", done.stdout, re.MULTILINE)  # nothing is cut


@pytest.mark.parametrize(
    ("group", "command"),
    [("ledger", "show"), ("ledger", "void"), ("view", "add"), ("view", "drop"), ("dbt", "init")],
)
def test_the_commands_of_a_group_have_help(tmp_path: Path, group: str, command: str) -> None:
    done = run(tmp_path, group, command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"sqlpriv {group} {command}" in done.stdout


def imported(*arguments: str) -> tuple[int, set[str]]:
    """The modules that a run of the command line imports, in a process of its own; and its exit code."""
    script = f"""
import sys
from sqlpriv.apps.cli.main import main
sys.argv = ["sqlpriv", *{list(arguments)!r}]
code = 0
try:
    main()
except SystemExit as done:
    code = done.code or 0
print("MODULES", code, *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, code, *modules = done.stdout.splitlines()[-1].split()
    return int(code), set(modules)


@pytest.mark.some(1)
@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("--version",), ("pubish",)])
def test_what_needs_no_command_imports_none(arguments: tuple[str, ...]) -> None:
    code, modules = imported(*arguments)
    assert code == (2 if arguments in {(), ("pubish",)} else 0)
    assert not modules & set(HEAVY)
    assert {m for m in modules if m.startswith("sqlpriv.")} <= {
        "sqlpriv.apps", "sqlpriv.apps.cli", "sqlpriv.apps.cli.main", "sqlpriv.apps.hints", "sqlpriv.core",
        "sqlpriv.core.errors", "sqlpriv.core.facts", "sqlpriv.version",
    }  # fmt: skip


@pytest.mark.one_version
def test_a_check_of_a_file_imports_no_arrow(tmp_path: Path) -> None:
    """It takes longer than all else of a check of a small table."""
    file = tmp_path / "tiny.csv"
    file.write_text("age,ill\n1,flu\n1,cold\n", encoding="utf-8")
    _, modules = imported("check", str(file), "--qi", "age", "--sensitive", "ill")
    assert "sqlpriv.checks.run" in modules
    assert not modules & {"pyarrow", "numpy", "sqlglot"}


def test_the_help_lists_every_command(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    listed = " ".join(done.stdout.split())
    for name, (_, text) in COMMANDS.items():
        assert f"{name} {text}" in listed


@pytest.mark.parametrize(("typed", "meant"), [("pubish", "publish"), ("verfy", "verify"), ("checks", "check")])
def test_an_unknown_command_gets_a_suggestion(tmp_path: Path, typed: str, meant: str) -> None:
    done = run(tmp_path, typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"No such command '{typed}'" in done.stderr
    assert meant in done.stderr.partition(typed)[2]


def test_an_unknown_command_of_the_ledger_is_a_policy_that_is_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, "ledger", "nothing.toml")
    assert done.returncode == 2
    assert "there is no policy file 'nothing.toml'" in done.stderr
