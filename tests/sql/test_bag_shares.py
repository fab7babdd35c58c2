"""Noise by public shares: factors, noise, the best p, errors, weights and beliefs against their oracles."""

import math
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import oracles
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support import strategies
from support.agreement import assert_rows, call, macros_of

pytestmark = pytest.mark.one_version

TESTED = macros_of(
    [],
    "bag_share_factors",
    "bag_share_noise",
    "bag_share_choice",
    "bag_share_weights",
    "bag_share_error",
    "bag_share_rows",
    "bag_share_beliefs",
)
Con = duckdb.DuckDBPyConnection

gammas = st.sampled_from([0.05, 0.2, 0.3, 0.5]) | st.floats(0.01, 0.95)
times = st.sampled_from([1, 2, 2.5])
factor_lists = st.lists(st.sampled_from([1.5, 6.4, 428.0]) | st.floats(1.05, 1e5), min_size=1, max_size=5)
ratio_lists = st.lists(st.sampled_from([0.5, 0.1]) | st.floats(1e-6, 0.9), min_size=1, max_size=4)
sizes = st.integers(1, 100) | st.integers(1, 10**9)


@st.composite
def share_lists(draw: st.DrawFn) -> list[float]:
    """Of two to five values, adding up to 1 or less."""
    parts = draw(st.lists(st.integers(1, 1000), min_size=2, max_size=5))
    return [part / (sum(parts) + draw(st.integers(0, 3))) for part in parts]


@strategies.fewer(4)
@given(shares=share_lists(), more=times, gamma=gammas, most=st.none() | st.floats(1.01, 100))
@example(shares=[0.5, 0.5], more=1, gamma=0.5, most=None)  # as common as gamma: nothing is covered
@example(shares=[0.5, 0.5], more=1, gamma=0.5, most=4.0)
def test_every_value_has_the_factor_that_takes_it_to_gamma(
    con: Con, shares: list[float], more: float, gamma: float, most: float | None
) -> None:
    arguments = (shares, more, gamma) if most is None else (shares, more, gamma, most)
    expected = oracles.bag_share_factors(*arguments)
    assume(all(abs(d / gamma - 1) > 1e-8 or d == gamma for _, d, _, _ in expected))
    found = call(con, "bag_share_factors", *arguments)
    assert_rows(found, expected, arguments)
    for _, d, factor, covered in found:
        if covered:
            assert call(con, "posterior_bound", d, factor)[0][0] <= gamma * (1 + 1e-12)


@strategies.fewer(8)
@given(p=st.floats(0.01, 0.9), factors=factor_lists)
def test_every_value_has_the_least_noise_for_its_factor(con: Con, p: float, factors: list[float]) -> None:
    expected = oracles.bag_share_noise(p, factors)
    if expected is None:
        with pytest.raises(duckdb.Error, match="p must be below 1 - 1 / factor"):
            call(con, "bag_share_noise", p, factors)
        return
    assume(all(q < 1 - 1e-6 for _, q, _ in expected))
    for (value, *found), (place, *numbers) in zip(call(con, "bag_share_noise", p, factors), expected, strict=True):
        assert value == place
        assert found == pytest.approx(numbers, rel=1e-6)


@strategies.fewer(8)
@given(n=sizes, m=sizes, factors=factor_lists)
@example(n=10**9, m=1, factors=[6.4])
@example(n=1, m=10**9, factors=[1e5, 1.5])
@example(n=1000, m=1000, factors=[1.0001, 2, 1e8])
def test_no_other_p_has_a_smaller_error(con: Con, n: int, m: int, factors: list[float]) -> None:
    (found,) = call(con, "bag_share_choice", n, m, factors)
    expected = oracles.bag_share_choice(n, m, factors)
    assert found[3:] == pytest.approx(expected[3:], rel=1e-9)
    assert found[0] == pytest.approx(expected.p, rel=1e-4)  # flat around the best
    ratios = [row[1] for row in call(con, "bag_share_noise", found[0], factors)]
    ((rows, error, half, _),) = call(con, "bag_share_error", n, m, found[0], ratios, n, m)
    assert (rows, error, half) == pytest.approx((found[1], *found[3:]), rel=1e-6)
    assert found[1] - found[2] == pytest.approx(n * found[0], rel=1e-9, abs=1e-9 * found[1])


@strategies.fewer(4)
@given(n=sizes, m=sizes, factor=st.floats(1.05, 1e5), values=st.integers(1, 4))
def test_with_equal_shares_it_is_the_plain_bag(con: Con, n: int, m: int, factor: float, values: int) -> None:
    (plain,) = call(con, "bag_choice", n, m, factor)
    (found,) = call(con, "bag_share_choice", n, m, [factor] * values)
    assert found == pytest.approx((plain[0], *plain[2:]), rel=1e-7)


@pytest.mark.parametrize("p", [0.1, 0.375, 0.8, 1.0])
def test_the_weights_agree_and_make_those_of_every_noise(con: Con, p: float) -> None:
    found = call(con, "bag_share_weights", p)
    assert_rows(found, oracles.bag_share_weights(p), p)
    for q in (0.0, 0.1, 0.6, 0.95):
        mu = float(Fraction(q) / (1 - Fraction(q)))
        view, domain = call(con, "bag_weights", p, q)
        assert found[0][2:] == pytest.approx(view[1:], rel=1e-12)
        made = [math.fsum(row[column] * mu ** row[1] for row in found[1:]) for column in (2, 3, 4)]
        assert made == pytest.approx(domain[1:], rel=1e-9, abs=1e-15)


@strategies.fewer(4)
@given(p=st.floats(0.01, 0.99), ratios=ratio_lists, n=sizes, m=st.integers(20, 10**9))
def test_the_errors_agree(con: Con, p: float, ratios: list[float], n: int, m: int) -> None:
    table = (n, m, p, ratios, n // 2, m // 20)
    ((*found, possible),) = call(con, "bag_share_error", *table)
    *expected, _ = oracles.bag_share_error(*table)
    assert_rows([tuple(found)], [expected], table)
    assert possible is (found[2] <= n)
    assert call(con, "bag_share_rows", *table[:4])[0] == pytest.approx(oracles.bag_share_rows(*table[:4]), rel=1e-9)


@strategies.fewer(4)
@given(shares=share_lists(), more=times, others=st.integers(1, 10**6), data=st.data())
def test_beliefs_agree(con: Con, shares: Sequence[float], more: float, others: int, data: st.DataObject) -> None:
    factors = data.draw(st.lists(st.floats(1.01, 1e6), min_size=len(shares), max_size=len(shares)))
    arguments = (shares, factors, more, others)
    assert_rows(call(con, "bag_share_beliefs", *arguments), oracles.bag_share_beliefs(*arguments), arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("bag_share_factors", [[0.7, 0.4], 2, 0.3], "shares, .* must not be more than 1 in all"),
        ("bag_share_factors", [[0.7, 0.0], 2, 0.3], "public_share, .* must lie between 0 and 1"),
        ("bag_share_factors", [[0.7, None], 2, 0.3], "shares must be a list of numbers, one for each value"),
        ("bag_share_factors", [[], 2, 0.3], "shares must be a list of numbers, one for each value"),
        ("bag_share_factors", [["many"], 2, 0.3], "shares must be a list of numbers, one for each value"),
        ("bag_share_factors", [[0.1], 2, 0.3, 1], "factor, .* must be a number greater than 1"),
        ("bag_share_noise", [0.6, [4.0, 2.0]], "p must be below 1 - 1 / factor"),
        ("bag_share_choice", [100, 10, [4.0, 0.5]], "factor, .* must be a number greater than 1"),
        ("bag_share_error", [5, 10, 0.4, [0.1], 6, 7], "do not fit"),
        ("bag_share_rows", [5, 10, 0.4, [1.0]], "q, the ratio of the geometric noise"),
        ("bag_share_beliefs", [[0.1, 0.2], [2.0], 2, 1], "there must be a factor for each share"),
    ],
)
def test_what_cannot_be_is_refused(con: Con, name: str, arguments: list[object], complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, name, *arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bag_share_factors", [[0.1, 0.2], 2, 0.3, 5.0]),
        ("bag_share_noise", [0.1, [4.0, 2.0]]),
        ("bag_share_choice", [100, 10, [4.0, 2.0]]),
        ("bag_share_weights", [0.5]),
        ("bag_share_error", [5, 10, 0.4, [0.1], 3, 7]),
        ("bag_share_rows", [5, 10, 0.4, [0.1]]),
        ("bag_share_beliefs", [[0.1, 0.2], [2.0, 3.0], 2, 1]),
    ],
)
def test_null_in_null_out(con: Con, name: str, arguments: list[object]) -> None:
    """For each argument alone."""
    for place in range(len(arguments)):
        given_rows = call(con, name, *arguments[:place], None, *arguments[place + 1 :])
        assert all(set(row) == {None} for row in given_rows), place
