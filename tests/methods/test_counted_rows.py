"""Releases of many equal rows are counted: they say, answer, reveal and prove what the same rows one by one do."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.core.errors import ReleaseError
from sqlpriv.methods.generalized import write
from sqlpriv.publishing import open_release, publish, verify

PEOPLE = """
CREATE TABLE people AS SELECT i AS ssn, CASE WHEN i % 17 > 0 THEN CAST(i * i % 40 + 20 AS INTEGER) END AS age,
  ['Rome', 'Bari', 'Oslo', NULL][1 + i % 4] AS city, ['M', 'F'][1 + i % 2] AS sex,
  CASE WHEN i % 11 > 0 THEN 'ill' || i % 4 END AS ill, i % 3 AS ward
FROM range(600) AS r(i) UNION ALL SELECT 900, 99, 'Kiruna', 'F', 'ill1', 1
"""
CITIES = '["Rome", "Bari", "Oslo", "Kiruna", "Turin"]'
CITY = f'{{ role = "quasi-identifier", hierarchy = "suppression", domain = {CITIES}, null = true }}'
SEX = '{ role = "quasi-identifier", hierarchy = "suppression", domain = ["M", "F"] }'
COLUMNS = {
    "ssn": role("identifier"), "age": qi("ranges:10,50"), "city": CITY, "sex": SEX, "ill": role("sensitive"),
    "ward": role("other"),
}  # fmt: skip
WARD = 'others_unknown = "only a test"\naccept = "made-up people"\n'
RELEASES = {
    "left out": ("generalize", COLUMNS, "suppression = 0.3"),
    "with stars": ("generalize", COLUMNS, "suppression = 0.3\nkeep_suppressed = true"),
    "mondrian": ("mondrian", {**COLUMNS, "age": role("quasi-identifier")}, ""),
    "hilbert": ("hilbert", {**COLUMNS, "age": role("quasi-identifier")}, 'cuts = "data"'),
}
QUESTIONS = (
    "SELECT count(*) FROM people",
    "SELECT count(*) FROM people WHERE age < 40 AND sex = 'F'",
    "SELECT sum(ward), avg(ward) FROM people WHERE city IN ('Rome', 'Turin')",
    "SELECT ill, count(*) FROM people GROUP BY ill ORDER BY ill",
    "SELECT count(*) FROM people WHERE city IS NULL AND ill = 'ill1'",
)


@dataclass(frozen=True)
class Both:
    policy: Path
    counted: Path
    one_by_one: Path


SLOW = ("with stars", "mondrian")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in RELEASES]
)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, (method, columns, options) = tmp_path_factory.mktemp("counted"), RELEASES[request.param]
    text = policy_text(columns, "k = 9\ndistinct_l = { ill = 2 }", f"{WARD}{options}\n[ledger]\npath = 'l.db'")
    policy = write_policy(folder, text.replace('"generalize"', f'"{method}"'), PEOPLE)
    publish(policy, folder / "each.duckdb", ledger_file=folder / "each.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "COUNTED_FROM", 0)
        publish(policy, folder / "counted.duckdb", ledger_file=folder / "counted.db")
    return Both(policy, folder / "counted.duckdb", folder / "each.duckdb")


def asked(path: Path, sql: str) -> Any:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.sql(sql).fetchall()


def test_a_kind_of_row_is_there_once_and_its_view_repeats_it(both: Both) -> None:
    kinds = asked(both.counted, "SELECT count(*), sum(__copies) FROM sqlpriv_release.published")[0]
    rows = "SELECT CAST(p AS VARCHAR), count(*) FROM main.people AS p GROUP BY 1 ORDER BY 1"
    assert asked(both.counted, rows) == asked(both.one_by_one, rows)
    assert asked(both.counted, "SELECT count(*) FROM main.people") == [kinds[1:]]
    assert 2 * kinds[0] <= kinds[1]
    assert asked(both.one_by_one, "SELECT count(*) FROM sqlpriv_release.published") == [kinds[1:]]


def test_the_digest_is_that_of_the_rows(both: Both) -> None:
    about = "SELECT name, value FROM sqlpriv_release.about ORDER BY ALL"
    assert asked(both.counted, about) == asked(both.one_by_one, about)


def test_it_is_verified_with_what_is_said_of_its_kinds(both: Both) -> None:
    found = {}
    for path in (both.counted, both.one_by_one):
        judged = verify(path, policy=both.policy)
        assert judged.passed, str(judged)
        found[path] = {(c["check"], c["passed"], c["found"]) for c in judged.content["checks"]}
    (more,) = found[both.counted] - found[both.one_by_one]
    assert more == ("every kind of row is there once, with its number", True, "")
    assert found[both.one_by_one] < found[both.counted]


def test_questions_have_the_same_answers(both: Both) -> None:
    found = []
    for path in (both.counted, both.one_by_one):
        with open_release(path) as release:
            found.append([rounded(release.sql(question).fetchall()) for question in QUESTIONS])
    assert found[0] == found[1]


@pytest.mark.slow
def test_attackers_and_reports_find_the_same(both: Both) -> None:
    found = []
    for path in (both.counted, both.one_by_one):
        attacked = sqlpriv.attack(path, policy=both.policy).content
        page = (sqlpriv.show(path).content, sqlpriv.report(path, path.with_suffix(".html")).content)
        found.append(json.loads(json.dumps(rounded((attacked, page)), default=str).replace("counted.", "each.")))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE published SET __copies = __copies + 1 WHERE rowid = 0",
        "UPDATE published SET __copies = NULL WHERE rowid = 0",
        "CREATE OR REPLACE TABLE published AS FROM published UNION ALL (FROM published LIMIT 1)",
        "CREATE OR REPLACE TABLE published AS SELECT * REPLACE (__copies - 1 AS __copies) FROM published UNION ALL "
        "SELECT * REPLACE (CAST(1 AS BIGINT) AS __copies) FROM published ORDER BY ALL",
        "CREATE OR REPLACE TABLE published AS FROM published ORDER BY ALL DESC",
        "CREATE OR REPLACE VIEW main.people AS SELECT * EXCLUDE (__copies) FROM sqlpriv_release.published",
    ],
)
def test_counts_that_were_changed_do_not_verify(both: Both, change: str, tmp_path: Path) -> None:
    copied = tmp_path / "changed.duckdb"
    copied.write_bytes(both.counted.read_bytes())
    with duckdb.connect(str(copied)) as con:
        con.execute("USE sqlpriv_release").fetchall()
        con.execute(change).fetchall()
    with suppress(ReleaseError):
        assert not verify(copied, policy=both.policy).passed


def test_few_rows_and_rows_of_their_own_are_written_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "COUNTED_FROM", 0)
    columns = {"age": qi("ranges:10,50"), "sex": qi(), "ill": role("other")}
    rows = "SELECT i % 2 + 20 AS age, 'M' AS sex, CAST(i AS VARCHAR) AS ill FROM range(80) AS r(i)"
    people = f"CREATE TABLE people AS {rows}"
    policy = write_policy(tmp_path, policy_text(columns, "k = 2", f"{WARD}[ledger]\npath = 'l.db'"), people)
    publish(policy, tmp_path / "own.duckdb")
    assert "__copies" not in asked(tmp_path / "own.duckdb", "DESCRIBE sqlpriv_release.published")[-1]
    assert verify(tmp_path / "own.duckdb", policy=policy).passed


def rounded(value: Any) -> Any:
    """Sums of floats differ in their last digits, as DuckDB adds them in another order; times differ always."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items() if "seconds" not in str(name)}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
