"""The domains that `sqlpriv init` proposes: from types and lists, and what is read off the table says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.drafts import drafted, written

from sqlpriv.core.errors import PolicyError
from sqlpriv.demo import hospital
from sqlpriv.methods import METHODS
from sqlpriv.policy.propose_domains import FILL_IN, READ_OFF
from sqlpriv.policy.propose_policy import propose_policy
from sqlpriv.publishing import plan

pytestmark = pytest.mark.one_version


def column(folder: Path, expression: str, name: str = "c", method: str = "noisy_counts") -> tuple[dict[str, Any], str]:
    """What is proposed for a column by this expression of i, beside one that is published anyway; and why."""
    proposed = drafted(folder, f'SELECT {expression} AS "{name}", i % 7 AS z FROM range(1000) AS r(i)', method)
    return proposed.columns[0].given, proposed.columns[0].reason


@pytest.mark.parametrize(
    ("expression", "given"),
    [
        ("17 + i % 70", {"domain": "range:0..99", "hierarchy": "ranges:10", "level": 1}),
        ("1 + i % 5", {"domain": "range:1..5"}),
        ("-3 + i % 20", {"domain": "range:-5..20"}),
        ("1987 + i % 38", {"domain": "range:1980..2029", "hierarchy": "ranges:5", "level": 1}),
        ("CAST(1 + i % 5 AS DOUBLE)", {"domain": "range:1..5"}),
        ("1000 + (i // 2 * 7919) % 90000", {"domain": "range:0..99999", "hierarchy": "ranges:10000", "level": 1}),
        ("DATE '2024-03-01' + CAST(i % 99 AS INTEGER)",
         {"domain": "range:2024-01-01..2024-12-31", "hierarchy": "dates:month", "level": 1}),
        ("TIMESTAMP '2019-03-01 12:00:00' + i * INTERVAL 2 DAY",
         {"domain": "range:2019-01-01..2024-12-31", "hierarchy": "dates:quarter", "level": 1}),
        ("DATE '1930-03-01' + CAST(i * 30 AS INTEGER)",
         {"domain": "range:1930-01-01..2012-12-31", "hierarchy": "dates:decade", "level": 1}),
        ("nullif(i % 5, 3)", {"domain": "range:0..4", "null": True}),
    ],
)  # fmt: skip
def test_what_is_read_off_the_table_is_rounded_outwards_and_says_so(
    tmp_path: Path, expression: str, given: dict[str, Any]
) -> None:
    found, why = column(tmp_path, expression)
    assert {key: value for key, value in found.items() if key != "role"} == given
    assert why.endswith(READ_OFF)


def test_the_domain_of_a_flag_is_its_type(tmp_path: Path) -> None:
    found, why = column(tmp_path, "i % 3 = 0")
    assert found["domain"] == [True, False]
    assert READ_OFF not in why


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("i % 90 + 0.5", "a domain has whole numbers: round the column in a view"),
        ("i * 7919 % 500 * 10000", "too many values for a domain"),
        ("TIMESTAMPTZ '2024-01-01 00:00:00+00' + i * INTERVAL 1 DAY", "its days depend on the time zone"),
        ("'v' || i % 400", 'too many for a list; by a public hierarchy it could be published: domain = "level:FILE'),
        ("CASE WHEN i % 9 = 0 THEN 'infinity' ELSE DATE '2024-01-01' END", "112 values are infinite or no number"),
        ("CASE WHEN i % 9 = 0 THEN 'nan'::DOUBLE ELSE i % 7 END", "112 values are infinite or no number"),
        ("5", "there is nothing to count"),
    ],
)
def test_what_has_no_small_domain_is_left_out_with_the_reason(tmp_path: Path, expression: str, why: str) -> None:
    found, reason = column(tmp_path, expression)
    assert found == {"role": "drop"}
    assert why in reason


def test_texts_are_left_to_the_owner_and_never_read_off(tmp_path: Path) -> None:
    proposed = drafted(
        tmp_path, "SELECT 'SECRET' || i % 9 AS word, i % 7 AS z FROM range(1000) AS r(i)", "noisy_counts"
    )
    assert proposed.columns[0].given == {"role": "?"}
    assert proposed.columns[0].reason == f"9 values; {FILL_IN.format(role='quasi-identifier')}"
    assert proposed.notes[0] == "Decide on the role of word: until then `sqlpriv plan` refuses the policy."
    assert "SECRET" not in proposed.to_toml() + proposed.facts().to_json()


def test_a_sensitive_column_of_two_values_cannot_be_covered(tmp_path: Path) -> None:
    found, why = column(tmp_path, "i % 3 = 0", "hiv")
    assert found == {"role": "drop"}
    assert "a linking attacker cannot be covered at gamma = 0.3 with fewer than 6 values; take another method" in why


def test_a_short_list_of_a_sensitive_column_cannot_be_covered(tmp_path: Path) -> None:
    found, why = column(tmp_path, "CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END", "diagnosis")
    assert found == {"role": "drop"}
    assert "a linking attacker cannot be covered at gamma = 0.3 with fewer than 6 values" in why


@pytest.mark.some(1)
@pytest.mark.parametrize(("values", "role"), [(5, "drop"), (6, "sensitive")])
def test_as_many_values_as_a_plan_needs(tmp_path: Path, values: int, role: str) -> None:
    """The bound is the one by which `plan` judges: a value more, and the attacker is covered."""
    assert column(tmp_path, f"i % {values}", "income")[0]["role"] == role
    path = written(tmp_path, drafted(tmp_path, "", "noisy_counts"))
    text = path.read_text(encoding="utf-8").replace(
        '{ role = "drop" }', '{ role = "sensitive", domain = "range:0..4" }'
    )
    path.write_text(text, encoding="utf-8")
    if role == "sensitive":
        assert plan(path).passed
    else:
        with pytest.raises(PolicyError, match="a linking attacker believes in some value with"):
            plan(path)


LISTED = "SELECT 'v' || i % 9 AS kind, i % 7 AS z FROM range(1000) AS r(i)"


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("extra", "is_found"),
    [
        ("CREATE TABLE kinds AS SELECT 'v' || i AS Kind FROM range(12) AS r(i)", True),
        ("CREATE TABLE kinds AS SELECT 'v' || i AS kind FROM range(8) AS r(i)", False),
        ("CREATE TABLE kinds AS SELECT 'v' || i % 10 AS kind FROM range(20) AS r(i)", False),
        ("CREATE VIEW kinds AS SELECT DISTINCT kind FROM t", False),
        ("CREATE SCHEMA s; CREATE TABLE s.kinds AS SELECT 'v' || i AS kind FROM range(12) AS r(i)", False),
        ("CREATE TABLE kinds AS SELECT 'v' || i AS kind FROM range(5000) AS r(i)", False),
    ],
)
def test_a_list_beside_the_table_is_taken_if_it_has_each_value_once(tmp_path: Path, extra: str, is_found: bool) -> None:
    drafted(tmp_path, LISTED)
    with duckdb.connect(str(tmp_path / "d.duckdb")) as con:
        con.execute(extra).fetchall()
    proposed = drafted(tmp_path, LISTED, "noisy_counts")
    assert proposed.columns[0].given.get("domain") == ("table:kinds.Kind" if is_found else None)
    if is_found:
        assert "all its values are in kinds beside the data: make sure that it is public" in proposed.columns[0].reason
        assert plan(written(tmp_path, proposed)).passed


def test_a_list_is_named_from_the_folder_of_the_policy(tmp_path: Path) -> None:
    hospital.write(tmp_path, rows=500)
    (tmp_path / "policies").mkdir()
    proposed = propose_policy(str(tmp_path / "hospital.parquet"), None, tmp_path / "policies", METHODS, "noisy_counts")
    given = {c.name: c.given for c in proposed.columns}
    assert given["diagnosis"]["domain"] == "table:../hospital_diagnosis.parquet.diagnosis"
    assert str(tmp_path) not in proposed.to_toml()


def test_a_csv_file_of_codes_is_a_list(tmp_path: Path) -> None:
    rows = "".join(f"{n % 9:03},{n % 7}\n" for n in range(200))
    (tmp_path / "t.csv").write_text(f"zip,z\n{rows}", encoding="utf-8")
    (tmp_path / "zips.csv").write_text("zip\n" + "".join(f"{n:03}\n" for n in range(20)), encoding="utf-8")
    (tmp_path / "broken.parquet").write_text("zip\n", encoding="utf-8")
    proposed = propose_policy(str(tmp_path / "t.csv"), None, tmp_path, METHODS, "noisy_counts")
    assert proposed.columns[0].given["domain"] == "table:zips.csv.zip"
    assert plan(written(tmp_path, proposed)).passed
