"""What `publish` refuses, `plan` refuses, too, and says in JSON who attacks and what could be published instead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import run
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv import publishing
from sqlpriv.core.errors import PolicyError
from sqlpriv.publishing import dry_run

pytestmark = pytest.mark.one_version

PEOPLE = (
    "CREATE TABLE people AS SELECT i % 20 AS a, i % 2 AS few, 'd' || i % 30 AS ill FROM range(4000) AS r(i); "
    "CREATE TABLE copied AS FROM people"
)
ILLS = ", ".join(f'"d{i}"' for i in range(30))
COLUMNS = {
    "a": '{ role = "quasi-identifier", domain = "range:0..19" }',
    "few": '{ role = "sensitive", domain = "range:0..1" }',
    "ill": f'{{ role = "sensitive", domain = [{ILLS}] }}',
}
NOISY = 'method = "noisy_counts"\ngamma = 0.4\nn_public = 4000'


@pytest.mark.parametrize("command", [("plan",), ("publish", "--dry-run")])
def test_a_bound_that_cannot_be_is_told_in_json(tmp_path: Path, command: tuple[str, ...]) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)
    done = run(tmp_path, *command, "policy.toml", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert "a linking attacker believes in some value with 0.6667 before the release" in found["refused"][0]
    linking = [a for a in found["attackers"] if a["knows"] == "all but few"]
    assert [(a["wants"], round(a["prior"], 4), a["posterior"], a["covered"]) for a in linking] == [
        ("few", 0.6667, 1.0, False)
    ]
    assert ["a", "ill"] in [s["columns"] for s in found["column_sets"]]
    shown = run(tmp_path, *command, "policy.toml")
    assert shown.returncode == 1
    assert "REFUSED" in shown.stdout
    with pytest.raises(PolicyError, match="a linking attacker believes"):
        publishing.publish(policy)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("public", "message"),
    [
        ('x = "missing.csv"', "the public table 'x' cannot be read from 'missing.csv': there is no such file"),
        ('people = "places.csv"', "the public table 'people' is called like the private one"),
        ('x = "people"', "the public table 'x' is the private table itself"),
        ('x = "copied"', "'copied' is taken for a copy of the private table"),
    ],
)
def test_public_tables_are_looked_at_by_the_plan(tmp_path: Path, public: str, message: str) -> None:
    columns = {name: published('"active"') for name in ("a", "few", "ill")}
    release = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.4'
    files = {"places.csv": "a,place\n1,north\n"}
    policy = write_noise_policy(tmp_path, columns, release, PEOPLE, files, more=f"[public]\n{public}")
    for command in (publishing.plan, publishing.publish):
        with pytest.raises(PolicyError, match=message):
            command(policy)


PLAIN = {name: published('"range:0..29"') for name in ("a", "few")} | {"ill": '{ role = "drop" }'}
SLOTS = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.4\nslots = 300'


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("output", "message"),
    [("gone/x.duckdb", "there is no folder for the release"), ("x.json", "a release is a DuckDB file"),
     ("notes", "is there already and is no release")],
)  # fmt: skip
def test_a_place_that_cannot_be_is_refused_by_the_plan(tmp_path: Path, output: str, message: str) -> None:
    policy = write_noise_policy(tmp_path, PLAIN, SLOTS, PEOPLE, {"notes": "my own"})
    for facts in (
        publishing.plan(replace(policy, release={**policy.release, "output": output})),
        dry_run(policy, tmp_path / output),
    ):
        assert not facts.passed
        assert message in facts.content["refused"][0]
        assert message in str(facts)


def test_a_plan_without_an_output_warns(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, PLAIN, SLOTS, PEOPLE)
    facts = publishing.plan(replace(policy, release={**policy.release, "output": None}))
    assert facts.passed
    assert "the policy names no output; add it to [release], or give one" in facts.content["warnings"]


def test_a_dry_run_hears_the_ledger_and_writes_none(tmp_path: Path) -> None:
    policy, ledger = write_noise_policy(tmp_path, PLAIN, SLOTS, PEOPLE), tmp_path / "ledger.json"
    before = set(tmp_path.iterdir())
    assert dry_run(policy, ledger_file=ledger).passed
    assert set(tmp_path.iterdir()) == before
    publish_with(policy)
    said = ledger.read_bytes()
    refused = dry_run(policy, tmp_path / "second.duckdb", ledger_file=ledger)
    assert not refused.passed
    assert "A second release made independently would expose people" in refused.content["refused"][0]
    assert dry_run(policy, None, tmp_path / "key", ledger).passed
    assert ledger.read_bytes() == said


def test_a_dry_run_of_a_sequence_needs_its_key(tmp_path: Path) -> None:
    release = f'{SLOTS}\nadversary = "independent"\nviews = 2'
    facts = dry_run(write_noise_policy(tmp_path, PLAIN, release, PEOPLE))
    assert "a sequence needs a key that stays the same" in facts.content["refused"][0]


@pytest.mark.parametrize("bound", ["", "d = 0.01\n", "k = 5\n", 'd = 0.01\nuncovered = "nobody minds"\n'])
def test_a_sensitive_column_with_one_value_is_refused_whatever_the_bound(tmp_path: Path, bound: str) -> None:
    """No linking attacker could be judged: a table without one would look covered."""
    columns = {**COLUMNS, "few": '{ role = "sensitive", domain = [0] }', "ill": published(f"[{ILLS}]")}
    people = "CREATE TABLE people AS SELECT i % 20 AS a, 0 AS few, 'd' || i % 30 AS ill FROM range(4000) AS r(i)"
    policy = write_noise_policy(tmp_path, columns, f"{NOISY}\n{bound}", people)
    with pytest.raises(PolicyError, match="have one possible value each, so there is nothing to hide"):
        publishing.publish(policy)
    assert not list(tmp_path.glob("*.duckdb.partial"))
