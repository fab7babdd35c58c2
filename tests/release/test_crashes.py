"""A process that is killed while it publishes leaves nothing, or what the next run completes; never two views."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support import places
from support.commands import run
from support.ledgers import entries
from support.policies import policy_text, qi, role, write_policy
from support.randomized_policies import noise_policy_text, published, rows_of

from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import publish, show
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.store import read_ledger

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

PEOPLE = "CREATE TABLE people AS SELECT i % 100 AS a, i % 7 AS b FROM range(300) AS r(i)"
COLUMNS = {"a": published('"range:0..99"'), "b": published('"range:0..99"')}
RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
SLOW = pytest.mark.slow
BEFORE_THE_ENTRY = ("written", "verified")
AFTER_THE_ENTRY = (("entered", "together"), ("copied", "apart"), ("placed", "apart"))


def randomized(folder: Path, release: str = RELEASE, sql: str = PEOPLE) -> Path:
    sql = "" if (folder / "private.duckdb").exists() else sql
    return write_policy(folder, noise_policy_text(COLUMNS, release), sql)


def generalized(folder: Path) -> Path:
    columns = {"a": qi("ranges:10,50"), "b": role("sensitive")}
    return write_policy(folder, policy_text(columns, "k = 2", "suppression = 0.5"), PEOPLE)


def started(step: str, policy: Path, *more: str) -> subprocess.Popen[str]:
    script = places.ROOT / "tests" / "support" / "dying.py"
    command = [sys.executable, str(script), step, str(policy), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def die(step: str, policy: Path, *more: str) -> None:
    process = started(step, policy, *more)
    _, said = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, said


def left(folder: Path) -> dict[str, Path]:
    """What is in the folder of the policy that was not there before."""
    return {p.name: p for p in folder.iterdir() if p.name not in {"policy.toml", "private.duckdb"}}


def is_complete(folder: Path, rows: list[Any] | None = None) -> None:
    """One release, one entry, no key, nothing beside."""
    (entry,) = entries()
    target = folder / entry.output
    assert entry.finished
    assert show(target).content["release"] == entry.release
    assert set(left(folder)) == {entry.output}
    book = read_ledger(ledger_path())
    assert book.keys == {}
    assert all(p.name.startswith("lock") for p in book.folder.iterdir())
    if rows is not None:
        assert rows_of(target) == rows


@pytest.mark.parametrize("step", BEFORE_THE_ENTRY)
def test_a_crash_before_the_entry_leaves_neither_release_nor_entry(tmp_path: Path, step: str) -> None:
    policy = randomized(tmp_path)
    die(step, policy)
    assert left(tmp_path) == {}
    assert entries() == []
    folder = read_ledger(ledger_path()).folder
    assert len(list(folder.iterdir())) > 1  # what was written is where only its owner can look
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    publish(policy, force=True)
    is_complete(tmp_path)


@pytest.mark.parametrize(("step", "system"), AFTER_THE_ENTRY)
def test_a_crash_after_the_entry_is_completed_with_the_same_coins(tmp_path: Path, step: str, system: str) -> None:
    policy = randomized(tmp_path)
    die(step, policy, system)
    (entry,) = entries()
    assert not entry.finished
    there = left(tmp_path)
    hidden = [p for name, p in there.items() if name.startswith(".")]
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in hidden)
    assert bool(hidden) == (step == "copied")
    rows = rows_of(tmp_path / entry.output) if entry.output in there else None
    assert (rows is not None) == (step == "placed")
    publish(policy, force=True)
    (after,) = entries()
    assert (after.coins, after.time) == (entry.coins, entry.time)
    is_complete(tmp_path, rows)
    assert publish_refused(policy)


def publish_refused(policy: Path) -> bool:
    """Once it is finished its key is forgotten, so that without it there is no second view."""
    try:
        publish(policy, policy.with_name("second.duckdb"), force=True)
    except ReleaseError as error:
        return "A second release made independently" in str(error)
    return False


def test_a_crash_after_the_end_is_none(tmp_path: Path) -> None:
    policy = randomized(tmp_path)
    die("finished", policy)
    is_complete(tmp_path)
    assert publish_refused(policy)


@pytest.mark.parametrize("step", ["entered", pytest.param("verified", marks=SLOW), pytest.param("placed", marks=SLOW)])
def test_generalized_releases_survive_it_too(tmp_path: Path, step: str) -> None:
    policy = generalized(tmp_path)
    die(step, policy)
    assert [e.finished for e in entries()] == ([] if step == "verified" else [False])
    done = publish(policy)
    assert done.written.again == (step == "placed")
    is_complete(tmp_path)


def test_another_policy_or_key_does_not_complete_it(tmp_path: Path) -> None:
    policy, key = randomized(tmp_path), b"a key of thirty letters or more"
    (tmp_path / "key").write_bytes(key)
    die("entered", policy)
    (entry,) = entries()
    assert key in ledger_path().read_bytes()
    (tmp_path / "key").write_bytes(b"quite another key than that")
    with pytest.raises(ReleaseError, match=r"was begun with another key and not finished. Give the same key as before"):
        publish(policy, None, tmp_path / "key", force=True)
    begun = f"was begun on {entry.time[:10]} and not finished. Publish it with the same policy and table as before"
    with pytest.raises(ReleaseError, match=begun):
        publish(randomized(tmp_path, RELEASE.replace("0.2", "0.3") + '\ncoexists_because = "a reason"'), force=True)
    assert "was begun and not finished" in run(tmp_path, "ledger", "policy.toml").stdout
    assert (entries(), left(tmp_path).keys()) == ([entry], {"key"})
    (tmp_path / "key").write_bytes(key)
    publish(randomized(tmp_path), None, tmp_path / "key", force=True)
    (tmp_path / "key").unlink()
    is_complete(tmp_path)
    assert key not in ledger_path().read_bytes()  # what is forgotten is gone from the file


def test_what_is_unfinished_may_be_void(tmp_path: Path) -> None:
    policy = randomized(tmp_path)
    die("copied", policy, "apart")
    (entry,) = entries()
    done = run(tmp_path, "ledger", "void", entry.name, "--why", "it never left the machine")
    assert done.returncode == 0, done.stderr
    assert (left(tmp_path), read_ledger(ledger_path()).keys) == ({}, {})
    publish(randomized(tmp_path, RELEASE.replace("0.2", "0.3")), force=True)
    assert [(e.void != "", e.finished) for e in entries()] == [(True, True), (False, True)]


def test_a_release_goes_to_another_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.replace

    def apart(source: Path, target: Path) -> None:
        if "-unfinished" in str(source):
            raise OSError(errno.EXDEV, "another file system")
        rename(source, target)

    monkeypatch.setattr(import_module("sqlpriv.release.place").os, "replace", apart)
    publish(randomized(tmp_path), force=True)
    is_complete(tmp_path)


def test_the_copy_of_every_attempt_is_removed(tmp_path: Path) -> None:
    """Also of one that went elsewhere than the one before, and of one that writes a finished release again."""
    policy, key = randomized(tmp_path), tmp_path / "key"
    key.write_bytes(b"a key of thirty letters or more")
    die("entered", policy, "apart", "a.duckdb")
    die("copied", policy, "apart", "b.duckdb")
    assert any(name.startswith(".b.duckdb") for name in left(tmp_path))
    publish(policy, tmp_path / "c.duckdb", key, force=True)
    assert set(left(tmp_path)) == {"c.duckdb", "key"}
    die("copied", policy, "apart", "d.duckdb")
    assert any(name.startswith(".d.duckdb") for name in left(tmp_path))
    publish(policy, tmp_path / "c.duckdb", key, force=True)
    assert set(left(tmp_path)) == {"c.duckdb", "key"}
    assert [e.finished for e in entries()] == [True]


@pytest.mark.parametrize("fails", ["people-release.duckdb", ".people-release"])
def test_what_is_out_stays_in_the_ledger_where_its_rights_cannot_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """A file system without rights: the release is in its place with its entry, or neither is there."""
    rename, change = os.replace, Path.chmod

    def apart(source: Path, target: Path) -> None:
        if "-unfinished" in str(source):
            raise OSError(errno.EXDEV, "another file system")
        rename(source, target)

    def refused(path: Path, mode: int) -> None:
        if path.name.startswith(fails) and path.parent == tmp_path:
            raise PermissionError(errno.EPERM, "no rights here")
        change(path, mode)

    monkeypatch.setattr(import_module("sqlpriv.release.place").os, "replace", apart)
    monkeypatch.setattr(Path, "chmod", refused)
    policy = randomized(tmp_path)
    if fails.startswith("."):
        with pytest.raises(ReleaseError, match=r"cannot write people-release.duckdb in its folder"):
            publish(policy, force=True)
        assert (entries(), left(tmp_path)) == ([], {})
    else:
        publish(policy, force=True)
        is_complete(tmp_path)


def test_a_kill_at_any_time_leaves_one_release_or_none(tmp_path: Path) -> None:
    """In an interpreter of its own, whose children can be made by copying it."""
    command = [sys.executable, "-m", "support.kills", "16", "5"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=places.ROOT / "tests", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
