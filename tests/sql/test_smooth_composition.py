"""Several samples share an epsilon: against all splits, and against the exact distributions of what is published."""

import math
from collections.abc import Iterator

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sampling import least_epsilon, sdgs_delta
from support import strategies
from support.agreement import call, macros_of

TESTED = macros_of([], "smooth_composition")
Con = duckdb.DuckDBPyConnection
HAIR = 1e-13
STEPS = 200
samples_ = st.lists(st.tuples(st.integers(1, 30), st.floats(0.01, 0.5)), min_size=0, max_size=3)
noisy_ = st.lists(st.floats(0, 2), max_size=2)


def composed(
    con: Con, samples: list[tuple[int, float]], noisy: list[float], epsilon: float
) -> tuple[float, list[float]]:
    ks, betas = [k for k, _ in samples], [beta for _, beta in samples]
    ((delta, parts),) = call(con, "smooth_composition", ks, betas, noisy, epsilon)
    return delta, parts


def least_total(samples: list[tuple[int, float]], noisy: list[float]) -> float:
    return math.fsum([*(least_epsilon(beta) for _, beta in samples), *noisy])


@strategies.fewer(10)
@given(samples=samples_, noisy=noisy_, more=st.floats(0, 4))
def test_the_best_split_agrees(con: Con, samples: list[tuple[int, float]], noisy: list[float], more: float) -> None:
    if not samples and not noisy:
        return
    epsilon = least_total(samples, noisy) + more
    delta, parts = composed(con, samples, noisy, epsilon)
    least, most = (oracles.smooth_composition(samples, noisy, epsilon, hair) for hair in (HAIR, -HAIR))
    assert least * (1 - 1e-9) <= delta <= most * (1 + 1e-9)
    assert len(parts) == len(samples)
    assert math.fsum([*parts, *noisy]) <= epsilon * (1 + 1e-12) + 1e-12
    at_parts = math.fsum(sdgs_delta(k, beta, part * (1 + HAIR)) for (k, beta), part in zip(samples, parts, strict=True))
    assert delta >= min(at_parts, 1) * (1 - 1e-9)  # a split that is one, and no better


@strategies.fewer(10)
@given(samples=samples_.filter(len), more=st.floats(0.01, 4), cuts=st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_no_split_of_a_little_less_is_better(
    con: Con, samples: list[tuple[int, float]], more: float, cuts: list[float]
) -> None:
    """So the plain sum, and Theorem 5 with its one factor for all, are no better either."""
    cuts = cuts[: len(samples)]
    less = more * (1 - len(samples) / STEPS)
    own = [least_epsilon(beta) + less * cut / sum(cuts) for (_, beta), cut in zip(samples, cuts, strict=True)]
    delta, _ = composed(con, samples, [], least_total(samples, []) + more)
    split = math.fsum(sdgs_delta(k, beta, a * (1 - HAIR)) for (k, beta), a in zip(samples, own, strict=True))
    assert delta <= split * (1 + 1e-9)


def test_two_samples_of_twenty(con: Con) -> None:
    """One each: 4.1e-14 by the sum, 8.2e-16 by the best split."""
    delta, parts = composed(con, [(20, 0.1), (20, 0.05)], [], 2)
    assert delta == pytest.approx(8.18e-16, rel=1e-3)
    assert parts[0] > 1 > parts[1]
    assert sdgs_delta(20, 0.1, 1) + sdgs_delta(20, 0.05, 1) == pytest.approx(4.07e-14, rel=1e-2)
    with_noise, _ = composed(con, [(20, 0.1), (20, 0.05)], [0.5, 0.25], 2.75)
    assert with_noise == pytest.approx(delta)  # a step at its epsilon: it takes that, and has no delta
    assert composed(con, [], [0.5, 0.25], 0.75) == (0, [])


def shown(rows: int, k: int, beta: float) -> dict[int, float]:
    """How many rows of a class of so many are published, and how likely."""
    found = {0: 0.0}
    for j in range(rows + 1):
        chance = math.comb(rows, j) * beta**j * (1 - beta) ** (rows - j)
        found[j if j >= k else 0] = found.get(j if j >= k else 0, 0.0) + chance
    return found


def outcomes(rows: int, samples: list[tuple[int, float]], answer: float) -> Iterator[tuple[tuple[int, ...], float]]:
    """All that two samples and one noisy answer, whether the rows are odd, can show."""
    (k, beta), (other_k, other_beta) = samples
    truth = 1 / (1 + math.exp(-answer))
    for a, p in shown(rows, k, beta).items():
        for b, q in shown(rows, other_k, other_beta).items():
            for odd in (0, 1):
                yield (a, b, odd), p * q * (truth if odd == rows % 2 else 1 - truth)


@pytest.mark.parametrize(
    ("samples", "noisy"),
    [
        ([(1, 0.1), (2, 0.2)], 0.3),
        ([(2, 0.3), (3, 0.1)], 0.1),
        ([(3, 0.2), (3, 0.2)], 1.0),
        ([(2, 0.05), (4, 0.4)], 0.5),
    ],
)
@pytest.mark.parametrize("more", [0.0, 0.2, 1.0])
def test_what_is_published_is_as_private_as_it_says(
    con: Con, samples: list[tuple[int, float]], noisy: float, more: float
) -> None:
    """Exactly: no set of outcomes is more likely than e^epsilon times, and delta, as without one row."""
    epsilon = least_total(samples, [noisy]) + more
    delta, _ = composed(con, samples, [noisy], epsilon)
    for rows in range(1, 16):
        with_it, without = (dict(outcomes(number, samples, noisy)) for number in (rows, rows - 1))
        for one, other in ((with_it, without), (without, with_it)):
            beyond = math.fsum(max(p - math.exp(epsilon) * other.get(seen, 0.0), 0.0) for seen, p in one.items())
            assert beyond <= delta + 1e-12, rows


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("[], [], [], 1", "one release at least"),
        ("[20], [], [], 1", "one beta for each k"),
        ("NULL, NULL, NULL, 1", "one beta for each k"),
        ("[20], [0.1], NULL, 1", "one beta for each k"),
        ("'x', [0.1], [], 1", "one beta for each k"),
        ("[20, NULL], [0.1, 0.1], [], 1", "is NULL or not a number"),
        ("['x'], [0.1], [], 1", "is NULL or not a number"),
        ("[20], [0.1], [NULL], 1", "is NULL or not a number"),
        ("[20], [0.1], [-1], 1", "negative or not a number"),
        ("[20], [0.1], [CAST('nan' AS DOUBLE)], 1", "negative or not a number"),
        ("[20], [0.1], [], CAST('inf' AS DOUBLE)", "epsilon must be a number of at least 0"),
        ("[20], [0.1], [], 'x'", "epsilon must be a number of at least 0"),
        ("[20], [0.1], [], 0.1", "epsilon must be at least the sum"),
        ("[20], [0.1], [1], 1.1", "epsilon must be at least the sum"),
        ("[], [], [1, 0.5], 1.4", "epsilon must be at least the sum"),
        ("[2.5], [0.1], [], 1", "k must be a whole number"),
        ("[20], [1], [], 1", "beta, the sampling probability, must"),
    ],
)
@pytest.mark.parametrize("column", ["delta", "epsilons"])
def test_no_sum_of_what_is_none(con: Con, arguments: str, complaint: str, column: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        con.execute(f"SELECT {column} FROM priv.smooth_composition({arguments})").fetchall()


def test_nothing_of_nothing(con: Con) -> None:
    assert con.execute("FROM priv.smooth_composition([20], [0.1], [], NULL)").fetchall() == [(None, None)]
