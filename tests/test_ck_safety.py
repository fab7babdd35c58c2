"""(c,k)-safety against its dynamic programme in Python, and against the counting of worlds."""

import duckdb
import oracles
import pytest
import strategies
from agreement import assert_rows, call, macros_of, persons, verify
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case

TESTED = macros_of(["ck_safety"])


@given(data=st.data(), case=strategies.cases())
def test_oracles_agree(con: duckdb.DuckDBPyConnection, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    more = [case.qis, case.sensitive, data.draw(st.integers(0, 4)), *data.draw(persons(case))]
    verify(con, data, "ck_safety", ["t", *more], [case.rows, *more])


@given(
    values=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6),
    k=st.integers(0, 3),
)
def test_worlds_are_counted_rightly(con: duckdb.DuckDBPyConnection, values: list[tuple[int, int]], k: int) -> None:
    strategies.create_table(con, "t", {"bucket": "INTEGER", "s": "INTEGER"}, values)
    rows = [{"bucket": bucket, "s": s} for bucket, s in values]
    expected = oracles.ck_safety_by_worlds(rows, ["bucket"], "s", k)
    assert_rows(call(con, "ck_safety", "t", ["bucket"], "s", k), [(expected,)], (values, k))


def test_many_buckets_of_few_kinds(con: duckdb.DuckDBPyConnection) -> None:
    """More buckets than atoms, alike and not: only the best for the attacker may matter."""
    kinds = [[5, 1], [4, 1, 1], [3, 2], [2, 2, 2], [1, 1, 1, 1]]
    buckets = [kinds[i % len(kinds)] for i in range(23)]
    cells = [[b, s] for b, counts in enumerate(buckets) for s, n in enumerate(counts) for _ in range(n)]
    strategies.create_table(con, "t", {"bucket": "INTEGER", "s": "INTEGER"}, cells)
    rows = [{"bucket": bucket, "s": s} for bucket, s in cells]
    for k in range(5):
        expected = oracles.ck_safety(rows, ["bucket"], "s", k)
        assert_rows(call(con, "ck_safety", "t", ["bucket"], "s", k), [(expected,)], k)


@pytest.mark.parametrize("k", [-1, 0.5, None])
def test_k_is_a_number_of_implications(con: duckdb.DuckDBPyConnection, k: object) -> None:
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "INTEGER"}, [[1, 1], [1, 2]])
    with pytest.raises(duckdb.Error, match="number of implications"):
        call(con, "ck_safety", "t", ["q"], "s", k)
