"""By which columns people can be found, and the people alone in a population, against their oracles."""

import math
import random
from itertools import product
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.agreement import assert_rows, call, close, macros_of, persons
from support.strategies import Case

TESTED = macros_of([], "uniqueness", "population_uniques")
Con = duckdb.DuckDBPyConnection


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sets with as many uniques and the same entropy stand in either order, since sums differ in the last digit."""
    return sorted(rows, key=lambda row: (len(row[0]), -row[3], -round(row[2], 9), row[0]))


@given(data=st.data(), case=strategies.cases())
def test_uniqueness_agrees(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    more = data.draw(persons(case))
    columns = [*case.qis, *([] if more else [case.person]), case.sensitive]
    most = data.draw(st.integers(1, len(columns)))
    found = call(con, "uniqueness", "t", columns, most, *more)
    assert [(len(row[0]), -row[3]) for row in found] == sorted((len(row[0]), -row[3]) for row in found)
    expected = oracles.uniqueness(case.rows, columns, most, *more)
    assert_rows(in_order(found), in_order(expected), (columns, most, more))


@given(data=st.data(), case=strategies.cases())
def test_a_special_unique_is_one_in_no_smaller_set(con: Con, data: st.DataObject, case: Case) -> None:
    """All special uniques of the parts of a set, and no others, are alone in it: nobody is found from nothing."""
    strategies.create(con, "t", case)
    found = {tuple(row[0]): row for row in call(con, "uniqueness", "t", list(case.qis), len(case.qis))}
    for own, row in found.items():
        parts = [other for other in found if set(other) <= set(own)]
        assert max(found[part][5] for part in parts) <= row[3] <= sum(found[part][5] for part in parts)


def test_supersets_of_a_nearly_unique_column_are_not_looked_at(con: Con) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE t AS SELECT i // 2 * 2 * (i < 2)::INT + i * (i >= 2)::INT AS id, i % 2 AS odd, "
        "i % 3 AS rest FROM range(100) AS r(i)"
    )
    found = [row[0] for row in call(con, "uniqueness", "t", ["id", "odd", "rest"], 3)]
    assert sorted(found) == [["id"], ["odd"], ["odd", "rest"], ["rest"]]


@given(data=st.data(), case=strategies.cases(), fraction=st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5, 1.0]))
def test_population_uniques_agree(con: Con, data: st.DataObject, case: Case, fraction: float) -> None:
    strategies.create(con, "t", case)
    more = data.draw(persons(case))
    (found,) = call(con, "population_uniques", "t", case.qis, fraction, *more)
    expected = oracles.population_uniques(case.rows, case.qis, fraction, *more)
    assert found[:2] == expected[:2]
    assert found[4] == expected[4]
    exact = expected[4] == "zayatz" or expected[1] in (0, sum(1 for _ in case.rows))
    for own, other in zip(found[2:4], expected[2:4], strict=True):
        assert close(own, other) if exact else math.isclose(own, other, rel_tol=1e-3, abs_tol=1e-9), (found, expected)


def test_the_whole_population_needs_no_estimate(con: Con) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT i * i % 37 AS a, i % 5 AS b FROM range(60) AS r(i)")
    ((uniques,),) = con.execute("SELECT uniques FROM priv.risk('t', ['a', 'b'])").fetchall()
    ((_, own, found, share, _),) = call(con, "population_uniques", "t", ["a", "b"], 1.0)
    assert own == uniques > 0
    assert math.isclose(found, uniques)
    assert math.isclose(share, 1)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2, 0.4])
def test_the_estimate_has_the_size_of_the_truth(con: Con, fraction: float) -> None:
    """Samples of a population that is known: within a factor of 3, the caveat says an order of magnitude."""
    draw = random.Random(7)
    people = [(draw.randint(18, 90), draw.choice("mf"), int(draw.expovariate(1 / 30))) for _ in range(20_000)]
    kept = draw.sample(people, int(len(people) * fraction))
    for name, rows in (("sampled_from", people), ("t", kept)):
        listed = ", ".join(f"({a}, '{b}', {c})" for a, b, c in rows)
        con.execute(f"CREATE OR REPLACE TABLE {name} AS FROM (VALUES {listed}) AS v(a, b, c)")
    ((truth,),) = con.execute("SELECT uniques FROM priv.risk('sampled_from', ['a', 'b', 'c'])").fetchall()
    ((_, _, found, _, _),) = call(con, "population_uniques", "t", ["a", "b", "c"], fraction)
    assert truth / 3 < found < truth * 3


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, "many", None])
def test_a_fraction_that_is_none_is_refused(con: Con, fraction: object) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a")
    with pytest.raises(duckdb.Error, match="the fraction is the share"):
        call(con, "population_uniques", "t", ["a"], fraction)


@pytest.mark.parametrize(("columns", "most"), list(product([["a"], ["a", "b"]], [0, 1.5, "two", None])))
def test_a_size_of_sets_that_is_none_is_refused(con: Con, columns: list[str], most: object) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 2 AS b")
    with pytest.raises(duckdb.Error, match="the most columns of a set must be a whole number"):
        call(con, "uniqueness", "t", columns, most)


def test_too_many_sets_are_refused(con: Con) -> None:
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 1 AS a")
    with pytest.raises(duckdb.Error, match="too many sets"):
        call(con, "uniqueness", "t", [f"c{i}" for i in range(60)], 4)


def test_tables_without_rows_are_refused(con: Con) -> None:
    con.execute("CREATE OR REPLACE TABLE t (a INT)")
    for name, last in (("uniqueness", 1), ("population_uniques", 0.5)):
        with pytest.raises(duckdb.Error, match="no rows"):
            call(con, name, "t", ["a"], last)
