"""A column and a domain of different types: timestamps are published as days, and all else says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.randomized_policies import publish_with, published, rows_of, write_noise_policy

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import planned, verify

RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.3\nslots = 200'
DAYS = '"range:2024-02-28..2024-03-01"'
FILES = {"days.csv": "day\n2024-02-28\n2024-02-29\n2024-03-01\n"}
TIMES = ("2024-02-28 00:00:00", "2024-02-29 23:59:59", "2024-02-29 00:00:01", "2024-03-01 12:00:00")
BY_DAY = {"2024-02-28": 1, "2024-02-29": 2, "2024-03-01": 1}


def of_table(folder: Path, domain: str, *values: str, **more: str) -> RandomizedPolicy:
    """The policy of a table in a database with a column x of these values, which are SQL."""
    listed = ", ".join(f"({value})" for value in values)
    sql = f"CREATE TABLE people AS SELECT x, 1 AS z FROM (VALUES {listed}) AS v(x)"
    return write_noise_policy(folder, {"x": published(domain, **more), "z": published("[1, 2]")}, RELEASE, sql, FILES)


def of_file(folder: Path, domain: str, *cells: str, **more: str) -> RandomizedPolicy:
    """The policy of a CSV file with a column x of these cells."""
    files = {**FILES, "p.csv": "x,z\n" + "".join(f"{cell},1\n" for cell in cells)}
    columns = {"x": published(domain, **more), "z": published("[1, 2]")}
    return write_noise_policy(folder, columns, RELEASE, files=files, table='source = "p.csv"')


def read_rows(policy: RandomizedPolicy) -> tuple[dict[str, int], str]:
    """How many rows were read for each value of x, and the type in which it is published."""
    with planned(policy) as plan:
        assert isinstance(plan, RandomizedPlan)
        counts = fetch(
            plan.source.con,
            "SELECT coalesce(CAST(value AS VARCHAR), 'NULL'), CAST(sum(copies) AS INTEGER) "
            f"FROM {plan.tuples.name} JOIN {plan.columns[0].table.name} ON i0 = id GROUP BY ALL ORDER BY ALL",
        )
        return dict(counts), plan.columns[0].type


def refusal(policy: RandomizedPolicy) -> str:
    with pytest.raises(PolicyError) as error, planned(policy):
        pass
    return str(error.value)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "domain",
    [
        DAYS,
        "[2024-02-28, 2024-02-29, 2024-03-01]",
        '["2024-02-28", "2024-02-29", "2024-03-01"]',
        '"table:days.csv.day"',
    ],
)
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_timestamps_are_published_as_days(tmp_path: Path, kind: str, domain: str) -> None:
    policy = of_table(tmp_path, domain, *(f"'{t}'::{kind}" for t in TIMES))
    assert read_rows(policy) == (BY_DAY, "DATE")


def test_a_release_of_timestamps_holds_days_and_verifies(tmp_path: Path) -> None:
    result = publish_with(of_table(tmp_path, DAYS, *(f"TIMESTAMP '{t}'" for t in TIMES)))
    assert rows_of(result.written.output, "SELECT DISTINCT typeof(value) FROM domain.x") == [("DATE",)]
    published_type = "SELECT data_type FROM duckdb_columns() WHERE table_name = 'published' AND column_name = 'x'"
    assert rows_of(result.written.output, published_type) == [("DATE",)]
    assert verify(result.written.output, tmp_path / "policy.toml").passed


def test_months_of_timestamps(tmp_path: Path) -> None:
    policy = of_table(tmp_path, DAYS, *(f"TIMESTAMP '{t}'" for t in TIMES), hierarchy='"dates:month,year"')
    assert read_rows(policy) == ({"2024-02": 3, "2024-03": 1}, "VARCHAR")


def test_a_missing_timestamp_is_null_and_no_day(tmp_path: Path) -> None:
    policy = of_table(tmp_path, DAYS, "TIMESTAMP '2024-02-29 10:00:00'", "NULL", null="true")
    assert read_rows(policy)[0] == {"2024-02-29": 1, "NULL": 1}


def test_a_domain_of_timestamps_keeps_the_times(tmp_path: Path) -> None:
    policy = of_table(tmp_path, "[2024-02-28T10:00:00, 2024-02-28T11:00:00]", "TIMESTAMP '2024-02-28 11:00:00'")
    assert read_rows(policy) == ({"2024-02-28 11:00:00": 1}, "TIMESTAMP")


def test_a_day_outside_is_no_fault_of_its_type(tmp_path: Path) -> None:
    message = refusal(of_table(tmp_path, DAYS, "TIMESTAMP '2024-02-29 10:00:00'", "TIMESTAMP '2025-02-28 10:00:00'"))
    assert message.startswith("1 rows have a value of 'x' outside its domain; widen the domain")


@pytest.mark.parametrize("domain", [DAYS, '["2024-02-28", "2024-02-29", "2024-03-01"]', '"table:days.csv.day"'])
@pytest.mark.parametrize("more", [(), ("unknown",)])
def test_the_times_of_a_file_have_days_whatever_one_cell_makes_of_the_column(
    tmp_path: Path, domain: str, more: tuple[str, ...]
) -> None:
    assert read_rows(of_file(tmp_path, domain, *TIMES, *more, outside='"drop"'))[0] == BY_DAY


def test_a_text_with_a_time_zone_has_no_day(tmp_path: Path) -> None:
    policy = of_file(tmp_path, DAYS, "2024-02-29 10:00:00", "unknown", "2024-02-28 23:30:00-02", outside='"drop"')
    assert read_rows(policy)[0] == {"2024-02-29": 1}


def test_days_that_depend_on_the_time_zone_are_refused(tmp_path: Path) -> None:
    message = refusal(of_table(tmp_path, DAYS, "TIMESTAMPTZ '2024-02-28 23:30:00+00'"))
    assert message.startswith("domain of 'x': the column is TIMESTAMP WITH TIME ZONE, whose days depend on")
    assert """CAST("x" AT TIME ZONE 'UTC' AS DATE)""" in message


TEXTS = "in a view of a database, or write the domain as texts in quotes"
WRITTEN = "and what is written differently is different; "


@pytest.mark.parametrize(
    ("domain", "values", "types", "said"),
    [
        ('"range:1..90"', ["'12'", "'012'"], "VARCHAR, its domain BIGINT", f"{WRITTEN}make the column BIGINT, {TEXTS}"),
        ('"range:1..90"', ["'12.0'"], "VARCHAR, its domain BIGINT", f"{WRITTEN}make the column BIGINT, {TEXTS}"),
        ("[1, 2]", ["'one'"], "VARCHAR, its domain INTEGER", f"{WRITTEN}make the column INTEGER"),
        ('["01", "02"]', ["1"], "INTEGER, its domain VARCHAR", f"{WRITTEN}write the domain as numbers without quotes"),
        ('"range:0..20"', ["12.5::DOUBLE", "3"], "DOUBLE, its domain BIGINT", "and 1 rows have no whole number; round"),
        ('"range:0..20"', ["12.25::DECIMAL(8, 2)"], "DECIMAL, its domain BIGINT", "and 1 rows have no whole number"),
        (DAYS, ["'29.2.2024'"], "VARCHAR, its domain DATE", f"{WRITTEN}make the column DATE, {TEXTS}"),
        (DAYS, ["'2024-02-29 12:00:00'", "'2024-02-28'"], "VARCHAR, its domain DATE", f"{WRITTEN}make the column DATE"),
        ('["29.2.24"]', ["DATE '2024-02-29'"], "DATE, its domain VARCHAR", f"{WRITTEN}write the domain as days: 2024"),
        ('["29.2.24"]', ["TIMESTAMP '2024-02-29 12:00:00'"], "TIMESTAMP, its domain VARCHAR", f"{WRITTEN}write the"),
        ('["yes", "no"]', ["true"], "BOOLEAN, its domain VARCHAR", f"{WRITTEN}write the domain as [true, false]"),
        ("[0, 1]", ["true", "false"], "BOOLEAN, its domain INTEGER", f"{WRITTEN}write the domain as [true, false]"),
        ("[1, 2]", ["'one'::ENUM('one', 'two')"], "ENUM, its domain INTEGER", WRITTEN),
    ],
)
def test_a_value_outside_because_of_its_type_says_so(
    tmp_path: Path, domain: str, values: list[str], types: str, said: str
) -> None:
    message = refusal(of_table(tmp_path, domain, *values))
    assert f"rows have a value of 'x' outside its domain: the column is {types}, {said}" in message
    assert not any(cell in message for cell in ("one", "29", "12:", "12."))


def test_a_type_does_not_drop_the_whole_table(tmp_path: Path) -> None:
    message = refusal(of_table(tmp_path, '["01", "02"]', "1", "2", outside='"drop"'))
    assert message.startswith(
        "2 rows have a value of 'x' outside its domain: the column is INTEGER, its domain VARCHAR"
    )


def test_odd_values_are_dropped_as_the_policy_says(tmp_path: Path) -> None:
    assert read_rows(of_table(tmp_path, '"range:1..90"', "'12'", "'012'", outside='"drop"'))[0] == {"12": 1}


def test_a_number_outside_is_no_fault_of_its_type(tmp_path: Path) -> None:
    """Texts of numbers are compared with numbers as they are written, and one of them is inside."""
    message = refusal(of_table(tmp_path, '"range:1..90"', "'12'", "'95'"))
    assert message.startswith("1 rows have a value of 'x' outside its domain; widen the domain")


def test_null_has_no_type(tmp_path: Path) -> None:
    message = refusal(of_table(tmp_path, "[1, 2]", "'1'", "NULL"))
    assert "(or null = true, if it is NULL)" in message


def test_the_column_of_a_file_gets_its_type_by_the_policy(tmp_path: Path) -> None:
    message = refusal(of_file(tmp_path, '"range:1..90"', "12", "n/a", " 7a"))
    assert "widen the domain" in message  # neither would be a number in any type
    message = refusal(of_file(tmp_path, DAYS, "29/02/2024 10h"))
    assert 'make the column DATE, by types = { x = "DATE" } in [table], or write the domain as texts' in message
