"""The commands plan and show, as a person or a script runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import run
from support.randomized_policies import publish_with, published, write_noise_policy

pytestmark = pytest.mark.one_version

COLUMNS = {"a": published('"range:0..99"'), "b": published('["x", "it\'s"]', null="true")}
PEOPLE = "CREATE TABLE people AS SELECT i % 10 AS a, 'x' AS b FROM range(200) AS r(i)"
RELEASE = 'method = "alpha_beta"\nk = 0.05\ngamma = 0.2\n'


def test_a_plan_shows_both_sides_and_publishes_nothing(tmp_path: Path) -> None:
    write_noise_policy(tmp_path, COLUMNS, f'{RELEASE}adversary = "independent"\nparameters = "tight"', PEOPLE)
    done = run(tmp_path, "plan", "policy.toml", "--json", "--chart", "cost.svg")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["m"] == 300
    assert plan["d"] == pytest.approx(0.05 * 200 / 300)
    assert plan["independent_posterior"] <= 0.2 + 1e-9
    assert plan["exclusive_posterior"] > 0.5  # tight does not protect against who knows who is in the table
    assert any("An attacker who knows who is in the table may reach" in line for line in plan["details"])
    assert plan["dp_epsilon"] > 0
    errors = [p["half_domain_error"] for p in plan["curve"]]
    assert errors == sorted(errors, reverse=True)
    assert {p["gamma"] for p in plan["curve"]} >= {0.2, 0.5}
    assert (tmp_path / "cost.svg").is_file()
    assert not list(tmp_path.glob("*release*"))
    assert not list(tmp_path.glob("*ledger*"))
    shown = run(tmp_path, "plan", "policy.toml").stdout
    assert "exclusive_posterior" in shown
    assert "█" in shown


def test_given_coins_are_judged(tmp_path: Path) -> None:
    write_noise_policy(tmp_path, COLUMNS, f"{RELEASE}alpha = 0.3\nbeta = 0.2\nslots = 1000", PEOPLE)
    done = run(tmp_path, "plan", "policy.toml", "--json")
    assert done.returncode == 1  # so much noise in so many slots says nothing
    assert "the view would say nothing" in json.loads(done.stdout)["refused"][0]
    assert json.loads(done.stdout)["exclusive_posterior"] < 0.01


def test_show_tells_the_guarantee_the_domains_and_what_is_counted(tmp_path: Path) -> None:
    policy = write_noise_policy(
        tmp_path, COLUMNS, 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2\nduplicates = "distinct"', PEOPLE,
        {"regions.csv": "zip\n1\n"}, more='[public]\nregions = "regions.csv"',
    )  # fmt: skip
    publish_with(policy)
    done = run(tmp_path, "show", "people-release.duckdb", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["counts"] == "distinct tuples"
    assert shown["table"] == "people"
    assert shown["public"] == ["regions"]
    assert [(c["name"], c["size"], c["values"][-1]) for c in shown["columns"]] == [("a", 100, "..."), ("b", 3, None)]
    assert "at most 0.2 after seeing this release" in shown["guarantee"]
    text = run(tmp_path, "show", "people-release.duckdb").stdout
    assert "count(*) of people estimates the number of distinct tuples" in text
    assert "it's, x, NULL" in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.duckdb", "there is no release file 'nothing.duckdb'"),
        ("policy.toml", "policy.toml is no DuckDB file"),
        ("private.duckdb", "private.duckdb is no release: it has no table sqlpriv_release.about"),
    ],
)
def test_what_is_no_release(tmp_path: Path, name: str, message: str) -> None:
    write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)
    done = run(tmp_path, "show", name)
    assert done.returncode == 2
    assert done.stderr.startswith(f"sqlpriv: {message}")
