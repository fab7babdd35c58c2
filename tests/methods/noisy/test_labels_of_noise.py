"""Ranges in a release with noise: what is asked of the values below them is refused with the name of the column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.randomized_policies import publish_with, write_noise_policy

import sqlpriv
from sqlpriv import publishing
from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.release.open import OpenRelease

PEOPLE = (
    "CREATE TABLE people AS SELECT 20 + i % 40 AS age, DATE '2024-01-10' + CAST(i % 300 AS INTEGER) AS day, "
    "['F', 'M'][1 + i % 2] AS sex FROM range(2000) AS r(i)"
)
COLUMNS = {
    "age": '{ role = "quasi-identifier", hierarchy = "ranges:5,10", level = 2, domain = "range:20..59" }',
    "day": '{ role = "quasi-identifier", hierarchy = "dates:month", level = 1, '
    'domain = "range:2024-01-01..2024-12-31" }',
    "sex": '{ role = "sensitive", domain = ["F", "M"] }',
}
REFUSED = {
    "SELECT count(*) FROM people WHERE age >= 35": "age is published in ranges, such as '20-29'",
    "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 39": "age is published in ranges",
    "SELECT sex, avg(age) FROM people GROUP BY sex": "age is published in ranges",
    "SELECT year(day), count(*) FROM people GROUP BY 1": "day is published in ranges, such as '2024-01'",
    "SELECT count(*) FROM people WHERE day >= DATE '2024-06-01'": "day is published in ranges",
    "SELECT stddev(age) FROM people": "age is published in ranges",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("labels")
    numbers = 'method = "noisy_counts"\ngamma = 0.8\nn_public = 2000'
    publish_with(write_noise_policy(made, COLUMNS, numbers, PEOPLE))
    return made


@pytest.fixture(scope="module")
def release(folder: Path) -> Iterator[OpenRelease]:
    with publishing.open_release(folder / "people-release.duckdb") as opened:
        yield opened


@pytest.mark.parametrize("query", REFUSED)
def test_what_ranges_cannot_answer_names_the_column(release: OpenRelease, query: str) -> None:
    with pytest.raises(UnsupportedSQLError) as refused:
        release.fetch(query)
    assert REFUSED[query] in str(refused.value)
    assert "cannot be estimated" in str(refused.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT age, count(*) FROM people GROUP BY age",
        "SELECT count(*) FROM people WHERE age = '30-39' AND day IN ('2024-01', '2024-02')",
        "SELECT count(*) FROM people WHERE age LIKE '3%'",
    ],
)
def test_labels_are_asked_as_they_are(release: OpenRelease, query: str) -> None:
    assert release.fetch(query)[1]


def test_an_attacker_finds_people_by_their_ranges(folder: Path) -> None:
    found = sqlpriv.attack(folder / "people-release.duckdb", policy=folder / "policy.toml", worlds=1).content
    noise = next(f for f in found["attacks"] if f["attack"] == "linking attacker")
    # A few of 4 x 10 x 2 combinations may lack a row.
    assert noise["figures"]["agree"]["value"] > 1500
