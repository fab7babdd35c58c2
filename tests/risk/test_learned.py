"""A reader who learns from all groups of a release: exact inside a group, silent where there is nothing to learn."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from oracles.permutations import match_chances as match_one_by_one
from oracles.permutations import wilson_low

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Scratch
from sqlpriv.macros.catalog import inlined
from sqlpriv.risk.learned import Learned, learn_values
from sqlpriv.risk.learned_figures import LearnedFigures, judge_guesses
from sqlpriv.risk.permutations import EXACT, log_ways, match_chances

Con = duckdb.DuckDBPyConnection
pytestmark = pytest.mark.one_version


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_chances_are_those_of_all_ways(size: int) -> None:
    odds = np.random.default_rng(size).random((4, size, size)) ** 4 + 1e-9
    chances, ways = match_chances(odds), log_ways(odds)
    for group in range(4):
        expected, total = match_one_by_one(odds[group].tolist())
        assert np.allclose(chances[group], expected, rtol=1e-9)
        assert np.isclose(np.exp(ways[group]), total, rtol=1e-9)


def test_large_groups_are_scaled_and_keep_the_order_of_chances() -> None:
    odds = np.random.default_rng(1).random((2, EXACT + 3, EXACT + 3))
    chances = match_chances(odds)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.allclose(chances.sum(axis=2), 1)
    certain = np.eye(EXACT + 1)[None] * 1e9 + 1
    assert (match_chances(certain).argmax(axis=2) == np.arange(EXACT + 1)).all()


VALUE = "i * i % 997 % 11"
"""A value of 11, so that groups of 4 hold ever other ones: values that always occur together cannot be told apart."""


def grouped(people: str, least: int) -> Con:
    """Rows dealt into groups by one sort, as Anatomy does: a table t with group, columns and value."""
    con = duckdb.connect()
    con.execute(f"CREATE TABLE p AS SELECT *, hash(i) AS coin FROM ({people})").fetchall()
    con.execute(
        f"CREATE TABLE t AS SELECT (row_number() OVER (ORDER BY v, coin) - 1) % ((SELECT count(*) FROM p) // {least}) "
        "AS g, * EXCLUDE (coin) FROM p"
    ).fetchall()
    return con


def learn(con: Con, columns: list[str], promised: float = 0.25) -> tuple[Learned, LearnedFigures]:
    scratch = Scratch(con)
    learned = learn_values(scratch, "t", "t", "g", columns, "v")
    return learned, judge_guesses(scratch, learned, promised, "t", columns, "v")


def test_a_value_that_goes_with_a_column_is_learned_and_breaks_the_promise() -> None:
    with grouped(f"SELECT i, {VALUE} AS job, i % 3 AS noise, 'v' || ({VALUE}) AS v FROM range(900) AS r(i)", 4) as con:
        learned, found = learn(con, ["job", "noise"])
    assert learned.columns[0] == "job"
    assert found.people == 900
    assert (found.guessed_right or 0) > 700
    assert found.right_99 == found.certain_99
    assert found.certain_99 > 400
    assert found.breaks


def test_where_nothing_is_to_be_learned_nobody_is_believed_more_than_the_group_says() -> None:
    people = f"SELECT i, hash(i, 1) % 8 AS job, hash(i, 2) % 3 AS noise, 'v' || ({VALUE}) AS v FROM range(900) AS r(i)"
    with grouped(people, 4) as con:
        learned, found = learn(con, ["job", "noise"])
        beliefs = fetch(con, f"SELECT DISTINCT round(belief, 9) FROM {learned.beliefs.name}")
    assert (learned.columns, learned.trust) == ((), 0.0)
    assert beliefs == [(0.25,)]
    assert (found.certain_90, found.certain_99, found.breaks) == (0, 0, False)
    assert found.expected_right <= 900 / 4


def test_null_is_a_value_that_is_guessed_like_any_other() -> None:
    people = f"SELECT i, nullif({VALUE}, 3) AS job, 'v' || nullif({VALUE}, 3) AS v FROM range(900) AS r(i)"
    with grouped(people, 4) as con:
        _, found = learn(con, ["job"])
    assert (found.guessed_right or 0) > 700


@pytest.mark.parametrize("rows", [1, 3])
def test_a_group_alone_teaches_nothing(rows: int) -> None:
    with grouped(f"SELECT i, i AS job, i AS v FROM range({rows}) AS r(i)", rows) as con:
        learned, found = learn(con, ["job"])
    assert learned.trust == 0
    assert found.expected_right == pytest.approx(1)


def test_numbers_and_dates_of_many_values_are_read_in_parts() -> None:
    born = f"DATE '2000-01-01' + CAST(({VALUE}) * 300 + i % 300 AS INTEGER)"
    people = f"SELECT i, {born} AS born, i / 7 AS height, {VALUE} AS v FROM range(900) AS r(i)"
    with grouped(people, 4) as con:
        learned, found = learn(con, ["born", "height"])
    assert learned.columns
    assert (found.guessed_right or 0) > 700


def test_the_limits_of_the_rule_are_those_of_its_oracle() -> None:
    with duckdb.connect() as con:
        for right, people in ((0, 20), (9, 20), (20, 20), (333, 1000)):
            asked = inlined(f"_wilson_low({right} / {people}, {people}, 2.58)")
            assert fetch(con, f"SELECT {asked}")[0][0] == pytest.approx(wilson_low(right, people, 2.58), abs=1e-9)
        asked = [inlined(text) for text in ("_learned_limit(0.25)", "_learned_enough(100)", "_learned_enough(24000)")]
        assert [float(v) for v in fetch(con, f"SELECT {', '.join(asked)}")[0]] == [0.4, 20, 240]
