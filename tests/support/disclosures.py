"""A small table, a dictionary of its people, and policies that disclose it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlpriv.publishing import verify
from support.policies import write_policy

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
    """The policy file in a folder, with its database; columns in the place of those of the small table."""
    listed = "\n".join(f"{name} = {given}" for name, given in {**COLUMNS, **columns}.items() if given)
    text = (
        f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{listed}\n[ledger]\npath = "ledger.db"\n'
        f'[release]\nmethod = "disclose"\noutput = "{FILE}"\n{release}\n'
    )
    return write_policy(folder, text, tables)


def checks(file: Path, policy: Path | None = None) -> dict[str, Any]:
    """What verifying finds, by check."""
    return {c["check"]: c["passed"] for c in verify(file, policy).content["checks"]}
