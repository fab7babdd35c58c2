"""A disclosure: published, asked, shown and verified; what does not fit is refused, a changed copy does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.policies import write_policy

from sqlpriv.errors import PolicyError, ReleaseError
from sqlpriv.methods.disclose.choose import Chosen
from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.publishing import open_release, plan, planned, publish, read_policy, verify

pytestmark = pytest.mark.usefixtures("few_macros")

PEOPLE = """
CREATE TABLE people AS SELECT i AS ssn, CASE WHEN i % 17 > 0 THEN CAST(hash(i) % 80 AS INTEGER) END AS age,
  ['Rome', 'Bari', 'Oslo', 'Bergen', NULL][1 + i % 5] AS city, ['M', 'F'][1 + i % 2] AS sex,
  'ill' || hash(i) % 4 AS ill, i % 7 AS ward FROM range(120) AS r(i)
"""
BOOK = """
CREATE TABLE book AS SELECT 2026 - coalesce(age, 33) AS birth, coalesce(city, 'Turin') AS city, sex
FROM people, range(3) UNION ALL SELECT 1980, 'south', NULL UNION ALL SELECT NULL, '*', 'F'
"""
NORTH = "CASE WHEN city IN ('Oslo', 'Bergen') THEN 'north' WHEN city IS NOT NULL THEN 'south' END"
CITIES = '["Rome", "Bari", "Oslo", "Bergen", "Turin"]'
COLUMNS = {
    "ssn": '{ role = "identifier" }',
    "age": '{ role = "quasi-identifier", hierarchy = "ranges:5,20", weight = 0.5, domain = "range:0..99", null = true, '
    'entry = "2026 - birth" }',
    "city": f'{{ role = "quasi-identifier", hierarchy = ["{NORTH}"], weight = 0.3, domain = {CITIES}, null = true }}',
    "sex": '{ role = "quasi-identifier", weight = 0.1, domain = ["M", "F"] }',
    "ill": '{ role = "sensitive", weight = 2, domain = ["ill0", "ill1", "ill2", "ill3"] }',
    "ward": '{ role = "other" }',
}
RISK = 'goal = "risk"\nc = 2\ndictionary = "table:book"'
FILE = "people-release.duckdb"


def written_policy(folder: Path, release: str = RISK, tables: str = f"{PEOPLE}; {BOOK}", **columns: str) -> Path:
    listed = "\n".join(f"{name} = {given}" for name, given in {**COLUMNS, **columns}.items() if given)
    text = (
        f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{listed}\n[ledger]\npath = "ledger.db"\n'
        f'[release]\nmethod = "disclose"\noutput = "{FILE}"\n{release}\n'
    )
    return write_policy(folder, text, tables)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, few_macros: None) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("disclosed")
    return folder, publish(written_policy(folder)).facts.content


def checks(file: Path, policy: Path | None = None) -> dict[str, Any]:
    return {c["check"]: c["passed"] for c in verify(file, policy).content["checks"]}


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
    assert "who knows more finds more" in shown["promise"]
    assert "who knows the rule learns from the choice" in shown["warnings"][0]
    assert shown["parameters"]["risk"] >= content["risk"]
    assert len(f"{shown['parameters']['risk']:.12g}".lstrip("0.").replace(".", "")) <= 2, "two digits, rounded up"
    assert shown["shares"] == {name: pytest.approx(found) for name, found in content["shares"].items()}


def test_a_second_release_is_refused_unless_it_may_stand_beside(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    other = (folder / "policy.toml").read_text().replace("c = 2", "c = 1").replace(FILE, "other.duckdb")
    (folder / "other.toml").write_text(other)
    with pytest.raises(ReleaseError, match="A second release made independently would expose people"):
        publish(folder / "other.toml")


LABELS = "every label of 'sex' is a label of its hierarchy"
TAMPERED = {
    "UPDATE sqlpriv_release.published SET sex = 'X' WHERE rowid = 0": LABELS,
    "UPDATE sqlpriv_release.published SET sex = NULL WHERE rowid = 0": "no cell of 'sex' tells that it is missing",
    "UPDATE sqlpriv_release.parameters SET value = 1 WHERE name = 'c'": "the release says what it holds",
    "UPDATE sqlpriv_release.parameters SET value = 0.5 WHERE name = 'utility'": "the utility is that of the rows",
    "UPDATE sqlpriv_release.about SET value = 'all is safe' WHERE name = 'promise'": "the release says what it holds",
    "UPDATE sqlpriv_release.about SET value = '[]' WHERE name = 'warnings'": "the release says what it holds",
    "UPDATE sqlpriv_release.about SET value = 'the table' WHERE name = 'dictionary'": "the release says what it holds",
    "CREATE TABLE sqlpriv_release.more AS SELECT 1 AS ssn": "the file holds the tables of its method and no others",
    "CREATE TABLE t AS FROM sqlpriv_release.published; DELETE FROM sqlpriv_release.published; INSERT INTO "
    "sqlpriv_release.published FROM t ORDER BY rowid DESC; DROP TABLE t": "the order of the rows tells nothing",
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


@pytest.mark.parametrize(("change", "holds"), [("value", True), ("value / 2", False), ("value * 3", False)])
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


AGE = COLUMNS["age"]
REFUSED = {
    "a record has less than c": ({}, RISK.replace("c = 2", "c = 3"), "rows have a utility below c = 3 even as they"),
    "a dictionary that shares nothing": (
        {"age": AGE.replace(', entry = "2026 - birth"', "")},
        'goal = "risk"\nc = 1\ndictionary = "table:weights"', "shares no attribute with the table: it has value"),
    "no such dictionary": ({}, RISK.replace("book", "books"), "the dictionary 'table:books' cannot be read"),
    "a misspelt entry": ({"age": AGE.replace("2026 - birth", "brith")}, RISK, "the entry of 'age' is 'brith', and the"),
    "a misspelt name in an expression": (
        {"age": AGE.replace("2026 - birth", "2026 - brith")}, RISK, "the entry of 'age' uses brith"),
    "an entry that is a subquery": (
        {"age": AGE.replace("2026 - birth", "(SELECT max(birth) FROM book)")}, RISK, "without subqueries"),
    "an entry that makes more entries": (
        {"age": AGE.replace("2026 - birth", "unnest([birth, 1])")}, RISK, "do not work on the dictionary"),
    "a type that never matches": (
        {"age": AGE.replace("ranges:5,20", "suppression").replace("2026 - birth", "make_date(birth, 1, 1)")}, RISK,
        "'age' is INTEGER, and what the dictionary knows of it is DATE: these are never equal"),
    "a hierarchy that does not cover the dictionary": (
        {"city": COLUMNS["city"].replace(f'["{NORTH}"]', '"table:cities"')}, RISK,
        "the hierarchy of 'city' does not cover the dictionary: 2 of its values"),
    "a value without a weight": (
        {"sex": COLUMNS["sex"].replace("weight = 0.1", 'weight = "table:weights"')}, RISK,
        "the weights of 'sex' miss a value"),
    "a weight below 0": (
        {"sex": COLUMNS["sex"].replace("weight = 0.1", 'weight = "table:negative"')}, RISK,
        "a weight of 'sex' is missing, negative or no number"),
    "a table of weights with one column": (
        {"sex": COLUMNS["sex"].replace("weight = 0.1", 'weight = "table:bare"')}, RISK, "must have two columns"),
    "what must never be told": (
        {"ill": COLUMNS["ill"].replace("weight = 2", "weight = inf")}, RISK, "cells of infinite weight would be"),
}  # fmt: skip
MORE = """; CREATE TABLE weights AS FROM (VALUES ('M', 1.0)) AS v(value, weight);
CREATE TABLE negative AS FROM (VALUES ('M', 1.0), ('F', -1.0)) AS v(value, weight);
CREATE TABLE residents AS SELECT age, CASE WHEN i % 2 = 0 THEN city END AS city, sex
FROM (SELECT *, row_number() OVER () AS i FROM people) UNION ALL SELECT age + 1, city, sex FROM people;
CREATE TABLE bare AS SELECT 'M' AS value;
CREATE TABLE cities AS SELECT DISTINCT city, CASE WHEN city IS NOT NULL THEN 'all' END AS land, '*' AS everything
FROM people"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refused")
    written_policy(folder, tables=f"{PEOPLE}; {BOOK}{MORE}")
    return folder


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.some(6)
def test_what_does_not_fit_is_refused_in_a_sentence(tables: Path, case: str) -> None:
    columns, release, complaint = REFUSED[case]
    policy = written_policy(tables, release, "", **columns)
    with pytest.raises(PolicyError, match=complaint.replace("(", r"\(")):
        publish(policy)
    assert not (tables / FILE).exists()
    assert not (tables / "ledger.db").exists() or "people" not in run(tables, "ledger", "ledger.db").stdout


def chosen_by(policy: Path) -> Chosen:
    with planned(read_policy(policy)) as found:
        assert isinstance(found, DisclosePlan)
        return found.chosen


def test_infinite_weights_are_never_told_where_somebody_can_be_found(tables: Path) -> None:
    """Of every row that fits an entry, the cell that must never be told is not."""
    ill = COLUMNS["ill"].replace("weight = 2", "weight = inf")
    chosen = chosen_by(written_policy(tables, RISK.replace("c = 2", "c = 1"), "", ill=ill))
    assert chosen.shares["ill"][0] == 0
    assert chosen.unmatched == 0


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "c"), [("risk", 3.5), ("utility", 0.01)])
def test_a_mean_keeps_c_and_tells_its_gap(tables: Path, tmp_path: Path, goal: str, c: float) -> None:
    """A row may be above the bound, if others are below; each is one of what would be best for some threshold."""
    release = f'goal = "{goal}"\nc = {c}\nper = "average"\ndictionary = "table:book"'
    content = publish(written_policy(tmp_path, release)).facts.content
    assert content["utility"] >= c if goal == "risk" else content["risk"] <= c * (1 + 1e-9)
    assert 0 <= content["gap"] < 0.05 * content["risk" if goal == "risk" else "utility"]
    found = checks(tmp_path / FILE, tmp_path / "policy.toml")
    assert False not in found.values()
    assert found["the mean utility is at least c" if goal == "risk" else "the risk is said to be at most c"]


@pytest.mark.slow
def test_a_plan_tells_what_other_thresholds_would_give(tables: Path, tmp_path: Path) -> None:
    """Figures 9 to 11: with more utility goes more risk, and the policy's own threshold is what would be published."""
    policy = written_policy(tables, RISK, "")
    drawn = run(tables, "plan", "policy.toml", "--json", "--chart", "sweep.svg")
    content = json.loads(drawn.stdout)
    sweep = {t["c"]: t for t in content["sweep"]}
    assert list(sweep) == [0, 1, 2, 3, 4, 5, 6, 7]
    risks, utilities = ([t[name] for t in sweep.values()] for name in ("risk", "utility"))
    assert risks == sorted(risks)
    assert utilities == sorted(utilities)
    assert (sweep[2]["risk"], sweep[2]["utility"]) == pytest.approx((content["risk"], content["utility"]))
    assert sweep[2]["levels"]["sex"][::-1] == pytest.approx(content["shares"]["sex"])
    assert sweep[7]["utility"] == pytest.approx(content["whole_utility"])
    assert "chosen: c = 2" in (tables / "sweep.svg").read_text(encoding="utf-8")
    assert (tables / "sweep-levels.svg").exists()
    assert policy.exists()


@pytest.mark.slow
def test_the_closed_form_is_told_beside_the_best(tables: Path) -> None:
    """What it says is what independence would give; its choice is never better than the best with as much utility."""
    release = RISK + '\nform = "multiplicative"\nindependent = true'
    found = plan(written_policy(tables, release, "")).content["independent"]
    assert [i["k"] for i in found] == [1, 2], "a row has two cells only"
    for told in found:
        assert told["estimated"] > 0
        assert told["risk"] >= told["exact"] * (1 - 1e-12)
    with pytest.raises(PolicyError, match='it needs form = "multiplicative"'):
        read_policy(written_policy(tables, RISK + "\nindependent = true", ""))


@pytest.mark.slow
def test_nothing_at_all_may_be_told(tmp_path: Path) -> None:
    content = publish(written_policy(tmp_path, 'goal = "utility"\nc = 0\ndictionary = "table:book"')).facts.content
    assert (content["risk"], content["utility"], content["classes"]) == (0, 0, 1)
    assert False not in checks(tmp_path / FILE).values()


@pytest.mark.slow
def test_who_is_not_found_may_lose_too(tables: Path, tmp_path: Path) -> None:
    """Publishing prices the written rows by another path: a psi that one of the two forgets would be refused."""
    release = 'goal = "both"\nc = 0.01\npsi = 0.01\ndictionary = "table:book"'
    content = publish(written_policy(tmp_path, release)).facts.content
    assert 0 < content["risk"] <= content["worst"]
    with pytest.raises(PolicyError, match="with psi the table itself bounds no risk"):
        read_policy(written_policy(tables, 'goal = "risk"\nc = 2\npsi = 0.5', ""))


def test_the_table_itself_is_the_dictionary_where_none_is_named(tables: Path) -> None:
    """Proposition 1: against every dictionary that says less the risk is no larger."""
    age = AGE.replace(', entry = "2026 - birth"', "")
    bounded = chosen_by(written_policy(tables, 'goal = "risk"\nc = 2', "", age=age))
    true = chosen_by(written_policy(tables, 'goal = "risk"\nc = 2\ndictionary = "table:residents"', "", age=age))
    assert 0 < true.risk <= bounded.risk
    assert true.worst <= bounded.worst
