"""(c,k)-safety against its dynamic programme in Python, and against the counting of worlds."""

from collections.abc import Sequence

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.agreement import assert_rows, call, macros_of, persons, verify
from support.strategies import Case

TESTED = macros_of(["ck_safety"])
Con = duckdb.DuckDBPyConnection


@given(data=st.data(), case=strategies.cases())
def test_oracles_agree(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    more = [case.qis, case.sensitive, data.draw(st.integers(0, 4)), *data.draw(persons(case))]
    verify(con, data, "ck_safety", ["t", *more], [case.rows, *more])


def rows_of(buckets: Sequence[Sequence[int]]) -> list[dict[str, object]]:
    """One row a person: bucket b has buckets[b][s] persons with the value s."""
    return [
        {"bucket": bucket, "s": s}
        for bucket, counts in enumerate(buckets)
        for s, n in enumerate(counts)
        for _ in range(n)
    ]


def create(con: Con, rows: Sequence[dict[str, object]]) -> None:
    cells = [list(row.values()) for row in rows]
    strategies.create_table(con, "t", {"bucket": "INTEGER", "s": "INTEGER"}, cells)


# Large enough that a few implications do not disclose everything.
large = st.lists(st.integers(0, 12), min_size=4, max_size=7).filter(lambda counts: sum(counts) > 0)


@strategies.fewer(2, deep=1)
@given(data=st.data(), kinds=st.lists(large, min_size=1, max_size=3), k=st.integers(0, 4))
def test_large_buckets_agree(con: Con, data: st.DataObject, kinds: list[list[int]], k: int) -> None:
    """With buckets that are alike, and others, so that the atoms have somewhere to go."""
    rows = rows_of(data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5)))
    create(con, rows)
    more = [("bucket",), "s", k]
    verify(con, data, "ck_safety", ["t", *more], [rows, *more])


@given(
    values=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6),
    k=st.integers(0, 3),
)
def test_worlds_are_counted_rightly(con: Con, values: list[tuple[int, int]], k: int) -> None:
    rows = [{"bucket": bucket, "s": s} for bucket, s in values]
    create(con, rows)
    expected = oracles.ck_safety_by_worlds(rows, ["bucket"], "s", k)
    assert_rows(call(con, "ck_safety", "t", ["bucket"], "s", k), [(expected,)], (values, k))


@pytest.mark.parametrize("k", range(5))
def test_many_buckets_of_few_kinds(con: Con, k: int) -> None:
    """More buckets than atoms, alike and not: only the best for the attacker may matter."""
    kinds = [[9, 8, 7, 6, 5, 4, 3], [9, 9, 4, 4, 4, 4, 4], [6] * 7, [8, 3, 3, 3, 3, 3, 3], [7, 7, 7, 2, 2, 2, 2]]
    rows = rows_of([kinds[i % len(kinds)] for i in range(23)])
    create(con, rows)
    expected = oracles.ck_safety(rows, ["bucket"], "s", k)
    assert expected < 1
    assert_rows(call(con, "ck_safety", "t", ["bucket"], "s", k), [(expected,)], k)


@pytest.mark.parametrize("k", [-1, 0.5, None])
def test_k_is_a_number_of_implications(con: Con, k: object) -> None:
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "INTEGER"}, [[1, 1], [1, 2]])
    with pytest.raises(duckdb.Error, match="number of implications"):
        call(con, "ck_safety", "t", ["q"], "s", k)
