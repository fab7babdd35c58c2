"""Hard bounds of queries on generalized releases: against all tables that a release may stand for."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from oracles.hard_bounds import hard_bounds
from support.bounded_cases import COLUMNS, PUBLIC, Asked, BoundedCase, answers, random_question
from support.strategies import EXAMPLES

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

# The bar is 1,000 tables: make test-deep asks all of them, make test the first.
TABLES = 1000 if EXAMPLES >= 2000 else 60
QUESTIONS = 6
Answered = dict[tuple[object, ...], dict[str, object]]


def answered(opened: OpenRelease, sql: str, keys: int) -> Answered:
    found = opened.sql(sql)
    names = list(found.columns)[keys:]
    return {row[:keys]: dict(zip(names, row[keys:], strict=True)) for row in found.fetchall()}


def close(found: object, wanted: Fraction | None) -> bool:
    if found is None or wanted is None:
        return found is None and wanted is None
    return abs(float(str(found)) - float(wanted)) <= 1e-9 * max(1.0, abs(float(wanted)))


def check(case: BoundedCase, asked: Asked, opened: OpenRelease, folder: Path, kept: bool) -> None:
    found = answered(opened, asked.sql, len(asked.keys))
    groups = case.groups(asked)
    assert set(found) == set(groups)
    rows = case.choices(kept)
    for name in COLUMNS:
        wanted = hard_bounds(rows, groups, asked.adds, lambda sums, name=name: answers(sums)[name], 4)
        exact = name not in ("m", "r") or not asked.multiplies
        for group, own in found.items():
            bounded = wanted[group]
            assert close(own[name], bounded.estimate), (name, group)
            low, high = own[f"{name}_low"], own[f"{name}_high"]
            if exact:
                assert close(low, bounded.low), (name, group, low, bounded)
                assert close(high, bounded.high), (name, group, high, bounded)
            elif bounded.low is not None and bounded.high is not None:
                assert low is None or float(str(low)) <= float(bounded.low) + 1e-9
                assert high is None or float(str(high)) >= float(bounded.high) - 1e-9
    for row in case.truth(folder, asked.sql):
        own = found[row[: len(asked.keys)]]
        for name, value in zip(COLUMNS, row[len(asked.keys) :], strict=True):
            low, high = own[f"{name}_low"], own[f"{name}_high"]
            if value is not None and not math.isnan(value) and low is not None:
                assert float(str(low)) - 1e-9 <= value <= float(str(high)) + 1e-9, (name, row)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(TABLES))
def test_bounds_are_those_of_all_consistent_tables(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = BoundedCase(chance)
    file = case.publish(tmp_path)
    if file is None:
        return
    with duckdb.connect(str(file), read_only=True) as con:
        kept = con.execute("SELECT value FROM sqlpriv_release.about WHERE name = 'kept_suppressed'").fetchall()
    public = {
        name: duckdb.sql(
            f"FROM (VALUES {', '.join(str(r).replace('None', 'NULL') for r in rows)}) AS t({', '.join(names)})"
        ).to_arrow_table()
        for name, (names, rows) in PUBLIC.items()
    }
    with open_release(file, public=public) as opened:
        for _ in range(QUESTIONS):
            check(case, random_question(chance), opened, tmp_path, kept == [("yes",)])
