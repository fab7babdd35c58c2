"""The errors that estimates will have: against their oracles, and against what is known of each coin."""

from __future__ import annotations

import math

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.agreement import call

from sqlpriv.macros.catalog import inlined

pytestmark = pytest.mark.one_version

TESTED = {"expected_weights", "expected_source_weights"}
Con = duckdb.DuckDBPyConnection
chances = st.floats(0.02, 0.98)
numbers = st.floats(-1e6, 1e6)


@strategies.fewer(4)
@given(weight=st.floats(1e-3, 1e6), rest=st.tuples(*[numbers] * 5))
def test_the_weights_agree(con: Con, weight: float, rest: tuple[float, ...]) -> None:
    expected = oracles.expected_weights(weight, *rest)
    assert expected[0][1] == 1
    assert expected[1][1] == 0
    found = call(con, "expected_weights", weight, *rest)
    for one, other in zip(found, expected, strict=True):
        close = 1e-9 * max(abs(float(n)) for n in (1, *rest)) * max(1, max(map(abs, rest)) / weight)
        assert one[0] == other[0]
        assert one[1:] == pytest.approx([float(n) for n in other[1:]], rel=1e-9, abs=close)


def expected(con: Con, macro: str, *coins: float) -> tuple[float, float]:
    """The variance of a row of the table, and of a tuple of the domain, from the weights of a method."""
    weights = {source: numbers for source, *numbers in call(con, macro, *coins)}
    table, domain = call(con, "expected_weights", *weights["view"], *weights["domain"])
    assert table[:2] == ("table", pytest.approx(1))
    assert domain[:2] == ("domain", pytest.approx(0, abs=1e-12))
    return table[2], domain[2]


@strategies.fewer(4)
@given(p=chances, q=chances, rows=st.integers(1, 1000), cells=st.integers(1, 1000))
def test_they_are_the_variances_of_the_coins(con: Con, p: float, q: float, rows: int, cells: int) -> None:
    """Of binomial and geometric numbers, as every book has them; and what the macros for counts say."""
    # An element of the table is in the view with p, one that is not with b.
    b = p * q
    own, noise = p * (1 - p) / (p - b) ** 2, b * (1 - b) / (p - b) ** 2
    assert expected(con, "alpha_beta_weights", p - b, b) == pytest.approx((own - noise, noise), rel=1e-6, abs=1e-9)
    # Each row of a bag is kept with p, and a geometric number of others added.
    own, noise = p * (1 - p) / p**2, q / (1 - q) ** 2 / p**2
    assert expected(con, "bag_weights", p, q) == pytest.approx((own, noise), rel=1e-9)
    error = call(con, "bag_error", rows + 1, cells + 1, p, q, rows, cells)[0][1]
    assert math.sqrt(rows * own + cells * noise) == pytest.approx(error, rel=1e-9)
    # All rows of a signed bag are there, with noise that is the difference of two geometric numbers.
    assert expected(con, "signed_bag_weights", q) == pytest.approx((0, 2 * q / (1 - q) ** 2), rel=1e-9)


@strategies.fewer(4)
@given(
    stay=st.floats(0.05, 0.98), domain=st.integers(3, 1000), rows=st.integers(2, 10**6), share=st.floats(0, 1),
    others=st.floats(0, 1),
)  # fmt: skip
def test_of_frapp_with_its_cross_terms(
    con: Con, stay: float, domain: int, rows: int, share: float, others: float
) -> None:
    move = (1 - stay) / (domain - 1)
    if stay <= move * 1.01:
        return
    own, noise = expected(con, "frapp_weights", stay, move, rows)
    by_estimate, by_square = call(con, "frapp_cross_terms", stay, move, rows)[0]
    hits, cells = round((rows - 1) * share), 1 + round((domain - 2) * others)
    variance = hits * own + cells * noise + by_estimate * cells * hits + by_square * cells**2
    error = call(con, "frapp_error", rows, domain, stay, hits, cells)[0][0]
    assert math.sqrt(max(variance, 0)) == pytest.approx(error, rel=1e-6, abs=1e-6 * math.sqrt(rows * noise + 1))


@strategies.fewer(4)
@given(
    p=chances, part=st.floats(1e-6, 0.9), rate=st.floats(0.01, 1e6), slots=st.integers(1, 100), less=st.floats(1e-9, 1)
)  # fmt: skip
def test_the_weights_of_noise_by_shares_agree(
    con: Con, p: float, part: float, rate: float, slots: int, less: float
) -> None:
    beta = p * part
    alpha = p - beta
    found = call(con, "expected_source_weights", alpha, rate, slots, beta)
    agreed = oracles.expected_source_weights(alpha, rate, slots, beta)
    for one, other in zip(found, agreed, strict=True):
        largest = max(abs(float(number)) for number in other[1:])
        assert one == pytest.approx([float(number) for number in other], rel=1e-9, abs=1e-12 * largest)
    share = -math.log1p(-beta) / rate * slots * less
    if not 0 < share <= 1:
        return
    noise = -math.expm1(-rate * share / slots)
    terms = [variance * share**power for power, _, variance, _ in found]
    alone = slots * noise * (1 - noise) / alpha**2
    assert math.fsum(terms) == pytest.approx(alone, rel=1e-9, abs=1e-9 * max(map(abs, terms)))
    row = f"_of_a_row(_source_variance({alpha!r}, {noise!r}), _source_weight({alpha!r}))"
    ((variance,),) = con.execute(f"SELECT {inlined(row)}").fetchall()
    kept = alpha + noise
    more = (kept * (1 - kept) - noise * (1 - noise)) / alpha**2
    assert variance == pytest.approx(more, rel=1e-6, abs=1e-6 / alpha)


def test_null_makes_null(con: Con) -> None:
    for place in range(6):
        given = [None if i == place else 1.0 for i in range(6)]
        assert call(con, "expected_weights", *given) == [(None,) * 4] * 2
    for place in range(4):
        coins = [None if i == place else n for i, n in enumerate((0.4, 0.1, 2, 0.1))]
        assert call(con, "expected_source_weights", *coins) == [(None,) * 4]


@pytest.mark.parametrize(
    ("macro", "arguments", "message"),
    [
        ("expected_weights", [0, 1, 1, 0, 1, 1], "weight, what a row of the view counts for, must be"),
        ("expected_weights", [-1, 1, 1, 0, 1, 1], "weight, what a row of the view counts for, must be"),
        ("expected_weights", [1, "x", 1, 0, 1, 1], "variance must be a number"),
        ("expected_weights", [1, 1, 1, 0, math.inf, 1], "domain_variance must be a number"),
        ("expected_source_weights", [0.4, -1, 1, 0.1], "rate, the amount of noise in all"),
        ("expected_source_weights", [0.4, 1, 0, 0.1], "slots must"),
    ],
)
def test_what_is_no_weight_is_refused(con: Con, macro: str, arguments: list[object], message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        call(con, macro, *arguments)


def test_an_interval_that_rounding_left_has_no_width(con: Con) -> None:
    asked = ", ".join(
        inlined(f"_deviation({a}, {b})") for a, b in (("1e0", "5e0"), ("1e9", "1e9 + 1e-3"), ("NULL", "1e0"))
    )
    assert con.execute(f"SELECT {asked}").fetchall() == [(2.0, 0.0, None)]


def test_what_may_come_near_0_divides_nothing(con: Con) -> None:
    asked = ", ".join(inlined(f"_divisor({a}, {b})") for a, b in (("-8e0", "3.9e0"), ("8e0", "4.1e0"), ("0e0", "0e0")))
    assert con.execute(f"SELECT {asked}").fetchall() == [(-8.0, None, None)]
