"""What `publish` refuses, `plan` refuses, too, and says in JSON who attacks and what could be published instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import run
from support.randomized_policies import published, write_noise_policy

from sqlpriv import publishing
from sqlpriv.errors import PolicyError

pytestmark = pytest.mark.usefixtures("few_macros")

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
BAG = 'method = "alpha_beta"\nduplicates = "bag"\ngamma = 0.4\nn_public = 4000'


@pytest.mark.parametrize("command", [("plan",), ("publish", "--dry-run")])
def test_a_bound_that_cannot_be_is_told_in_json(tmp_path: Path, command: tuple[str, ...]) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, BAG, PEOPLE)
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
