"""What every release says of itself: the day, the version, the public part of its policy, the digest of its rows."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy
from support.randomized_policies import KEY, noise_policy_text, rows_of
from support.titles import DECLARED, NAMED

from sqlpriv.methods import METHODS
from sqlpriv.policy.keys import RELEASE_KEYS
from sqlpriv.publishing import publish, read_policy, show, verify
from sqlpriv.release.ledger.store import read_ledger
from sqlpriv.version import __version__

pytestmark = pytest.mark.slow

PEOPLE = (
    "CREATE TABLE people AS SELECT 'x' || i AS ssn, 20 + i % 20 AS age, ['A', 'B'][1 + i % 2] AS grp, "
    "'d' || i % 3 AS ill FROM range(400) AS r(i)"
)
GROUPS = "value,share\nd0,2\nd1,1\nd2,1\n"
TOLD = "the public part of the policy fits the release"
DIGEST = "the published rows are those of the digest"
NOISY = {
    "ssn": role("identifier"),
    "age": '{ role = "quasi-identifier", domain = "range:20..39", hierarchy = "ranges:5", level = 1 }',
    "grp": '{ role = "quasi-identifier", domain = ["A", "B"] }',
    "ill": '{ role = "sensitive", domain = "table:FOLDER/codes.csv.value", outside = "refuse" }',
}
COARSE = {
    "ssn": role("identifier"),
    "age": qi("ranges:5,10"),
    "grp": qi("[\"CASE WHEN grp = 'A' THEN 'AB' ELSE 'AB' END\"]"),
    "ill": '{ role = "sensitive", domain = ["d0", "d1", "d2", "d3"] }',
}
RELEASES = {
    "generalize": 'objective = "workload:FOLDER/queries.sql"\nsuppression = 0.1',
    "noisy counts": 'method = "noisy_counts"\ngamma = 0.6\nd = 0.1\nn_public = 400',
    "slots": 'method = "alpha_beta"\nslots = 100\ngamma = 0.5\nd = 0.01',
    "frapp": 'method = "frapp"\ngamma = 0.6\nd = 0.1',
}


def write(folder: Path, kind: str, more: str = "") -> Path:
    """A policy that names every file by its whole path."""
    where = f'database = "{folder}/private.duckdb"\nsource = "people"'
    if kind == "generalize":
        text = policy_text(COARSE, "k = 5\ndistinct_l = 2", f"{RELEASES[kind]}\n{more}", where)
    else:
        beside = f'[public]\ncodes = "{folder}/codes.csv"'
        text = noise_policy_text(NOISY, f"{RELEASES[kind]}\n{more}", where, beside)
    text += f'[ledger]\npath = "{folder}/own-ledger.db"'
    text = text.replace("FOLDER", str(folder)).replace('output = "', f'output = "{folder}/')
    files = {"codes.csv": GROUPS, "queries.sql": "SELECT count(*) FROM people WHERE age > 30", "key": KEY}
    return write_policy(folder, text, "" if (folder / "private.duckdb").exists() else PEOPLE, files)


def released(folder: Path, kind: str, more: str = "") -> Path:
    key = None if kind == "generalize" else folder / "key"
    return publish(write(folder, kind, more), key_file=key, force=True).written.output


@pytest.fixture(scope="module", params=RELEASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "copy.duckdb"))


def about(path: Path) -> dict[str, str]:
    return dict(rows_of(path, "FROM sqlpriv_release.about"))


def change(path: Path, name: str, value: str) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE sqlpriv_release.about SET value = ? WHERE name = ?", [value, name]).fetchall()


def failing(path: Path, policy: Path | None = None) -> set[str]:
    return {c["check"] for c in verify(path, policy).content["checks"] if c["passed"] is False}


def test_it_is_there_for_every_method_and_verified(made: Path) -> None:
    said = about(made)
    assert (said["date"], said["sqlpriv"]) == (datetime.now(timezone.utc).date().isoformat(), __version__)
    assert failing(made) == failing(made, made.parent / "policy.toml") == set()
    facts = show(made)
    assert f"published on {said['date']} with sqlpriv {__version__}" in str(facts)
    assert (facts.content["date"], facts.content["sqlpriv"]) == (said["date"], __version__)
    assert facts.content["policy"] == json.loads(said["policy"])
    done = run(made.parent, "show", made.name, "--json")
    assert json.loads(done.stdout)["date"] == said["date"]


def test_nothing_private_is_told_of_a_policy(made: Path) -> None:
    """No path, no ledger, no place of the table, no column that is not published, no value."""
    content, told = made.read_bytes(), about(made)["policy"]
    assert str(made.parent).encode() not in content
    for word in ("ssn", "/", "ledger", "key", "private", "database", "csv", "d1", "CASE", "output"):
        assert word not in told, word
    part = json.loads(told)
    assert set(part["columns"]) == {"age", "grp", "ill"}
    assert part["columns"]["ill"]["role"] == "sensitive"


def test_what_is_told_of_a_policy(tmp_path: Path) -> None:
    assert json.loads(about(released(tmp_path, "generalize"))["policy"]) == {
        "columns": {
            "age": {"role": "quasi-identifier", "hierarchy": "ranges"},
            "grp": {"role": "quasi-identifier", "hierarchy": "expressions"},
            "ill": {"role": "sensitive", "domain": "list"},
        },
        "require": ["k>=5", "distinct_l(ill)>=2"],
        "release": {"objective": "workload", "suppression": 0.1},
    }


@pytest.mark.parametrize(
    "key", [k for m in METHODS.values() for k in (*RELEASE_KEYS, *m.options)], ids=lambda k: k.name
)
def test_paths_and_texts_of_the_owner_are_never_told(key: Any) -> None:
    """Reasons, public tables, the node and the list that it is from are in a release under their own names."""
    hidden = {"output", "earlier", "coexists_because", "settled_beforehand", "others_unknown", "accept", "uncovered",
              "combinations", "node", "nodes", "node_is_public", "dictionary", "dictionaries", "personal"}  # fmt: skip
    assert (key.kind.public is None) == (key.name in hidden)


def test_a_row_that_nobody_would_miss_is_missed(copy: Path) -> None:
    """A row that the coins could have made, of values and weights that fit: the digest alone tells."""
    with duckdb.connect(str(copy)) as con:
        con.execute(
            "UPDATE sqlpriv_release.published SET ill = CASE ill WHEN 'd0' THEN 'd1' ELSE 'd0' END WHERE rowid = 0"
        ).fetchall()
        # Where it belongs, too: rows stand in the order of what they show.
        rows = "sqlpriv_release.published"
        con.execute(f"CREATE OR REPLACE TABLE {rows} AS FROM {rows} ORDER BY ALL").fetchall()
    assert failing(copy) == {DIGEST}


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("digest", "0-0-0-0", DIGEST),
        ("date", "yesterday", DECLARED),
        ("date", "2026-02-30", DECLARED),
        ("date", "20260203", DECLARED),
        ("date", "2026-02-03 Mrs Smith", DECLARED),
        ("sqlpriv", "of Mrs Smith", DECLARED),
        ("sqlpriv", "", DECLARED),
        ("sqlpriv", "1.0mrssmithisill", DECLARED),
        ("sqlpriv", f"1.0{'a' * 60}!", DECLARED),
        ("policy", "Mrs Smith", DECLARED),
        ("policy", "[]", TOLD),
        ("policy", '{"columns": {}, "require": [], "release": {}}', TOLD),
    ],
)
def test_what_was_changed_fails(copy: Path, name: str, value: str, check: str) -> None:
    change(copy, name, value)
    assert check in failing(copy)


def test_a_digest_of_other_rows_is_the_name_of_a_generalized_release_no_more(tmp_path: Path) -> None:
    path = released(tmp_path, "generalize")
    change(path, "release", "0-0-0-0")
    assert failing(path) == {NAMED}


@pytest.mark.parametrize("name", ["date", "policy", "digest"])
def test_what_is_missing_fails(copy: Path, name: str) -> None:
    with duckdb.connect(str(copy)) as con:
        con.execute("DELETE FROM sqlpriv_release.about WHERE name = ?", [name]).fetchall()
    assert failing(copy)


@pytest.mark.parametrize(
    "path",
    [
        ("release", "output", "x.duckdb"),
        ("release", "coexists_because", "Mrs Smith agreed"),
        ("release", "key", "0123456789abcdef"),
        ("release", "max_rows", "Mrs Smith"),
        ("release", "gamma", 0.9),
        ("release", "objective", "workload:/home/smith/queries.sql"),
        ("columns", "age", {"role": "other"}),
        ("columns", "age", {"role": "Mrs Smith"}),
        ("columns", "age", "quasi-identifier"),
        ("columns", "age", {"role": "quasi-identifier", "hierarchy": "/home/smith/ages.csv"}),
        ("columns", "age", {"role": "quasi-identifier", "domain": "range:20..39"}),
        ("columns", "age", {"role": "quasi-identifier", "outside": "Mrs Smith"}),
        ("columns", "Mrs Smith", {"role": "other"}),
    ],
    ids=str,
)
def test_a_policy_that_no_release_tells_fails(copy: Path, path: tuple[str, str, Any]) -> None:
    part = json.loads(about(copy)["policy"])
    section, name, value = path
    part[section][name] = value
    change(copy, "policy", json.dumps(part))
    assert TOLD in failing(copy)


@pytest.mark.parametrize(
    ("old", "new"),
    [("{", '{"require": ["Mrs Smith is ill"], '), ('"age": {', '"age": {"role": "Mrs Smith", '), ("{", "{ ")],
)
def test_words_that_reading_the_policy_passes_over_fail(copy: Path, old: str, new: str) -> None:
    """Of a name that stands in JSON twice only the last is read, and people see both."""
    told = about(copy)["policy"]
    change(copy, "policy", told.replace(old, new, 1))
    assert json.loads(about(copy)["policy"]) == json.loads(told)
    assert failing(copy) == {DECLARED}


@pytest.mark.parametrize("text", ["require", "column"])
def test_a_part_less_fails(copy: Path, text: str) -> None:
    part = json.loads(about(copy)["policy"])
    if text == "require":
        part["require"] = [*part["require"], "k>=50"]
    else:
        del part["columns"]["age"]
    change(copy, "policy", json.dumps(part))
    assert failing(copy) == {TOLD}


def test_another_policy_is_noticed(tmp_path: Path) -> None:
    path = released(tmp_path, "generalize")
    assert failing(path, write(tmp_path, "generalize")) == set()
    other = tmp_path / "policy.toml"
    other.write_text(other.read_text().replace("ranges:5,10", "mask:2"))
    assert failing(path, other) == {TOLD}


@pytest.mark.parametrize("kind", ["generalize", "frapp"])
def test_a_release_written_again_is_of_the_day_of_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("sqlpriv.publishing.draft.now", lambda: "2024-02-29T23:59:59+00:00")
    first = released(tmp_path, kind)
    said, rows = about(first), rows_of(first)
    monkeypatch.undo()
    first.unlink()
    again = released(tmp_path, kind)
    assert said["date"] == "2024-02-29"
    assert about(again) == said
    assert rows_of(again) == rows


def test_policies_that_differ_in_words_alone_are_told_alike(tmp_path: Path) -> None:
    """Defaults that are written out are still the defaults."""
    path = released(tmp_path, "frapp")
    told = about(path)["policy"]
    path.unlink()
    policy = read_policy(write(tmp_path, "frapp", "times = 2"))
    assert verify(released(tmp_path, "frapp", "times = 2"), policy).passed
    assert about(path)["policy"] == told


@pytest.mark.parametrize("kind", ["generalize", "frapp"])
def test_a_reason_that_is_added_later_is_in_the_release_and_in_the_ledger(tmp_path: Path, kind: str) -> None:
    """Else the same policy with fresh coins would pass for another one, once more."""
    first = released(tmp_path, kind)
    rows = rows_of(first)
    again = released(tmp_path, kind, 'coexists_because = "for the auditors alone"')
    assert dict(rows_of(again, "FROM sqlpriv_release.reasons"))["coexists_because"] == "for the auditors alone"
    assert rows_of(again) == rows
    (entry,) = read_ledger(tmp_path / "own-ledger.db").entries
    assert (entry.coexists_because, entry.finished) == ("for the auditors alone", True)
    assert failing(again, tmp_path / "policy.toml") == set()
    assert failing(again, write(tmp_path, kind)) != set()
