"""Publishing by generalization and the command lattice, as a person or a script runs them."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import Done, run
from support.policies import policy_text, qi, role, write_policy

MARKER = "SECRET-42"
CONTRACT = (
    "node", "objective", "value", "suppressed_rows", "classes", "nodes_total", "nodes_evaluated", "optimal", "output",
)  # fmt: skip
PEOPLE = f"""
CREATE TABLE people AS SELECT '{MARKER}' || i AS ssn, 20 + i % 40 AS age, printf('%05d', 1300 + i % 30) AS zip,
  'ill' || i % 5 AS ill FROM range(400) AS r(i)
"""
COLUMNS = {"ssn": role("identifier"), "age": qi("ranges:5,10,20"), "zip": qi("mask:5"), "ill": role("sensitive")}
REQUIRE = "k = 5\ndistinct_l = { ill = 2 }"


def ready(folder: Path, require: str = REQUIRE, release: str = "suppression = 0.05") -> Path:
    write_policy(folder, policy_text(COLUMNS, require, release), "" if (folder / "private.duckdb").exists() else PEOPLE)
    return folder


def asked(folder: Path, *arguments: str) -> Any:
    done = run(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert MARKER not in done.stdout + done.stderr
    return json.loads(done.stdout)


def refused(done: Done, message: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("sqlpriv: ")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_the_json_of_the_contract(tmp_path: Path) -> None:
    found = asked(ready(tmp_path), "publish", "policy.toml")
    assert set(CONTRACT) <= set(found)
    assert list(found["node"]) == ["age", "zip"]
    assert found["objective"] == "loss"
    assert 0 < found["value"] < 1
    assert found["nodes_total"] == 5 * 6
    assert found["nodes_evaluated"] <= found["nodes_total"]
    assert (found["optimal"], found["bound"]) == (True, None)
    assert found["suppressed_rows"] <= 20
    assert found["output"] == "people-release.duckdb"
    assert {r["requirement"]: r["value"] >= 2 for r in found["requirements"]} == {
        "k>=5": True,
        "distinct_l(ill)>=2": True,
    }
    with duckdb.connect(str(tmp_path / "people-release.duckdb"), read_only=True) as con:
        sizes = "SELECT count(*) AS n FROM people GROUP BY age, zip"
        assert con.execute(f"SELECT min(n) FROM ({sizes})").fetchall()[0][0] >= 5
        rows = con.execute("SELECT count(*) FROM people").fetchall()[0][0]
        assert rows == 400 - found["suppressed_rows"]
        classes = con.execute("SELECT count(*) FROM (SELECT DISTINCT age, zip FROM people)").fetchall()[0][0]
        assert classes == found["classes"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    found = asked(ready(tmp_path), "publish", "policy.toml", "--dry-run")
    assert found["output"] is None
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


def test_another_output(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    found = asked(ready(tmp_path), "publish", "policy.toml", "--output", "out/here.duckdb")
    assert found["output"] == "out/here.duckdb"
    assert (tmp_path / "out" / "here.duckdb").is_file()


def test_for_people(tmp_path: Path) -> None:
    done = run(ready(tmp_path), "publish", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "No node is better: this is the optimum." in done.stdout
    assert "holds  k>=5" in done.stdout
    assert "before" not in done.stdout
    assert "Written and checked again from the file: people-release.duckdb" in done.stdout
    assert MARKER not in done.stdout
    assert "ill0" not in done.stdout


ROWS = "SELECT 30 + i % 3 AS age, 'z' AS zip, 'ill' || i % 5 AS ill, i AS ssn FROM range({0}) AS r(i)"


@pytest.mark.some(1)
@pytest.mark.parametrize("command", ["publish", "plan"])
def test_rows_of_people_are_shown_only_when_asked_for(tmp_path: Path, command: str) -> None:
    """Also into the log of a pipeline: a unique row is somebody."""
    table = f"CREATE TABLE people AS {ROWS.format(60)} UNION ALL SELECT 77, 'z', 'ill0', 99"
    write_policy(tmp_path, policy_text(COLUMNS, "k = 2", "suppression = 0.05"), table)
    assert "before" not in run(tmp_path, command, "policy.toml").stdout
    done = run(tmp_path, command, "policy.toml", "--show-values")
    assert done.returncode == 0, done.stderr
    assert "before" in done.stdout
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.strip().startswith("3")] == ["20"] * 3
    assert "77" not in done.stdout
    refused(run(tmp_path, command, "policy.toml", "--show-values", "--json"), "leave one out")


def test_rows_that_are_not_frequent_are_not_called_so(tmp_path: Path) -> None:
    write_policy(tmp_path, policy_text(COLUMNS, "k = 2"), f"CREATE TABLE people AS {ROWS.format(12)}")
    text = run(tmp_path, "plan", "policy.toml", "--show-values").stdout
    assert "before" not in text
    assert "No values of age, zip occur 5 times together" in text


@pytest.mark.slow
def test_without_time_the_best_so_far_comes_with_its_bound(tmp_path: Path) -> None:
    best = asked(ready(tmp_path), "publish", "policy.toml", "--dry-run")
    found = asked(tmp_path, "publish", "policy.toml", "--time-limit", "0")
    assert found["optimal"] is False
    assert found["nodes_evaluated"] < found["nodes_total"]
    assert found["bound"] <= best["value"] <= found["value"]
    assert found["output"] == "people-release.duckdb"
    done = run(tmp_path, "publish", "policy.toml", "--time-limit", "0", "--dry-run")
    assert "The time was over: an unseen node may reach" in done.stdout
    precision = asked(
        ready(tmp_path, release='objective = "precision"\ncoexists_because = "a test"'),
        "publish",
        "policy.toml",
        "--time-limit",
        "0",
    )
    assert precision["bound"] >= precision["value"]


def test_a_requirement_out_of_reach_is_named_with_what_can_be_met(tmp_path: Path) -> None:
    done = run(ready(tmp_path, "k = 2\ndistinct_l = { ill = 6 }"), "publish", "policy.toml")
    refused(done, "no node meets the requirements: even at the top (age=4, zip=5), where all 400 rows are one class, ")
    assert "distinct_l(ill)>=6 fails: 5 is the most that can be met. Ask for less" in done.stderr
    assert "k>=2" not in done.stderr
    done = run(ready(tmp_path, "k = 50000\ndistinct_l = { ill = 3 }"), "publish", "policy.toml")
    refused(done, "k>=50000 fails: 400 is the most that can be met")
    assert "distinct_l" not in done.stderr
    done = run(ready(tmp_path, "k = 401\nmarketer = 0.001"), "publish", "policy.toml")
    refused(done, "k>=401 fails: 400 is the most that can be met. Ask for less")
    done = run(ready(tmp_path, "marketer = 0.001"), "publish", "policy.toml")
    refused(done, "marketer<=0.001 fails: 0.0025 is the least that can be met")
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


def test_the_node_that_is_asked_for_is_published(tmp_path: Path) -> None:
    ready(tmp_path, "k = 2")
    best = asked(tmp_path, "plan", "policy.toml")
    assert best["node"] != {"age": 2, "zip": 2}
    found = asked(tmp_path, "publish", "policy.toml", "--node", "ZIP=2, age=2")
    assert (found["node"], found["optimal"], found["nodes_evaluated"]) == ({"age": 2, "zip": 2}, False, 1)
    assert found["loss"] > best["loss"]
    checks = asked(tmp_path, "verify", "people-release.duckdb", "--policy", "policy.toml")
    assert checks["passed"]
    done = run(tmp_path, "plan", "policy.toml", "--node", "age=2,zip=2")
    assert "It is the node that was asked for, one of 30; others may lose less." in " ".join(done.stdout.split())


def test_a_node_of_the_policy_gives_way_to_that_of_the_command(tmp_path: Path) -> None:
    ready(tmp_path, "k = 2", release="node = { age = 3, zip = 2 }")
    assert asked(tmp_path, "plan", "policy.toml")["node"] == {"age": 3, "zip": 2}
    assert asked(tmp_path, "publish", "policy.toml", "--node", "age=2,zip=2")["node"] == {"age": 2, "zip": 2}
    done = run(tmp_path, "verify", "people-release.duckdb", "--policy", "policy.toml")
    assert done.returncode == 1
    assert "the policy asks for another node" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("age=0,zip=0", "the node age=0, zip=0 does not meet the policy: "),
        ("age=9,zip=0", "the node asks for level 9 of 'age', and the top of its hierarchy is 4"),
        ("age=1", "--node: the node needs one level for each quasi-identifier, also for 'zip'"),
        ("age=1,ill=1,zip=1", "--node: 'ill' is no quasi-identifier, so it has no level; there are age, zip"),
        ("age=1,zip=x", "cannot read the node 'age=1,zip=x'; write the level of each quasi-identifier: age=2,zip=1"),
        ("age=1,age=2", "cannot read the node"),
        ("", "cannot read the node"),
    ],
)
def test_a_node_that_cannot_be_published_is_refused(tmp_path: Path, node: str, message: str) -> None:
    refused(run(ready(tmp_path, "k = 5"), "publish", "policy.toml", "--node", node), message)
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["publish", "no.toml"], "there is no policy file 'no.toml'"),
        (["lattice", "no.toml"], "there is no policy file 'no.toml'"),
        (["publish", "policy.toml", "--output", "no/x.duckdb"], "there is no folder for the release 'x.duckdb'"),
        (["publish", "policy.toml", "--output", "private.duckdb"], "is the private database itself"),
        (["lattice", "policy.toml", "--csv", "no/x.csv"], "cannot write 'no/x.csv'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    refused(run(ready(tmp_path), *arguments), message)
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


def test_a_lattice_past_ten_million_nodes(tmp_path: Path) -> None:
    columns = {f"q{i}": qi("mask:100") for i in range(4)}
    listed = ", ".join(f"'x' AS q{i}" for i in range(4))
    write_policy(tmp_path, policy_text(columns), f"CREATE TABLE people AS SELECT {listed}")
    for command in ("publish", "lattice"):
        done = run(tmp_path, command, "policy.toml")
        refused(done, "the lattice has 104,060,401 nodes, more than 10,000,000: give hierarchies fewer levels")


def test_quasi_identifiers_with_too_many_values_together(tmp_path: Path) -> None:
    columns = {f"q{i}": qi() for i in range(18)}
    listed = ", ".join(f"i AS q{i}" for i in range(18))
    write_policy(
        tmp_path, policy_text(columns, "k = 2"), f"CREATE TABLE people AS SELECT {listed} FROM range(128) AS r(i)"
    )
    refused(run(tmp_path, "publish", "policy.toml"), "the quasi-identifiers have too many different values together")


def test_many_quasi_identifiers_still_count_right(tmp_path: Path) -> None:
    """The numbers of the classes need 98 bits here."""
    columns = {f"q{i}": qi() for i in range(14)}
    listed = ", ".join(f"i // 2 AS q{i}" for i in range(14))
    write_policy(
        tmp_path, policy_text(columns, "k = 2"), f"CREATE TABLE people AS SELECT {listed} FROM range(256) AS r(i)"
    )
    found = asked(tmp_path, "publish", "policy.toml", "--dry-run")
    assert (set(found["node"].values()), found["classes"]) == ({0}, 128)


# --- lattice ------------------------------------------------------------------------------------


def test_every_node_with_every_measure(tmp_path: Path) -> None:
    nodes = asked(ready(tmp_path), "lattice", "policy.toml", "--csv", "nodes.csv")
    assert len(nodes) == 30
    assert set(nodes[0]) == {
        "node", "valid", "minimal", "suppressed_rows", "classes", "requirements", "loss", "height", "precision",
        "discernibility", "average_class_size", "kl", "entropy",
    }  # fmt: skip
    assert nodes[0]["node"] == {"age": 0, "zip": 0}
    assert set(nodes[0]["requirements"]) == {"k>=5", "distinct_l(ill)>=2"}
    top = nodes[-1]
    assert (top["valid"], top["classes"], top["loss"], top["height"]) == (True, 1, 1, 9)
    assert top["requirements"]["k>=5"] == {"value": 400, "holds": True}
    with (tmp_path / "nodes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(int(r["age"]), int(r["zip"])) for r in rows] == [tuple(n["node"].values()) for n in nodes]
    assert [r["valid"] == "True" for r in rows] == [n["valid"] for n in nodes]
    best = asked(tmp_path, "publish", "policy.toml", "--dry-run")
    assert best["value"] == pytest.approx(min(n["loss"] for n in nodes if n["valid"]))


def test_the_minimal_nodes(tmp_path: Path) -> None:
    nodes = asked(ready(tmp_path), "lattice", "policy.toml")
    minimal = asked(tmp_path, "lattice", "policy.toml", "--minimal")
    assert [n["node"] for n in minimal] == [n["node"] for n in nodes if n["minimal"]]
    valid = [tuple(n["node"].values()) for n in nodes if n["valid"]]
    assert valid
    assert minimal
    for node in (tuple(n["node"].values()) for n in minimal):
        assert not [v for v in valid if v != node and v[0] <= node[0] and v[1] <= node[1]]


def test_a_lattice_for_people(tmp_path: Path) -> None:
    done = run(ready(tmp_path), "lattice", "policy.toml", "--most", "3")
    assert done.returncode == 0, done.stderr
    assert "node: the levels of age, zip" in done.stdout
    assert "(1) k>=5, with nothing suppressed" in done.stdout
    assert "of 30 nodes meet the policy; 27 more, see --csv" in done.stdout


@pytest.mark.slow
def test_pictures_are_drawn_as_asked(tmp_path: Path) -> None:
    done = run(ready(tmp_path), "lattice", "policy.toml", "--charts", "pictures", "--format", "png")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (tmp_path / "pictures").iterdir()} == {"lattice.png", "tradeoff.png"}
    assert "stubbornness" not in done.stdout
    epsilon = 'epsilon = [{ column = "ill", adversary = "class3", shape = "uniform", at_most = 5 }]'
    done = run(ready(tmp_path, epsilon), "lattice", "policy.toml", "--charts", "more")
    assert {p.name for p in (tmp_path / "more").iterdir()} == {"lattice.svg", "tradeoff.svg", "stubbornness-1.svg"}


def test_what_cannot_be_drawn_is_told_and_the_nodes_are_kept(tmp_path: Path) -> None:
    """Every node of this policy would suppress the whole table."""
    done = run(ready(tmp_path, "k = 401"), "lattice", "policy.toml", "--charts", "p", "--csv", "nodes.csv")
    assert done.returncode == 0, done.stderr
    assert "not drawn: tradeoff.svg: every node would suppress the whole table" in done.stdout
    assert len((tmp_path / "nodes.csv").read_text().splitlines()) == 31


def test_a_library_that_is_missing_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr(
        "sqlpriv.methods.generalized.generalize.method.prepare", lambda *_: pytest.fail("the work began")
    )
    monkeypatch.setattr("sqlpriv.publishing.planned", lambda *_: pytest.fail("the work began"))
    ready(tmp_path)
    done = run(tmp_path, "lattice", "policy.toml", "--charts", "pictures", "--csv", "nodes.csv")
    refused(done, "pip install 'sqlpriv[report]'")
    refused(run(tmp_path, "plan", "policy.toml", "--chart", "cost.svg"), "pip install 'sqlpriv[report]'")
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


@pytest.mark.parametrize("command", ["lattice", "plan"])
def test_help_names_the_extra_to_install(tmp_path: Path, command: str) -> None:
    assert "sqlpriv[report]" in run(tmp_path, command, "--help").stdout


def test_infinite_measures_are_told_as_such(tmp_path: Path) -> None:
    nodes = asked(ready(tmp_path, "delta = 3\nbeta = 9"), "lattice", "policy.toml")
    assert nodes[0]["requirements"]["delta(ill)<3"] == {"value": "inf", "holds": False}


def test_no_node_is_valid(tmp_path: Path) -> None:
    assert not [n for n in asked(ready(tmp_path, "k = 401"), "lattice", "policy.toml") if n["valid"]]
    assert asked(tmp_path, "lattice", "policy.toml", "--minimal") == []
    assert "0 of 30 nodes meet the policy" in run(tmp_path, "lattice", "policy.toml").stdout
