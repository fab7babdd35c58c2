"""The ledger: what may follow a release, and what happens to it when things go wrong."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from noise_policies import KEY, publish_with, published, write_noise_policy
from test_cli import run

from sqlpriv.errors import ReleaseError
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.publishing import publish

pytestmark = pytest.mark.usefixtures("few_macros")

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
    publish_with(
        ready(tmp_path, sql=PEOPLE.replace("people", "visits") + " WHERE i > 9", table="visits"), output="second.duckdb"
    )


def test_a_copy_of_which_other_columns_are_published_is_still_that_table(tmp_path: Path) -> None:
    publish_with(ready(tmp_path))
    (tmp_path / "private.duckdb").unlink()
    where = 'database = "private.duckdb"\nsource = "copied"'
    columns = {"a": COLUMNS["a"], "b": '{ role = "drop" }'}
    policy = write_noise_policy(tmp_path, columns, RELEASE, PEOPLE.replace("people", "copied"), table=where)
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(policy, KEY + b"other", output="second.duckdb")


def test_the_very_same_release_may_be_written_again(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    first = publish_with(policy)
    again = publish_with(policy, output="again.duckdb")
    assert again.written.made.rows == first.written.made.rows
    assert len(json.loads((tmp_path / "ledger.json").read_text())["releases"]) == 1


def test_the_ledger_lies_beside_the_data_and_knows_no_secret(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    (tmp_path / "key").write_bytes(KEY)
    publish(policy, None, tmp_path / "key", force=True)
    ledger = tmp_path / "private.duckdb.sqlpriv-ledger.json"
    text = ledger.read_text()
    assert KEY.decode() not in text
    assert str(tmp_path) not in text
    assert ledger.stat().st_mode & 0o077 == 0
    shown = run(tmp_path, "ledger", "policy.toml", "--json")
    (entry,) = json.loads(shown.stdout)
    assert (entry["table"], entry["method"], entry["output"]) == ("people", "alpha_beta", "people-release.duckdb")
    assert "1 of 1" in run(tmp_path, "ledger", "policy.toml").stdout
    assert "nothing has been released" in run(tmp_path, "ledger", "policy.toml", "--ledger", "new.json").stdout


@pytest.mark.parametrize("content", ["", "{", "[]", '{"releases": [{"time": 1}]}'])
def test_a_ledger_that_cannot_be_read_stops_everything(tmp_path: Path, content: str) -> None:
    policy = ready(tmp_path)
    (tmp_path / "ledger.json").write_text(content)
    with pytest.raises(ReleaseError, match=r"the ledger 'ledger.json' cannot be read; nothing is published without it"):
        publish_with(policy)
    assert not (tmp_path / "people-release.duckdb").exists()
    assert (tmp_path / "ledger.json").read_text() == content


def test_two_cannot_publish_at_once(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    (tmp_path / "ledger.json.lock").touch()
    with pytest.raises(ReleaseError, match=r"someone is publishing under the ledger 'ledger.json'"):
        publish_with(policy)
    (tmp_path / "ledger.json.lock").unlink()
    publish_with(policy)
    assert not (tmp_path / "ledger.json.lock").exists()


def test_a_release_that_cannot_be_put_in_its_place_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ready(tmp_path)
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if Path(target).suffix == ".duckdb":
            raise PermissionError
        replace(source, target)

    monkeypatch.setattr(import_module("sqlpriv.publishing").os, "replace", refuse)
    with pytest.raises(ReleaseError, match=r"cannot write people-release.duckdb in its folder"):
        publish_with(policy)
    monkeypatch.undo()
    assert json.loads((tmp_path / "ledger.json").read_text())["releases"] == []
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]
    publish_with(policy)


def test_a_link_to_the_data_leads_to_the_same_ledger(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    publish(policy, force=True)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "private.duckdb").symlink_to(tmp_path / "private.duckdb")
    with pytest.raises(ReleaseError, match=SECOND):
        publish(replace(policy, table=replace(policy.table, folder=tmp_path / "linked")), force=True)


def test_a_copy_of_a_view_of_a_sequence_is_that_view(tmp_path: Path) -> None:
    release = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    for view in (1, 2):
        changed = f"{PEOPLE} WHERE i > {view}"
        assert publish_with(ready(tmp_path, release, changed), output=f"view{view}.duckdb").written.view == view
    copied = ready(tmp_path, f'{release}\nearlier = ["view1.duckdb"]', changed.replace("people", "others"), "others")
    assert publish_with(copied, output="copy.duckdb").written.view == 2


def test_a_table_that_was_released_alone_is_no_view_of_another_sequence(tmp_path: Path) -> None:
    sequence = f'{RELEASE}\nviews = 3\nadversary = "independent"'
    alone = PEOPLE.replace("people", "alone") + " WHERE i > 3"
    publish_with(ready(tmp_path, sql=alone, table="alone"), output="alone.duckdb")
    publish_with(ready(tmp_path, sequence), output="view1.duckdb")
    with pytest.raises(ReleaseError, match=SECOND):
        publish_with(
            ready(tmp_path, f'{sequence}\nearlier = ["view1.duckdb"]', f"{PEOPLE} WHERE i > 3"), output="view2.duckdb"
        )
