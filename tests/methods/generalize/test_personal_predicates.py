"""Sets of values that single people name: every method judges each where its person is, as the oracle does."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import oracles
import pytest
from support.commands import run

pytestmark = pytest.mark.one_version

VALUES = ("Cancer", "Flu", "Heart", "Ulcer")
SIGMA = 12
POLICY = """\
[table]
source = "visits"
database = "private.duckdb"
[columns]
patient = {{ role = "person" }}
age     = {{ role = "quasi-identifier", hierarchy = "ranges:2,4,8" }}
disease = {{ role = "sensitive" }}
[require]
epsilon = {{ column = "disease", adversary = "class2", sigma = 12, predicates = "table:secrets", at_most = {most} }}
[release]
method = "{method}"
output = "visits-release.duckdb"
[ledger]
path = "ledger.db"
"""


def tables(folder: Path, seed: int) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """Visits of some people, and what a few of them and a stranger named; both are in a database, too."""
    chance = random.Random(seed)
    rows = [
        {"patient": f"p{chance.randrange(25)}", "age": chance.randrange(16), "disease": chance.choice(VALUES)}
        for _ in range(40)
    ]
    rows += [{"patient": f"q{i}", "age": i, "disease": value} for i, value in enumerate(VALUES)]
    people = [*chance.sample(sorted({str(row["patient"]) for row in rows}), 4), "stranger"]
    secrets = [(who, f"set {n}", v) for who in people for n in range(2) for v in chance.sample(VALUES, 1 + n)]
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute("CREATE TABLE visits (patient VARCHAR, age INTEGER, disease VARCHAR)").fetchall()
        con.executemany("INSERT INTO visits VALUES (?, ?, ?)", [list(row.values()) for row in rows]).fetchall()
        con.execute("CREATE TABLE secrets (id VARCHAR, name VARCHAR, value VARCHAR)").fetchall()
        con.executemany("INSERT INTO secrets VALUES (?, ?, ?)", secrets).fetchall()
    return rows, secrets


def by_hand(rows: list[dict[str, Any]], secrets: list[tuple[str, str, str]]) -> float:
    return float(oracles.epsilon_class2(rows, ["age"], "disease", SIGMA, predicates=secrets, id_column="patient"))


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4))
def test_every_node_is_judged_by_what_its_people_named(tmp_path: Path, seed: int) -> None:
    rows, secrets = tables(tmp_path, seed)
    (tmp_path / "policy.toml").write_text(POLICY.format(method="generalize", most=1000), encoding="utf-8")
    done = run(tmp_path, "lattice", "policy.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = {n["node"]["age"]: next(iter(n["requirements"].values()))["value"] for n in json.loads(done.stdout)}
    for level, width in enumerate((1, 2, 4, 8, 1000)):
        general = [{**row, "age": row["age"] // width} for row in rows]
        assert math.isclose(float(found[level] or 1), by_hand(general, secrets), rel_tol=1e-12), f"level {level}"


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert"])
def test_what_is_published_keeps_what_was_named(tmp_path: Path, method: str, seed: int) -> None:
    rows, secrets = tables(tmp_path, seed)
    most = 3.0
    (tmp_path / "policy.toml").write_text(POLICY.format(method=method, most=most), encoding="utf-8")
    done = run(tmp_path, "publish", "policy.toml")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / "visits-release.duckdb"), read_only=True) as con:
        ends = "coalesce(age_low, 0), coalesce(age_high, 15)"  # of stars, and of ranges that are open
        classes = con.execute(f"SELECT DISTINCT {ends} FROM visits ORDER BY ALL").fetchall()
    assert len(classes) > 1
    place = {age: low for low, high in classes for age in range(low, high + 1)}
    published = [{**row, "age": place[row["age"]]} for row in rows]
    assert by_hand(published, secrets) <= most
    assert by_hand(rows, secrets) > most, "or nothing had to be done for it"


def test_sets_of_single_people_need_a_person_column(tmp_path: Path) -> None:
    tables(tmp_path, 0)
    text = POLICY.format(method="generalize", most=3).replace('"person"', '"identifier"')
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    done = run(tmp_path, "plan", "policy.toml")
    assert done.returncode != 0
    assert "the predicates are per person" in done.stderr
