"""A table that was counted elsewhere costs what its combinations cost, however many rows they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Request
from sqlpriv.publishing import open_private, read_policy
from sqlpriv.publishing.draft import first_edition
from sqlpriv.reports.figures import of_private_table
from sqlpriv.table.engines.duck import HeldRelation
from sqlpriv.table.engines.rows import COUNT

EACH = 10_000_000
"""So many rows a combination stands for; with all of them read one by one these tests would take an hour."""
PEOPLE = """
    SELECT CAST(20 + i % 50 AS INTEGER) AS age, lpad(CAST(1300 + i % 7 AS VARCHAR), 5, '0') AS zip,
        CASE i % 3 WHEN 0 THEN 'flu' WHEN 1 THEN 'cold' END AS ill
    FROM range(6000) AS r(i) UNION ALL SELECT 99, '99999', 'flu'"""
GENERALIZE = f"""
    age = {{ role = "quasi-identifier", hierarchy = "ranges:10,30", domain = "range:20..99" }}
    zip = {{ role = "quasi-identifier", hierarchy = "mask:5" }}
    ill = {{ role = "sensitive", domain = "active" }}
    [require]
    k = {9 * EACH}
    [release]
    method = "generalize"
    suppression = 0.05
    output = "release.duckdb"
"""
NOISY = f"""
    age = {{ role = "published", domain = "range:20..99" }}
    zip = {{ role = "drop" }}
    ill = {{ role = "published", domain = ["flu"], outside = "other", null = true }}
    [release]
    method = "noisy_counts"
    gamma = 0.8
    d = 0.05
    uncovered = "only a test"
    n_public = {6001 * EACH}
    output = "release.duckdb"
"""


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    counted = HeldRelation.histogram

    def many(self: HeldRelation, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        relation = counted(self, con, names, table)
        fetch(con, f"UPDATE {table} SET {COUNT} = {COUNT} * {EACH}")
        return relation

    monkeypatch.setattr(HeldRelation, "histogram", many)
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE people AS {PEOPLE}").fetchall()
        yield con.table("people")


def test_billions_of_rows_are_generalized_by_their_combinations(people: Any, tmp_path: Path) -> None:
    """One is suppressed, so what is written is searched for its values."""
    path, output = tmp_path / "policy.toml", tmp_path / "release.duckdb"
    path.write_text(f'[table]\nsource = "people"\n[columns]{GENERALIZE}')
    with open_private(read_policy(path).holding(people)) as (source, policy):
        method, request = METHODS[policy.method], Request()
        plan = method.plan(source, policy, request)
        made = method.write(plan, first_edition(method, plan, b"k" * 32), output, request)
        method.compare(plan, output)
        assert of_private_table(source, policy).people == 6001 * EACH
    assert made.rows == 6000 * EACH
    with duckdb.connect(str(output), read_only=True) as con:
        assert con.sql("SELECT sum(__copies) FROM sqlpriv_release.published").fetchall() == [(6000 * EACH,)]


def test_billions_of_rows_are_tuples_with_copies(people: Any, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f'[table]\nsource = "people"\n[columns]{NOISY}')
    with open_private(read_policy(path).holding(people)) as (source, policy):
        plan: Any = METHODS[policy.method].plan(source, policy, Request())
        found = source.con.sql(f"SELECT count(*), sum(copies) FROM {plan.tuples.name}").fetchall()
    assert found == [(151, 6001 * EACH)]
