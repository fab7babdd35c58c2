"""What cannot be estimated is refused before anything runs, with its place and what to write instead.

The queries are in fixtures/refuse/, a file for each rule. A case is the line `-- its_name`, the query, and the line
`-- refused: ` with the whole message. A blank line parts the cases.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from support import places
from support.query_releases import COLUMNS, REGIONS
from support.releases import alpha_beta, random_view, write_release

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.one_version

FIXTURES = sorted((places.FIXTURES / "refuse").glob("*.sql"))
# The query is all between the two lines, as it is: the messages name lines and columns of it.
CASE = re.compile(r"-- (?P<name>\w+)\n(?P<query>(?:(?!-- refused: ).*\n)*)-- refused: (?P<message>.*)\n(?:\n|\Z)")


def cases(text: str) -> list[tuple[str, str, str]]:
    """The name, the query and the message of each case of a file; nothing is left over between them."""
    found, place = [], 0
    while place < len(text):
        case = CASE.match(text, place)
        assert case, f"no case begins with this, or its end is not found: {text[place : place + 80]!r}"
        found.append((case["name"], case["query"], case["message"].strip()))
        place = case.end()
    return found


CASES = [(file.stem, *case) for file in FIXTURES for case in cases(file.read_text(encoding="utf-8"))]


class Counting:
    """A connection that counts what reaches it, instead of running it."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: object) -> None:
            self.reached.append(f"{name}{arguments}")

        return called


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[OpenRelease, Counting]:
    path = tmp_path_factory.mktemp("refused") / "people.duckdb"
    write_release(path, COLUMNS, random_view(COLUMNS, 9, 1), alpha_beta(0.4, 0.02), public=REGIONS)
    with open_release(path) as opened:
        counting = Counting()
        return OpenRelease(counting, opened._release, 1e6), counting  # type: ignore[arg-type]


def test_there_are_many() -> None:
    assert len(CASES) >= 210
    assert len({name for _, name, _, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "text",
    ["SELECT 1\n-- refused: x\n", "-- a\nSELECT 1\n", "-- a\nSELECT 1\n-- refused: x\n-- b\nSELECT 2\n-- refused: y\n"],
)
def test_a_file_that_is_no_list_of_cases_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(AssertionError, match="no case begins with this"):
        cases(text)


@pytest.mark.parametrize(
    ("query", "message"), [pytest.param(query, message, id=f"{file}-{name}") for file, name, query, message in CASES]
)
def test_it_is_refused_and_never_reaches_the_engine(
    query: str, message: str, watched: tuple[OpenRelease, Counting]
) -> None:
    opened, counting = watched
    with pytest.raises(UnsupportedSQLError) as refused:
        opened.sql(query)
    assert str(refused.value) == message
    with pytest.raises(UnsupportedSQLError) as unexplained:
        opened.explain(query)
    assert str(unexplained.value) == message
    assert counting.reached == []


def test_what_is_answered_does_reach_the_engine(watched: tuple[OpenRelease, Counting]) -> None:
    """Or the counting above would prove nothing."""
    opened, counting = watched
    with pytest.raises(AttributeError):
        opened.sql("SELECT count(*) FROM people")
    assert len(counting.reached) == 1
    counting.reached.clear()


def test_a_budget_that_is_passed_is_a_refusal_too(watched: tuple[OpenRelease, Counting]) -> None:
    opened, counting = watched
    small = OpenRelease(counting, opened._release, 20)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedSQLError, match="'age' and 'score'"):
        small.sql("SELECT count(*) FROM people WHERE score < 3 * age")
    assert counting.reached == []


def test_bounds_fall_back_on_what_costs_less(watched: tuple[OpenRelease, Counting]) -> None:
    """Values above and below 0 are told apart by all columns together; their squares fall apart."""
    opened, counting = watched
    query = "SELECT sum(age - score) AS s FROM people WHERE nationality = 'AT'"
    small = OpenRelease(counting, opened._release, 90)  # type: ignore[arg-type]
    assert "< 0" in opened.explain(query).sql
    assert "< 0" not in small.explain(query).sql
    assert small.explain(query).cost <= 90


def test_a_budget_that_intervals_pass(watched: tuple[OpenRelease, Counting]) -> None:
    opened, counting = watched
    small = OpenRelease(counting, opened._release, 60)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedSQLError, match="That is for its intervals: its estimates alone can be asked for"):
        small.sql("SELECT sum(CASE WHEN age > 30 THEN age ELSE score END) AS s FROM people")
    assert counting.reached == []
