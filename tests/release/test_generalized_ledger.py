"""Generalized releases and the ledger: one release of a table, unless the owner says why two may stand together."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.ledgers import entries, void
from support.policies import Generalized, generalize, policy_text, qi, role, write_policy

from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.publishing import publish, show, verify
from sqlpriv.release.ledger.place import ledger_path

PEOPLE = "CREATE TABLE people AS SELECT 20 + i // 6 AS age, i // 12 AS zip, i % 3 AS ill FROM range(24) AS r(i)"
COLUMNS = {"age": qi("ranges:5,10"), "zip": qi(), "ill": role("sensitive")}
WHY = "one is for the ward, the other for the town"
REFUSED = "A second release made independently would expose people.* Use the release there is, void its entry"

pytestmark = pytest.mark.slow


def policy(folder: Path, require: str = "k = 5", release: str = "", columns: dict[str, str] | None = None) -> Path:
    sql = "" if (folder / "private.duckdb").exists() else PEOPLE
    return write_policy(folder, policy_text(columns or COLUMNS, require, release), sql)


def release(folder: Path, require: str = "k = 5", release: str = "") -> Generalized:
    return generalize(policy(folder, require, release))


def change(folder: Path, sql: str) -> None:
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute(sql).fetchall()


def refused(folder: Path, require: str = "k = 5", more: str = "") -> None:
    """A release is refused, and nothing is changed by that."""
    path = policy(folder, require, more)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    with pytest.raises(ReleaseError, match=REFUSED):
        generalize(path)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_a_release_is_entered(tmp_path: Path) -> None:
    release(tmp_path)
    (entry,) = entries()
    assert (entry.table, entry.method, entry.output) == ("people", "generalize", "people-release.duckdb")
    assert (entry.view, entry.views, entry.coexists_because, entry.void) == (1, 1, "", "")
    assert entry.parameters["requirements"] == ["k>=5"]
    assert entry.parameters["node"] == {"age": 0, "zip": 0}
    assert entry.release == show(tmp_path / "people-release.duckdb").content["release"]


@pytest.mark.parametrize(
    ("require", "more"),
    [
        ("k = 7", ""),
        ("k = 5\ndistinct_l = 2", ""),
        ("k = 5", "suppression = 0.1"),
        ("k = 5", 'objective = "height"'),
        ("k = 5", "keep_suppressed = true"),
    ],
)
def test_a_second_release_under_another_policy_is_refused(tmp_path: Path, require: str, more: str) -> None:
    release(tmp_path)
    refused(tmp_path, require, more)


def test_neither_another_file_nor_another_role_is_a_way_around(tmp_path: Path) -> None:
    release(tmp_path)
    with pytest.raises(ReleaseError, match=REFUSED):
        generalize(policy(tmp_path, "k = 7"), tmp_path / "other.duckdb")
    with pytest.raises(ReleaseError, match=REFUSED):
        generalize(policy(tmp_path, columns=COLUMNS | {"zip": role("drop")}))
    assert not (tmp_path / "other.duckdb").exists()


def test_a_copy_of_the_table_is_the_table(tmp_path: Path) -> None:
    release(tmp_path)
    change(tmp_path, "CREATE TABLE persons AS FROM people ORDER BY hash(age)")
    text = policy_text(COLUMNS, "k = 7", table='database = "private.duckdb"\nsource = "persons"')
    with pytest.raises(ReleaseError, match=REFUSED):
        generalize(write_policy(tmp_path, text))


def test_other_methods_see_the_entry_too(tmp_path: Path) -> None:
    release(tmp_path)
    columns = {"age": '{ role = "published", domain = "range:20..30" }', "zip": role("drop"), "ill": role("drop")}
    text = policy_text(columns).replace("[require]\nk = 1\n", "")
    text = text.replace(
        'method = "generalize"', 'method = "alpha_beta"\nslots = 50\nuncovered = "a test"\nd = 0.1\ngamma = 0.2'
    )
    with pytest.raises(ReleaseError, match="A second release made independently would expose people"):
        publish(write_policy(tmp_path, text.replace("people-release", "randomized")), force=True)
    assert not (tmp_path / "randomized.duckdb").exists()


def test_beside_lets_both_stand_and_both_say_so(tmp_path: Path) -> None:
    first = release(tmp_path).output.read_bytes()
    second = generalize(policy(tmp_path, "k = 7", f'coexists_because = "{WHY}"'), tmp_path / "second.duckdb")
    assert [e.coexists_because for e in entries()] == ["", WHY]
    facts = show(second.output)
    assert facts.content["coexists_because"] == WHY
    assert any(WHY in getattr(part, "text", "") for part in facts.parts)
    assert verify(second.output, tmp_path / "policy.toml").passed
    assert (tmp_path / "people-release.duckdb").read_bytes() == first
    done = run(tmp_path, "ledger", "policy.toml")
    assert f"coexists with other releases: {WHY}" in " ".join(done.stdout.split())


def test_the_reason_is_about_one_release_and_not_about_every_change_of_the_rows(tmp_path: Path) -> None:
    """A policy that runs every night would else publish each time, by the words that were written for the first."""
    release(tmp_path)
    text = policy(tmp_path, "k = 7", f'coexists_because = "{WHY}"')
    second = tmp_path / "second.duckdb"
    generalize(text, second)
    before = second.read_bytes()
    change(tmp_path, "DELETE FROM people WHERE rowid = 0")
    with pytest.raises(ReleaseError, match=r"with the same words in coexists_because, and its rows have changed since"):
        generalize(text, second)
    assert second.read_bytes() == before
    assert len(entries()) == 2
    generalize(policy(tmp_path, "k = 7", f'coexists_because = "{WHY}, once more"'), second)
    assert len(entries()) == 3


def test_the_reason_must_be_said(tmp_path: Path) -> None:
    release(tmp_path)
    for reason in ('""', '" "', "true"):
        done = run(policy(tmp_path, "k = 7", f"coexists_because = {reason}").parent, "publish", "policy.toml")
        assert done.returncode == 2
        assert "coexists_because must be a reason in one line" in done.stderr


def test_the_same_again_is_the_release_that_is_there(tmp_path: Path) -> None:
    first = release(tmp_path)
    assert not first.again
    content, known = first.output.read_bytes(), entries()
    second = release(tmp_path)
    assert second.again
    assert (second.node, second.output) == (first.node, first.output)
    assert (second.output.read_bytes(), entries()) == (content, known)
    done = run(tmp_path, "publish", "policy.toml")
    assert "this is people-release.duckdb, as it was" in " ".join(done.stdout.split())


def test_the_order_of_the_rows_is_no_change(tmp_path: Path) -> None:
    content = release(tmp_path).output.read_bytes()
    change(tmp_path, "CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(age * 7 + ill)")
    assert release(tmp_path).again
    assert (tmp_path / "people-release.duckdb").read_bytes() == content


def test_a_release_that_was_lost_is_written_again(tmp_path: Path) -> None:
    first = release(tmp_path)
    name = show(first.output).content["release"]
    first.output.unlink()
    second = release(tmp_path)
    assert not second.again
    assert show(second.output).content["release"] == name
    assert len(entries()) == 1


def test_changed_data_are_refused(tmp_path: Path) -> None:
    release(tmp_path)
    change(tmp_path, "INSERT INTO people VALUES (20, 0, 1)")
    refused(tmp_path)


def test_a_void_entry_does_not_count(tmp_path: Path) -> None:
    release(tmp_path)
    change(tmp_path, "INSERT INTO people VALUES (20, 0, 1)")
    refused(tmp_path)
    (entry,) = entries()
    done = run(tmp_path, "ledger", "void", entry.name, "--why", "it never went out", "--policy", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert not release(tmp_path).again
    assert [e.void for e in entries()] == ["it never went out", ""]
    with duckdb.connect(str(tmp_path / "people-release.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM people").fetchall() == [(25,)]
    done = run(tmp_path, "ledger", "policy.toml", "--json")
    assert [e["void"] for e in json.loads(done.stdout)] == ["it never went out", ""]


def test_a_void_needs_its_entry_and_its_reason(tmp_path: Path) -> None:
    release(tmp_path)
    name = entries()[0].name
    for entry, why, message in ((name, " ", "say why"), ("nobody", "lost", "no entry"), ("", "lost", "no entry")):
        with pytest.raises(InputError, match=message):
            void(ledger_path(), entry, why)
    assert entries()[0].void == ""


def test_a_ledger_of_its_own_knows_nothing_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner answers for keeping one ledger; another one is asked for by name, and not over a release."""
    release(tmp_path)
    monkeypatch.setenv("SQLPRIV_LEDGER", str(tmp_path / "other.db"))
    with pytest.raises(ReleaseError, match=r"is a release of 'people' already, and the ledger 'other.db' knows"):
        release(tmp_path, "k = 7")
    assert not (tmp_path / "other.db").exists()
    generalize(policy(tmp_path, "k = 7"), tmp_path / "other.duckdb")
    assert len(entries(tmp_path / "other.db")) == 1


def test_the_ledger_of_the_policy_counts_before_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The team decides; who names another at the command is told which two there are."""
    monkeypatch.setenv("SQLPRIV_LEDGER", str(tmp_path / "mine.db"))
    path = policy(tmp_path)
    path.write_text(path.read_text() + '\n[ledger]\npath = "team.db"\n')
    assert publish(path).written.warnings == ()
    assert len(entries(tmp_path / "team.db")) == 1
    assert not (tmp_path / "mine.db").exists()
    assert publish(path, ledger_file=tmp_path / "team.db").written.warnings == ()
    named = publish(path, tmp_path / "second.duckdb", ledger_file=tmp_path / "named.db").written.warnings
    assert named == (
        f"the ledger is '{tmp_path / 'named.db'}', as --ledger says, and not '{tmp_path / 'team.db'}' of the policy: "
        "releases in that one were not considered",
    )


def test_a_dry_run_enters_nothing_and_says_what_the_ledger_says(tmp_path: Path) -> None:
    policy(tmp_path)
    assert run(tmp_path, "publish", "policy.toml", "--dry-run").returncode == 0
    assert entries() == []
    release(tmp_path)
    policy(tmp_path, "k = 7")
    done = run(tmp_path, "publish", "policy.toml", "--dry-run")
    assert done.returncode == 1
    assert "A second release made" in done.stdout
    assert len(entries()) == 1
