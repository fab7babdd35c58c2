"""The ledger: what may follow a release, and what happens to it when things go wrong."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import ledgers
from support.commands import run
from support.ledgers import void
from support.policies import policy_text, write_policy
from support.randomized_policies import KEY, publish_with, published, rows_of, write_noise_policy

from sqlpriv.core.errors import InputError, PolicyError, ReleaseError
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import publish, read_policy
from sqlpriv.release.ledger.entry import content_of
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.store import locked
from sqlpriv.table.cells import CellSample
from sqlpriv.table.fingerprint import Fingerprint

COLUMNS = {"a": published('"range:0..99"'), "b": published('"range:0..99"')}
PEOPLE = "CREATE TABLE people AS SELECT i % 100 AS a, i % 7 AS b FROM range(300) AS r(i)"
RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
SECOND = "second release made independently would expose people"


def ready(folder: Path, release: str = RELEASE, sql: str = PEOPLE, table: str = "people") -> RandomizedPolicy:
    (folder / "private.duckdb").unlink(missing_ok=True)
    where = f'database = "private.duckdb"\nsource = "{table}"'
    return write_noise_policy(folder, COLUMNS, release, sql, table=where)


def test_a_second_release_is_refused_also_when_the_table_or_the_parameters_changed(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    others = PEOPLE.replace("people", "others")
    capitals = PEOPLE.replace("people", "PEOPLE") + " WHERE i > 7"
    for changes in (
        {},
        {"release": RELEASE.replace("0.2", "0.3")},
        {"release": RELEASE.replace("alpha_beta", "frapp")},
        {"sql": f"{PEOPLE} WHERE i > 5"},
        {"sql": others, "table": "others"},  # the same content under another name
        {"sql": capitals, "table": "PEOPLE"},
    ):
        with pytest.raises(ReleaseError, match=SECOND):
            publish_with(ready(tmp_path, **changes), KEY + b"other", output="second.duckdb")
        assert not (tmp_path / "second.duckdb").exists()
    # Another table of the database is another matter.
    visits = PEOPLE.replace("people", "visits").replace("i % 100 AS a, i % 7", "(i * i + 7) % 97 AS a, i % 11")
    publish_with(ready(tmp_path, sql=visits, table="visits"), output="second.duckdb")


def test_a_copy_of_which_other_columns_are_published_is_still_that_table(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    (tmp_path / "private.duckdb").unlink()
    where = 'database = "private.duckdb"\nsource = "copied"'
    columns = {"a": COLUMNS["a"], "b": '{ role = "drop" }'}
    policy = write_noise_policy(tmp_path, columns, RELEASE, PEOPLE.replace("people", "copied"), table=where)
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(policy, KEY + b"other", output="second.duckdb")


def entries(folder: Path, ledger: str = "ledger.json") -> list[dict[str, Any]]:
    return [content_of(e) for e in ledgers.entries(folder / ledger)]


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["alpha_beta", "frapp"])
def test_the_same_table_policy_and_key_again_are_the_release_that_is_there(tmp_path: Path, method: str) -> None:
    policy = ready(tmp_path, RELEASE.replace("alpha_beta", method))
    first = publish_with(policy).written
    content, state = first.output.read_bytes(), first.output.stat()
    again = publish_with(policy)
    assert (again.written.again, again.written.view, again.written.made.rows) == (True, 1, first.made.rows)
    assert first.output.read_bytes() == content
    assert first.output.stat().st_mtime_ns == state.st_mtime_ns
    assert first.output.stat().st_ino == state.st_ino
    assert len(entries(tmp_path)) == 1
    done = run(tmp_path, "publish", "policy.toml", "--key-file", "key", "--ledger", "ledger.json", "--force")
    assert done.returncode == 0, done.stderr
    assert "this is the release that was there" in done.stdout


def test_a_release_that_is_missing_is_written_again_with_the_same_coins(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    first = publish_with(policy).written
    rows = rows_of(first.output)
    first.output.unlink()
    again = publish_with(policy).written
    assert not again.again
    assert rows_of(again.output) == rows
    assert len(entries(tmp_path)) == 1


@pytest.mark.slow
def test_the_very_same_release_may_be_written_elsewhere(tmp_path: Path) -> None:
    """Its coins are the same, so it tells nothing that the first file does not; it is one release, entered once."""
    policy = ready(tmp_path)
    first = publish_with(policy).written
    again = publish_with(policy, output="again.duckdb").written
    assert not again.again
    assert again.made == first.made
    assert rows_of(again.output) == rows_of(first.output)
    name = "SELECT value FROM sqlpriv_release.about WHERE name = 'release'"
    assert rows_of(again.output, name) == rows_of(first.output, name)
    (entry,) = entries(tmp_path)
    assert entry["output"] == "people-release.duckdb"
    assert publish_with(policy, output="again.duckdb").written.again


@pytest.mark.slow
def test_a_release_that_was_tampered_with_is_written_again(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    first = publish_with(policy).written
    rows = rows_of(first.output)
    with duckdb.connect(str(first.output)) as con:
        con.execute("UPDATE sqlpriv_release.published SET __weight = 3 WHERE rowid = 2").fetchall()
    again = publish_with(policy).written
    assert not again.again
    assert rows_of(again.output) == rows


BESIDE = 'coexists_because = "for the auditors alone, who sign for it"'


def test_a_second_release_may_stand_beside_with_a_reason(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    second = RELEASE.replace("0.2", "0.3")
    with pytest.raises(ReleaseError, match=r'in \[release\] why both may coexist: coexists_because = "..."'):
        publish_with(ready(tmp_path, second), output="second.duckdb")
    publish_with(ready(tmp_path, f"{second}\n{BESIDE}"), output="second.duckdb")
    assert [e["coexists_because"] for e in entries(tmp_path)] == ["", "for the auditors alone, who sign for it"]
    shown = run(tmp_path, "ledger", "policy.toml", "--ledger", "ledger.json")
    assert shown.returncode == 0, shown.stderr
    assert f"{entries(tmp_path)[1]['coins'][:8]} coexists with other releases: for the auditors alone" in shown.stdout
    listed = json.loads(run(tmp_path, "ledger", "policy.toml", "--ledger", "ledger.json", "--json").stdout)
    assert listed[1]["coexists_because"] == "for the auditors alone, who sign for it"
    done = run(tmp_path, "show", "second.duckdb")
    assert 'in the owner\'s words: "for the auditors alone, who sign for it"' in " ".join(done.stdout.split())
    shown = json.loads(run(tmp_path, "show", "second.duckdb", "--json").stdout)
    assert shown["coexists_because"].startswith("for the auditors")
    assert "coexists_because" not in json.loads(run(tmp_path, "show", "people-release.duckdb", "--json").stdout)
    # The reason is for that release: a third one needs its own.
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(ready(tmp_path, RELEASE.replace("0.2", "0.4")), output="third.duckdb")


def test_an_empty_reason_is_none(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="coexists_because must be a reason in one line"):
        ready(tmp_path, f'{RELEASE}\ncoexists_because = " "')


@pytest.mark.slow
def test_a_release_beside_a_sequence_is_no_view_of_it(tmp_path: Path) -> None:
    """Counted as one, it would have made a second view 2, drawn as if the first had not been."""
    sequence = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    for view in (1, 2):
        assert (
            publish_with(ready(tmp_path, sequence, f"{PEOPLE} WHERE i > {view}"), output=f"v{view}").written.view
            == view
        )
    publish_with(ready(tmp_path, f"{RELEASE}\n{BESIDE}"), output="single.duckdb")
    earlier = f'{sequence}\nearlier = ["v2"]'
    third = f"{PEOPLE} WHERE i > 3"
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(ready(tmp_path, earlier, third), output="v3")
    assert publish_with(ready(tmp_path, f"{earlier}\n{BESIDE}", third), output="v3").written.view == 3
    with pytest.raises(ReleaseError, match="the last of the 3 views of this sequence; no more can be private"):
        publish_with(ready(tmp_path, f'{sequence}\nearlier = ["v3"]\n{BESIDE}', f"{PEOPLE} WHERE i > 4"), output="v4")


def test_a_third_method_is_refused_beside_a_sequence(tmp_path: Path) -> None:
    sequence = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    for view in (1, 2):
        publish_with(ready(tmp_path, sequence, f"{PEOPLE} WHERE i > {view}"), output=f"v{view}")
    columns = {"a": '{ role = "quasi-identifier", hierarchy = "ranges:10,50" }', "b": '{ role = "drop" }'}
    text = policy_text(columns, "k = 2", "suppression = 0.5").replace("people-release", "generalized")
    generalize = read_policy(write_policy(tmp_path, text))
    frapp = ready(tmp_path, RELEASE.replace("alpha_beta", "frapp"), f"{PEOPLE} WHERE i > 2")
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(frapp, output="frapp.duckdb")
    with pytest.raises(ReleaseError, match=SECOND):
        publish(generalize, ledger_file=tmp_path / "ledger.json")
    assert not (tmp_path / "frapp.duckdb").exists()
    assert not (tmp_path / "generalized.duckdb").exists()
    assert [e["view"] for e in entries(tmp_path)] == [1, 2]


def test_an_entry_of_what_never_went_out_is_void_and_stays(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    name = entries(tmp_path)[0]["coins"][:8]
    void = ("ledger", "void", name, "--ledger", "ledger.json")
    assert run(tmp_path, *void).returncode == 2  # it needs a reason
    done = run(tmp_path, *void, "--why", "  ")
    assert done.returncode == 2
    assert "say why the release does not count" in done.stderr
    assert entries(tmp_path)[0]["void"] == ""
    for steering in ("gone\x1b[2J", "gone\nand more", "\u202enog", "..."):
        done = run(tmp_path, *void, "--why", steering)
        assert (done.returncode, done.stdout) == (2, "")
        assert "must be a reason in one line: words, without control characters" in done.stderr
    assert entries(tmp_path)[0]["void"] == ""
    done = run(tmp_path, *void, "--why", "made by mistake, deleted")
    assert done.returncode == 0, done.stderr
    assert f"{name} does not count: made by mistake, deleted" in done.stdout
    second = publish_with(ready(tmp_path, RELEASE.replace("0.2", "0.3")), output="second.duckdb")
    assert not second.written.again
    assert [e["void"] for e in entries(tmp_path)] == ["made by mistake, deleted", ""]
    again = run(tmp_path, *void, "--why", "once more")
    assert again.returncode == 2
    assert "does not count already: made by mistake, deleted" in again.stderr


def test_what_was_void_and_is_published_after_all_counts(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    first = publish_with(policy).written
    name = entries(tmp_path)[0]["coins"]
    void(tmp_path / "ledger.json", name[:8], "not yet")
    again = publish_with(policy).written
    assert again.made == first.made
    assert [(e["coins"], e["void"]) for e in entries(tmp_path)] == [(name, "not yet"), (name, "")]
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(policy, KEY + b"other", output="second.duckdb")
    void(tmp_path / "ledger.json", name[:8], "nor now")
    assert [e["void"] for e in entries(tmp_path)] == ["not yet", "nor now"]


def test_an_entry_is_named_so_that_it_is_one(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    book = tmp_path / "ledger.json"
    (first,) = ledgers.entries(book)
    with locked(book) as open_book:
        nothing = Fingerprint("", (), CellSample((), frozenset(), (), ()), {})
        another = replace(first, coins=first.coins[:-1] + "x", id="another")
        open_book.enter(another, nothing, (), b"", tmp_path / "no copy")
    name = first.coins
    for called, message in ((name[:8], "more than one entry"), ("zzz", "no entry"), ("", "no entry")):
        with pytest.raises(InputError, match=f"{message} of 'ledger.json' is called '{called}'; `sqlpriv"):
            void(book, called, "because")
    assert void(book, name, "because").void == "because"
    assert [e["void"] for e in entries(tmp_path)] == ["because", ""]


def test_the_ledger_may_be_named_by_the_environment_or_by_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(tmp_path)
    (tmp_path / "key").write_bytes(KEY)
    monkeypatch.setenv("SQLPRIV_LEDGER", str(tmp_path / "central.json"))
    publish = ("publish", "policy.toml", "--key-file", "key", "--force")
    assert run(tmp_path, *publish).returncode == 0
    assert not list(tmp_path.glob("*.sqlpriv-ledger.json"))
    assert len(entries(tmp_path, "central.json")) == 1
    assert "people" in run(tmp_path, "ledger", "policy.toml").stdout
    other = run(tmp_path, *publish, "--ledger", "other.json", "--output", "other.duckdb")
    assert other.returncode == 0, other.stderr
    assert len(entries(tmp_path, "other.json")) == len(entries(tmp_path, "central.json")) == 1
    name = entries(tmp_path, "central.json")[0]["coins"][:8]
    assert run(tmp_path, "ledger", "void", name, "--why", "a test").returncode == 0
    assert entries(tmp_path, "central.json")[0]["void"] == "a test"
    assert entries(tmp_path, "other.json")[0]["void"] == ""
    monkeypatch.delenv("SQLPRIV_LEDGER")
    lost = run(tmp_path, "ledger", "void", name, "--why", "a test")
    assert lost.returncode == 2
    assert f"no entry of 'ledger.db' is called '{name}'" in lost.stderr
    assert not ledger_path().exists()


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["private.duckdb.sqlpriv-ledger.json", "copy.csv.sqlpriv-ledger.json"])
def test_a_ledger_of_an_earlier_version_beside_the_data_is_never_ignored(tmp_path: Path, name: str) -> None:
    """Also that of another file there, which may be a copy."""
    policy = ready(tmp_path)
    (tmp_path / name).write_text('{"sqlpriv": "0.1.0", "releases": []}')
    message = f"'{name}' beside the data is a ledger of an earlier version of sqlpriv, which this version does not read"
    with pytest.raises(ReleaseError, match=message):
        publish(policy, force=True)
    for command in (("publish", "policy.toml", "--force", "--dry-run"), ("ledger", "policy.toml"),
                    ("ledger", "void", "abc", "--policy", "policy.toml", "--why", "a test")):  # fmt: skip
        done = run(tmp_path, *command)
        assert done.returncode != 0
        assert message in done.stdout + done.stderr
        assert "move it away only if nobody has them" in done.stdout + done.stderr
    assert not (tmp_path / "people-release.duckdb").exists()
    (tmp_path / name).unlink()
    publish(policy, force=True)


def test_the_ledger_is_the_users_own_and_knows_no_secret(tmp_path: Path, data_folder: Path) -> None:
    policy = ready(tmp_path)
    (tmp_path / "key").write_bytes(KEY)
    publish(policy, None, tmp_path / "key", force=True)
    ledger = data_folder / "sqlpriv" / "ledger.db"
    content = ledger.read_bytes()
    assert KEY not in content
    assert str(tmp_path).encode() not in content
    assert ledger.stat().st_mode & 0o077 == ledger.parent.stat().st_mode & 0o077 == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "key",
        "people-release.duckdb",
        "policy.toml",
        "private.duckdb",
    ]
    shown = run(tmp_path, "ledger", "policy.toml", "--json")
    (entry,) = json.loads(shown.stdout)
    assert (entry["table"], entry["method"], entry["output"]) == ("people", "alpha_beta", "people-release.duckdb")
    for command in (["ledger", "policy.toml"], ["ledger"]):
        assert "1 of 1" in run(tmp_path, *command).stdout
    assert "nothing has been released" in run(tmp_path, "ledger", "policy.toml", "--ledger", "new.json").stdout
    assert not (tmp_path / "new.json").exists()


def test_the_policy_may_name_the_ledger(tmp_path: Path) -> None:
    team = tmp_path / "team"
    team.mkdir()
    policy = ready(tmp_path)
    text = (tmp_path / "policy.toml").read_text() + '[ledger]\npath = "team/ledger.db"\n'
    (tmp_path / "policy.toml").write_text(text)
    publish(tmp_path / "policy.toml", force=True)
    assert len(ledgers.entries(team / "ledger.db")) == 1
    assert "1 of 1" in run(tmp_path, "ledger", "policy.toml").stdout
    assert not ledger_path().exists()
    with pytest.raises(ReleaseError, match="knows nothing of it"):
        publish(policy, force=True)
    (tmp_path / "policy.toml").write_text(text.replace("path =", "file ="))
    with pytest.raises(PolicyError, match="unknown key 'file'"):
        read_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"releases": [{"time": 1}]}', "SQLite format 3\0 and rubbish"])
def test_a_ledger_that_cannot_be_read_stops_everything(tmp_path: Path, content: str) -> None:
    policy = ready(tmp_path)
    (tmp_path / "ledger.json").write_text(content)
    with pytest.raises(ReleaseError, match=r"the ledger 'ledger.json' cannot be read; nothing is published without it"):
        publish_with(policy)
    assert not (tmp_path / "people-release.duckdb").exists()
    assert (tmp_path / "ledger.json").read_text() == content


_DAMAGES = {
    "empty": "",
    "half of it": "half",
    "its first page is gone": "page",
    "no entries": "DELETE FROM entries",
    "nothing but its secret": "DELETE FROM entries; DELETE FROM sketches; DELETE FROM samples; DELETE FROM people",
    "no table of entries": "DROP TABLE entries",
    "no secret": "DELETE FROM about WHERE name = 'secret'",
    "another secret": "UPDATE about SET value = 'no secret' WHERE name = 'secret'",
    "a part of an entry": "UPDATE entries SET entry = substr(entry, 1, 40)",
    "no sketches": "DELETE FROM sketches",
    "other sketches": "UPDATE sketches SET cells = zeroblob(length(cells))",
    "other samples": "UPDATE samples SET cells = zeroblob(length(cells))",
    "samples of other columns": "UPDATE samples SET columns = replace(columns, 'a', 'x')",
    "people unlike": "INSERT INTO people VALUES (1, 'somebody')",
}


@pytest.mark.some(4)
@pytest.mark.parametrize("damage", _DAMAGES)
def test_a_damaged_ledger_stops_everything(tmp_path: Path, damage: str) -> None:
    """Also where all of it can be read, and only no table would be known again."""
    policy, ledger = ready(tmp_path), tmp_path / "ledger.json"
    publish_with(policy)
    good, what = ledger.read_bytes(), _DAMAGES[damage]
    if what in {"", "half", "page"}:
        parts = {"": b"", "half": good[: len(good) // 2], "page": bytes(4096) + good[4096:]}
        ledger.write_bytes(parts[what])
    else:
        with closing(sqlite3.connect(ledger)) as con:
            con.executescript(what)
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("CREATE TABLE others AS SELECT a + 1000 AS a FROM people").fetchall()
    text = (tmp_path / "policy.toml").read_text(encoding="utf-8").replace('"people"', '"others"')
    (tmp_path / "others.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"the ledger 'ledger.json' cannot be read; .* bring back your last copy"):
        publish(tmp_path / "others.toml", tmp_path / "others.duckdb", ledger_file=ledger, force=True)
    assert not (tmp_path / "others.duckdb").exists()
    ledger.write_bytes(good)
    assert publish_with(policy).written.again


def test_two_cannot_publish_at_once(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    with (
        locked(tmp_path / "ledger.json"),
        pytest.raises(ReleaseError, match=r"someone is publishing under the ledger 'ledger.json'; try again when"),
    ):
        publish_with(policy)
    publish_with(policy)


def test_a_release_that_cannot_be_put_in_its_place_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ready(tmp_path)
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if Path(target).suffix == ".duckdb":
            raise PermissionError
        replace(source, target)

    monkeypatch.setattr(import_module("sqlpriv.release.place").os, "replace", refuse)
    with pytest.raises(ReleaseError, match=r"cannot write people-release.duckdb in its folder"):
        publish_with(policy)
    monkeypatch.undo()
    assert entries(tmp_path) == []
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]
    assert [p.name for p in (tmp_path / "ledger.json-unfinished").iterdir()] == ["lock"]
    publish_with(policy)


def test_a_link_to_the_data_leads_to_the_same_ledger(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    publish(policy, force=True)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "private.duckdb").symlink_to(tmp_path / "private.duckdb")
    with pytest.raises(ReleaseError, match=SECOND):
        publish(replace(policy, table=replace(policy.table, folder=tmp_path / "linked")), force=True)


@pytest.mark.slow
def test_a_copy_of_a_view_of_a_sequence_is_that_view(tmp_path: Path) -> None:
    release = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    for view in (1, 2):
        changed = f"{PEOPLE} WHERE i > {view}"
        assert publish_with(ready(tmp_path, release, changed), output=f"view{view}.duckdb").written.view == view
    copied = ready(tmp_path, f'{release}\nearlier = ["view1.duckdb"]', changed.replace("people", "others"), "others")
    assert publish_with(copied, output="copy.duckdb").written.view == 2


def test_a_table_that_was_released_alone_begins_no_sequence(tmp_path: Path) -> None:
    sequence = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    alone = PEOPLE.replace("people", "alone") + " WHERE i > 3"
    publish_with(ready(tmp_path, sql=alone, table="alone"), output="alone.duckdb")
    with pytest.raises(ReleaseError, match=f"this table is taken for it: 100% of the rows .*{SECOND}"):
        publish_with(ready(tmp_path, sequence), output="view1.duckdb")
