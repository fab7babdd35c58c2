"""Checks against a population, re-identification risk, and utility, against their oracles."""

from fractions import Fraction

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.counting import Rows
from support import strategies
from support.agreement import assert_rows, call, macros_of, persons, verify
from support.strategies import Case

TESTED = macros_of(["k_map", "delta_presence", "risk"], "population_risk", "class_sizes", "utility", "kl_divergence")
Con = duckdb.DuckDBPyConnection


@given(data=st.data(), case=strategies.cases())
def test_the_population_agrees(con: Con, data: st.DataObject, case: Case) -> None:
    people = data.draw(strategies.populations(case))
    strategies.create(con, "t", case)
    strategies.create(con, "people", people)
    more = [case.qis, *data.draw(persons(case))]
    for check in ("k_map", "delta_presence"):
        verify(con, data, check, ["t", "people", *more], [case.rows, people.rows, *more])
    expected = oracles.population_risk(case.rows, people.rows, *more)
    assert_rows(call(con, "population_risk", "t", "people", *more), [tuple(expected.values())], more)


@strategies.fewer(2, deep=1)
@given(data=st.data(), case=strategies.cases())
def test_a_population_that_lacks_people_agrees(con: Con, data: st.DataObject, case: Case) -> None:
    """Any population at all: k_map may be 0, risks 1, and delta_presence refuses what is no part."""
    kept = data.draw(st.lists(st.sampled_from(case.rows), min_size=1, max_size=len(case.rows)))
    people = strategies.with_rows(case, kept)
    strategies.create(con, "t", case)
    strategies.create(con, "people", people)
    more = [case.qis, *data.draw(persons(case))]
    verify(con, data, "k_map", ["t", "people", *more], [case.rows, people.rows, *more])
    expected = oracles.population_risk(case.rows, people.rows, *more)
    assert_rows(call(con, "population_risk", "t", "people", *more), [tuple(expected.values())], more)
    assert_presence(con, case.rows, people.rows, more)


def assert_presence(con: Con, rows: Rows, people: Rows, more: list[object]) -> None:
    try:
        present = oracles.delta_presence(rows, people, *more)
    except ValueError:
        for name, threshold in (("delta_presence", []), ("delta_presence_classes", [0.5])):
            with pytest.raises(duckdb.Error, match="not part of the population"):
                call(con, name, "t", "people", *more, *threshold)
    else:
        assert_rows(call(con, "delta_presence", "t", "people", *more), [present], more)


@given(data=st.data(), case=strategies.cases())
def test_risk_and_utility_agree(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    more = [case.qis, *data.draw(persons(case))]
    verify(con, data, "risk", ["t", *more], [case.rows, *more])
    sizes = oracles.class_sizes(case.rows, *more)
    histogram = [(size, count, size * count) for size, count in sizes.items()]
    assert_rows(call(con, "class_sizes", "t", *more), histogram, more)
    people, classes = (sum(row[column] for row in histogram) for column in (2, 1))
    utility = (
        people,
        classes,
        oracles.average_class_size(case.rows, *more),
        float(oracles.discernibility(case.rows, *more)),
    )
    assert_rows(call(con, "utility", "t", *more), [utility], more)


@given(recoding=strategies.recodings())
def test_kl_divergence_agrees(con: Con, recoding: tuple[Case, Case, str]) -> None:
    general, original, key = recoding
    strategies.create(con, "t", general)
    strategies.create(con, "before", original)
    expected = oracles.kl_divergence(general.rows, original.rows, original.qis, key)
    assert_rows(call(con, "kl_divergence", "t", "before", original.qis, key), [(expected,)], recoding)


@pytest.mark.parametrize(
    ("ids", "complaint"),
    [([1, 1], "not unique"), ([1, None], "not unique"), ([1, 3], "no original"), ([3, 4], "no original")],
)
def test_records_without_one_original_are_refused(con: Con, ids: list[object], complaint: str) -> None:
    strategies.create_table(con, "before", {"id": "INTEGER", "q": "VARCHAR"}, [[1, "a"], [2, "b"]])
    strategies.create_table(con, "t", {"id": "INTEGER", "q": "VARCHAR"}, [[i, "*"] for i in ids])
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, "kl_divergence", "t", "before", ["q"], "id")


def test_a_class_that_the_population_lacks_is_a_certain_risk(con: Con) -> None:
    strategies.create_table(con, "t", {"q": "INTEGER"}, [[1], [2], [2]])
    strategies.create_table(con, "people", {"q": "INTEGER"}, [[2]] * 4)
    expected = (Fraction(1), (1 + 2 * Fraction(1, 4)) / 3)
    assert_rows(call(con, "population_risk", "t", "people", ["q"]), [expected], "population_risk")
    assert call(con, "k_map", "t", "people", ["q"]) == [(0,)]


def test_the_population_may_spell_its_columns_otherwise(con: Con) -> None:
    strategies.create_table(con, "t", {"Zip": "INTEGER", "age": "INTEGER"}, [[1, 2]])
    strategies.create_table(con, "people", {"AGE": "INTEGER", "zip": "INTEGER"}, [[2, 1], [2, 1], [1, 2]])
    assert call(con, "k_map", "t", "people", ["zip", "age"]) == [(2,)]
    assert call(con, "k_map_classes", "t", "people", ["zip", "age"], 3) == [({"Zip": 1, "age": 2}, 1, 2)]
    assert call(con, "delta_presence", "t", "people", ["zip", "age"]) == [(0.0, 0.5)]
