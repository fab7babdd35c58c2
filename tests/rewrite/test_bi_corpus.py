"""SQL as BI tools write it is answered as DuckDB answers it over the rows themselves, or refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from support.bi_corpus import Case, cases, exact_release, private_database
from support.releases import Made

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

CASES = cases()
ANSWERED = [pytest.param(c, id=f"{c.tool}-{c.name}") for c in CASES if not c.refused]
REFUSED = [pytest.param(c, id=f"{c.tool}-{c.name}") for c in CASES if c.refused]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return exact_release(tmp_path_factory.mktemp("bi") / "visits-release.duckdb")


@pytest.fixture(scope="module")
def opened(made: Made) -> Iterator[OpenRelease]:
    with open_release(made.path) as found:
        yield found


@pytest.fixture(scope="module")
def private(made: Made) -> Iterator[duckdb.DuckDBPyConnection]:
    with private_database(made) as con:
        yield con


def test_there_are_many_of_each_tool() -> None:
    tools = [c.tool for c in CASES]
    assert len(CASES) >= 120
    assert len({(c.tool, c.name) for c in CASES}) == len(CASES)
    assert len(set(tools)) == 9
    assert min(map(tools.count, tools)) >= 12
    assert len(REFUSED) <= len(CASES) / 5


@pytest.mark.some(60)
@pytest.mark.parametrize("case", ANSWERED)
def test_the_answer_is_duckdbs(case: Case, opened: OpenRelease, private: duckdb.DuckDBPyConnection) -> None:
    answer = opened.sql(case.query, intervals=False, parameters=case.parameters)
    found = answer.fetchall()
    asked = private.execute(case.query, case.parameters or [])
    names, expected = [c[0] for c in asked.description or []], asked.fetchall()
    assert list(map(str.lower, answer.columns)) == list(map(str.lower, names))
    assert len(found) == len(expected), (found, expected)
    if "ORDER BY" not in case.query.rpartition(")")[2].upper():
        found, expected = sorted(found, key=_sortable), sorted(expected, key=_sortable)
    for one, other in zip(found, expected, strict=True):
        assert all(map(alike, one, other)), (one, other)


def test_no_answer_hangs_on_the_order_of_rows(made: Made, private: duckdb.DuckDBPyConnection) -> None:
    """A tie at a LIMIT would be cut by chance, and the comparison with it."""
    with private_database(made, "ORDER BY ALL DESC") as turned:
        for case in CASES:
            if not case.refused:
                one, other = (con.execute(case.query, case.parameters or []).fetchall() for con in (private, turned))
                assert len(one) == len(other), case.name
                if "ORDER BY" not in case.query.rpartition(")")[2].upper():
                    one, other = sorted(one, key=_sortable), sorted(other, key=_sortable)
                assert all(all(map(alike, a, b)) for a, b in zip(one, other, strict=True)), case.name


@pytest.mark.some(50)
@pytest.mark.parametrize("case", ANSWERED)
def test_estimates_come_with_bounds(case: Case, opened: OpenRelease) -> None:
    """With variance 0 an interval is a point; it may be NULL."""
    answer = opened.sql(case.query, parameters=case.parameters)
    columns = list(answer.columns)
    assert len(set(columns)) == len(columns)
    for row in answer.fetchall():
        found = dict(zip(columns, row, strict=True))
        for name in columns:
            for bound in (f"{name}_low", f"{name}_high"):
                if found.get(bound) is not None:
                    assert alike(found[bound], found[name]), (name, row)


@pytest.mark.parametrize("case", REFUSED)
def test_the_refusal_says_what_to_write(case: Case, opened: OpenRelease) -> None:
    with pytest.raises(UnsupportedSQLError) as refused:
        opened.sql(case.query, parameters=case.parameters)
    message = str(refused.value)
    assert message.startswith(case.refused)
    assert " at line " in message
    assert ", column " in message
    assert " cannot be estimated: " in message


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((v is None, str(round(v, 6) if isinstance(v, (float, Decimal)) else v)) for v in row)


def alike(found: Any, expected: Any) -> bool:
    """The same number, or almost; the same value otherwise."""
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(alike(found[k], v) for k, v in expected.items())
    if isinstance(expected, bool) or not isinstance(expected, (int, float, Decimal)):
        return type(found) is type(expected) and bool(found == expected)
    if isinstance(found, bool) or not isinstance(found, (int, float, Decimal)):
        return False
    return math.isclose(float(found), float(expected), rel_tol=1e-8, abs_tol=1e-8)
