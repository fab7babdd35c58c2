"""A requirement is one macro and one entry: one that is made up here works everywhere, with no edit elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import sqlpriv
from sqlpriv.checks.measures import AT_MOST, HISTOGRAM, MEASURES, Measure
from sqlpriv.macros import catalog
from sqlpriv.methods import METHODS
from sqlpriv.reports.recheck import recheck_sql

MACRO = """
-- same_value(tbl, qis, sensitive [, person]) -> chance
-- How likely two members of a class, drawn one after the other, have the same sensitive value, in the worst class.
-- nulls: NULL is a value of its own.
-- guarantee: who guesses a person's value by that of another in the class is right with this chance at most.
-- example: FROM priv.same_value('patients', ['zip'], 'disease')
-- expect: [(0.5,)]
CREATE MACRO same_value(tbl, qis, sensitive, person) AS TABLE
SELECT max(value) AS chance
FROM (SELECT _same_value(n, size) AS value FROM _histogram(tbl, qis, sensitive, person) GROUP BY class, size);

CREATE MACRO _same_value(n, size) AS sum(n * n) / any_value(size * size);
"""
ENTRY = Measure("same_value", "same_value", "chance", AT_MOST, HISTOGRAM, "_same_value(n, size)")
POLICY = """[table]
source = "people.csv"
[columns]
age = {{ role = "quasi-identifier", hierarchy = "ranges:10,20,40" }}
ill = {{ role = "sensitive" }}
[require]
same_value = {{ ill = 0.35 }}
[release]
accept = "made-up people"
method = "{method}"
output = "{method}.duckdb"
"""


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The macro as if it stood in sql/, and the entry."""
    texts, cached = dict(catalog.texts()), (catalog.defined, catalog.macros, catalog.inlined, catalog._inliner)
    monkeypatch.setattr(catalog, "texts", lambda: {**texts, "same_value.sql": MACRO})
    monkeypatch.setitem(MEASURES, ENTRY.name, ENTRY)
    for read in cached:
        read.cache_clear()
    yield
    monkeypatch.undo()
    for read in cached:
        read.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{20 + i},{ill}" for i in range(40) for ill in ("flu", "cold", "gout", "flu" if i % 2 else "cough")]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *rows]) + "\n", encoding="utf-8")
    return tmp_path


def test_check_judges_it(folder: Path) -> None:
    found = sqlpriv.check(folder / "people.csv", "age", "ill", require=["same_value<=0.35", "same_value<=0.4"])
    assert [(r["value"], r["passed"]) for r in found.content["requirements"]] == [(0.375, False), (0.375, True)]


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["generalize", "mondrian", "slicing"])
def test_a_policy_a_release_verify_and_the_page_know_it(folder: Path, method: str) -> None:
    (folder / "policy.toml").write_text(POLICY.format(method=method), encoding="utf-8")
    sqlpriv.publish(folder / "policy.toml", ledger_file=folder / "ledger.db")
    file = folder / f"{method}.duckdb"
    checks = {c["check"]: c for c in sqlpriv.verify(file, folder / "policy.toml").content["checks"]}
    assert checks["same_value(ill)<=0.35"]["passed"] is True
    sql = recheck_sql(METHODS[method], str(file), json.loads(json.dumps(sqlpriv.show(file).content)))
    head, _, judged = sql.partition("-- same_value(ill)<=0.35")
    with duckdb.connect() as con:  # no macro is there: what the page prints is plain SQL
        con.execute(head.splitlines()[0])
        (value,) = con.execute(judged.split("\n", 1)[1].partition(";\n")[0]).fetchall()[0]
    assert 0.25 < value <= 0.35
