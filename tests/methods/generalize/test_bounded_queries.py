"""Queries on generalized releases: ranges without lists, values that nobody lists, what is refused, and typed ends."""

from __future__ import annotations

import datetime
import math
import random
from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.policies import generalize, policy_text, qi, role, write_policy
from support.titles import CONTENTS, DECLARED, OF_POLICY

from sqlpriv.core.errors import PolicyError, ReleaseError, UnsupportedSQLError
from sqlpriv.publishing import open_release, show, verify
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.slow

COLUMNS = {
    "age": qi("ranges:10,20"),
    "weight": qi("ranges:10,20"),
    "born": qi("dates:month,year"),
    "seen": qi("dates:day,month"),
    "zip": qi("mask:5"),
    "pay": role("sensitive"),
}
NODE = "node = { age = 1, weight = 1, born = 1, seen = 2, zip = 1 }"
PEOPLE = """
CREATE TABLE people (age INTEGER, weight DOUBLE, born DATE, seen TIMESTAMP, zip VARCHAR, pay INTEGER);
INSERT INTO people VALUES
  (31, 61.5, '2001-02-03', '2024-05-06 07:08:09', '13053', 10),
  (38, 69.5, '2001-02-28', '2024-05-31 23:59:59', '13059', -4),
  (31, 60.0, '2001-02-01', '2024-05-01 00:00:00', '13050', 7),
  (52, 88.25, '2003-11-30', '2023-01-15 12:00:00', '22222', 3),
  (57, 81.0, '2003-11-01', '2023-01-01 00:00:00', '22221', 100);
"""
STRANGER = "INSERT INTO people VALUES (99, 12.5, '1920-01-01', '2020-01-01 00:00:00', '99999', 1000);"


def released(folder: Path, sql: str = PEOPLE, more: str = "", columns: dict[str, str] | None = None) -> Path:
    text = policy_text(columns or COLUMNS, "k = 2", f"{NODE}\n{more}")
    return generalize(write_policy(folder, text, sql), ledger=folder / "ledger.db").output


def asked(opened: OpenRelease, query: str) -> tuple[Any, ...]:
    (row,) = opened.sql(f"SELECT {query}").fetchall()
    return row


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def suppressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release without domains, of which one row is left out."""
    return released(tmp_path_factory.mktemp("suppressed"), PEOPLE + STRANGER, "suppression = 0.2")


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        ("count(*) FROM people", 5, 5),
        # Three rows are in [60, 70), two in [80, 90).
        ("count(*) FROM people WHERE weight < 60", 0, 0),
        ("count(*) FROM people WHERE weight <= 60", 0, 3),
        ("count(*) FROM people WHERE weight < 70", 3, 3),
        ("count(*) FROM people WHERE weight BETWEEN 64 AND 65", 0, 3),
        ("count(*) FROM people WHERE weight = 64 OR weight <> 64", 5, 5),
        ("count(*) FROM people WHERE weight = 70", 0, 0),
        ("count(*) FROM people WHERE weight IN (61, 99)", 0, 3),
        ("count(*) FROM people WHERE weight IS NULL", 0, 0),
        ("sum(weight) FROM people", 340, 390),
        ("sum(weight) FROM people WHERE weight < 64", 0, 192),
        ("sum(weight) FILTER (WHERE weight >= 65) FROM people", 160, 390),
        ("sum(2 * weight - 1) FROM people WHERE weight < 75", 357, 417),
        ("avg(weight) FROM people", 68, 78),
        ("avg(weight) FROM people WHERE weight > 65 OR weight < 61", 68, 90),
        ("avg(weight) FROM people WHERE weight < 65", 60, 65),
        ("sum(weight * age) FROM people WHERE weight < 75", 5400, 8190),
        ("sum(CASE WHEN weight < 65 THEN weight ELSE 0 END) FROM people", 0, 195),
        # Days are listed, times are cut.
        ("count(*) FROM people WHERE born <= DATE '2001-02-28'", 3, 3),
        ("count(*) FROM people WHERE born < DATE '2001-02-28'", 0, 3),
        ("count(*) FROM people WHERE day(born) = 31", 0, 0),
        ("count(*) FROM people WHERE seen >= TIMESTAMP '2024-05-01'", 3, 3),
        ("count(*) FROM people WHERE seen > TIMESTAMP '2024-05-01'", 0, 3),
        ("count(*) FROM people WHERE seen < '2024-06-01'", 5, 5),
        ("sum(pay) FROM people WHERE seen < '2024-05-15 10:00:00'", 99, 120),
        ("sum(age) FROM people", 3 * 30 + 100, 3 * 39 + 118),
    ],
)
def test_ranges_are_bounded_by_all_values_in_them(plain: Path, query: str, low: object, high: object) -> None:
    with open_release(plain) as opened:
        value, *bounds = asked(opened, query)
        assert bounds == [low, high]
        assert bounds[0] <= value <= bounds[1]


def test_estimates_go_by_the_length_of_a_piece(plain: Path) -> None:
    with open_release(plain) as opened:
        assert asked(opened, "count(*) FROM people WHERE weight < 62.5")[0] == pytest.approx(3 / 4)
        assert asked(opened, "avg(weight) FROM people WHERE weight < 65")[0] == pytest.approx(62.5)
        assert asked(opened, "sum(weight) FROM people")[0] == pytest.approx(3 * 65 + 2 * 85)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        (
            "count(*) FROM people WHERE zip = '13053'",
            "'zip' at line 1, column 35 .* not public; read it with plain SQL",
        ),
        ("count(*) FROM people WHERE round(weight) = 60", "'weight' like this .* compare it with constants"),
        ("count(*) FROM people WHERE weight > age", "'weight' like this"),
        ("sum(weight * weight) FROM people", "'weight' like this"),
        ("sum(sqrt(weight)) FROM people", "'weight' like this"),
        ("sum(1 / weight) FROM people", "'weight' like this"),
        ("sum(CASE weight WHEN 61 THEN 1 ELSE 0 END) FROM people", "'weight' like this"),
        ("sum(CASE WHEN CAST(weight AS BOOLEAN) THEN 1 ELSE 0 END) FROM people", "'weight' like this"),
        ("sum(CASE WHEN weight + 1 > 61 THEN 1 ELSE 0 END) FROM people", "'weight' like this"),
        ("weight, count(*) FROM people GROUP BY weight", "'weight' like this"),
        ("max(age) FROM people", "max"),
        ("count(DISTINCT age) FROM people", "DISTINCT"),
        ("age FROM people", "single rows"),
    ],
)
def test_what_cannot_be_bounded_is_refused(plain: Path, query: str, complaint: str) -> None:
    with open_release(plain) as opened, pytest.raises(UnsupportedSQLError, match=complaint):
        opened.sql(f"SELECT {query}")


@pytest.mark.parametrize(
    "query", ["stddev(age)", "corr(age, pay)", "median(age)", "skewness(pay)", "var_pop(age)", "regr_slope(age, pay)"]
)
def test_statistics_are_estimated_and_have_no_bounds(plain: Path, query: str) -> None:
    with open_release(plain) as opened:
        value, low, high = asked(opened, f"{query} FROM people")
        assert value is not None
        assert (low, high) == (None, None)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        ("count(*) FROM people", 6, 6),
        ("count(*) FROM people WHERE pay > 5", 3, 4),
        ("count(*) FROM people WHERE age < 40", 3, 4),
        ("count(*) FROM people WHERE pay > 5 AND pay < 5", 0, 1),
        ("sum(pay) FROM people", -math.inf, math.inf),
        ("avg(pay) FROM people", -math.inf, math.inf),
        ("sum(pay) FROM people WHERE age < 40", -math.inf, math.inf),
        ("count(*) FILTER (WHERE pay > 5) / count(*) FROM people", 3 / 6, 4 / 6),
    ],
)
def test_suppressed_rows_may_have_any_value_that_no_list_has(
    suppressed: Path, query: str, low: float, high: float
) -> None:
    with open_release(suppressed) as opened:
        _, *bounds = asked(opened, query)
        assert bounds == pytest.approx([low, high])


def test_groups_that_nobody_lists_are_not_in_totals(suppressed: Path) -> None:
    with open_release(suppressed) as opened:
        rows = opened.sql("SELECT pay, count(*) AS n, sum(count(*)) OVER () AS t FROM people GROUP BY pay").fetchall()
    assert {(r[0], r[2], r[3]) for r in rows} == {(p, 1, 2) for p in (10, -4, 7, 3, 100)}
    assert {(r[5], r[6]) for r in rows} == {(None, None)}


def test_windows_add_bounds_only_where_empty_groups_change_nothing(plain: Path) -> None:
    with open_release(plain) as opened:
        windows = "sum(count(*)) OVER (ORDER BY age // 10) AS up, lag(count(*)) OVER (ORDER BY age // 10) AS before"
        rows = opened.sql(f"SELECT age // 10 AS d, {windows} FROM people GROUP BY d ORDER BY d").fetchall()
    assert [r[0] for r in rows] == [3, 5]
    assert [r[1:4] for r in rows] == [(3, 3, 3), (5, 5, 5)]
    assert [r[5:] for r in rows] == [(None, None)] * 2


def test_what_stands_in_for_nothing_has_no_bounds(plain: Path) -> None:
    with open_release(plain) as opened:
        _, *bounds = asked(opened, "coalesce(avg(weight) FILTER (WHERE weight < 65), 1000) FROM people")
        assert bounds == [None, None]
        _, *bounds = asked(opened, "coalesce(sum(age), 0) FROM people")
        assert bounds == [190, 235]


def test_differences_and_sums_of_averages_are_bounded_outwards(plain: Path) -> None:
    """By the bounds of both, as if they were about different rows; where one has none, the difference has none."""
    one, other = "avg(age) FILTER (WHERE pay > 5)", "avg(weight) FILTER (WHERE pay < 5)"
    with open_release(plain) as opened:
        (a, a_low, a_high), (b, b_low, b_high) = (asked(opened, f"{x} FROM people") for x in (one, other))
        assert asked(opened, f"{one} - {other} FROM people") == pytest.approx((a - b, a_low - b_high, a_high - b_low))
        assert asked(opened, f"{one} + {other} FROM people") == pytest.approx((a + b, a_low + b_low, a_high + b_high))
        twice = f"2 * ({one} - {other}) - 1 FROM people"
        assert asked(opened, twice) == pytest.approx(tuple(2 * x - 1 for x in (a - b, a_low - b_high, a_high - b_low)))
        assert asked(opened, f"{one} - stddev(age) FROM people")[1:] == (None, None)


def test_having_shows_by_estimate_and_bounds_stay(plain: Path) -> None:
    with open_release(plain) as opened:
        query = "SELECT age, count(*) AS n FROM people GROUP BY age HAVING count(*) > 0.25 ORDER BY age"
        rows = opened.sql(query).fetchall()
    assert [r[0] for r in rows] == list(range(30, 40))
    assert {r[1:] for r in rows} == {(0.3, 0, 3)}


@pytest.mark.slow
def test_truth_lies_within_bounds_of_random_tables_without_domains(tmp_path: Path) -> None:
    """Every kind of column, none with a domain, with rows suppressed and kept."""
    chance = random.Random(7)
    wheres = [
        "true", "weight < 65", "age BETWEEN 33 AND 51", "born > DATE '2001-02-10'", "pay >= 3", "pay IS NULL",
        "seen < TIMESTAMP '2024-05-15' OR age > 40", "NOT (weight = 60 AND pay < 7)", "age < pay",
    ]  # fmt: skip
    sums = [
        "count(*)", "sum(weight)", "sum(age)", "avg(weight)", "avg(age)", "sum(pay)", "avg(pay - age)",
        "avg(age) FILTER (WHERE weight < 65) - avg(weight)", "avg(age) / 2 + avg(weight)",
    ]  # fmt: skip
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = [
            (
                chance.choice([31, 33, 38, 52, None]), chance.choice([60.0, 61.5, 69.999, 81.25]),
                f"2001-02-{chance.randint(1, 28)}", f"2024-0{chance.choice([5, 6])}-1{chance.randint(0, 9)} 10:00:00",
                chance.choice(["13053", "13059"]), chance.choice([1, 3, 100, None]),
            )
            for _ in range(14)
        ]  # fmt: skip
        listed = ", ".join(str(row).replace("None", "NULL") for row in rows)
        sql = f"{PEOPLE.partition('INSERT')[0]} INSERT INTO people VALUES {listed}"
        kept = "keep_suppressed = true" if number % 2 else ""
        file = released(folder, sql, f"suppression = 0.9\n{kept}")
        with open_release(file) as opened, duckdb.connect(str(folder / "private.duckdb")) as truth:
            for where in wheres:
                for total in sums:
                    query = f"SELECT {total} FROM people WHERE {where}"
                    ((wanted,),) = truth.execute(query).fetchall()
                    _, low, high = opened.sql(query).fetchall()[0]
                    if wanted is not None:
                        assert low - 1e-9 <= wanted <= high + 1e-9, query


# --- the plain table -----------------------------------------------------------------------------


def test_ranges_have_their_ends_beside_them_in_their_own_type(plain: Path) -> None:
    with duckdb.connect(str(plain), read_only=True) as con:
        types = {r[0]: r[1] for r in con.execute("DESCRIBE people").fetchall()}
        (row,) = con.execute(
            "SELECT DISTINCT * EXCLUDE (pay) FROM people WHERE age_low <= 35 AND weight_high = 70"
        ).fetchall()
    assert [types[f"{c}_low"] for c in ("age", "weight", "born", "seen")] == ["INTEGER", "DOUBLE", "DATE", "TIMESTAMP"]
    assert list(types) == [
        *("age", "age_low", "age_high", "weight", "weight_low", "weight_high", "born", "born_low", "born_high"),
        *("seen", "seen_low", "seen_high", "zip", "pay"),
    ]
    day = datetime.date
    assert row == (
        *("30-39", 30, 39, "[60, 70)", 60.0, 70.0, "2001-02", day(2001, 2, 1), day(2001, 2, 28)),
        *("2024-05", datetime.datetime(2024, 5, 1), datetime.datetime(2024, 6, 1), "1305*"),
    )


def test_rows_with_stars_have_no_ends(tmp_path: Path) -> None:
    more = f"{PEOPLE}{STRANGER}{STRANGER.replace('99,', '1,')}"
    file = released(tmp_path, more, "suppression = 0.4\nkeep_suppressed = true")
    with duckdb.connect(str(file), read_only=True) as con:
        found = con.execute("SELECT count(*), count(age_low), count(born_high) FROM people").fetchall()
    assert found == [(7, 5, 5)]
    assert verify(file).passed


def test_a_column_called_like_an_end_is_refused(tmp_path: Path) -> None:
    columns = {"age": qi("ranges:10"), "AGE_low": role("other")}
    sql = "CREATE TABLE people AS SELECT 31 AS age, 5 AS AGE_low FROM range(4)"
    path = write_policy(tmp_path, policy_text(columns, "k = 2", "node = { age = 1 }"), sql)
    with pytest.raises(PolicyError, match="'age_low' and 'age_high', and the table has a column 'age_low'; drop it"):
        generalize(path)
    path.write_text(policy_text(columns, "k = 2", "node = { age = 0 }"))
    assert generalize(path).node == {"age": 0}


# --- what the file says of values ------------------------------------------------------------------

LISTED = {
    "age": '{ role = "quasi-identifier", hierarchy = "ranges:10,20", domain = "range:0..99" }',
    "zip": '{ role = "quasi-identifier", hierarchy = "mask:2", domain = ["11", "12", "21"], share = [1, 2, 3] }',
}
LISTED_PEOPLE = "CREATE TABLE people AS SELECT 30 + i % 3 AS age, ['11', '12'][i % 2 + 1] AS zip FROM range(8) AS r(i)"
ENDS = "the ends of the ranges of 'age' are those of their labels"
LABELS = "every label of 'age' is a label of its hierarchy"
DOMAIN = "the domain of 'age' has a value below every label"
ZIP = "the domain of 'zip' has a value below every label"
DIGESTS = "domains, public tables and other rows are those of their digests"


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listed")
    text = policy_text(LISTED, "k = 2", "node = { age = 1, zip = 1 }")
    return generalize(write_policy(folder, text, LISTED_PEOPLE), ledger=folder / "ledger.db").output


def test_a_file_that_was_left_alone_passes(listed: Path) -> None:
    assert verify(listed).passed


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("UPDATE sqlpriv_release.labels_age SET high = 35", ENDS),
        ("UPDATE sqlpriv_release.labels_age SET low = NULL", ENDS),
        ("INSERT INTO sqlpriv_release.labels_age VALUES ('90-99', 1, ['80-99', '*'], 90, 99)", LABELS),
        ("DELETE FROM sqlpriv_release.labels_age", LABELS),
        ("DELETE FROM sqlpriv_release.leaves_age WHERE label = '30-39'", DOMAIN),
        ("DELETE FROM sqlpriv_release.leaves_age WHERE value = 33", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_age SET label = '30-39' WHERE value = 20", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_age SET label = '30-39' WHERE label = '20-29'", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_zip SET label = '1*', leaves = 3, total = 6", DIGESTS),
        ("UPDATE sqlpriv_release.leaves_age SET label = NULL WHERE value = 20", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_age SET value = 200 WHERE value = 20", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_zip SET share = 5 WHERE value = '11'", ZIP),
        ("INSERT INTO sqlpriv_release.leaves_age FROM sqlpriv_release.leaves_age LIMIT 1", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_age SET total = 3", DOMAIN),
        ("UPDATE sqlpriv_release.leaves_age SET leaves = 3", DOMAIN),
        ("DELETE FROM domain.age WHERE value = 33", DOMAIN),
        ("INSERT INTO domain.age FROM domain.age LIMIT 1", DOMAIN),
        ("INSERT INTO domain.age VALUES (100, NULL)", DOMAIN),
        ("UPDATE domain.zip SET share = NULL WHERE value = '11'", ZIP),
        (
            "UPDATE sqlpriv_release.attributes SET labels = 'words' WHERE name = 'zip'",
            DECLARED,
        ),
        (
            "UPDATE sqlpriv_release.attributes SET labels = 'values' WHERE name = 'zip'",
            DECLARED,
        ),
        ("DROP TABLE domain.age", CONTENTS),
        ("DROP TABLE sqlpriv_release.leaves_age", CONTENTS),
    ],
)
def test_a_file_that_says_other_things_of_values_fails(listed: Path, tmp_path: Path, change: str, check: str) -> None:
    file = Path(copyfile(listed, tmp_path / "copy.duckdb"))
    with duckdb.connect(str(file)) as con:
        con.execute(change).fetchall()
    failing = [c["check"] for c in verify(file).content["checks"] if c["passed"] is False]
    assert check in failing


def test_a_type_that_is_no_type_is_never_run(listed: Path, tmp_path: Path) -> None:
    file = Path(copyfile(listed, tmp_path / "copy.duckdb"))
    evil = "DECIMAL(3,1)) FROM (SELECT error(''ran'')) --"
    with duckdb.connect(str(file)) as con:
        con.execute(f"UPDATE sqlpriv_release.attributes SET original = '{evil}'").fetchall()
    assert not verify(file).passed
    with open_release(file) as opened:
        assert opened.sql("SELECT count(*) FROM people").fetchall() == [(8, 8, 8)]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ('domain = "range:0..31"', "domain of 'age': 2 rows of the table have a value outside it"),
        ('domain = "table:nowhere.x"', "domain of 'age'"),
    ],
)
def test_a_domain_that_does_not_hold_is_refused(tmp_path: Path, column: str, complaint: str) -> None:
    columns = {**LISTED, "age": f'{{ role = "quasi-identifier", hierarchy = "ranges:10,20", {column} }}'}
    path = write_policy(tmp_path, policy_text(columns, "k = 2"), LISTED_PEOPLE)
    with pytest.raises(PolicyError, match=complaint):
        generalize(path)
    assert not list(tmp_path.glob("*release*"))


@pytest.mark.some(1)
@pytest.mark.parametrize("domain", ['domain = "active"', 'domain = "level:suppression:1"'])
def test_a_domain_that_is_not_about_all_rows_says_nothing(tmp_path: Path, domain: str) -> None:
    columns = {**LISTED, "age": f'{{ role = "quasi-identifier", hierarchy = "ranges:10,20", {domain} }}'}
    text = policy_text(columns, "k = 2", "node = { age = 1, zip = 0 }")
    file = generalize(write_policy(tmp_path, text, LISTED_PEOPLE)).output
    with duckdb.connect(str(file), read_only=True) as con:
        assert con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'domain'").fetchall() == [
            ("zip",)
        ]


def test_ends_that_would_be_rounded_are_not_told(tmp_path: Path) -> None:
    """2.54 as a number of one decimal is 2.5, which is in the range up to 2.54."""
    sql = "CREATE TABLE people AS SELECT CAST(2.5 AS DECIMAL(4, 1)) AS x FROM range(4)"
    text = policy_text({"x": qi("ranges:1.27,2.54")}, "k = 2", "node = { x = 2 }")
    file = generalize(write_policy(tmp_path, text, sql)).output
    with duckdb.connect(str(file), read_only=True) as con:
        assert con.execute("SELECT DISTINCT * FROM people").fetchall() == [("[0, 2.54)", 0, None)]
    with open_release(file) as opened, pytest.raises(UnsupportedSQLError, match="the column 'x'"):
        opened.sql("SELECT count(*) FROM people WHERE x = 2.5")


def test_a_type_that_texts_do_not_tell_cannot_be_asked(tmp_path: Path) -> None:
    sql = "CREATE TABLE people AS SELECT [1.5::DOUBLE] AS x, 1 AS y FROM range(4)"
    text = policy_text({"x": qi("suppression"), "y": qi("suppression")}, "k = 2")
    file = generalize(write_policy(tmp_path, text, sql)).output
    with open_release(file) as opened:
        assert opened.sql("SELECT count(*) FROM people WHERE y = 1").fetchall() == [(4, 4, 4)]
        with pytest.raises(UnsupportedSQLError, match="published as text"):
            opened.sql("SELECT count(*) FROM people WHERE x = [1.5]")


def test_a_domain_beyond_the_policy_fails(tmp_path: Path) -> None:
    text = policy_text(LISTED, "k = 2", "node = { age = 1, zip = 1 }")
    policy = write_policy(tmp_path, text, LISTED_PEOPLE)
    file = generalize(policy).output
    assert verify(file, policy).passed
    policy.write_text(text.replace(', domain = "range:0..99"', ""), encoding="utf-8")
    failing = [c["check"] for c in verify(file, policy).content["checks"] if c["passed"] is False]
    assert OF_POLICY in failing


def test_shares_weigh_estimates_and_not_bounds(listed: Path) -> None:
    with open_release(listed) as opened:
        rows = opened.sql("SELECT zip, count(*) AS n FROM people GROUP BY zip ORDER BY zip").fetchall()
    assert rows == [("11", pytest.approx(8 / 3), 0, 8), ("12", pytest.approx(16 / 3), 0, 8), ("21", 0, 0, 0)]


def test_a_release_answers_alone(plain: Path) -> None:
    with pytest.raises(ReleaseError, match="no further views"):
        open_release(plain, plain)


def test_show_says_what_answers_mean(plain: Path) -> None:
    told = " ".join(str(part) for part in show(plain).parts)
    assert "hard bounds" in told


@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        ("max(n) FROM (SELECT age >= 35 AS a, count(*) AS n FROM people GROUP BY 1)", 2, 5),
        ("min(n) FROM (SELECT age >= 35 AS a, count(*) AS n FROM people GROUP BY 1)", 0, 5),
        ("avg(n) FROM (SELECT age >= 35 AS a, count(*) AS n FROM people GROUP BY 1)", 0, 5),
        ("max(n) FROM (SELECT age >= 40 AS a, count(*) AS n FROM people GROUP BY 1)", 3, 3),
        ("max(n) FROM (SELECT age >= 35 AS a, count(*) AS n FROM people GROUP BY 1) WHERE n > 1", None, None),
        ("max(n) FROM (SELECT age >= 35 AS a, count(*) AS n FROM people GROUP BY 1 HAVING count(*) > 1)", None, None),
        ("max(m) FROM (SELECT age >= 40 AS a, avg(weight) AS m FROM people GROUP BY 1)", 60, 90),
    ],
)
def test_hard_bounds_of_groups_combine(plain: Path, query: str, low: float | None, high: float | None) -> None:
    """They hold together; which groups are there by estimates need not be there in the table."""
    with open_release(plain) as opened:
        estimate, *bounds = asked(opened, query)
    assert bounds == [low, high]
    assert low is None or low <= estimate <= high
