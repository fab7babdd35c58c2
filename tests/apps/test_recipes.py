"""The recipes of docs/ci.md, with the real tools: exit codes, JUnit, a step of a workflow, pre-commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest
from support.commands import run
from support.places import ROOT
from support.titles import DIGEST

import sqlpriv

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.one_version

GOOD = "zip,age,disease\n" + "".join(f"130,{30 + i // 8},{'flu' if i % 2 else 'cold'}\n" for i in range(16))
BAD = GOOD + "148,77,flu\n"


def recipes() -> list[Any]:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text(GOOD, encoding="utf-8")
    return tmp_path


def with_sqlpriv() -> dict[str, str]:
    """An environment in which `sqlpriv` is the one of this tree."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("rows", "code", "failures"), [(GOOD, 0, "0"), (BAD, 1, "1"), (GOOD.replace("disease", "illness"), 2, None)]
)
def test_the_step_of_a_workflow(folder: Path, rows: str, code: int, failures: str | None) -> None:
    (folder / "patients.csv").write_text(rows, encoding="utf-8")
    (workflow,) = [r for r in recipes() if "jobs" in r]
    *_, step = [s["run"] for s in workflow["jobs"]["privacy"]["steps"] if "run" in s]
    done = subprocess.run(["sh", "-ec", step], cwd=folder, env=with_sqlpriv(), capture_output=True, check=False)
    assert done.returncode == code
    assert (folder / "check.xml").exists() == (failures is not None)
    if failures is None:
        return
    (suite,) = ElementTree.parse(folder / "check.xml").getroot()
    assert suite.attrib["tests"] == "1"
    assert suite.attrib["failures"] == failures
    assert [case.attrib["name"] for case in suite] == ["k>=4 of zip, age"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_pre_commit_in_a_repository(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    (config,) = [r for r in recipes() if "repos" in r]
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    def call(*words: str) -> subprocess.CompletedProcess[bytes]:
        names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        home = {"PRE_COMMIT_HOME": str(folder / ".cache"), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        environment = {k: v for k, v in with_sqlpriv().items() if not k.startswith("GIT_")}
        return subprocess.run(words, cwd=folder, env={**environment, **names, **home}, capture_output=True, check=False)

    assert call("git", "init", "-q").returncode == 0
    assert call(sys.executable, "-m", "pre_commit", "install").returncode == 0
    assert call("git", "add", "patients.csv", ".pre-commit-config.yaml").returncode == 0
    first = call("git", "commit", "-m", "private")
    assert first.returncode == 0, first.stderr
    (folder / "patients.csv").write_text(BAD, encoding="utf-8")
    assert call("git", "add", "patients.csv").returncode == 0
    second = call("git", "commit", "-m", "not private")
    assert second.returncode == 1
    assert b"FAILS" in second.stdout + second.stderr


@pytest.mark.slow
def test_junit_of_a_release_says_what_does_not_hold(folder: Path) -> None:
    columns = {"zip": "suppression", "age": "ranges:10"}
    listed = "".join(f'{n} = {{ role = "quasi-identifier", hierarchy = "{h}" }}\n' for n, h in columns.items())
    (folder / "policy.toml").write_text(
        f'[table]\nsource = "patients.csv"\n[columns]\n{listed}disease = {{ role = "sensitive" }}\n[require]\nk = 4\n'
        '[release]\naccept = "made-up people"\nmethod = "generalize"\noutput = "out.duckdb"\n',
        encoding="utf-8",
    )
    sqlpriv.publish(folder / "policy.toml")
    assert run(folder, "verify", "out.duckdb", "--junit", "holds.xml").returncode == 0
    with duckdb.connect(str(folder / "out.duckdb")) as con:
        con.execute("UPDATE sqlpriv_release.published SET disease = 'gout'").fetchall()
    assert run(folder, "verify", "out.duckdb", "--junit", "fails.xml").returncode == 1
    (holds,), (fails,) = (ElementTree.parse(folder / name).getroot() for name in ("holds.xml", "fails.xml"))
    assert (holds.attrib["failures"], fails.attrib["failures"]) == ("0", "1")
    assert int(holds.attrib["tests"]) == len(holds) >= 10
    [failed] = [case.attrib["name"] for case in fails if case.find("failure") is not None]
    assert failed == DIGEST
    assert b"gout" not in (folder / "fails.xml").read_bytes()


def test_the_hooks_are_commands() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [h["id"] for h in hooks] == ["sqlpriv-check", "sqlpriv-verify"]
    for hook in hooks:
        assert run(ROOT, *hook["entry"].split()[1:], "--help").returncode == 0


def test_junit_without_a_requirement(folder: Path) -> None:
    done = run(folder, "check", "patients.csv", "--qi", "zip", "--junit", "x.xml")
    assert done.returncode == 2
    assert "JUnit needs a requirement at least" in done.stderr
    assert not (folder / "x.xml").exists()
