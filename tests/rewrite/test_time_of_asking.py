"""now() is the time of asking: it is the same in a whole query, and never kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support.bi_corpus import exact_release

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    path: Path = exact_release(tmp_path_factory.mktemp("now") / "visits-release.duckdb").path
    with open_release(path) as found:
        yield found


def test_the_time_is_that_of_asking_and_not_of_the_first_time(opened: OpenRelease) -> None:
    asked = "SELECT now() AS a, current_timestamp AS b, current_date AS d"
    first, again = (opened.sql(asked).fetchall()[0] for _ in range(2))
    a, b, d = first
    assert a == b
    assert d == a.date()
    assert again[0] > a
    assert abs(datetime.now(timezone.utc).replace(tzinfo=None) - again[0]) < timedelta(minutes=1)


@pytest.mark.parametrize("asks", ["now()", "NOW ( )", "current_date", "age(day)", "get_current_timestamp()"])
def test_who_asks_for_the_time_gets_it(asks: str) -> None:
    assert time_of_asking(f"SELECT {asks} FROM visits")


@pytest.mark.parametrize("asks", ["now/**/()", '"now"()', '"age"(day)', "age /* */ (day)"])
@pytest.mark.parametrize("postgres", [False, True])
def test_a_call_in_disguise_is_refused_and_never_kept(opened: OpenRelease, asks: str, postgres: bool) -> None:
    assert time_of_asking(f"SELECT {asks} FROM visits") == ""
    with pytest.raises(UnsupportedSQLError, match=r"time of the machine|always answer the same"):
        opened.answer(f"SELECT count(*) FROM visits WHERE day > {asks}", Options(postgres=postgres))


def test_a_column_called_age_asks_for_no_time(opened: OpenRelease) -> None:
    """Or such a query would be rewritten whenever it is asked."""
    assert time_of_asking("SELECT count(*) FROM people WHERE age > 40 AND today = 1 AND now_or_then") == ""
    asked = "SELECT count(*) AS age FROM visits"
    for _ in range(3):
        opened.sql(asked).fetchall()
    assert opened._rewritten.cache_info().hits >= 2


def test_a_query_that_is_kept_may_not_ask_for_the_time(opened: OpenRelease) -> None:
    for time in ("now()", "current_date", "current_timestamp"):
        with pytest.raises(UnsupportedSQLError, match="only functions that always answer the same"):
            rewrite(f"SELECT count(*) FROM visits WHERE day < {time}", opened._release, Options())


@pytest.mark.parametrize(
    "series",
    [
        "generate_series(1, 10, 0)",
        "generate_series(1, 1000000000)",
        "generate_series(1, 2.5)",
        "generate_series(DATE '2024-01-01', DATE '9999-01-01', INTERVAL 1 DAY)",
        "generate_series(DATE '2024-01-01', DATE '2025-01-01', INTERVAL '1 month -1 day')",
        "generate_series(DATE '2024-01-01', DATE '2025-01-01', INTERVAL '0 days')",
        "generate_series(1, (SELECT count(*) FROM visits))",
        "generate_series(2, 1)",
    ],
)
def test_series_without_an_end_are_refused(opened: OpenRelease, series: str) -> None:
    with pytest.raises(UnsupportedSQLError, match="generate_series"):
        opened.sql(f"SELECT count(*) FROM {series}")
