"""The parameters, errors and weights of randomized views against their oracles, and what they refuse."""

import math

import duckdb
import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import strategies
from support.agreement import assert_rows, call, macros_of

from sqlpriv.macros.catalog import inlined

pytestmark = pytest.mark.one_version

TESTED = macros_of(
    [],
    "alpha_beta_parameters",
    "alpha_beta_slot_prior",
    "alpha_beta_guarantee",
    "alpha_beta_error",
    "alpha_beta_weights",
    "alpha_beta_source_parameters",
    "alpha_beta_source_noise",
    "alpha_beta_source_weights",
    "sequence_parameters",
    "sequence_weights",
    "frapp_parameters",
    "frapp_comparison",
    "frapp_guarantee",
    "frapp_error",
    "frapp_weights",
    "frapp_cross_terms",
    "public_size",
    "prior_of_multiple",
    "alpha_beta_draws",
    "sequence_rows",
)
Con = duckdb.DuckDBPyConnection

gammas = st.sampled_from([0.05, 0.2, 0.5]) | st.floats(0.01, 0.95)
shares_of_gamma = st.sampled_from([1e-6, 0.01, 0.25, 0.5]) | st.floats(1e-9, 0.5)
keeps = st.floats(0.02, 1)
noises = st.just(0.0) | st.floats(1e-9, 0.9)


@st.composite
def coins(draw: st.DrawFn) -> tuple[float, float]:
    """alpha and beta with a sum of at most 1."""
    p = draw(keeps)
    beta = p * draw(noises)
    return p - beta, beta


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """rows, domain, hits, domain_hits that can be: hits of the table, and of the domain at least as many."""
    hits, misses, others, more = (draw(st.integers(least, 10**6)) for least in (0, 1, 0, 0))
    return hits + misses, hits + misses + others + more, hits, hits + others


@strategies.fewer(4)
@given(gamma=gammas, share=shares_of_gamma)
@pytest.mark.parametrize("adversary_and_choice", ["exclusive default", "independent paper", "independent tight"])
def test_the_noise_is_the_least_that_bounds_the_belief(
    con: Con, adversary_and_choice: str, gamma: float, share: float
) -> None:
    adversary, choice = adversary_and_choice.split()
    d = share * gamma
    found = call(con, "alpha_beta_parameters", d, gamma, adversary, choice)
    assert_rows(found, [oracles.alpha_beta_parameters(d, gamma, adversary, choice)], (d, gamma))
    if choice == "paper":
        assert call(con, "alpha_beta_parameters", d, gamma, adversary, "default") == found


@strategies.fewer(4)
@given(gamma=gammas, share=shares_of_gamma, pair=coins())
def test_what_given_coins_are_worth(con: Con, gamma: float, share: float, pair: tuple[float, float]) -> None:
    (found,) = call(con, "alpha_beta_guarantee", share * gamma, gamma, *pair)
    expected = oracles.alpha_beta_guarantee(share * gamma, gamma, *pair)
    assert found[2:] == pytest.approx(expected[2:], rel=1e-9)
    for judged, worst in ((found[0], expected.independent_gamma), (found[1], expected.exclusive_posterior)):
        assert judged == (worst <= gamma) or worst == pytest.approx(gamma, rel=1e-9)


@pytest.mark.some(1)
@strategies.fewer(8)
@given(gamma=gammas, share=shares_of_gamma)
@pytest.mark.parametrize("adversary_and_choice", ["exclusive default", "independent paper", "independent tight"])
def test_the_coins_picked_for_an_adversary_and_no_less_are_judged_private(
    con: Con, adversary_and_choice: str, gamma: float, share: float
) -> None:
    d = share * gamma
    adversary, choice = adversary_and_choice.split()
    at = 1 if adversary == "exclusive" else 0
    ((alpha, beta),) = call(con, "alpha_beta_parameters", d, gamma, adversary, choice)
    judged = call(con, "alpha_beta_guarantee", d, gamma, alpha, beta)[0]
    assert judged[:2] == (True, adversary == "exclusive")
    assert not call(con, "alpha_beta_guarantee", d, gamma, alpha, beta * (1 - 1e-9))[0][at]


@strategies.fewer(4)
@given(pair=coins(), sizes=counts())
@example(pair=(11 / 13, 2 / 13), sizes=(1, 12, 0, 0))  # the error is the number of rows
def test_the_error_of_a_view_agrees(con: Con, pair: tuple[float, float], sizes: tuple[int, int, int, int]) -> None:
    rows, domain, hits, domain_hits = sizes
    ((*found, possible),) = call(con, "alpha_beta_error", rows, domain, *pair, hits, domain_hits)
    *expected, _ = oracles.alpha_beta_error(rows, domain, *pair, hits, domain_hits)
    assert_rows([tuple(found)], [expected], (pair, sizes))
    assert possible is (found[3] <= rows)  # by the error that was found: rounded otherwise, it may pass the rows


@strategies.fewer(4)
@given(pair=coins(), sizes=counts(), failure=st.floats(1e-9, 0.999))
@example(pair=(0.45, 0.05), sizes=(1000, 10000, 40, 2000), failure=1e-3)
@example(pair=(0.45, 0.05), sizes=(1, 10, 0, 0), failure=1e-3)  # too few rows for so small a failure
def test_the_error_agrees_for_any_failure(
    con: Con, pair: tuple[float, float], sizes: tuple[int, int, int, int], failure: float
) -> None:
    rows, domain, hits, domain_hits = sizes
    ((*found, _),) = call(con, "alpha_beta_error", rows, domain, *pair, hits, domain_hits, failure)
    *expected, _ = oracles.alpha_beta_error(rows, domain, *pair, hits, domain_hits, failure)
    assert_rows([tuple(found)], [expected], (pair, sizes, failure))


@strategies.fewer(4)
@given(pair=coins(), persist=st.floats(0.01, 0.99))
def test_the_weights_agree(con: Con, pair: tuple[float, float], persist: float) -> None:
    assert_rows(call(con, "alpha_beta_weights", *pair), oracles.alpha_beta_weights(*pair), pair)
    assert_rows_roughly(call(con, "sequence_weights", *pair, persist), oracles.sequence_weights(*pair, persist))


@strategies.fewer(4)
@given(d=st.floats(1e-12, 0.9), slots=st.integers(1, 10**6))
def test_the_prior_of_a_slot_agrees(con: Con, d: float, slots: int) -> None:
    (found,) = call(con, "alpha_beta_slot_prior", d, slots)[0]
    assert found == pytest.approx(oracles.alpha_beta_slot_prior(d, slots), rel=1e-9)
    assert d / slots <= found * (1 + 1e-12)
    for adversary in ("exclusive", "independent"):
        (found,) = call(con, "alpha_beta_slot_prior", d, slots, adversary)[0]
        assert found == pytest.approx(oracles.alpha_beta_slot_prior(d, slots, adversary), rel=1e-14)


@strategies.fewer(4)
@given(
    rows=st.integers(0, 10**4) | st.integers(0, 10**15).map(lambda n: n - n % 10 ** max(len(str(n)) - 4, 0)),
    k=st.integers(1, 100) | st.floats(1e-3, 100),
    tuples=st.integers(1, 10**9) | st.floats(1, 1e200),
)
def test_what_is_public_of_a_size_and_the_prior_made_from_it_agree(
    con: Con, rows: int, k: float, tuples: float
) -> None:
    ((found,),) = call(con, "public_size", rows)
    assert found >= rows
    if rows < 10**6:
        assert found == oracles.public_size(rows)
    (d,) = call(con, "prior_of_multiple", k, rows, tuples)[0]
    expected = oracles.prior_of_multiple(k, rows, tuples)
    assert d == pytest.approx(expected, rel=4.5e-16, abs=0)
    if isinstance(k, int) and isinstance(tuples, int) and k * rows < 2**53:
        assert d == expected  # rounded once


@strategies.fewer(4)
@given(pair=coins(), persist=st.floats(0.01, 0.99), sizes=st.tuples(*[st.integers(0, 10**6)] * 3))
def test_what_is_drawn_and_expected_agrees(
    con: Con, pair: tuple[float, float], persist: float, sizes: tuple[int, int, int]
) -> None:
    rows, gone, others = sizes
    domain = rows + gone + others + 1
    assert_rows(call(con, "alpha_beta_draws", domain, pair[1]), [(oracles.alpha_beta_draws(domain, pair[1]),)], pair)
    arguments = (*pair, persist, rows, gone, domain)
    assert_rows(call(con, "sequence_rows", *arguments), [oracles.sequence_rows(*arguments)], arguments)


def assert_rows_roughly(found: list[tuple[object, ...]], expected: oracles.randomized.Weights) -> None:
    """The weights of an earlier row are differences, so digits of the larger part may be lost."""
    for column in range(1, 4):
        largest = max(abs(float(row[column])) for row in expected)
        values = [row[column] for row in found]
        assert values == pytest.approx([float(row[column]) for row in expected], rel=1e-9, abs=1e-12 * largest)
    assert [row[0] for row in found] == [row[0] for row in expected]


@strategies.fewer(4)
@given(gamma=gammas, share=shares_of_gamma, share_max=st.floats(1e-6, 1), views=st.integers(1, 6))
def test_noise_by_shares_and_sequences_agree(
    con: Con, gamma: float, share: float, share_max: float, views: int
) -> None:
    d = share * gamma
    expected = oracles.alpha_beta_source_parameters(d, share_max, gamma)
    assert_rows(call(con, "alpha_beta_source_parameters", d, share_max, gamma), [expected], (d, share_max, gamma))
    in_sequence = oracles.sequence_parameters(d, gamma, views)
    if in_sequence[0] <= 1e-8:
        with pytest.raises(duckdb.Error, match="so many views cannot be private"):
            call(con, "sequence_parameters", d, gamma, views)
    else:
        assert_rows(call(con, "sequence_parameters", d, gamma, views), [in_sequence], (d, gamma, views))


@strategies.fewer(4)
@given(pair=coins(), rate=st.floats(0.01, 1e6), slots=st.integers(1, 100), less=st.floats(1e-9, 1))
def test_the_weights_of_noise_by_shares_agree(
    con: Con, pair: tuple[float, float], rate: float, slots: int, less: float
) -> None:
    alpha, beta = pair
    share = -math.log1p(-beta) / rate * slots * less
    weights = (alpha, rate, slots, beta)
    found = call(con, "alpha_beta_source_weights", *weights)
    expected = oracles.alpha_beta_source_weights(*weights)
    for left, right in zip(found, expected, strict=True):
        largest = max(abs(float(number)) for number in right[1:])
        assert left == pytest.approx([float(number) for number in right], rel=1e-9, abs=1e-12 * largest)
    if 0 < share <= 1:
        ((noise,),) = call(con, "alpha_beta_source_noise", rate, share / slots)
        assert noise == pytest.approx(oracles.alpha_beta_source_noise(rate, share / slots), rel=1e-14)
        written = f"SELECT {{}} FROM (SELECT _source_noise({rate!r}, {slots}, {share!r}) AS noise)"
        row = "_source_keep({0}, noise), _source_weight({0}), _source_variance({0}, noise), _source_skew({0}, noise)"
        inside = con.execute(inlined(written.format(row.format(repr(alpha))))).fetchall()[0]
        view, domain = call(con, "alpha_beta_weights", alpha, noise)
        assert inside == pytest.approx((alpha + noise, *view[1:]), rel=1e-9, abs=1e-12)
        for place in range(1, 4):
            terms = [row[place] * share ** row[0] for row in found]
            close = 1e-9 * max(map(abs, terms))
            assert math.fsum(terms) == pytest.approx(slots * domain[place], rel=1e-9, abs=close)


@strategies.fewer(4)
@given(gamma=gammas, share=shares_of_gamma, domain=st.integers(2, 10**9), rows=st.integers(1, 10**6))
def test_frapp_agrees(con: Con, gamma: float, share: float, domain: int, rows: int) -> None:
    d = share * gamma
    stay, move = oracles.frapp_parameters(d, gamma, domain)
    assert_rows(call(con, "frapp_parameters", d, gamma, domain), [(stay, move)], (d, gamma, domain))
    found = call(con, "frapp_guarantee", d, gamma, stay * (1 - 1e-9), move)
    assert found[0][0] is True
    assert found[0][1:] == pytest.approx(oracles.frapp_guarantee(d, gamma, stay, move)[1:], rel=1e-8)
    assert call(con, "frapp_guarantee", d, gamma, stay, move * (1 - 1e-9))[0][0] is False
    expected = oracles.frapp_comparison(d, gamma, domain, rows)
    if expected[0] > expected[1] * (1 + 1e-9):
        assert_rows(call(con, "frapp_comparison", d, gamma, domain, rows), [expected], (d, gamma, domain, rows))
    elif expected[0] < expected[1]:
        with pytest.raises(duckdb.Error, match="with so few rows"):
            call(con, "frapp_comparison", d, gamma, domain, rows)


@strategies.fewer(4)
@given(sizes=counts(), more=st.floats(1e-3, 1))
@example(sizes=(2, 6, 0, 0), more=1 / 3)  # the error is the number of rows
def test_the_error_and_weights_of_frapp_agree(con: Con, sizes: tuple[int, int, int, int], more: float) -> None:
    rows, domain, hits, domain_hits = sizes[0], sizes[1] + 1, sizes[2], sizes[3]
    stay = 1 / domain + more * (1 - 1 / domain)
    ((*found, possible),) = call(con, "frapp_error", rows, domain, stay, hits, domain_hits)
    *expected, _ = oracles.frapp_error(rows, domain, stay, hits, domain_hits)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-4)
    assert possible is (found[1] <= rows)
    move = (1 - stay) / (domain - 1)
    coins = (stay, move, rows)
    assert_rows(call(con, "frapp_weights", *coins), oracles.frapp_weights(*coins), coins)
    assert_rows(call(con, "frapp_cross_terms", *coins), [oracles.frapp_cross_terms(*coins)], coins)


def test_numbers_of_the_adult_table(con: Con) -> None:
    """The table of the paper's experiment: 30162 rows, 648023040 tuples, (10 n / m, 0.2)."""
    rows, domain, gamma = 30162, 648023040, 0.2
    d = 10 * rows / domain
    ((stay, _),) = call(con, "frapp_comparison", d, gamma, domain, rows)
    assert 1 / stay == pytest.approx(41, rel=0.005)
    ((alpha, beta),) = call(con, "alpha_beta_parameters", d, gamma, "independent", "tight")
    assert call(con, "alpha_beta_guarantee", d, gamma, alpha, beta)[0][3] == pytest.approx(0.991, abs=5e-4)
    spread = {}
    for name in ("exclusive default", "independent paper", "independent tight"):
        ((alpha, beta),) = call(con, "alpha_beta_parameters", d, gamma, *name.split())
        spread[name] = call(con, "alpha_beta_error", rows, domain, alpha, beta, 500, domain // 10)[0][1] ** 2
    assert spread["independent tight"] / spread["independent paper"] == pytest.approx(0.5, abs=0.01)
    ((alpha, beta),) = [(0.5 - 4 * d, 4 * 2 * d)]
    theorem = call(con, "alpha_beta_error", rows, domain, alpha, beta, 500, domain // 10)[0][1] ** 2
    assert spread["exclusive default"] / theorem == pytest.approx(0.5, abs=0.01)


def test_example_4_1_of_the_paper(con: Con) -> None:
    """score < 3*age has 549 tuples in the domain, 6 rows of the view: 3.51."""
    weights = {row[0]: row[1] for row in call(con, "alpha_beta_weights", 2 / 3, 1 / 150)}
    assert 6 * weights["view"] + 549 * weights["domain"] == pytest.approx(3.51)


def test_the_error_bound_holds_for_19_of_20_views(con: Con) -> None:
    """Exactly, by the distribution of the two sums of coins."""
    for rows, domain, alpha, beta in (
        (20, 200, 0.45, 0.05),
        (6, 60, 0.3, 0.3),
        (30, 30, 0.5, 0.0),
        (10, 300, 0.9, 0.01),
    ):
        for hits, domain_hits in ((rows, rows), (rows, domain), (rows // 2, domain // 2), (0, domain - rows)):
            bound = call(con, "alpha_beta_error", rows, domain, alpha, beta, hits, domain_hits)[0][2]
            beyond = chance_beyond(bound, alpha, beta, hits, domain_hits)
            assert beyond <= 0.05, (rows, domain, alpha, beta, hits, domain_hits)


@pytest.mark.some(1)
@pytest.mark.parametrize("failure", [0.5, 0.2, 0.05, 0.02, 0.01, 1e-3])
def test_the_error_bound_fails_no_more_often_than_it_says(con: Con, failure: float) -> None:
    """Exactly, also for the fewest rows for which there is a bound."""
    least = math.log(2 / failure) ** 3 / 4
    bounds = 0
    for rows, domain, p, beta in (
        (1, 200, 0.5, 2e-3),
        (2, 400, 0.5, 1e-4),
        (math.ceil(4 * least), 10 * math.ceil(4 * least), 0.5, 5e-4),
        (math.ceil(2 * least), 10 * math.ceil(2 * least), 0.5, 0.04),
        (math.ceil(least), 5 * math.ceil(least), 0.9, 0.1),
    ):
        for hits, domain_hits in ((rows, rows), (rows, domain), (rows // 2, domain // 2), (0, domain - rows)):
            bound = call(con, "alpha_beta_error", rows, domain, p - beta, beta, hits, domain_hits, failure)[0][2]
            if bound is not None:
                bounds += 1
                assert chance_beyond(bound, p - beta, beta, hits, domain_hits) <= failure, (rows, domain, p, beta)
    assert bounds >= 8


def test_too_few_rows_have_no_bound_of_a_small_failure(con: Con) -> None:
    """The formula of Theorem 4.4 would be exceeded more often than it says: noise has a longer tail."""
    rows, domain, alpha, beta, failure = 1, 2001, 0.5 - 1.166e-4, 1.166e-4, 0.01
    printed = math.sqrt(2 * (rows + beta * domain / alpha**2) * math.log(2 / failure))
    assert chance_beyond(printed, alpha, beta, rows, domain) > 1.2 * failure
    assert call(con, "alpha_beta_error", rows, domain, alpha, beta, rows, domain, failure)[0][2] is None


def chance_beyond(bound: float, alpha: float, beta: float, hits: int, domain_hits: int) -> float:
    """How likely the estimate of a count is further off, by all outcomes that are not next to impossible."""
    beyond = 0.0
    noise = [(added, chance) for added, chance in enumerate(binomial(domain_hits - hits, beta)) if chance > 1e-14]
    for kept, likely in enumerate(binomial(hits, min(alpha + beta, 1.0))):
        for added, chance in noise:
            beyond += likely * chance * (abs((kept + added - beta * domain_hits) / alpha - hits) > bound)
    return beyond


def binomial(trials: int, chance: float) -> list[float]:
    """The probability of every number of successes."""
    if chance in (0, 1):
        return [float(i == trials * chance) for i in range(trials + 1)]
    ways = [math.lgamma(trials + 1) - math.lgamma(i + 1) - math.lgamma(trials - i + 1) for i in range(trials + 1)]
    return [math.exp(w + i * math.log(chance) + (trials - i) * math.log1p(-chance)) for i, w in enumerate(ways)]


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("alpha_beta_parameters", [0.2, 0.2, "exclusive", "default"], "d must be below gamma"),
        ("alpha_beta_parameters", [0.3, 0.2, "independent", "tight"], "d must be below gamma"),
        ("alpha_beta_parameters", [0.15, 0.2, "independent", "paper"], "d must be at most gamma / 2"),
        ("alpha_beta_parameters", [0.15, 0.2, "independent", "default"], "d must be at most gamma / 2"),
        ("alpha_beta_parameters", [0.01, 0.2, "exclusive", "tight"], "the exclusive one needs default"),
        ("alpha_beta_parameters", [0.01, 0.2, "exclusive", "paper"], "the exclusive one needs default"),
        ("alpha_beta_parameters", [0.01, 0.2, "anybody", "default"], "exclusive or independent"),
        ("alpha_beta_parameters", [0.01, 0.2, "exclusive", "best"], "default, paper or tight"),
        ("alpha_beta_guarantee", [0.01, 0.2, 0.6, 0.5], r"alpha \+ beta"),
        ("alpha_beta_error", [11, 10, 0.4, 0.1, 1, 1], "cannot be more than the domain"),
        ("alpha_beta_error", [5, 10, 0.4, 0.1, 6, 7], "do not fit"),
        ("alpha_beta_error", [5, 10, 0.4, 0.1, 3, 2], "do not fit"),
        ("alpha_beta_error", [5, 10, 0.4, 0.1, 0, 6], "do not fit"),
        ("alpha_beta_error", [5, 10, 0.4, 0.1, 1, 2, 0], "failure, the share of views"),
        ("alpha_beta_error", [5, 10, 0.4, 0.1, 1, 2, 1], "failure, the share of views"),
        ("alpha_beta_weights", [0.0, 0.1], "alpha must be greater than 0"),
        ("alpha_beta_weights", [0.6, 0.5], r"alpha \+ beta"),
        ("alpha_beta_source_parameters", [0.15, 0.5, 0.2], "d must be at most gamma / 2"),
        ("sequence_parameters", [0.15, 0.2, 3], "so many views cannot be private"),
        ("sequence_weights", [0.4, 0.1, 1.0], "persist"),
        ("sequence_rows", [0.4, 0.1, 0.5, 10, 5, 14], "cannot be more than the domain"),
        ("sequence_rows", [0.6, 0.5, 0.5, 10, 5, 15], r"alpha \+ beta"),
        ("frapp_parameters", [0.3, 0.2, 10], "d must be below gamma"),
        ("frapp_parameters", [0.01, 0.2, 1], "domain must be a whole number of at least 2"),
        ("frapp_comparison", [0.1, 0.2, 10, 1], None),
        ("frapp_comparison", [0.19, 0.2, 10, 1], "with so few rows"),
        ("frapp_guarantee", [0.01, 0.2, 0.1, 0.2], "stay must be greater than move"),
        ("frapp_error", [10, 10, 0.05, 1, 2], "stay must be greater than move"),
        ("frapp_error", [10, 10, 0.5, 1, 0], "do not fit"),
        ("frapp_error", [10, 10, 0.5, 1, 10], "do not fit"),
    ],
)
def test_what_cannot_be_is_refused(con: Con, name: str, arguments: list[object], complaint: str | None) -> None:
    if complaint is None:
        assert call(con, name, *arguments)
        return
    with pytest.raises(duckdb.Error, match=complaint):
        call(con, name, *arguments)


def test_a_domain_larger_than_any_whole_number(con: Con) -> None:
    ((stay, move),) = call(con, "frapp_parameters", 1e-27, 0.2, 10**30)
    assert (stay, move * 1e30) == pytest.approx((1 / 4001, 4000 / 4001), rel=1e-6)
    found = call(con, "alpha_beta_error", 10**6, 10**30, 0.5, 4e-27, 10, 10**29)[0]
    assert found[0] == pytest.approx(0.5e6 + 4000, rel=1e-9)
