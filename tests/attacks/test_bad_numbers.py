"""l, k, b, sigma and the arithmetic: negative, fractional, NULL, NaN, infinite or no number at all."""

from typing import Any

import duckdb
import pytest
from support.attempts import Attempt, cases, refused_by_us, share

from sqlpriv.macros.catalog import macros

pytestmark = pytest.mark.one_version

NAN, INF, MINUS_INF = (f"CAST('{x}' AS DOUBLE)" for x in ("nan", "inf", "-inf"))
NO_NUMBER = ["NULL", "CAST(NULL AS INTEGER)", NAN, "'x'", "''", "[1]"]
NOT_WHOLE = [*NO_NUMBER, INF, MINUS_INF, "1.5", "-1", "1e30"]
SIGMA = "sigma must be a number, at least the number of sensitive values"


def spoil(attempt: Attempt, param: str, given: str) -> str:
    return attempt.sql(**{param: "<n>"}).replace("'<n>'", given)


@pytest.mark.some(2)
@pytest.mark.parametrize("attempt", [a for a in cases("l") if "tbl" in a.values[0].params])
def test_l_is_a_whole_number(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    least = 1 if attempt.name.startswith("recursive") else 2
    for given in [*NOT_WHOLE, str(least - 1)]:
        said = refused_by_us(shared, spoil(attempt, "l", given))
        assert said == f"l must be a whole number of at least {least}"
    assert shared.execute(spoil(attempt, "l", "2.0")).fetchall() == attempt.ask(shared, l=2)
    assert shared.execute(spoil(attempt, "l", "'2'")).fetchall() == attempt.ask(shared, l=2)


@pytest.mark.some(1)
@pytest.mark.parametrize("attempt", [a for a in cases("k") if "tbl" in a.values[0].params])
def test_the_number_of_implications_or_cells_is_whole(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    what = "how many cells to tell" if attempt.name == "independent_disclosure" else "the number of implications"
    for given in NOT_WHOLE:
        said = refused_by_us(shared, spoil(attempt, "k", given))
        makes = attempt.name in ("suppress", "sdgs")
        assert said == (
            "k must be a whole number of at least 1" if makes else f"k, {what}, must be a whole number of at least 0"
        )


@pytest.mark.some(5)
@pytest.mark.parametrize("attempt", cases("b"))
def test_the_number_of_known_tuples_is_whole(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for given in ("NULL", *share(attempt, NOT_WHOLE, 3)):
        said = refused_by_us(shared, spoil(attempt, "b", given))
        assert said == "b, the number of known tuples, must be a whole number of at least 0"


def test_class_4_is_infinite_for_every_b(shared: duckdb.DuckDBPyConnection) -> None:
    for b in (0, 3, 99):
        sql = f"FROM priv.epsilon_class4('people', ['zip'], 'disease', {b})"
        assert shared.execute(sql).fetchall() == [(float("inf"),)]


def test_who_knows_everybody_else_knows_everything(shared: duckdb.DuckDBPyConnection) -> None:
    for b in (3, 10, 1_000_000):
        sql = f"FROM priv.epsilon_class2('people', ['zip'], 'disease', 1000, {b})"
        assert shared.execute(sql).fetchall() == [(float("inf"),)]


@pytest.mark.some(1)
@pytest.mark.parametrize("attempt", cases("sigma"))
def test_sigma_is_a_number_and_large_enough(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """A NULL here once came back as epsilon = 1, the best answer there is."""
    for given in [*NO_NUMBER, INF, MINUS_INF, "-5", "0", "1", "2.9"]:
        assert refused_by_us(shared, spoil(attempt, "sigma", given)).startswith(SIGMA), given
    assert attempt.ask(shared, sigma=3.5)


K = "k must be a whole number of at least 1"
BETA = "beta, the sampling probability, must lie between 0 and 1"
EPSILON = "epsilon must be "
DELTA = "delta must be greater than 0 and at most 1"
SAMPLING = {
    "k": (K, ["0", "-3", "2.5", NAN, INF]),
    "beta": (BETA, ["0", "1", "-0.1", "1.5", NAN, INF]),
    "epsilon": (EPSILON, ["-1", NAN, MINUS_INF]),
    "delta": (DELTA, ["0", "-0.1", "1.5", NAN, INF]),
    "n": ("n must be a number of at least 0", ["-1", NAN, INF]),
}


def arithmetic(*files: str) -> list[Any]:
    """The macros of these files, all of numbers alone."""
    return [c for c in cases() if macros()[c.values[0].name].file in files and c.values[0].name != "composition"]


@pytest.mark.some(3)
@pytest.mark.parametrize("attempt", arithmetic("estimates/sdgs.sql"))
def test_the_arithmetic_of_sampling_refuses_what_is_out_of_range(
    shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    for param, (why, wrong) in SAMPLING.items():
        for given in wrong if param in attempt.params else []:
            if (attempt.name, given) == ("amplified_epsilon", "1"):
                continue  # no sampling at all is a sample, too
            assert refused_by_us(shared, spoil(attempt, param, given)).startswith(why), given


# Of randomized views: what each parameter must be, and what is not.
TEXT = ["'x'", "[1]", NAN]
SIZES = [*TEXT, INF, "-1", "2.5"]
COINS = {
    "d": ("d, the bound on the prior, must", [*TEXT, "0", "1", "-0.1", INF]),
    "d_max": ("d, the bound on the prior, must", [*TEXT, "0", "1", "-0.1", INF]),
    "gamma": ("gamma, the bound on the posterior, must", [*TEXT, "0", "1", "-0.1", INF]),
    "share_max": ("share_max, the largest share of a tuple, must", [*TEXT, "0", "1.1"]),
    "share": ("share, what a tuple has of the distribution, must", [*TEXT, "0", "1.1"]),
    "rate": ("rate, the amount of noise in all, must", [*TEXT, "-1", INF]),
    "tuples": ("tuples must be a number greater than 0", [*TEXT, "0", "-1", INF]),
    "k": ("k must be a number greater than 0", [*TEXT, "0", "-1", INF]),
    "gone": ("gone must be a whole number", SIZES),
    "persist": ("persist, what is left of p", [*TEXT, "0", "1"]),
    "alpha": ("alpha must be greater than 0", [*TEXT, "0", "-0.1", "1.1", INF]),
    "beta": ("beta, the probability of noise, must", [*TEXT, "-0.1", "1", INF]),
    "stay": ("stay must be", [*TEXT, "0", "-0.1", "1.1", INF]),
    "move": ("move must be", [*TEXT, "-0.1", "1", INF]),
    "adversary": ("the adversary is exclusive or independent", ["'x'", "1", "''"]),
    "choice": ("the choice of parameters is default, paper or tight", ["'x'", "1", "''"]),
    "rows": ("rows must be a whole number", SIZES),
    "domain": ("domain must be a whole number", [*SIZES, "0"]),
    "hits": ("hits must be a whole number", SIZES),
    "domain_hits": ("domain_hits must be a whole number", SIZES),
    "failure": ("failure, the share of views in which", [*TEXT, "0", "1", "-0.1", INF]),
    "views": ("views must be a whole number", [*SIZES, "0"]),
    "slots": ("slots must be a whole number", [*SIZES, "0"]),
    "p": ("p, the probability to keep a row, must", [*TEXT, "0", "-0.1", "1.1", INF]),
    "q": ("q, the ratio of the geometric noise, must", [*TEXT, "-0.1", "1", INF]),
    "a": ("a, the ratio of the geometric noise, must", [*TEXT, "-0.1", "1", INF]),
    "factor": ("factor, by which odds may change, must", [*TEXT, "1", "0", "-2", INF]),
    "belief": ("belief must lie between 0 and 1", [*TEXT, "-0.1", "1.1", INF]),
    "choices": ("choices must be a whole number", [*SIZES, "1"]),
    "times": ("times must be a number greater than 0", [*TEXT, "0", "-1", INF]),
    "public_share": ("public_share, what a value has of all people, must", [*TEXT, "0", "1", "-0.1"]),
    "shares": ("shares must be a list of numbers", ["'x'", "['x']", "[]", "[0.1, NULL]"]),
    "factors": ("factors must be a list of numbers", ["'x'", "['x']", "[]", "[2.0, NULL]"]),
    "ratios": ("ratios must be a list of numbers", ["'x'", "['x']", "[]", "[0.1, NULL]"]),
    "most_factor": ("factor, by which odds may change, must", [*TEXT, "1", "0", "-2", INF]),
    "others": ("others must be a whole number", [*SIZES, "0"]),
    "rows_each": ("rows_each must be a whole number", [*SIZES, "0"]),
    "n_public": ("n_public must be a whole number", [*SIZES, "0"]),
    "most_rows": ("most_rows must be a whole number", [*SIZES, "0"]),
    "least_beta": ("beta, the probability of noise, must", [*TEXT, "-0.1", "1", INF]),
    "most_beta": ("beta, the probability of noise, must", [*TEXT, "-0.1", "1", INF]),
}
RANDOMIZED = [
    f"estimates/{name}.sql"
    for name in ("alpha_beta", "alpha_beta_source", "bag", "bag_shares", "belief", "frapp", "plan", "signed_bag")
]


@pytest.mark.some(12)
@pytest.mark.parametrize("attempt", arithmetic(*RANDOMIZED))
def test_the_arithmetic_of_randomized_views_refuses_what_is_out_of_range_whatever_is_asked(
    shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    columns = [str(c[0]) for c in shared.execute(f"DESCRIBE {attempt.sql()}").fetchall()]
    for param in attempt.params:
        why, wrong = COINS[param]
        for number, given in enumerate(wrong):
            sql = f'SELECT "{columns[number % len(columns)]}" {spoil(attempt, param, given)}'
            assert refused_by_us(shared, sql).startswith(why), sql


@pytest.mark.some(15)
@pytest.mark.parametrize("attempt", arithmetic("estimates/sdgs.sql", *RANDOMIZED))
def test_null_in_null_out(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """greatest() ignores NULL: a NULL epsilon once gave a delta of 1e-20."""
    for param in attempt.params:
        rows = shared.execute(spoil(attempt, param, "NULL")).fetchall()
        assert rows[0][-1] is None, param
        if macros()[attempt.name].file != "estimates/sdgs.sql":
            assert {cell for row in rows for cell in row} == {None}, param


def test_no_privacy_at_all_leaves_the_chance_that_all_copies_are_sampled(
    shared: duckdb.DuckDBPyConnection,
) -> None:
    for epsilon in ("40", "1000", INF):
        found = shared.execute(f"SELECT priv.sdgs_delta(20, 0.1, {epsilon})").fetchall()
        assert found == [(pytest.approx(1e-20),)]


def test_k_for_an_epsilon_that_sampling_cannot_give(shared: duckdb.DuckDBPyConnection) -> None:
    for epsilon in ("0.01", "0", "0.1053"):
        said = refused_by_us(shared, f"FROM priv.sdgs_k(0.1, {epsilon}, 1e-6)")
        assert said == "epsilon must be at least -ln(1 - beta)"


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ("NULL", "NULL"),
        ("NULL", "[0.1]"),
        ("[0.1]", "NULL"),
        ("[]", "[]"),
        ("[0.1, 0.2]", "[0.1]"),
        ("[0.1, NULL]", "[0, 0]"),
        ("[0.1]", "[NULL]"),
        ("[-0.1]", "[0]"),
        ("[0.1]", "[-0.1]"),
        (f"[{NAN}]", "[0]"),
        ("[0.1]", f"[{NAN}]"),
    ],
)
def test_a_composition_needs_numbers_in_pairs(shared: duckdb.DuckDBPyConnection, epsilons: str, deltas: str) -> None:
    refused_by_us(shared, f"FROM priv.composition({epsilons}, {deltas})")
