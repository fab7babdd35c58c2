"""Ledgers that are read together: that of a policy with the user's own, and those that were merged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import ledgers
from support.commands import run
from support.golden import POLICIES, TABLE
from support.policies import write_policy
from support.randomized_policies import KEY, noise_policy_text, published

from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import open_private, plan, publish, read_policy
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.rules import table_history
from sqlpriv.release.ledger.show import show_ledger
from sqlpriv.release.ledger.store import read_ledger

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

PEOPLE = "CREATE TABLE people AS SELECT i % 100 AS a, i % 7 AS b FROM range(300) AS r(i)"
COLUMNS = {"a": published('"range:0..99"'), "b": published('"range:0..99"')}
NOISE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
OWN = '\n[ledger]\npath = "ward.db"\n'
SECOND = "A second release made independently would expose people"


def policy(folder: Path, more: str = "") -> Path:
    sql = "" if (folder / "private.duckdb").exists() else PEOPLE
    return write_policy(folder, noise_policy_text(COLUMNS, NOISE) + more, sql)


def copied(folder: Path, name: str) -> Path:
    """The project folder as somebody copies it: everything but the release."""
    other = folder.parent / name
    shutil.copytree(folder, other)
    (other / "people-release.duckdb").unlink()
    return other


def test_the_ledger_of_a_policy_does_not_hide_the_users_own(tmp_path: Path) -> None:
    publish(policy(tmp_path), force=True)
    with pytest.raises(ReleaseError, match=SECOND):
        publish(policy(tmp_path, OWN), tmp_path / "second.duckdb", force=True)
    assert "REFUSED" in str(plan(policy(tmp_path, OWN)).parts) or not (tmp_path / "ward.db").exists()
    assert [e["output"] for e in show_ledger(read_policy(policy(tmp_path, OWN))).content] == ["people-release.duckdb"]


def test_it_is_entered_where_the_policy_says(tmp_path: Path) -> None:
    publish(policy(tmp_path, OWN), force=True)
    assert (len(ledgers.entries(tmp_path / "ward.db")), ledger_path().exists()) == (1, False)


def test_a_copied_project_says_so(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "key").write_bytes(KEY)
    publish(policy(work, OWN), key_file=work / "key", force=True)
    other = copied(work, "copied")
    with pytest.raises(ReleaseError, match=SECOND):  # the ledger came along
        publish(other / "policy.toml", force=True)
    done = publish(other / "policy.toml", key_file=other / "key", force=True)
    assert any("'ward.db' was copied or moved here" in words for words in done.facts.warnings)


@pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert", "anatomy", "disclose"])
def test_every_method_passes_on_what_the_ledger_warns_of(tmp_path: Path, method: str) -> None:
    work, other = tmp_path / "work", tmp_path / "copied"
    work.mkdir()
    (work / "people.csv").write_text(TABLE, encoding="utf-8")
    (work / "policy.toml").write_text(POLICIES[method].rstrip() + "\n" + OWN, encoding="utf-8")
    publish(work / "policy.toml", work / "release.duckdb", force=True)
    shutil.copytree(work, other)
    policy = (other / "policy.toml").read_text(encoding="utf-8")
    policy = policy.replace("[release]", '[release]\ncoexists_because = "a test"')
    (other / "policy.toml").write_text(policy, encoding="utf-8")
    done = publish(other / "policy.toml", other / "second.duckdb", force=True)
    assert any("'ward.db' was copied or moved here" in words for words in done.facts.warnings)
    assert set(done.facts.content["warnings"]) == set(done.facts.warnings)


def test_a_clock_that_went_backwards_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is first matters: what was settled beforehand is said of all the others."""
    noise = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.2\nn_public = 300\nuncovered = "a test"'
    budget = "\n[ledger]\nbudget = { epsilon = 9 }\n"
    write_policy(tmp_path, noise_policy_text(COLUMNS, noise), PEOPLE)
    path = tmp_path / "policy.toml"
    without = path.read_text(encoding="utf-8")
    for day, output in (("2026-03-01", "first"), ("2026-05-01", "second"), ("2026-01-01", "third")):
        monkeypatch.setattr("sqlpriv.publishing.draft.now", lambda day=day: f"{day}T12:00:00+00:00")
        own = "" if output == "first" else 'path = "ward.db"\n'
        path.write_text(without + budget + own, encoding="utf-8")
        done = publish(path, tmp_path / f"{output}.duckdb", force=True)
    assert any("this is release 3 of the table" in words for words in done.facts.warnings)
    ledger = read_ledger(tmp_path / "ward.db", beside=[ledger_path()])
    with open_private(read_policy(path)) as (source, _):
        found = table_history(ledger, source, None).releases
    assert [entry.output for entry in found] == ["first.duckdb", "second.duckdb", "third.duckdb"]


def test_merged_ledgers_are_read_together(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    publish(policy(work, OWN), force=True)
    done = run(work, "ledger", "merge", "ward.db", "--ledger", "mine.db")
    assert done.returncode == 0, done.stderr
    assert "is read together with 'mine.db' from now on" in " ".join(done.stdout.split())
    with pytest.raises(ReleaseError, match=SECOND):
        publish(policy(work), work / "second.duckdb", ledger_file=work / "mine.db", force=True)
    assert {p.stat().st_mode & 0o777 for p in (work / "mine.db-merged").iterdir()} == {0o600}
    assert run(work, "ledger", "merge", "mine.db", "--ledger", "mine.db").returncode != 0
