"""The noise, choices, errors and weights of bags and signed bags against their oracles, and what they refuse."""

import math

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
    "odds_factor",
    "posterior_bound",
    "linking_prior",
    "linking_prior_of_share",
    "person_prior",
    "row_factor",
    "linking_factor",
    "small_count",
    "bag_noise",
    "bag_choice",
    "bag_guarantee",
    "bag_weights",
    "bag_error",
    "bag_rows",
    "bag_kind",
    "signed_bag_noise",
    "signed_bag_guarantee",
    "signed_bag_weights",
    "signed_bag_error",
)
Con = duckdb.DuckDBPyConnection

gammas = st.sampled_from([0.05, 0.2, 0.3, 0.5]) | st.floats(0.01, 0.95)
shares_of_gamma = st.sampled_from([1e-6, 0.01, 0.25, 0.5]) | st.floats(1e-9, 0.95)
factors = st.sampled_from([1.5, 2.0, 6.4, 428.0]) | st.floats(1.01, 1e6)
keeps = st.sampled_from([0.375, 0.5]) | st.floats(0.01, 0.99)
ratios = st.sampled_from([0.5, 0.1]) | st.floats(1e-6, 0.9)
rows_each = st.integers(1, 4)
sizes = st.integers(1, 100) | st.integers(1, 10**9)


# --- Beliefs --------------------------------------------------------------------------------------


@strategies.fewer(4)
@given(gamma=gammas, share=shares_of_gamma)
def test_the_factor_takes_d_to_gamma_and_nothing_beyond_the_curve(con: Con, gamma: float, share: float) -> None:
    d = share * gamma
    found = call(con, "odds_factor", d, gamma)
    assert_rows(found, [oracles.odds_factor(d, gamma)], (d, gamma))
    assert call(con, "posterior_bound", d, found[0][0])[0][0] == pytest.approx(gamma, rel=1e-12)


@strategies.fewer(4)
@given(belief=st.sampled_from([0.0, 1.0]) | st.floats(1e-9, 1), factor=factors)
def test_the_curve_agrees(con: Con, belief: float, factor: float) -> None:
    assert_rows(call(con, "posterior_bound", belief, factor), [oracles.posterior_bound(belief, factor)], belief)


@strategies.fewer(4)
@given(choices=st.integers(2, 10**6), times=st.floats(0.01, 100), share=st.floats(1e-9, 0.999))
def test_the_prior_of_who_links_agrees(con: Con, choices: int, times: float, share: float) -> None:
    assert_rows(call(con, "linking_prior", choices, times), [(oracles.linking_prior(choices, times),)], choices)
    by_share = call(con, "linking_prior_of_share", share, times)
    assert_rows(by_share, [(oracles.linking_prior_of_share(share, times),)], share)


@strategies.fewer(4)
@given(d=st.floats(1e-15, 0.9), factor=factors, rows=st.integers(1, 20))
def test_the_prior_and_the_factor_of_a_person_agree(con: Con, d: float, factor: float, rows: int) -> None:
    ((found,),) = call(con, "person_prior", d, rows)
    assert found == pytest.approx(oracles.person_prior(d, rows), rel=1e-13)
    ((found,),) = call(con, "row_factor", factor, rows)
    assert found == pytest.approx(oracles.row_factor(factor, rows), rel=1e-13)


@strategies.fewer(4)
@given(
    alpha=st.floats(0.01, 0.6), least=st.floats(0.001, 0.2), more=st.floats(0, 0.15), persist=st.floats(0.1, 0.95),
    views=st.integers(1, 4),
)  # fmt: skip
def test_the_factor_of_who_links_is_that_of_all_that_can_be_seen(
    con: Con, alpha: float, least: float, more: float, persist: float, views: int
) -> None:
    most = least + more
    ((found,),) = call(con, "linking_factor", alpha, least, most, persist, views)
    expected = oracles.linking_factor(alpha, least, most, persist, views)
    assert found >= expected * (1 - 1e-12)
    if views == 1 or most <= (alpha + least) * persist:
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_factor_without_noise_or_with_every_row_kept_is_infinite(con: Con) -> None:
    assert call(con, "linking_factor", 0.5, 0, 0, 0.5, 1) == [(math.inf,)]
    assert call(con, "linking_factor", 0.9, 0.1, 0.1, 0.5, 1) == [(math.inf,)]
    assert call(con, "linking_factor", None, 0.1, 0.1, 0.5, 1) == [(None,)]
    with pytest.raises(duckdb.Error, match="most_beta must be at least least_beta"):
        call(con, "linking_factor", 0.4, 0.2, 0.1, 0.5, 1)


@strategies.fewer(4)
@given(rows=sizes, domain=sizes)
def test_a_small_count_is_a_twentieth(con: Con, rows: int, domain: int) -> None:
    assert_rows(call(con, "small_count", rows, domain), [oracles.small_count(rows, domain)], (rows, domain))


# --- Bags -----------------------------------------------------------------------------------------


@strategies.fewer(8)
@given(p=keeps, factor=factors, rows=rows_each)
def test_the_noise_is_the_least_that_keeps_to_the_factor(con: Con, p: float, factor: float, rows: int) -> None:
    expected = oracles.bag_noise(p, factor, rows)
    if expected is None:
        with pytest.raises(duckdb.Error, match="p must be below 1 - 1 / factor"):
            call(con, "bag_noise", p, factor, rows)
        return
    assume(expected < 1 - 1e-6)
    ((found,),) = call(con, "bag_noise", p, factor, rows)
    assert found == pytest.approx(expected, rel=1e-9)
    if rows == 1:
        assert call(con, "bag_noise", p, factor) == [(found,)]


@strategies.fewer(4)
@given(p=keeps | st.just(1.0), q=ratios | st.just(0.0), gamma=gammas, share=shares_of_gamma, rows=rows_each)
@example(p=1.0, q=0.0, gamma=0.5, share=0.5, rows=2)
def test_what_given_coins_are_worth(con: Con, p: float, q: float, gamma: float, share: float, rows: int) -> None:
    d = share * gamma
    (found,) = call(con, "bag_guarantee", d, gamma, p, q, rows)
    expected = oracles.bag_guarantee(d, gamma, p, q, rows)
    assert found[1:] == pytest.approx(expected[1:], rel=1e-9)
    assert found[0] == expected.private or expected.posterior == pytest.approx(gamma, rel=1e-9)
    if rows == 1:
        assert call(con, "bag_guarantee", d, gamma, p, q) == [found]


@strategies.fewer(8)
@given(n=sizes, m=sizes, factor=factors, most=st.none() | sizes)
@example(n=10**9, m=1, factor=6.4, most=None)
@example(n=1, m=10**9, factor=1e6, most=1)
def test_no_other_p_has_a_smaller_error(con: Con, n: int, m: int, factor: float, most: int | None) -> None:
    arguments = (n, m, factor) if most is None else (n, m, factor, most)
    (found,) = call(con, "bag_choice", *arguments)
    expected = oracles.bag_choice(*arguments)
    assert found[4:] == pytest.approx(expected[4:], rel=1e-9)
    assert found[0] == pytest.approx(expected.p, rel=1e-4)  # flat around the best
    p, q = found[:2]
    assert call(con, "bag_noise", p, factor) == [(pytest.approx(q, rel=1e-9),)]
    ((rows, error, half, _),) = call(con, "bag_error", n, m, p, q, n, m)
    assert (rows, error, half) == pytest.approx((found[2], *found[4:]), rel=1e-9)
    assert found[2] - found[3] == pytest.approx(n * p, rel=1e-9, abs=1e-9 * found[2])
    assert most is None or found[3] <= most * (1 + 1e-9)


@pytest.mark.parametrize("factor", [1.5, 2, 6.4, 20, 428, 1e6])
def test_a_sparse_table_keeps_what_the_limit_says(con: Con, factor: float) -> None:
    """1/2 for a large factor, .375 at 6.4."""
    p = call(con, "bag_choice", 1, 10**15, factor)[0][0]
    assert p == pytest.approx((3 - math.sqrt(1 + 8 / factor)) / 4, rel=1e-9)
    if factor in (6.4, 1e6):
        assert p == pytest.approx({6.4: 0.375, 1e6: 0.5}[factor], abs=1e-5)


@strategies.fewer(4)
@given(p=keeps | st.just(1.0), q=ratios | st.just(0.0))
def test_the_weights_agree(con: Con, p: float, q: float) -> None:
    assert_rows(call(con, "bag_weights", p, q), oracles.bag_weights(p, q), (p, q))


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """rows, domain, hits, domain_hits that can be: a tuple may have many rows."""
    hit_tuples, other_tuples = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    assume(hit_tuples + other_tuples > 0)
    hits = draw(st.integers(0, 10**6)) if hit_tuples else 0
    others = draw(st.integers(0, 10**6)) if other_tuples else 0
    assume(hits + others > 0)
    return hits + others, hit_tuples + other_tuples, hits, hit_tuples


@strategies.fewer(4)
@given(p=keeps, q=ratios, table=counted())
def test_the_errors_agree(con: Con, p: float, q: float, table: tuple[int, int, int, int]) -> None:
    rows, domain, hits, domain_hits = table
    ((*found, possible),) = call(con, "bag_error", rows, domain, p, q, hits, domain_hits)
    *expected, _ = oracles.bag_error(rows, domain, p, q, hits, domain_hits)
    assert_rows([tuple(found)], [expected], (p, q, table))
    assert possible is (found[2] <= rows)
    assert call(con, "bag_rows", rows, domain, p, q)[0] == pytest.approx(oracles.bag_rows(rows, domain, p, q), rel=1e-9)
    ((*found, possible),) = call(con, "signed_bag_error", rows, domain, q, domain_hits)
    *expected, _ = oracles.signed_bag_error(rows, domain, q, domain_hits)
    assert found == pytest.approx(expected, rel=1e-9)
    assert possible is (found[2] <= rows)


# --- Signed bags ----------------------------------------------------------------------------------


@strategies.fewer(4)
@given(factor=factors, rows=rows_each)
def test_the_noise_of_a_signed_bag_is_the_least(con: Con, factor: float, rows: int) -> None:
    found = call(con, "signed_bag_noise", factor, rows)
    assert found[0][0] == pytest.approx(oracles.signed_bag_noise(factor, rows), rel=1e-9)
    if rows == 1:
        assert call(con, "signed_bag_noise", factor) == found


@strategies.fewer(4)
@given(a=ratios | st.just(0.0), gamma=gammas, share=shares_of_gamma, rows=rows_each)
def test_what_a_given_signed_bag_is_worth(con: Con, a: float, gamma: float, share: float, rows: int) -> None:
    d = share * gamma
    (found,) = call(con, "signed_bag_guarantee", d, gamma, a, rows)
    expected = oracles.signed_bag_guarantee(d, gamma, a, rows)
    assert found[1:] == pytest.approx(expected[1:], rel=1e-9)
    assert found[0] == expected.private or expected.posterior == pytest.approx(gamma, rel=1e-9)
    assert_rows(call(con, "signed_bag_weights", a), oracles.signed_bag_weights(a), a)


@strategies.fewer(8)
@given(n=sizes, m=sizes, factor=st.floats(1.2, 1e4), most=st.none() | sizes)
def test_the_kind_with_the_smaller_error_is_taken(con: Con, n: int, m: int, factor: float, most: int | None) -> None:
    arguments = (n, m, factor) if most is None else (n, m, factor, most)
    (found,) = call(con, "bag_kind", *arguments)
    expected = oracles.bag_kind(*arguments)
    assert found[1:] == pytest.approx(expected[1:], rel=1e-9)
    assert found[0] == expected[0] or found[1] == pytest.approx(found[2], rel=1e-9)


@pytest.mark.parametrize(
    ("n", "m", "factor", "signed", "bag"),
    [(24_000, 5_760, 6.4, 111, 154), (2_270_000, 100_000, 6.4, 464, 1_100), (30_162, 10**7, 428, 1_033, 344)],
)
def test_the_errors_of_count_are_those_of_the_reference(
    con: Con, n: int, m: int, factor: float, signed: int, bag: int
) -> None:
    ((kind, bag_error, signed_error),) = call(con, "bag_kind", n, m, factor)
    assert kind == ("signed bag" if signed < bag else "bag")
    assert (bag_error, signed_error) == (pytest.approx(bag, rel=0.005), pytest.approx(signed, rel=0.01))


def test_a_signed_bag_with_too_many_rows_is_not_taken(con: Con) -> None:
    assert call(con, "bag_kind", 24_000, 5_760, 6.4, 6_000)[0][0] == "signed bag"
    assert call(con, "bag_kind", 24_000, 5_760, 6.4, 5_000)[0][0] == "bag"


# --- Refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("odds_factor", [0.3, 0.3], "d must be below gamma"),
        ("bag_noise", [0.85, 6.4], "p must be below 1 - 1 / factor"),
        ("bag_noise", [1.0, 6.4], "p must be below 1 - 1 / factor"),
        ("bag_noise", [0.7, 6.4, 2], "p must be below 1 - 1 / factor"),
        ("bag_guarantee", [0.3, 0.2, 0.5, 0.1], "d must be below gamma"),
        ("bag_error", [5, 10, 0.4, 0.1, 6, 7], "do not fit"),
        ("bag_error", [5, 10, 0.4, 0.1, 1, 0], "do not fit"),
        ("bag_error", [5, 10, 0.4, 0.1, 4, 10], "do not fit"),
        ("bag_error", [5, 10, 0.4, 0.1, 4, 11], "do not fit"),
        ("signed_bag_error", [5, 10, 0.4, 11], "cannot be more than the domain"),
        ("signed_bag_noise", [2, 10**12], "allow a larger factor"),
    ],
)
def test_what_cannot_be_is_refused(con: Con, name: str, arguments: list[object], complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, name, *arguments)


@pytest.mark.parametrize("coins", [(None, 0.0), (1.0, None), (0.5, None, 2), (1.0, 0.0, None)])
def test_no_privacy_at_all_does_not_hide_a_null(con: Con, coins: tuple[object, ...]) -> None:
    """Infinity is the answer for p = 1 or q = 0, but not when another number is missing."""
    assert set(call(con, "bag_guarantee", 0.1, 0.5, *coins)[0]) == {None}
    with pytest.raises(duckdb.Error, match="rows_each must be"):
        call(con, "bag_guarantee", 0.1, 0.5, 1.0, 0.0, 0)


def test_a_factor_beyond_all_numbers_is_infinite(con: Con) -> None:
    found = call(con, "bag_guarantee", 0.1, 0.5, 0.5, 0.001, 1000)[0]
    assert found == (False, math.inf, pytest.approx(1000 * math.log(1001)), pytest.approx(1000 * math.log(500.5)), 1.0)
    assert call(con, "signed_bag_guarantee", 0.1, 0.5, 1e-300, 3)[0][1] == math.inf
