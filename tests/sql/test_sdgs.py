"""Sampled k-anonymity: delta, its solvers, amplification and composition against their oracles."""

import math

import duckdb
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.sampling import least_epsilon
from support import strategies
from support.agreement import assert_rows, call, macros_of

TESTED = macros_of(
    [],
    "sdgs_delta",
    "sdgs_guarantee",
    "sdgs_smooth_delta",
    "sdgs_epsilon",
    "sdgs_k",
    "sdgs_beta",
    "amplified_epsilon",
    "composition",
)
Con = duckdb.DuckDBPyConnection
HAIR = 1e-13

ks = st.integers(1, 40)
betas = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.5]) | st.floats(0.005, 0.7)
above_least = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]) | st.floats(0, 4)
deltas = st.sampled_from([1e-3, 1e-6, 1e-9]) | st.floats(-12, -1).map(lambda power: 10**power)


def number(con: Con, name: str, *arguments: object) -> float:
    """The one value of an answer."""
    ((found,),) = call(con, name, *arguments)
    return float(found)


def delta_around(k: int, beta: float, epsilon: float) -> tuple[float, float]:
    """delta a hair above and below epsilon: it jumps where j is gamma n exactly, and no double decides that."""
    return tuple(oracles.sdgs_delta(k, beta, epsilon * (1 + hair)) for hair in (HAIR, -HAIR))


@given(k=ks, beta=betas, more=above_least, n=st.integers(1, 10**9))
def test_delta_agrees(con: Con, k: int, beta: float, more: float, n: int) -> None:
    epsilon = least_epsilon(beta) + more
    least, most = delta_around(k, beta, epsilon)
    found = number(con, "sdgs_delta", k, beta, epsilon)
    assert least * (1 - 1e-9) <= found <= most * (1 + 1e-9)
    expected = (epsilon, found, min(found * n, 1.0))
    assert_rows(call(con, "sdgs_guarantee", k, beta, epsilon, n), [expected], "sdgs_guarantee")


@given(k=ks, beta=betas, more=above_least)
def test_the_smooth_bound_agrees_and_bounds(con: Con, k: int, beta: float, more: float) -> None:
    epsilon = least_epsilon(beta) + more
    found = number(con, "sdgs_smooth_delta", k, beta, epsilon)
    assert found == pytest.approx(oracles.sdgs_smooth_delta(k, beta, epsilon), rel=1e-9)
    assert found >= delta_around(k, beta, epsilon)[0] * (1 - 1e-9)


# A search asks for some sixty deltas, and each costs DuckDB milliseconds.
@strategies.fewer(8)
@given(k=ks, beta=betas, delta=deltas)
def test_the_smallest_epsilon_agrees(con: Con, k: int, beta: float, delta: float) -> None:
    if beta**k > delta:
        with pytest.raises(duckdb.Error, match="the smallest delta is beta"):
            call(con, "sdgs_epsilon", k, beta, delta)
        return
    epsilon = number(con, "sdgs_epsilon", k, beta, delta)
    assert epsilon >= least_epsilon(beta) * (1 - HAIR)
    assert delta_around(k, beta, epsilon)[0] <= delta * (1 + 1e-9)
    if epsilon > least_epsilon(beta) * (1 + 1e-9):
        assert oracles.sdgs_delta(k, beta, epsilon * (1 - 1e-9)) > delta * (1 - 1e-9)


@strategies.fewer(8)
@given(beta=betas, more=above_least, delta=deltas)
def test_the_smallest_k_agrees(con: Con, beta: float, more: float, delta: float) -> None:
    epsilon = least_epsilon(beta) + more
    ((k,),) = call(con, "sdgs_k", beta, epsilon, delta)
    assert delta_around(k, beta, epsilon)[0] <= delta * (1 + 1e-9)
    assert k == 1 or delta_around(k - 1, beta, epsilon)[1] >= delta * (1 - 1e-9)


@pytest.mark.slow
@strategies.fewer(8)
@given(k=ks, epsilon=st.floats(0.01, 4), delta=deltas)
@example(k=6, epsilon=4.0, delta=0.03162277660168379)  # as decimals they would not add up in one type
def test_the_largest_beta_agrees(con: Con, k: int, epsilon: float, delta: float) -> None:
    beta = number(con, "sdgs_beta", k, epsilon, delta)
    top = -math.expm1(-epsilon)
    assert 0 < beta <= top * (1 + HAIR)
    assert oracles.sdgs_delta(k, min(beta * (1 - HAIR), top), epsilon) <= delta * (1 + 1e-9)
    beyond = beta + max(beta * 1e-9, 1e-12)
    if beyond < top:
        assert oracles.sdgs_delta(k, beyond, epsilon) > delta


@given(epsilon=st.floats(0, 30), beta=st.floats(0, 1, exclude_min=True))
def test_amplification_agrees(con: Con, epsilon: float, beta: float) -> None:
    expected = oracles.amplified_epsilon(epsilon, beta)
    assert_rows(call(con, "amplified_epsilon", epsilon, beta), [(expected,)], (epsilon, beta))


@given(parts=st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=6))
def test_composition_agrees(con: Con, parts: list[tuple[float, float]]) -> None:
    epsilons, spent = ([part[i] for part in parts] for i in (0, 1))
    assert_rows(call(con, "composition", epsilons, spent), [oracles.composition(parts)], parts)


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("sdgs_delta", [0, 0.1, 1.0], "k must be a whole number"),
        ("sdgs_delta", [1.5, 0.1, 1.0], "k must be a whole number"),
        ("sdgs_delta", [20, 0.0, 1.0], "between 0 and 1"),
        ("sdgs_delta", [20, 1.0, 1.0], "between 0 and 1"),
        ("sdgs_delta", [20, 0.5, 0.5], r"at least -ln\(1 - beta\)"),
        ("sdgs_guarantee", [0, 0.1, 1.0, 10], "k must be a whole number"),
        ("sdgs_smooth_delta", [20, 0.5, 0.5], r"at least -ln\(1 - beta\)"),
        ("sdgs_epsilon", [0, 0.1, 1e-6], "k must be a whole number"),
        ("sdgs_epsilon", [20, 1.5, 1e-6], "between 0 and 1"),
        ("sdgs_epsilon", [2, 0.5, 0.2], "the smallest delta is beta"),
        ("sdgs_epsilon", [20, 0.1, 0], "delta must be greater than 0"),
        ("sdgs_k", [0.5, 0.5, 1e-6], r"at least -ln\(1 - beta\)"),
        ("sdgs_k", [0.1, 1.0, 0], "delta must be greater than 0"),
        ("sdgs_beta", [20, 1.0, 0], "delta must be greater than 0"),
        ("sdgs_beta", [0, 1.0, 1e-6], "k must be a whole number"),
        ("amplified_epsilon", [1.0, 0.0], "between 0 and 1"),
        ("amplified_epsilon", [-1.0, 0.5], "at least 0"),
        ("composition", [[], []], "one delta for each epsilon"),
        ("composition", [[1.0, 2.0], [0.1]], "one delta for each epsilon"),
        ("composition", [[1.0, None], [0.1, 0.1]], "NULL"),
        ("composition", [[1.0, -1.0], [0.1, 0.1]], "negative"),
    ],
)
def test_bad_arguments_are_refused(con: Con, name: str, arguments: list[object], complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, name, *arguments)


@pytest.mark.parametrize("name", ["sdgs_delta", "sdgs_smooth_delta", "sdgs_epsilon", "sdgs_k", "sdgs_beta"])
def test_null_in_null_out(con: Con, name: str) -> None:
    arguments: list[object] = [0.1, 0.5, 0.5] if name == "sdgs_k" else [20, 0.1, 0.5]
    for place in range(3):
        answer = call(con, name, *arguments[:place], None, *arguments[place + 1 :])
        assert answer == [(None,)], place


def test_solvers_stop_at_their_ends(con: Con) -> None:
    assert number(con, "sdgs_epsilon", 500, 0.05, 0.5) == pytest.approx(least_epsilon(0.05), rel=1e-12)
    assert number(con, "sdgs_beta", 500, 2.0, 0.9) == pytest.approx(1 - math.exp(-2), rel=1e-12)
    assert call(con, "sdgs_k", 0.1, 1.0, 1.0) == [(1,)]
