"""What is chosen: refused where it does not fit, never what is forbidden, by means, thresholds and dictionaries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import run
from support.disclosures import BOOK, COLUMNS, FILE, NORTH, PEOPLE, RISK, checks, written_policy

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.disclose.choose import Chosen
from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.publishing import plan, planned, publish, read_policy

pytestmark = pytest.mark.slow

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


def test_nothing_at_all_may_be_told(tmp_path: Path) -> None:
    content = publish(written_policy(tmp_path, 'goal = "utility"\nc = 0\ndictionary = "table:book"')).facts.content
    assert (content["risk"], content["utility"], content["classes"]) == (0, 0, 1)
    assert False not in checks(tmp_path / FILE).values()


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
