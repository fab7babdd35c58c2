"""A disclosure: published, asked, shown and verified; what does not fit is refused, a changed copy does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.disclosures import FILE, NORTH, RISK, checks, written_policy
from support.titles import CONTENTS, DECLARED, OF_POLICY, PUBLIC_PART

import sqlpriv
from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import open_release, publish

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("disclosed")
    return folder, publish(written_policy(folder)).facts.content


def test_it_holds_what_it_says(made: tuple[Path, dict[str, Any]]) -> None:
    folder, content = made
    found = checks(folder / FILE, folder / "policy.toml")
    assert {name for name, passed in found.items() if not passed} == {"the risk is what it says"}
    assert found["the risk is what it says"] is None
    assert found["the utility of every row is at least c"]
    assert content["utility"] >= 2
    assert 0 < content["risk"] <= content["worst"]
    for shares in content["shares"].values():
        assert sum(shares) == pytest.approx(1)


def test_every_row_is_there_under_labels_of_its_own(made: tuple[Path, dict[str, Any]]) -> None:
    """Each label is the cell, or stands above it; and the columns without weights are as they were."""
    folder, content = made
    with duckdb.connect(str(folder / FILE), read_only=True) as con:
        con.execute(f"ATTACH '{folder / 'private.duckdb'}' AS private (READ_ONLY)").fetchall()
        rows = con.execute("SELECT age, city, sex, ill, ward FROM sqlpriv_release.published").fetchall()
        wards = con.execute("SELECT ward FROM private.people").fetchall()
        fits = con.execute(
            "SELECT count(*) FROM (SELECT DISTINCT * FROM sqlpriv_release.published) AS b WHERE NOT EXISTS (FROM "
            "private.people AS p WHERE p.ward = b.ward AND b.sex IN (p.sex, '*') AND b.ill IN (p.ill, '*') AND "
            f"coalesce(b.city IN (p.city, {NORTH.replace('city', 'p.city')}) OR b.city = '*', b.city = '*'))"
        ).fetchall()
    assert fits == [(0,)]
    assert sorted(r[-1] for r in rows) == sorted(w for (w,) in wards)
    assert rows == sorted(rows)
    assert {"*", "north", "south"} >= {r[1] for r in rows} - {"Rome", "Bari", "Oslo", "Bergen"}
    shown = sum(r[2] == "*" for r in rows) / len(rows)
    assert content["shares"]["sex"][1] == pytest.approx(shown)


@pytest.mark.parametrize("policy", [None, "policy.toml"])
def test_attackers_do_not_take_its_labels_for_values(made: tuple[Path, dict[str, Any]], policy: str | None) -> None:
    """That all of a class have the label * tells nothing of any of them."""
    folder, _ = made
    given = None if policy is None else folder / policy
    content = sqlpriv.attack(folder / FILE, policy=given, implications=0).content
    skipped = {row["attack"]: row["why"] for row in content["not_run"]}
    for attack in ("homogeneity", "background knowledge", "skewness and similarity"):
        assert "shows labels of ill, and not the values" in skipped[attack]
    assert not any(row.get("sensitive") == "ill" for row in content["attacks"])


def test_labels_of_two_releases_are_not_intersected(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, _ = made
    second = publish(written_policy(tmp_path, RISK.replace("c = 2", "c = 0.4"))).written.output
    content = sqlpriv.attack(folder / FILE, second, policy=folder / "policy.toml", implications=0).content
    (why,) = [row["why"] for row in content["not_run"] if row["attack"].startswith("intersection")]
    assert "shows labels of ill, and not the values" in why


def test_answers_are_bounded_rightly(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    queries = (
        "SELECT count(*) FROM people WHERE city = 'Rome' AND age < 40",
        "SELECT count(*) FROM people WHERE age IS NULL OR ill = 'ill1'",
        "SELECT sum(age) FROM people WHERE sex = 'F'",
        "SELECT count(*) FROM people WHERE ward = 3 AND city IN ('Oslo', 'Turin')",
    )
    with duckdb.connect(str(folder / "private.duckdb"), read_only=True) as con:
        truths = {q: con.execute(q).fetchall()[0][0] for q in queries}
    with open_release(folder / FILE) as release:
        for query, truth in truths.items():
            ((estimate, low, high),) = release.sql(query).fetchall()
            assert low - 1e-9 <= truth <= high + 1e-9, query
            assert low - 1e-9 <= estimate <= high + 1e-9, query


def test_the_release_says_whom_it_is_against_and_what_the_choice_tells(made: tuple[Path, dict[str, Any]]) -> None:
    folder, content = made
    shown = json.loads(run(folder, "show", FILE, "--json").stdout)
    assert "an attacker who knows more finds more people" in shown["promise"]
    assert "A reader who knows the rule learns from the choice" in shown["warnings"][0]
    assert shown["parameters"]["risk"] >= content["risk"]
    assert len(f"{shown['parameters']['risk']:.12g}".lstrip("0.").replace(".", "")) <= 2, "two digits, rounded up"
    assert shown["shares"] == {name: pytest.approx(found) for name, found in content["shares"].items()}


def test_a_second_release_is_refused_unless_it_may_stand_beside(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    other = (folder / "policy.toml").read_text().replace("c = 2", "c = 1").replace(FILE, "other.duckdb")
    (folder / "other.toml").write_text(other)
    with pytest.raises(ReleaseError, match="A second release made independently would expose people"):
        publish(folder / "other.toml")


ORDER = "the order of the rows of published reveals nothing"
LABELS = "every label of 'sex' is a label of its hierarchy"
MISSING = "no cell of 'sex' reveals that its value is missing"
TAMPERED = {
    "UPDATE sqlpriv_release.published SET sex = 'X' WHERE rowid = 0": LABELS,
    "UPDATE sqlpriv_release.published SET sex = NULL WHERE rowid = 0": MISSING,
    "UPDATE sqlpriv_release.parameters SET value = 1 WHERE name = 'c'": PUBLIC_PART,
    "UPDATE sqlpriv_release.parameters SET value = 0.5 WHERE name = 'utility'": "the utility is that of the rows",
    "INSERT INTO sqlpriv_release.about VALUES ('promise', 'all is safe')": DECLARED,
    "UPDATE sqlpriv_release.about SET value = 'maybe' WHERE name = 'personal'": DECLARED,
    "UPDATE sqlpriv_release.about SET value = 'utility' WHERE name = 'goal'": PUBLIC_PART,
    "UPDATE sqlpriv_release.about SET value = 'everything' WHERE name = 'dictionary'": DECLARED,
    "CREATE TABLE sqlpriv_release.more AS SELECT 1 AS ssn": CONTENTS,
    "CREATE TABLE t AS FROM sqlpriv_release.published; DELETE FROM sqlpriv_release.published; INSERT INTO "
    "sqlpriv_release.published FROM t ORDER BY rowid DESC; DROP TABLE t": ORDER,
}


@pytest.mark.parametrize("change", TAMPERED)
@pytest.mark.some(4)
def test_a_changed_release_does_not_hold(made: tuple[Path, dict[str, Any]], tmp_path: Path, change: str) -> None:
    copy = tmp_path / "copy.duckdb"
    copyfile(made[0] / FILE, copy)
    with duckdb.connect(str(copy)) as con:
        for statement in change.split("; "):
            con.execute(statement).fetchall()
    assert checks(copy)[TAMPERED[change]] is False


@pytest.mark.parametrize(("name", "word"), [("dictionary", "the table"), ("personal", "yes"), ("psi_of_cells", "yes")])
def test_another_attacker_is_not_the_one_of_the_policy(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, name: str, word: str
) -> None:
    """Which dictionary the attacker holds, the file alone cannot tell: the risk stays a claim without the policy."""
    copy = tmp_path / "copy.duckdb"
    copyfile(made[0] / FILE, copy)
    with duckdb.connect(str(copy)) as con:
        con.execute(f"UPDATE sqlpriv_release.about SET value = '{word}' WHERE name = '{name}'").fetchall()
    assert checks(copy)["the risk is what it says"] is None
    assert checks(copy, made[0] / "policy.toml")[OF_POLICY] is False


@pytest.mark.parametrize(("change", "holds"), [("value / 2", False), ("value", True), ("value * 3", False)])
@pytest.mark.some(2)
def test_the_risk_is_verified_where_the_policy_brings_the_dictionary(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, change: str, holds: bool
) -> None:
    """From the file, the policy and the dictionary alone: the private table is not there."""
    copyfile(made[0] / FILE, tmp_path / FILE)
    with duckdb.connect(str(made[0] / "private.duckdb"), read_only=True) as con:
        con.execute(f"COPY book TO '{tmp_path / 'book.csv'}'").fetchall()
    with duckdb.connect(str(tmp_path / FILE)) as con:
        con.execute(f"UPDATE sqlpriv_release.parameters SET value = {change} WHERE name = 'risk'").fetchall()
    policy = (made[0] / "policy.toml").read_text().replace("table:book", "book.csv")
    (tmp_path / "policy.toml").write_text(policy)
    assert checks(tmp_path / FILE, tmp_path / "policy.toml")["the risk is what it says"] is holds
