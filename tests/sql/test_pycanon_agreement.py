"""Where pycanon is right we agree with it, and where it is wrong these tests say how.

pycanon is right about k, distinct l and t (equal distance for text, ordered for numbers) as long
as nothing is NULL. What the second half asserts about it was seen in pycanon 1.3.6.
"""

import math
import os
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import sqlpriv

pycanon = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed (pip install --no-deps pycanon)")
pandas = pytest.importorskip("pandas", reason="pycanon needs pandas")

Rows = dict[str, list[Any]]
TABLES = int(os.environ.get("SQLPRIV_EXAMPLES", "200"))


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        sqlpriv.load(connection)
        yield connection


def fill(con: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    columns = ", ".join(f'unnest(${at}) AS "{name}"' for at, name in enumerate(rows, start=1))
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {columns}", list(rows.values())).fetchall()


def ours(con: duckdb.DuckDBPyConnection, rows: Rows, query: str) -> tuple[Any, ...]:
    """The one row of a check over these rows."""
    fill(con, rows)
    (answer,) = con.execute(query).fetchall()
    return answer


def theirs(model: str, rows: Rows, qis: list[str], *sensitive: str) -> Any:
    arguments = [list(sensitive)] if sensitive else []
    return getattr(pycanon, model)(pandas.DataFrame(rows), qis, *arguments)


def random_rows(seed: int, text: bool) -> Rows:
    """A table without NULLs, with few or many classes; at least two sensitive values."""
    coin = random.Random(seed)
    height = coin.randint(2, 80)
    spread = coin.choice([1, 2, 4])
    a = [f"a{coin.randrange(spread)}" for _ in range(height)]
    b = [coin.randrange(1, 1 + coin.choice([1, 3])) for _ in range(height)]
    weights = [coin.random() + 0.05 for _ in range(coin.randint(2, 6))]
    s: list[Any] = coin.choices(range(len(weights)), weights, k=height)
    s[0], s[-1] = 0, 1  # pycanon divides by zero when a number column has a single value
    return {"a": a, "b": b, "s": [f"s{value}" for value in s] if text else s}


@pytest.mark.parametrize("seed", range(TABLES))
def test_text_agrees(con: duckdb.DuckDBPyConnection, seed: int) -> None:
    rows = random_rows(seed, text=True)
    k, distinct, entropy, t = ours(
        con,
        rows,
        """SELECT k, distinct_l, entropy_l, t
           FROM priv.k_anonymity('t', ['a', 'b']), priv.l_diversity('t', ['a', 'b'], 's'),
                priv.t_closeness('t', ['a', 'b'], 's')""",
    )
    assert k == theirs("k_anonymity", rows, ["a", "b"])
    assert distinct == theirs("l_diversity", rows, ["a", "b"], "s")
    assert t == pytest.approx(theirs("t_closeness", rows, ["a", "b"], "s"), rel=1e-9, abs=1e-12)
    floored = theirs("entropy_l_diversity", rows, ["a", "b"], "s")
    assert floored - 1e-9 <= entropy <= floored + 1 + 1e-9


@pytest.mark.parametrize("seed", range(TABLES))
def test_numbers_agree_on_the_ordered_distance(con: duckdb.DuckDBPyConnection, seed: int) -> None:
    rows = random_rows(seed, text=False)
    query = "SELECT t FROM priv.t_closeness_ordered('t', ['a', 'b'], 's')"
    (t,) = ours(con, rows, query)
    assert t == pytest.approx(theirs("t_closeness", rows, ["a", "b"], "s"), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(0, TABLES, 10))
def test_alpha_and_beta_agree(con: duckdb.DuckDBPyConnection, seed: int) -> None:
    rows = random_rows(seed, text=True)
    alpha, k, beta = ours(
        con,
        rows,
        """SELECT alpha, k, beta FROM priv.alpha_k_anonymity('t', ['a', 'b'], 's'),
                                      priv.beta_likeness('t', ['a', 'b'], 's')""",
    )
    assert (alpha, k) == pytest.approx(theirs("alpha_k_anonymity", rows, ["a", "b"], "s"))
    peer = theirs("basic_beta_likeness", rows, ["a", "b"], "s")
    assert beta == pytest.approx(peer, rel=1e-9, abs=1e-12)


class TestWherePycanonIsWrong:
    """Each test shows its answer beside ours; when pycanon mends one, its test goes."""

    def test_it_drops_the_rows_whose_quasi_identifier_is_null(self, con: duckdb.DuckDBPyConnection) -> None:
        rows: Rows = {"a": ["x", "x", "x", None], "s": ["p", "q", "p", "q"]}
        assert theirs("k_anonymity", rows, ["a"]) == 3
        assert ours(con, rows, "SELECT k FROM priv.k_anonymity('t', ['a'])") == (1,)
        assert theirs("l_diversity", rows, ["a"], "s") == 2
        assert ours(con, rows, "SELECT distinct_l FROM priv.l_diversity('t', ['a'], 's')") == (1,)
        assert theirs("t_closeness", rows, ["a"], "s") == pytest.approx(1 / 6)
        assert ours(con, rows, "SELECT t FROM priv.t_closeness('t', ['a'], 's')") == (0.5,)

    def test_it_fails_when_the_quasi_identifier_is_always_null(self, con: duckdb.DuckDBPyConnection) -> None:
        rows: Rows = {"a": [None, None], "s": ["p", "q"]}
        with pytest.raises(ValueError, match="empty"):
            theirs("k_anonymity", rows, ["a"])
        assert ours(con, rows, "SELECT k FROM priv.k_anonymity('t', ['a'])") == (2,)

    def test_it_fails_on_a_sensitive_null(self, con: duckdb.DuckDBPyConnection) -> None:
        rows: Rows = {"a": ["x", "x", "x"], "s": ["p", None, "p"]}
        with pytest.raises(TypeError, match="not supported between"):
            theirs("l_diversity", rows, ["a"], "s")
        assert ours(con, rows, "SELECT distinct_l FROM priv.l_diversity('t', ['a'], 's')") == (2,)

    def test_it_does_not_count_missing_numbers(self, con: duckdb.DuckDBPyConnection) -> None:
        """A comparison with NaN is never true, so three missing of four weigh nothing."""
        rows: Rows = {"a": ["x"] * 4, "s": [1.0, None, None, None]}
        assert theirs("alpha_k_anonymity", rows, ["a"], "s") == (0.25, 4)
        alpha = "SELECT alpha FROM priv.alpha_k_anonymity('t', ['a'], 's')"
        assert ours(con, rows, alpha) == (0.75,)

    def test_it_sorts_the_counts_of_recursive_diversity_the_other_way(self, con: duckdb.DuckDBPyConnection) -> None:
        """Counts 6, 2, 1: 6 < c * 1 needs c > 6, but it takes the 1 for r1 and says c = 1."""
        rows: Rows = {"a": ["x"] * 9, "s": ["p"] * 6 + ["q"] * 2 + ["r"]}
        assert theirs("recursive_c_l_diversity", rows, ["a"], "s") == (1, 3)
        (c,) = ours(con, rows, "SELECT c FROM priv.recursive_diversity('t', ['a'], 's', 3)")
        assert c == 6

    @pytest.mark.parametrize(("values", "claimed"), [(2, 1), (3, 2), (4, 3), (6, 5), (7, 6)])
    def test_it_cuts_a_full_entropy_down_by_one(
        self, con: duckdb.DuckDBPyConnection, values: int, claimed: int
    ) -> None:
        """Equal counts of l values have entropy ln l exactly; rounding makes it l - 1."""
        rows: Rows = {"a": ["x"] * values, "s": [f"s{at}" for at in range(values)]}
        assert theirs("entropy_l_diversity", rows, ["a"], "s") == claimed
        (entropy,) = ours(con, rows, "SELECT entropy_l FROM priv.l_diversity('t', ['a'], 's')")
        assert math.isclose(entropy, values, rel_tol=1e-12)

    def test_it_looks_only_at_the_values_present_for_delta_disclosure(self, con: duckdb.DuckDBPyConnection) -> None:
        """Class x lacks q, and that discloses as much as having it: ln(0 / p) is infinite."""
        rows: Rows = {"a": ["x", "x", "y", "y"], "s": ["p", "p", "p", "q"]}
        peer = theirs("delta_disclosure", rows, ["a"], "s")
        query = "SELECT delta, delta_present FROM priv.delta_disclosure('t', ['a'], 's')"
        assert ours(con, rows, query) == (math.inf, pytest.approx(peer))

    def test_it_takes_labels_of_the_index_for_positions(self, con: duckdb.DuckDBPyConnection) -> None:
        """A DataFrame that was sorted before keeps its labels, and pycanon mixes up the classes."""
        rows: Rows = {"a": ["x", "x", "y", "y"], "s": ["p", "p", "q", "r"]}
        sorted_before = pandas.DataFrame(rows, index=[0, 2, 1, 3])
        assert theirs("l_diversity", rows, ["a"], "s") == 1
        assert pycanon.l_diversity(sorted_before, ["a"], ["s"]) == 2
        assert ours(con, rows, "SELECT distinct_l FROM priv.l_diversity('t', ['a'], 's')") == (1,)
