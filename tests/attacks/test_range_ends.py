"""The extreme-value attack: an end of a range that is read off the data is somebody's value, as 35,000,000 was."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.policies import policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.attacks.range_ends import ATTACK
from sqlpriv.publishing import open_release, publish, verify

pytestmark = pytest.mark.slow

PEOPLE = """
CREATE TABLE people AS SELECT i // {rows_each} AS who,
  CASE WHEN i = 0 THEN 35000000 ELSE CAST(10000 + hash(i) % 857220 AS INTEGER) END AS income,
  CAST(hash(i + 7) % 2000 AS DOUBLE) / 8 AS weight, CAST(hash(i + 8) % 90000 AS DECIMAL(9, 2)) / 100 AS paid,
  DATE '1950-01-01' + CAST(hash(i + 9) % 15000 AS INTEGER) AS born,
  TIMESTAMP '2020-01-01' + to_minutes(CAST(hash(i + 3) % 900000 AS BIGINT)) AS seen,
  'ill' || i % 4 AS ill FROM range(400) AS r(i)
"""
RANGES = ("income", "weight", "paid", "born", "seen")
INCOMES = {**{c: role("drop") for c in ("who", *RANGES)}, "income": role("quasi-identifier"), "ill": role("sensitive")}
COLUMNS = {"who": role("drop"), **dict.fromkeys(RANGES, role("quasi-identifier")), "ill": role("sensitive")}
DROPPED = {**{c: role("drop") for c in ("who", *RANGES)}, "ill": role("sensitive")}
BINNED = (
    {**DROPPED, "income": qi("bins:4,2"), "weight": qi("bins:2")},
    {**DROPPED, "paid": qi("bins:2"), "born": qi("bins:2"), "seen": qi("bins:2")},
)


def released(folder: Path, method: str, columns: dict[str, str], rows_each: int = 1) -> tuple[Path, Path]:
    text = policy_text(columns, "k = 20", '[ledger]\npath = "ledger.db"').replace('"generalize"', f'"{method}"')
    policy = write_policy(folder, text, PEOPLE.format(rows_each=rows_each))
    return publish(policy).written.output, policy


def found(release: Path, policy: Path | None = None) -> dict[str, dict[str, float]]:
    """What the attack counts, by column."""
    facts = sqlpriv.attack(release, policy=policy, worlds=0, negations=0, implications=0)
    own: list[dict[str, Any]] = [a for a in facts.content["attacks"] if a["attack"] == ATTACK]
    return {a["case"]: {name: figure["value"] for name, figure in a["figures"].items()} for a in own}


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_no_end_is_read_off_the_data(tmp_path: Path, method: str) -> None:
    release, policy = released(tmp_path, method, COLUMNS)
    counted = found(release, policy)
    assert set(counted) == set(RANGES)
    assert sum(figures["ends"] for figures in counted.values()) > 20
    for figures in counted.values():
        assert (figures["read_off"], figures["of_few"], figures["owners"], figures["beyond"]) == (0, 0, 0, 0)
    with duckdb.connect(str(release), read_only=True) as con:
        texts = con.execute(f"SELECT {', '.join(f'string_agg(DISTINCT {c})' for c in RANGES)} FROM people").fetchall()
    assert "35000000" not in str(texts)
    assert verify(release, policy).passed


@pytest.mark.some(1)
@pytest.mark.parametrize("columns", BINNED)
def test_no_end_of_a_bin_is_read_off_the_data(tmp_path: Path, columns: dict[str, str]) -> None:
    release, policy = released(tmp_path, "generalize", columns)
    counted = found(release, policy)
    assert set(counted) == {name for name in RANGES if columns[name] != role("drop")}
    for figures in counted.values():
        assert figures["ends"] >= 2
        assert (figures["read_off"], figures["of_few"], figures["owners"], figures["beyond"]) == (0, 0, 0, 0)
    assert verify(release, policy).passed


def test_a_bin_of_one_person_does_not_end_its_neighbour(tmp_path: Path) -> None:
    """Of three bins the last has one person, whose row is suppressed: the one before it is open, then."""
    few = "; UPDATE people SET income = CASE WHEN who = 0 THEN 35000000 ELSE 1000 + who % 2 * 1000 + who % 99 END"
    columns = {**DROPPED, "income": qi("bins:4")}
    text = policy_text(columns, "k = 20", 'suppression = 0.05\n[ledger]\npath = "ledger.db"')
    policy = write_policy(tmp_path, text, PEOPLE.format(rows_each=1) + few)
    release = publish(policy).written.output
    with duckdb.connect(str(release), read_only=True) as con:
        shown = con.execute("SELECT DISTINCT income, income_low, income_high FROM people ORDER BY ALL").fetchall()
    assert shown == [("2000 or more", 2000, None), ("less than 2000", None, 1999)]
    assert found(release, policy)["income"]["beyond"] == 0


@pytest.mark.slow
def test_with_persons_those_beyond_are_counted(tmp_path: Path) -> None:
    release, policy = released(tmp_path, "hilbert", {**COLUMNS, "who": role("person")}, rows_each=2)
    assert {name: figures["beyond"] for name, figures in found(release, policy).items()} == dict.fromkeys(RANGES, 0)


def old_labels(release: Path, copy: Path) -> None:
    """The release as it was once: the range of incomes without an end ends with the greatest of them."""
    copyfile(release, copy)
    with duckdb.connect(str(copy)) as con:
        label = "CASE WHEN income LIKE '% or more' THEN replace(income, ' or more', '-35000000') ELSE income END"
        con.execute(f"UPDATE sqlpriv_release.published SET income = {label}").fetchall()
        label = label.replace("income", "label")
        con.execute("UPDATE sqlpriv_release.labels_income SET high = 35000000 WHERE label LIKE '% or more'").fetchall()
        con.execute(f"UPDATE sqlpriv_release.labels_income SET label = {label}").fetchall()


def test_an_end_that_is_one_persons_value_is_found(tmp_path: Path) -> None:
    release, policy = released(tmp_path, "mondrian", INCOMES)
    old_labels(release, tmp_path / "old.duckdb")
    alone, beside = found(tmp_path / "old.duckdb")["income"], found(tmp_path / "old.duckdb", policy)["income"]
    assert alone["read_off"] == beside["read_off"] == 1
    assert (beside["of_few"], beside["owners"], beside["beyond"]) == (1, 1, 1)


def test_a_point_of_the_grid_beyond_which_nobody_is_is_found(tmp_path: Path) -> None:
    release, policy = released(tmp_path, "mondrian", INCOMES)
    with duckdb.connect(str(release)) as con:
        con.execute("UPDATE sqlpriv_release.labels_income SET high = 35999999 WHERE label LIKE '% or more'").fetchall()
    counted = found(release, policy)["income"]
    assert (counted["read_off"], counted["beyond"]) == (0, 1)


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_the_ends_of_a_domain_may_be_told(tmp_path: Path, method: str) -> None:
    columns = dict(INCOMES)
    columns["income"] = '{ role = "quasi-identifier", domain = "range:0..99000000" }'
    columns["born"] = '{ role = "quasi-identifier", domain = "range:1950-01-01..1999-12-31" }'
    release, policy = released(tmp_path, method, columns)
    for figures in found(release, policy).values():
        assert (figures["read_off"], figures["beyond"]) == (0, 0)
    with duckdb.connect(str(release), read_only=True) as con:
        ends = con.execute(
            "SELECT min(income_low), max(income_high), min(born_low), max(born_high) FROM people"
        ).fetchall()
    assert [str(end) for end in ends[0]] == ["0", "99000000", "1950-01-01", "1999-12-31"]


QUERIES = (
    "SELECT count(*) FROM people WHERE income > 1000000",
    "SELECT count(*) FROM people WHERE income = 35000000",
    "SELECT count(*) FROM people WHERE income <= 400000 AND weight < 77.5",
    "SELECT count(*) FROM people WHERE income IS NULL",
    "SELECT count(*) FROM people WHERE income < 40.5 OR income BETWEEN 123456 AND 234567",
    "SELECT count(*) FROM people WHERE born < DATE '1970-05-05' AND paid >= 12.34",
    "SELECT count(*) FROM people WHERE seen >= TIMESTAMP '2020-06-01 12:00:00'",
    "SELECT avg(paid) FROM people WHERE born < DATE '1970-05-05'",
    "SELECT sum(income) FROM people",
    "SELECT sum(weight / 2 - weight) FROM people",
    "SELECT avg(paid) FROM people WHERE income > 200000",
    "SELECT sum(CASE WHEN income > 500000 THEN 1 ELSE 0 END) FROM people",
)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_bounds_hold_where_ranges_are_open(tmp_path: Path, method: str) -> None:
    release, _ = released(tmp_path, method, COLUMNS)
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        truths = {q: con.execute(q).fetchall()[0][0] for q in QUERIES}
    with open_release(release) as opened:
        for query, truth in truths.items():
            ((estimate, low, high),) = opened.sql(query).fetchall()
            assert low - 1e-9 <= float(truth) <= high + 1e-9, query
            assert low - 1e-9 <= estimate <= high + 1e-9, query
            is_sum = "sum(income)" in query or "weight /" in query or "avg" in query
            assert (low == -float("inf") and high == float("inf")) == is_sum, query


@pytest.mark.slow
@pytest.mark.parametrize("columns", BINNED)
def test_bounds_hold_where_bins_are_open(tmp_path: Path, columns: dict[str, str]) -> None:
    release, _ = released(tmp_path, "generalize", columns)
    hidden = [name for name in RANGES if columns[name] == role("drop")]
    asked = [query for query in QUERIES if not any(name in query for name in hidden)]
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        truths = {q: con.execute(q).fetchall()[0][0] for q in asked}
    assert len(truths) >= 3
    with open_release(release) as opened:
        for query, truth in truths.items():
            ((estimate, low, high),) = opened.sql(query).fetchall()
            assert low - 1e-9 <= float(truth) <= high + 1e-9, query
            assert low - 1e-9 <= estimate <= high + 1e-9, query


@pytest.mark.slow
def test_bins_of_a_public_domain_have_bounds(tmp_path: Path) -> None:
    born = '{ role = "quasi-identifier", hierarchy = "bins:4,2", domain = "range:1950-01-01..1999-12-31" }'
    release, policy = released(tmp_path, "generalize", {**DROPPED, "born": born})
    assert (found(release, policy)["born"]["read_off"], found(release, policy)["born"]["beyond"]) == (0, 0)
    query = "SELECT count(*) FROM people WHERE born < DATE '1970-05-05'"
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        ((truth,),) = con.execute(query).fetchall()
    with open_release(release) as opened:
        ((estimate, low, high),) = opened.sql(query).fetchall()
        assert low <= truth <= high
        assert low < estimate < high


def test_a_sum_without_bounds_says_what_to_do(tmp_path: Path) -> None:
    release, _ = released(tmp_path, "mondrian", INCOMES)
    with open_release(release) as opened:
        told = opened.warnings("SELECT sum(income) FROM people")
    assert told == (
        "sums and averages of 'income' have no bounds, since some of its ranges are open: declare a domain",
    )
