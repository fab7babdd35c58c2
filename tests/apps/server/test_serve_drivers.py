"""The same questions through every driver that is installed: parameters as each of them sends them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from support import places
from support.drivers import DRIVERS, Driver, with_table
from support.serving import Running

pytestmark = pytest.mark.one_version

# A statement with its values, and what is answered.
ASKED: dict[str, tuple[str, Sequence[Any], list[tuple[Any, ...]]]] = {
    "no space": ("select count(*) from visits where quantity in($1,$2)", (1, 4), [(1556,)]),
    "a list": ("select count(*) from visits where product = any($1)", (["a", "b"],), [(1556,)]),
    "numbers": ("select count(*) from visits where amount = any($1)", ([5, 10],), [(925,)]),
    "null": (
        "select count(*) from visits where ($1::text is null or region = 'x') and amount > $2", (None, 7), [(1872,)]
    ),
    "a date": ("select count(*) from visits where day >= $1 and paid = $2", (date(2024, 2, 29), True), [(585,)]),
    "limit": (
        "select product, count(*) as n from visits group by product order by product limit $1 offset $2", (1, 1),
        [("b", 782)],
    ),
}  # fmt: skip
WITH_PARAMETERS = [d for d in DRIVERS if d.ask is not None and d.takes_parameters]
OTHERS = [d for d in DRIVERS if d.ask is not None]


def _ask(driver: Driver, server: Running, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    if not driver.is_installed or driver.ask is None:
        pytest.skip(f"{driver.name} is not installed")
    about = {**server.about, "dbname": "sqlpriv?bounds=off"}
    if driver.connects.startswith(("`postgresql", "`polars", "`dbapi")):  # in a URL
        about["dbname"] = "sqlpriv%3Fbounds=off"
    return driver.ask(about, sql, values)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("driver", WITH_PARAMETERS, ids=lambda driver: driver.name)
def test_parameters_arrive_as_drivers_send_them(server: Running, driver: Driver, asked: str) -> None:
    sql, values, expected = ASKED[asked]
    if driver.name == "ADBC" and asked in ("a list", "numbers", "null"):
        pytest.skip("ADBC binds single values with a type")
    found = _ask(driver, server, sql, values)
    assert [tuple(str(float(v)) if isinstance(v, (int, float)) else v for v in row) for row in found] == [
        tuple(str(float(v)) if isinstance(v, (int, float)) else v for v in row) for row in expected
    ]


@pytest.mark.parametrize("driver", OTHERS, ids=lambda driver: driver.name)
def test_an_answer_comes_back(server: Running, driver: Driver) -> None:
    found = _ask(driver, server, "select product, count(*) as n from visits group by product order by product")
    assert [(row[0], float(row[1])) for row in found] == [("a", 774.0), ("b", 782.0), ("c", 774.0)]


def test_the_page_has_the_table_of_drivers() -> None:
    page = (places.ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    assert "<!-- drivers -->" in page
    assert with_table(page) == page
