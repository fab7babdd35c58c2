"""What a release by sampled k-anonymity needs beyond delta: groups of rows, scores of nodes, limits of counts."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support import strategies
from support.agreement import assert_rows, call, macros_of

from sqlpriv.macros.catalog import inlined

TESTED = macros_of([], "sdgs_replaced", "sdgs_person", "sdgs_groups", "sdgs_shown_rows", "sdgs_sensitivity")
PAIRS = {"sdgs_replaced", "sdgs_person", "sdgs_groups"}
Con = duckdb.DuckDBPyConnection

epsilons, deltas = st.floats(0, 5), st.floats(0, 0.01)
ks, betas = st.integers(1, 12), st.sampled_from([0.05, 0.1, 0.5]) | st.floats(0.05, 0.9)


@strategies.fewer(4)
@given(epsilon=epsilons, delta=deltas, rows_each=st.integers(1, 6))
def test_replaced_rows_and_persons_agree(con: Con, epsilon: float, delta: float, rows_each: int) -> None:
    several = (epsilon, delta, rows_each)
    asked = (("sdgs_replaced", (epsilon, delta)), ("sdgs_person", several), ("sdgs_groups", several))
    for name, arguments in asked:
        assert_rows(call(con, name, *arguments), [getattr(oracles, name)(*arguments)], name)


@strategies.fewer(4)
@given(rows=st.integers(0, 200), k=ks, beta=betas)
def test_shown_rows_agree(con: Con, rows: int, k: int, beta: float) -> None:
    ((found,),) = call(con, "sdgs_shown_rows", rows, k, beta)
    assert found == pytest.approx(oracles.sdgs_shown_rows(rows, k, beta), rel=1e-9, abs=1e-9)


@strategies.fewer(8)
@given(k=st.integers(1, 5), beta=st.floats(0.2, 0.9))
def test_the_sensitivity_agrees(con: Con, k: int, beta: float) -> None:
    ((found,),) = call(con, "sdgs_sensitivity", k, beta)
    assert found == pytest.approx(oracles.sdgs_sensitivity(k, beta), rel=1e-9)


def test_the_sensitivity_of_the_reference(con: Con) -> None:
    assert call(con, "sdgs_sensitivity", 20, 0.1)[0][0] == pytest.approx(0.24, abs=5e-3)


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("sdgs_replaced", [-1.0, 0.1], "epsilon must be at least 0"),
        ("sdgs_replaced", [1.0, 1.1], "delta must lie between 0 and 1"),
        ("sdgs_person", [1.0, 0.1, 0], "k must be a whole number"),
        ("sdgs_person", [math.nan, 0.1, 2], "epsilon must be at least 0"),
        ("sdgs_groups", [1.0, 0.1, 0.5], "k must be a whole number"),
        ("sdgs_shown_rows", [-1, 2, 0.1], "rows of at least 0"),
        ("sdgs_shown_rows", [9, 0, 0.1], "k must be a whole number"),
        ("sdgs_sensitivity", [2, 1.0], "between 0 and 1"),
    ],
)
def test_bad_arguments_of_releases_are_refused(con: Con, name: str, arguments: list[object], complaint: str) -> None:
    listed = ["CAST('nan' AS DOUBLE)" if repr(a) == "nan" else repr(a) for a in arguments]
    asked = f"priv.{name}({', '.join(listed)})"
    with pytest.raises(duckdb.Error, match=complaint):
        con.execute(f"FROM {asked}" if name in PAIRS else f"SELECT {asked}").fetchall()


@pytest.mark.parametrize("name", sorted(TESTED))
def test_null_in_null_out_of_releases(con: Con, name: str) -> None:
    given: dict[str, list[object]] = {
        "sdgs_replaced": [1.0, 0.1], "sdgs_person": [1.0, 0.1, 2], "sdgs_groups": [1.0, 0.1, 2],
        "sdgs_shown_rows": [9, 2, 0.1], "sdgs_sensitivity": [2, 0.1],
    }  # fmt: skip
    for place in range(len(given[name])):
        arguments = [None if i == place else a for i, a in enumerate(given[name])]
        assert None in call(con, name, *arguments)[0], place


@pytest.mark.some(2)
@pytest.mark.parametrize("confidence", [0.95, 0.5, 0.9, 0.99, 0.999])
def test_each_limit_of_a_sampled_count_fails_no_more_often_than_it_may(con: Con, confidence: float) -> None:
    """By exact enumeration: for every n that is tried, the chance that the true n lies beyond a limit."""
    zz = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    for beta in (0.001, 0.02, 0.1, 0.3, 0.5, 0.8, 0.99):
        sizes = sorted({*range(1, 12), *(round(1.5**i) for i in range(6, 18))})
        most = max(sizes)
        low, high = (inlined(f"_sampled_{side}(s, CAST({beta!r} AS DOUBLE), {zz!r})") for side in ("low", "high"))
        limits = con.execute(f"SELECT {low}, {high} FROM range({most + 1}) AS r(s) ORDER BY s").fetchall()
        for n in sizes:
            chances = binom.pmf(range(n + 1), n, beta)
            below = sum(p for p, (lower, _) in zip(chances, limits, strict=False) if lower > n)
            above = sum(p for p, (_, upper) in zip(chances, limits, strict=False) if upper < n)
            assert max(below, above) <= (1 - confidence) / 2, (beta, n)


def test_limits_rise_with_what_is_seen(con: Con) -> None:
    """Else a smaller number of rows that are seen for certain could have a larger limit."""
    low, high = (inlined(f"_sampled_{side}(s / 8, 0.1, 3.84)") for side in ("low", "high"))
    found = con.execute(f"SELECT {low}, {high} FROM range(4000) AS r(s) ORDER BY s").fetchall()
    assert all(a[0] <= b[0] and a[1] < b[1] for a, b in itertools.pairwise(found))
    assert all(a <= b for a, b in found)


@pytest.mark.parametrize("scores", [[1.0, 2.0, 2.0], [0.0, 5.0], [3.0, 3.0, 3.0, 2.9]])
def test_nodes_are_drawn_by_their_weights(con: Con, scores: list[float]) -> None:
    epsilon, sensitivity, steps = 0.7, 0.24, 4000
    drawn = inlined(f"_exponential_draw({scores!r}, {epsilon!r}, {sensitivity!r}, s / {steps})")
    found = [i for (i,) in con.execute(f"SELECT {drawn} FROM range({steps}) AS r(s)").fetchall()]
    weights = [math.exp(epsilon * (x - max(scores)) / sensitivity) for x in scores]
    for i, weight in enumerate(weights, 1):
        assert found.count(i) / steps == pytest.approx(weight / sum(weights), abs=2 / steps)
