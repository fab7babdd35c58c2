"""The Python functions of udfs/: DuckDB calls them while publishing, and nobody else does."""

import ast
import math
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sqlpriv.udfs.draws import ALIAS, alias_table, poisson, register
from support import places

import sqlpriv
from sqlpriv.macros.catalog import inlined, macros
from sqlpriv.methods.noisy.draws import make_alias

FOLDER = places.ROOT / "udfs"


def test_registering_twice_is_registering_once() -> None:
    with duckdb.connect() as con:
        register(con)
        register(con)
        assert con.execute(f"SELECT {ALIAS}([3.0, 1.0])").fetchall() == [(alias_table([3.0, 1.0]),)]


def test_neither_loading_nor_a_macro_needs_them() -> None:
    with duckdb.connect() as con:
        sqlpriv.load(con)
        assert not con.execute(f"FROM duckdb_functions() WHERE function_name = '{ALIAS}'").fetchall()
    assert not any(ALIAS in o.body for m in macros().values() for o in m.overloads)


def test_they_stand_alone() -> None:
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "sqlpriv" for name in names), file.name


@pytest.mark.parametrize("mean", [0.3, 4.0, 19.5, 250.0])
def test_poisson_numbers_have_their_probabilities(mean: float) -> None:
    """Even steps through the shares are as many as the probability of a number."""
    steps = 20_000
    drawn = [poisson(mean, (i + 0.5) / steps) for i in range(steps)]
    for number in range(int(mean + 5 * math.sqrt(mean) + 2)):
        assert drawn.count(number) / steps == pytest.approx(float(stats.poisson.pmf(number, mean)), abs=2 / steps)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=20), st.integers(0, 2**60 - 1))
def test_an_alias_table_draws_the_shares_it_states(shares: list[float], word: int) -> None:
    table = alias_table(shares)
    words = sum(table["drawn"])
    assert words == 2**60 // len(shares) * len(shares)
    for drawn, share in zip(table["drawn"], shares, strict=True):
        assert abs(Fraction(drawn, words) - Fraction(share) / sum(map(Fraction, shares))) < Fraction(1, 10**15)


def test_what_is_picked_is_what_the_table_says() -> None:
    alias = make_alias([0.5, 0.2, 0.3], 3)
    words = [0, 1, 2, 2**60 - 1, 2**59, 3**37 // 7]
    with duckdb.connect() as con:
        for word in words:
            cell, rest = word % 3, word // 3
            sql = inlined(f"SELECT {alias.pick.replace('{}', 'w')} FROM (SELECT CAST({word} AS BIGINT) AS w)")
            assert con.execute(sql).fetchall() == [(cell if rest < alias.cuts[cell] else alias.others[cell],)]
