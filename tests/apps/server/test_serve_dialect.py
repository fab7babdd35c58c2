"""Statements over the protocol mean what PostgreSQL means: each is run on a PostgreSQL and on the server, and compared.

The release answers exactly, so that both must say the same. What cannot be answered is refused, and is in a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isclose
from typing import Any

import psycopg
import pytest
from psycopg import sql as composed
from support import places
from support.bi_corpus import PUBLIC, private_database
from support.releases import Made
from support.serving import Running

from sqlpriv.apps.server.catalog_server import DATABASE, CatalogServer

FOLDER = places.FIXTURES / "postgres"


def _lines(name: str) -> list[str]:
    text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("--")]


STATEMENTS = [
    *(f"select {key}, count(*) as n from visits group by 1 order by 1" for key in _lines("keys")),
    *_lines("statements"),
]
REFUSED = [f"select {key} as x, count(*) as n from visits group by 1 order by 1" for key in _lines("refused")]


@pytest.fixture(scope="module")
def postgres(visits: Made) -> Iterator[psycopg.Connection[Any]]:
    """A PostgreSQL that has the rows."""
    with closing(CatalogServer({}, "analyst", 4, 60.0)) as server, server._connect(DATABASE) as con:
        con.execute("SET default_transaction_read_only = off")
        con.execute("SET search_path TO public")
        con.execute("SET TIME ZONE 'UTC'")
        con.execute(
            "CREATE TABLE visits (region text, product text, amount integer, quantity integer, day date, paid boolean)"
        )
        with private_database(visits) as rows:
            cells = rows.execute("SELECT region, product, amount, quantity, day, paid FROM visits").fetchall()
        con.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s)", cells)
        con.execute("CREATE TABLE regions (region text, continent text)")
        con.cursor().executemany("INSERT INTO regions VALUES (%s, %s)", PUBLIC["regions"][1])
        yield con


@pytest.fixture(scope="module")
def served(server: Running) -> Iterator[psycopg.Connection[Any]]:
    with server.connect(dbname="sqlpriv?bounds=off") as con:
        yield con


def test_there_are_three_hundred() -> None:
    assert len(STATEMENTS) >= 300
    assert len(set(STATEMENTS)) == len(STATEMENTS)


@pytest.mark.some(120)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_it_means_what_postgresql_means(
    statement: str, postgres: psycopg.Connection[Any], served: psycopg.Connection[Any]
) -> None:
    asked = composed.SQL(statement)  # type: ignore[arg-type]
    expected, found = postgres.execute(asked), served.execute(asked)
    assert [c.name for c in found.description or ()] == [c.name for c in expected.description or ()]
    rows, others = ([tuple(map(_plain, row)) for row in each.fetchall()] for each in (found, expected))
    if "order by" not in statement:
        rows, others = sorted(rows, key=repr), sorted(others, key=repr)
    assert len(rows) == len(others), (rows, others)
    for row, other in zip(rows, others, strict=True):
        assert all(map(_alike, row, other)), (rows, others)


@pytest.mark.parametrize("statement", REFUSED)
def test_what_duckdb_reads_otherwise_is_refused(
    statement: str, postgres: psycopg.Connection[Any], served: psycopg.Connection[Any]
) -> None:
    asked = composed.SQL(statement)  # type: ignore[arg-type]
    postgres.execute(asked).fetchall()
    with pytest.raises((psycopg.errors.FeatureNotSupported, psycopg.errors.SyntaxError)) as refused:
        served.execute(asked)
    assert refused.value.diag.message_hint


def _plain(value: Any) -> Any:
    """Times without their zone, which is UTC: the server has none."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else value


def _alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, bool) or not isinstance(expected, (int, float, Decimal)):
        return bool(found == expected) and isinstance(found, (type(expected), timedelta))
    return isinstance(found, (int, float, Decimal)) and isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
