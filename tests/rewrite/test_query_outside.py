"""A value that a domain has not: the answer comes with a sentence, because 0 says nothing about it."""

from __future__ import annotations

import pytest

from sqlpriv.release.open import OpenRelease


@pytest.mark.parametrize(
    ("query", "column", "value"),
    [
        ("SELECT count(*) FROM people WHERE nationality = 'Austria'", "nationality", "'Austria'"),
        ("SELECT count(*) FROM people WHERE 'Austria' = (nationality)", "nationality", "'Austria'"),
        ("SELECT count(*) FROM people WHERE nationality IN ('AT', 'Austria')", "nationality", "'Austria'"),
        ("SELECT count(*) FROM people WHERE nationality <> 'Austria'", "nationality", "'Austria'"),
        ("SELECT count(*) FILTER (WHERE age = 1000) FROM people", "age", "1000"),
        ("SELECT sum(CASE WHEN p.age = -1 THEN 1 ELSE 0 END) FROM people AS p", "age", "-1"),
        ("SELECT count(*) FROM (SELECT age AS a FROM people) WHERE a = 1000", "age", "1000"),
        ("SELECT n FROM (SELECT age, count(*) AS n FROM people WHERE age = 1000 GROUP BY age)", "age", "1000"),
        ("SELECT age = 1000, count(*) FROM people GROUP BY 1", "age", "1000"),
    ],
)
def test_a_value_that_the_domain_has_not(opened: OpenRelease, query: str, column: str, value: str) -> None:
    (said,) = opened.warnings(query)
    assert said.startswith(f"the domain of '{column}' has no value {value} (")
    assert opened.sql(query).fetchall() is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM people WHERE nationality = 'AT' AND age IN (20, 22)",
        "SELECT count(*) FROM people WHERE age > 1000",
        "SELECT count(*) FROM people JOIN regions ON nationality = country WHERE country = 'Nowhere'",
        "SELECT count(*) AS n FROM people HAVING n = 1000",
    ],
)
def test_nothing_is_said_of_anything_else(opened: OpenRelease, query: str) -> None:
    assert opened.warnings(query) == ()


def test_a_small_domain_is_listed(opened: OpenRelease) -> None:
    (said,) = opened.warnings("SELECT count(*) FROM people WHERE nationality = 'at'")
    assert "AT, " in said
