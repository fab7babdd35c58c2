"""t-closeness, beta-likeness and delta-disclosure against their oracles."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.agreement import call, macros_of, persons, verify
from support.strategies import Case

CHECKS = (
    "t_closeness",
    "t_closeness_ordered",
    "beta_likeness",
    "enhanced_beta_likeness",
    "delta_disclosure",
)
TESTED = macros_of([*CHECKS, "t_closeness_hierarchical"])


@given(data=st.data(), case=strategies.cases())
def test_oracles_agree(con: duckdb.DuckDBPyConnection, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    more = [case.qis, case.sensitive, *data.draw(persons(case))]
    for check in CHECKS:
        verify(con, data, check, ["t", *more], [case.rows, *more])


@given(data=st.data(), case=strategies.text_cases())
def test_hierarchical_closeness_agrees(con: duckdb.DuckDBPyConnection, data: st.DataObject, case: Case) -> None:
    paths = data.draw(strategies.hierarchies(case))
    names = data.draw(st.permutations(strategies.OUR_NAMES))[: len(paths[0])]
    strategies.create(con, "t", case)
    strategies.create_table(con, "tree", dict.fromkeys(names, "VARCHAR"), paths)
    person = data.draw(persons(case))
    asked = ["t", case.qis, case.sensitive, "tree", *person]
    told = [case.rows, case.qis, case.sensitive, paths, *person]
    verify(con, data, "t_closeness_hierarchical", asked, told)


def test_an_enum_is_ordered_as_it_was_declared(con: duckdb.DuckDBPyConnection) -> None:
    stages = "ENUM('mild', 'bad', 'awful')"
    rows = [[1, "mild"], [1, "bad"], [2, "bad"], [2, "awful"]]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": stages}, rows)
    # Class 1 has half of its people one stage below the table's, of two stages in all.
    assert call(con, "t_closeness_ordered", "t", ["q"], "s") == [(pytest.approx(0.25),)]


BAD_TREES = {
    "does not cover": [("a", "*")],
    "does not nest": [("a", "g", "x", "*"), ("b", "g", "y", "*")],
    "one label": [("a", "*"), ("b", "?")],
    "at least two columns": [("a",), ("b",)],
    "NULL above": [("a", None, "*"), ("b", "g", "*")],
}


@pytest.mark.parametrize("complaint", BAD_TREES)
def test_what_is_no_tree_is_refused(con: duckdb.DuckDBPyConnection, complaint: str) -> None:
    paths = BAD_TREES[complaint]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR"}, [[1, "a"], [1, "b"]])
    columns = {f"level {i}": "VARCHAR" for i in range(len(paths[0]))}
    strategies.create_table(con, "tree", columns, paths)
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, "t_closeness_hierarchical", "t", ["q"], "s", "tree")
