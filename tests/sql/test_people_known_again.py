"""The formulas by which the same people are known again in other columns, against their oracles."""

from __future__ import annotations

import random

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import known_people as oracle

from sqlpriv.macros.catalog import inlined

Con = duckdb.DuckDBPyConnection
SHARES = st.dictionaries(st.integers(0, 9), st.integers(1, 20), min_size=1, max_size=10)
ROW = st.builds(
    oracle.Row,
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 2),
    st.none() | st.sampled_from([0.001, 0.002, 0.004, 0.03, 0.1, 0.5]),
)


@given(copies=st.integers(1, 99), rows=st.integers(99, 5000), size=st.integers(1, 2000), word=st.integers(0, 2**52 - 1))
def test_drawn_copies_agree(con: Con, copies: int, rows: int, size: int, word: int) -> None:
    asked = f"SELECT _drawn_copies(CAST({copies} AS BIGINT), {rows}, {size}, CAST({word} AS BIGINT))"
    assert con.execute(inlined(asked)).fetchall() == [(oracle.drawn_copies(copies, rows, size, word),)]


def as_table(shares: dict[int, float], of: str) -> str:
    rows = ", ".join(f"(0, 7, {value}, CAST({share!r} AS DOUBLE))" for value, share in shares.items())
    return f'(FROM (VALUES {rows}) AS {of}(sample, "column", hash, share))'


@given(known=SHARES, given_values=SHARES, size=st.integers(1, 50))
def test_column_likeness_agrees(con: Con, known: dict[int, int], given_values: dict[int, int], size: int) -> None:
    first, second = ({v: n / sum(counts.values()) for v, n in counts.items()} for counts in (known, given_values))
    asked = f"SELECT likeness FROM _column_likeness({as_table(first, 'k')}, {as_table(second, 'g')}, {size})"
    expected = oracle.column_likeness(first, second, size)
    found = con.execute(inlined(asked)).fetchall()
    assert found == ([] if expected is None else [(pytest.approx(expected),)])


def contained(con: Con, rows: list[oracle.Row]) -> list[tuple[float | None, ...]]:
    con.execute(
        "CREATE OR REPLACE TEMP TABLE probed (own BOOLEAN, weight BIGINT, others BIGINT, chance DOUBLE)"
    ).fetchall()
    given_rows = [[getattr(r, name) for r in rows] for name in ("own", "weight", "others", "chance")]
    lists = "unnest(?::BOOLEAN[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]), unnest(?::DOUBLE[])"
    con.execute(f"INSERT INTO probed SELECT {lists}", given_rows).fetchall()
    return con.execute(inlined("FROM _contained_people(probed, 50)")).fetchall()


@given(rows=st.lists(ROW, min_size=2, max_size=40))
def test_contained_people_agree(con: Con, rows: list[oracle.Row]) -> None:
    rows = [*rows, oracle.Row(True, 1, 0, 0.004), oracle.Row(False, 1, 1, 0.004)]
    expected = oracle.contained_people(rows, 50)
    assert contained(con, rows)[0] == pytest.approx(expected, nan_ok=True)


def test_contained_people_agree_where_there_are_bins(con: Con) -> None:
    coin = random.Random(3)
    chances = [None, *(coin.random() for _ in range(9))]
    drawn = [(coin.choice([1, 1, 2]), coin.choice([0, 0, 1, 5]), coin.choice(chances)) for _ in range(900)]
    rows = [oracle.Row(coin.random() < 0.8, *row) for row in drawn]
    assert contained(con, rows)[0] == pytest.approx(oracle.contained_people(rows, 50))
