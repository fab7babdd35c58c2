"""The guard finds nothing that differs from what was recorded; and finds what does."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from support import guard
from support.guard import Difference, Expected
from support.places import ROOT

BEFORE = {
    "relations": {"published": {"rows": 3, "digest": "ab"}},
    "commands": {"show": {"exit": 0, "json": {"d": 0.25, "n": 3, "said": "one row was left out", "names": ["x", "y"]}}},
}


def changed(**values: object) -> list[Difference]:
    after = {**BEFORE, "commands": {"show": {"exit": 0, "json": {**BEFORE["commands"]["show"]["json"], **values}}}}
    return list(guard.differences("bag", BEFORE, after))


@pytest.mark.deep
def test_nothing_differs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.guard", "compare"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.one_version
def test_what_differs_is_found_and_a_hair_is_not() -> None:
    assert changed() == changed(d=0.25 * (1 + 1e-11)) == []
    (found,) = changed(d=0.2500001)
    assert (found.where, found.before, found.after) == ("bag/commands/show.json.d", 0.25, 0.2500001)
    assert [f.where for f in changed(n=3.0)] == ["bag/commands/show.json.n"]
    assert [f.path for f in changed(new=1)] == ["show.json.new"]
    assert [f.path for f in changed(names=["y"])] == ["show.json.names.length", "show.json.names[-]"]
    assert [f.is_sentence for f in changed(said="no row was left out")] == [True]


@pytest.mark.one_version
def test_what_is_declared_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = changed(d=0.5)
    assert Expected("bag*/commands/*.d", "a test").covers(found)
    assert not Expected("slots/commands/*", "a test").covers(found)
    assert not Expected("bag/*", "a test", after="0.6").covers(found)
    monkeypatch.setattr(guard, "RENAMED", (("bag*", "alpha_beta", "noisy_counts"),))
    old = {"method": "alpha_beta", "said": "by alpha_beta, not alpha_betas", "alpha_beta": 1}
    assert guard.renamed("bag", old) == {
        "method": "noisy_counts",
        "said": "by noisy_counts, not alpha_betas",
        "noisy_counts": 1,
    }
    assert guard.renamed("slots", old) == old


@pytest.mark.one_version
@pytest.mark.parametrize("error", ["Traceback", ""])
def test_a_policy_that_crashed_is_never_passed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, error: str
) -> None:
    """Whether its record failed, or was never written, or nobody makes it any more."""
    monkeypatch.setattr(guard, "FOLDER", tmp_path)
    monkeypatch.setattr(guard, "chosen", lambda only: ["crashed"])
    monkeypatch.setattr(guard, "made", lambda names, processes: iter([("crashed", {}, error, 0.0)]))
    (tmp_path / "forgotten.json").write_text("{}", encoding="utf-8")
    given = Namespace(only=[], processes=1, keep=None, skip=[], strict=False, most=1, sentences=False)
    assert guard.compare(given) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "0 of 1 compared in 0 s: 0 differences, 0 sentences changed",
        "FAILED: 2 could not be compared: crashed, forgotten",
    ]


def _ends_at_once(name: str, connection: object) -> None:
    os._exit(3)


@pytest.mark.one_version
def test_a_process_that_dies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_send", _ends_at_once)
    ((name, found, error, _),) = guard.made(["gone"], 1)
    assert (name, found, error) == ("gone", None, "its process ended with exit code 3 and no record")


@pytest.mark.one_version
def test_json_in_lines_is_json() -> None:
    value = {"a": [1, 2.5, None, "x"], "b": {"c": [], "d": {"e": ["long text " * 30, True]}}}
    assert guard.json.loads(guard.dumped(value)) == value
