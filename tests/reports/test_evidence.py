"""The folder that is filed with a release, and what a plan says would differ from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.commands import run

import sqlpriv

POLICY = """
[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:5,10", domain = "range:20..59" }
ill = { role = "sensitive" }
note = { role = "drop" }
[require]
k = 3
distinct_l = { ill = 2 }
[release]
method = "generalize"
output = "people.duckdb"
[ledger]
path = "ledger.db"
"""
RECORD = {
    "record", "made", "sqlpriv", "release", "verdict", "reasons", "verified", "policy", "ledger", "files"
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evidence")
    rows = "".join(f"{20 + i % 40},{['flu', 'gout', 'cold'][i % 3]},SECRET-{i}\n" for i in range(240))
    (made / "people.csv").write_text("age,ill,note\n" + rows)
    (made / "policy.toml").write_text(POLICY)
    sqlpriv.publish(made / "policy.toml")
    return made


def test_the_folder_holds_what_the_release_rests_on(folder: Path) -> None:
    done = run(folder, "evidence", "people.duckdb", "--policy", "policy.toml", "--output", "filed")
    assert done.returncode == 0, done.stderr
    filed = folder / "filed"
    assert {p.name for p in filed.iterdir()} == {
        "page.html", "policy.toml", "ledger.json", "verification.json", "record.json"
    }  # fmt: skip
    record = json.loads((filed / "record.json").read_text())
    assert set(record) == RECORD
    assert record["files"] == {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in filed.iterdir() if p.name != "record.json"
    }
    assert record["release"]["sha256"] == hashlib.sha256((folder / "people.duckdb").read_bytes()).hexdigest()
    assert (
        record["ledger"]["release"]
        == record["release"]["id"]
        == json.loads((filed / "ledger.json").read_text())["release"]
    )
    assert record["verified"]["passed"]
    assert record["verified"]["failed"] == []
    assert (filed / "policy.toml").read_text() == POLICY
    assert not any(b"SECRET" in p.read_bytes() for p in filed.iterdir())
    assert not list(folder.glob(".*partial*"))


def test_without_a_policy_it_is_of_the_file_alone(folder: Path) -> None:
    facts = sqlpriv.evidence(folder / "people.duckdb", folder / "alone", ledger_file=folder / "none.db")
    assert facts.content["files"] == ["page.html", "record.json", "verification.json"]
    record = json.loads((folder / "alone" / "record.json").read_text())
    assert (record["policy"], record["ledger"]) == (None, None)
    assert set(record) == RECORD


def test_every_field_is_documented() -> None:
    page = (Path(sqlpriv.__file__).parent.parent / "docs" / "verdict.md").read_text(encoding="utf-8")
    assert all(f"`{field}`" in page for field in RECORD)


def test_a_folder_that_is_there_is_left_alone(folder: Path) -> None:
    (folder / "taken").mkdir()
    done = run(folder, "evidence", "people.duckdb", "--output", "taken")
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert not list((folder / "taken").iterdir())


def test_half_a_folder_is_never_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlpriv.reports import html

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(html, "write_page", die)
    with pytest.raises(KeyboardInterrupt):
        sqlpriv.evidence(folder / "people.duckdb", folder / "half")
    assert not [p.name for p in folder.iterdir() if "half" in p.name]


def test_a_plan_says_what_would_differ(folder: Path) -> None:
    release = folder / "people.duckdb"
    assert sqlpriv.plan(folder / "policy.toml", against=release).content["against"] == []
    changed = POLICY.replace("k = 3", "k = 7").replace('"ranges:5,10"', '"ranges:20"')
    changed = changed.replace('note = { role = "drop" }', 'note = { role = "other" }').replace(
        "[ledger]", 'others_unknown = "nobody sees notes"\n[ledger]'
    )
    (folder / "changed.toml").write_text(changed)
    found = {d["what"]: (d["release"], d["plan"]) for d in sqlpriv.plan(
        folder / "changed.toml", against=release).content["against"]}  # fmt: skip
    assert found["required: k>=3"] == ("yes", None)
    assert found["required: k>=7"] == (None, "yes")
    assert found["note: role"] == (None, "other")
    assert found["reason: others_unknown"] == (None, "nobody sees notes")
    assert "method" not in found
    done = run(folder, "plan", "changed.toml", "--against", "people.duckdb")
    assert "required: k>=7" in done.stdout
    assert run(folder, "plan", "policy.toml", "--against", "people.csv").returncode == 2
