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

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

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
accept = "made-up people"
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


# --- guarding nodes, with a bound of one's own ------------------------------------------------

GUARDED = POLICY.replace(
    'predicates = "table:secrets", at_most = {most}', 'nodes = "table:nodes", hierarchy = "table:kinds"'
)
KINDS = [("Cancer", "chronic", "*"), ("Heart", "chronic", "*"), ("Flu", "acute", "*"), ("Ulcer", "acute", "*"),
         ("Gout", "rare", "*")]  # fmt: skip


def guarded(folder: Path, seed: int) -> tuple[list[dict[str, Any]], list[tuple[str | None, str, str | None, Any]]]:
    """Visits, and what follows from the nodes that some people name, each with a bound; Gout nobody has."""
    rows, secrets = tables(folder, seed)
    chance = random.Random(seed)
    labels = ["chronic", "acute", "Flu", "rare"]
    people = list(dict.fromkeys(who for who, _, _ in secrets))
    nodes = [(who, chance.choice(labels), chance.choice([2.0, 2.5, 4.0])) for who in people]
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute("CREATE TABLE nodes (id VARCHAR, node VARCHAR, at_most DOUBLE)").fetchall()
        con.executemany("INSERT INTO nodes VALUES (?, ?, ?)", nodes).fetchall()
        con.execute("CREATE TABLE kinds (value VARCHAR, kind VARCHAR, top VARCHAR)").fetchall()
        con.executemany("INSERT INTO kinds VALUES (?, ?, ?)", KINDS).fetchall()
    return rows, oracles.guarding_nodes(nodes, KINDS, sorted({str(row["disease"]) for row in rows}))


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4))
def test_every_node_is_judged_by_the_bounds_of_its_people(tmp_path: Path, seed: int) -> None:
    rows, secrets = guarded(tmp_path, seed)
    (tmp_path / "policy.toml").write_text(GUARDED.format(method="generalize"), encoding="utf-8")
    done = run(tmp_path, "lattice", "policy.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = {n["node"]["age"]: next(iter(n["requirements"].values())) for n in json.loads(done.stdout)}
    for level, width in enumerate((1, 2, 4, 8, 1000)):
        general = [{**row, "age": row["age"] // width} for row in rows]
        expected = by_hand(general, secrets)  # type: ignore[arg-type]
        assert math.isclose(float(found[level]["value"] or 1), expected, rel_tol=1e-12), f"level {level}"


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert"])
def test_what_is_published_keeps_the_bounds_of_each_person(tmp_path: Path, method: str) -> None:
    rows, secrets = guarded(tmp_path, 0)
    (tmp_path / "policy.toml").write_text(GUARDED.format(method=method), encoding="utf-8")
    done = run(tmp_path, "publish", "policy.toml")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / "visits-release.duckdb"), read_only=True) as con:
        ends = "coalesce(age_low, 0), coalesce(age_high, 15)"
        classes = con.execute(f"SELECT DISTINCT {ends} FROM visits ORDER BY ALL").fetchall()
    place = {age: low for low, high in classes for age in range(low, high + 1)}
    published = [{**row, "age": place[row["age"]]} for row in rows]
    for who in {owner for owner, *_ in secrets}:
        for node, bound in {(node, bound) for owner, node, _, bound in secrets if owner == who}:
            own = [(owner, name, value) for owner, name, value, _ in secrets if (owner, name) == (who, node)]
            assert by_hand(published, own) <= bound, "the bound of this person"  # type: ignore[arg-type]
    assert by_hand(rows, secrets) > 1, "or nothing had to be done for it"  # type: ignore[arg-type]
    checked = run(tmp_path, "verify", "visits-release.duckdb")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("DELETE FROM kinds WHERE kind = 'rare'; UPDATE nodes SET node = 'rare'",), "are not in the hierarchy"),
        (("DELETE FROM kinds WHERE value = 'Ulcer'",), "does not cover every sensitive value"),
        (("UPDATE nodes SET at_most = 0.5",), "must be a number of at least 1"),
        (("ALTER TABLE nodes DROP at_most",), "has no column 'at_most'"),
        (("UPDATE nodes SET id = upper(id)",), "nobody of 'patient' is among the ids"),
        (('"person"', '"identifier"'), "the predicates are per person"),
        (('hierarchy = "table:kinds"', "at_most = 3"), "not 'at_most'"),
        ((', hierarchy = "table:kinds"', ""), "nodes need the hierarchy"),
        (("table:nodes", "nodes"), 'nodes must be "table:NAME"'),
        (('nodes = "table:nodes", hierarchy = "table:kinds"', 'predicates = "table:bounded", at_most = 3'),
         "bounds of their own"),
    ],
)  # fmt: skip
def test_nodes_that_protect_nobody_are_refused(tmp_path: Path, change: tuple[str, ...], complaint: str) -> None:
    guarded(tmp_path, 0)
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        bounded = "SELECT id, name, value, 2 AS at_most FROM secrets"
        con.execute(f"CREATE TABLE bounded AS {bounded}{'; ' + change[0] if len(change) == 1 else ''}").fetchall()
    text = GUARDED.format(method="generalize")
    (tmp_path / "policy.toml").write_text(text.replace(*change) if len(change) == 2 else text, encoding="utf-8")
    done = run(tmp_path, "plan", "policy.toml")
    assert done.returncode != 0
    assert complaint in " ".join(done.stderr.split())


def test_ids_of_a_file_are_read_as_they_are_written(tmp_path: Path) -> None:
    """DuckDB would take these for numbers, 100000.0 and 12.0, whom nobody in the table is called."""
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("CREATE TABLE kinds AS FROM (VALUES ('Flu', '*'), ('Ulcer', '*')) AS v(value, top)").fetchall()
        others = "SELECT 'x' || i, 1, 'Ulcer' FROM range(4) AS r(i)"
        con.execute(
            "CREATE TABLE visits AS FROM (VALUES ('1e5', 1, 'Flu'), ('12', 1, 'Ulcer')) AS v(patient, age, disease) "
            f"UNION ALL {others}"
        ).fetchall()
    (tmp_path / "wishes.csv").write_text("id,node,at_most\n1e5,Flu,1.01\n12,Flu,1.01\n", encoding="utf-8")
    text = GUARDED.format(method="generalize").replace("table:nodes", "table:wishes.csv")
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    done = run(tmp_path, "plan", "policy.toml")
    assert done.returncode != 0, "one of six has the flu: belief in it changes by more than 1.01"
    assert "no node meets the requirements" in " ".join(done.stderr.split())
