"""k-anonymity, (alpha,k)-anonymity and the l-diversities against their oracles."""

import datetime
import math
from collections.abc import Sequence

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.agreement import call, macros_of, persons, verify
from support.strategies import Case

WITH_L = ("recursive_diversity", "negation_diversity")
WITH_SENSITIVE = ("alpha_k_anonymity", "l_diversity", *WITH_L)
TESTED = macros_of(["k_anonymity", *WITH_SENSITIVE])


@given(data=st.data(), case=strategies.cases())
def test_oracles_agree(con: duckdb.DuckDBPyConnection, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    length = {name: data.draw(st.integers(2 - (name == WITH_L[0]), 5)) for name in WITH_L}
    person = data.draw(persons(case))
    verify(con, data, "k_anonymity", ["t", case.qis, *person], [case.rows, case.qis, *person])
    for check in WITH_SENSITIVE:
        more = [case.qis, case.sensitive, *([length[check]] if check in WITH_L else []), *person]
        verify(con, data, check, ["t", *more], [case.rows, *more])


# --- Types of quasi-identifiers ---------------------------------------------------------------


def classes_of(con: duckdb.DuckDBPyConnection, kind: str, values: Sequence[object]) -> list[tuple[object, int]]:
    """The classes and sizes of a table with one quasi-identifier of this type."""
    strategies.create_table(con, "typed", {"q": kind}, [[value] for value in values])
    return [(key["q"], size) for key, size, _ in call(con, "k_anonymity_classes", "typed", ["q"], 99)]


def test_a_float_is_what_is_read_of_it(con: duckdb.DuckDBPyConnection) -> None:
    """0.0 and -0.0 are equal to DuckDB, and so are NaN with and without a sign."""
    values = [0.0, -0.0, -0.0, *[math.nan] * 3, *[-math.nan] * 4, *[None] * 5, *[0.1] * 6]
    found = classes_of(con, "DOUBLE", values)
    assert [size for _, size in found] == [1, 2, 3, 4, 5, 6]
    assert [str(found[i][0]) for i in (0, 1, 4, 5)] == ["0.0", "-0.0", "None", "0.1"]


def test_a_list_is_its_items_in_order(con: duckdb.DuckDBPyConnection) -> None:
    values = [[1, 2], [2, 1], [2, 1], [1], [1], [1], [1, None], [1, None], [1, None], [1, None]]
    found = classes_of(con, "INTEGER[]", values)
    assert found == [([1, 2], 1), ([2, 1], 2), ([1], 3), ([1, None], 4)]


def test_an_empty_list_is_not_null(con: duckdb.DuckDBPyConnection) -> None:
    found = classes_of(con, "INTEGER[]", [None, [], [], [None], [None], [None]])
    assert found == [(None, 1), ([], 2), ([None], 3)]


def test_a_struct_is_its_fields(con: duckdb.DuckDBPyConnection) -> None:
    one, other, unknown = ({"x": 1, "y": y} for y in (["a"], ["b"], None))
    found = classes_of(con, "STRUCT(x INTEGER, y VARCHAR[])", [one, *[other] * 2, *[unknown] * 3])
    assert found == [(one, 1), (other, 2), (unknown, 3)]


def test_an_enum_is_its_label(con: duckdb.DuckDBPyConnection) -> None:
    found = classes_of(con, "ENUM('z', 'a')", ["a", "z", "z", None, None, None])
    assert found == [("a", 1), ("z", 2), (None, 3)]


def test_a_date_is_its_day(con: duckdb.DuckDBPyConnection) -> None:
    first, last = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
    assert classes_of(con, "DATE", [first, last, last]) == [(first, 1), (last, 2)]


@pytest.mark.parametrize("person", [[], ["p"]])
def test_a_sensitive_null_is_a_value(con: duckdb.DuckDBPyConnection, person: list[str]) -> None:
    rows = [[1, None, 1], [1, "flu", 2], [2, None, 3], [2, None, 4]]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR", "p": "INTEGER"}, rows)
    found = call(con, "l_diversity_classes", "t", ["q"], "s", *person, 3)
    assert found == [({"q": 2}, 2, 1), ({"q": 1}, 2, 2)]


def test_a_class_is_spelt_as_in_the_table(con: duckdb.DuckDBPyConnection) -> None:
    strategies.create_table(con, "t", {"Zip Code": "INTEGER", "Age": "INTEGER"}, [[1, 2]])
    found = call(con, "k_anonymity_classes", "t", ["AGE", "zip code"], 2)
    assert [list(key) for key, _, _ in found] == [["Age", "Zip Code"]]


def test_five_rows_of_one_patient_are_one_person(con: duckdb.DuckDBPyConnection) -> None:
    strategies.create_table(con, "t", {"q": "INTEGER", "p": "INTEGER"}, [[1, 7]] * 5)
    assert call(con, "k_anonymity", "t", ["q"]) == [(5,)]
    assert call(con, "k_anonymity", "t", ["q"], "p") == [(1,)]
