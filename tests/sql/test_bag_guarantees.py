"""The guarantees of bags, by enumerating everything that can be seen of tiny domains."""

import math
from itertools import combinations_with_replacement

import duckdb
import numpy as np
import pytest
from support.agreement import call
from support.bags import assert_within, bag, likelihoods, one_row, posteriors, priors, signed_bag, signed_counts
from support.beliefs import HAIR, Matrix

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
BOUNDS = [(0.01, 0.2), (0.0625, 0.3), (0.1, 0.5), (0.2, 0.5)]
KINDS = ["bag", "signed bag"]


def factor_of(con: Con, d: float, gamma: float) -> float:
    return float(call(con, "odds_factor", d, gamma)[0][0])


def coins(con: Con, kind: str, factor: float, *rows_each: int) -> tuple[float, ...]:
    """p and q, or a, by the macros; p is the best for a sparse table."""
    if kind == "signed bag":
        return call(con, "signed_bag_noise", factor, *rows_each)[0]
    row = call(con, "row_factor", factor, *rows_each)[0][0] if rows_each else factor
    p = call(con, "bag_choice", 1000, 5000, row)[0][0]
    return p, call(con, "bag_noise", p, factor, *rows_each)[0][0]


def seen(kind: str, numbers: tuple[float, ...]) -> Matrix:
    return bag(*numbers) if kind == "bag" else signed_bag(*numbers)


def judged(con: Con, kind: str, d: float, gamma: float, *numbers: float) -> tuple[bool, float, float, float, float]:
    found = call(con, "bag_guarantee" if kind == "bag" else "signed_bag_guarantee", d, gamma, *numbers)[0]
    return found[0], found[1], found[2], found[3], found[4]


def assert_private(tuples: list[Matrix], d: float, gamma: float, factor: float, known: tuple[int, ...]) -> float:
    """Every prior of a person on a grid, everything seen, every statement; then d itself. Gives the largest belief."""
    number = len(tuples)
    likely = likelihoods(tuples, known, one_row(number))
    for prior in priors(number, {2: 10, 3: 6, 4: 4}[number]):
        assert_within(likely, prior, factor)
    worst = 0.0
    for place in range(number):
        for share in (1.0, 0.5, 0.01):
            prior = np.full(number, (1 - share * d) / (number - 1))
            prior[place] = share * d
            assert_within(likely, prior, factor)
            worst = max(worst, posteriors(likely, prior, [place]).max())
    assert worst <= gamma * (1 + HAIR), (worst, gamma)
    return worst


CASES = [
    *((2, kind, *bounds) for kind in KINDS for bounds in BOUNDS),
    (3, "bag", 0.01, 0.2),
    (3, "bag", 0.0625, 0.3),
    (3, "signed bag", 0.001, 0.2),
    (4, "bag", 0.001, 0.5),
    (4, "signed bag", 1e-5, 0.5),
]


@pytest.mark.some(3)
@pytest.mark.parametrize(("tuples", "kind", "d", "gamma"), CASES)
def test_no_prior_of_a_person_leads_beyond_gamma_whatever_is_known_of_the_others(
    con: Con, tuples: int, kind: str, d: float, gamma: float
) -> None:
    """All counts from 0 to 4 of two and three tuples; by symmetry their order does not matter."""
    factor = factor_of(con, d, gamma)
    one = seen(kind, coins(con, kind, factor))
    tables = list(combinations_with_replacement(range(5), tuples))
    if tuples == 4:
        tables = [(0, 0, 0, 0), (0, 0, 0, 4), (0, 1, 2, 4), (1, 1, 3, 3), (4, 4, 4, 4)]
    for known in tables:
        worst = assert_private([one] * tuples, d, gamma, factor, known)
        assert worst == pytest.approx(gamma, rel=HAIR)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tenth_less_noise_is_too_little(con: Con, kind: str) -> None:
    """The same enumeration finds it."""
    d, gamma = 0.0625, 0.3
    factor = factor_of(con, d, gamma)
    *keep, noise = coins(con, kind, factor)
    less = seen(kind, (*keep, 0.9 * noise))
    with pytest.raises(AssertionError):
        assert_private([less] * 2, d, gamma, factor, (0, 0))
    prior = np.array([d, 1 - d])
    assert posteriors(likelihoods([less] * 2, (0, 0), one_row(2)), prior, [0]).max() > gamma * 1.02
    assert judged(con, kind, d, gamma, *keep, 0.9 * noise)[0] is False
    assert judged(con, kind, d, gamma, *keep, noise)[0] is True


@pytest.mark.parametrize("known", [(0, 0), (1, 0), (0, 4), (3, 2)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
def test_epsilon_is_what_enumeration_finds_both_ways(
    con: Con, kind: str, d: float, gamma: float, known: tuple[int, int]
) -> None:
    """One row replaced by another, and one row more or less, each both ways."""
    numbers = coins(con, kind, factor_of(con, d, gamma))
    _, factor, replaced, added, posterior = judged(con, kind, d, gamma, *numbers)
    assert (factor, replaced, posterior) == pytest.approx((math.exp(replaced), math.log(factor), gamma), rel=HAIR)
    here, there, nowhere = np.log(likelihoods([seen(kind, numbers)] * 2, known, [(0,), (1,), ()]))
    assert (here - there).max() == pytest.approx(replaced, rel=HAIR)
    assert (there - here).max() == pytest.approx(replaced, rel=HAIR)
    changes = [(here - nowhere).max(), (nowhere - here).max()]
    assert max(changes) == pytest.approx(added, rel=HAIR)
    assert added < replaced
    if kind == "signed bag":
        assert changes == pytest.approx([replaced / 2] * 2, rel=HAIR)


@pytest.mark.parametrize("kind", KINDS)
def test_who_does_not_know_whether_a_person_is_there_is_covered(con: Con, kind: str) -> None:
    factor = factor_of(con, 0.0625, 0.3)
    one = seen(kind, coins(con, kind, factor))
    for known in ((0, 0), (2, 1), (0, 4)):
        likely = likelihoods([one] * 2, known, [(0,), (1,), ()])
        for prior in priors(3, 8):
            assert_within(likely, prior, factor)


@pytest.mark.parametrize("kind", KINDS)
def test_others_who_are_only_guessed_are_no_help(con: Con, kind: str) -> None:
    """Others believed in independently of this person: the factor still holds. Tied to him they break it: .1 to .62."""
    d, gamma = 0.1, 0.3
    factor = factor_of(con, d, gamma)
    one = seen(kind, coins(con, kind, factor))
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]  # of this person, then of the other
    likely = likelihoods([one] * 2, (0, 0), places)
    for guess in (0.1, 0.5, 0.9):
        prior = np.array([d * guess, d * (1 - guess), (1 - d) * guess, (1 - d) * (1 - guess)])
        assert posteriors(likely, prior, [0, 1]).max() <= gamma * (1 + HAIR)
    tied = np.array([d, 0, 0, 1 - d])
    assert posteriors(likely, tied, [0, 1]).max() == pytest.approx(0.623, abs=5e-4)


# --- Several rows of a person ---------------------------------------------------------------------


def of_two_rows() -> list[tuple[int, ...]]:
    return [(a, b) for a in range(2) for b in range(2)]


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", KINDS)
def test_two_rows_of_a_person_are_protected_together(con: Con, kind: str) -> None:
    """Rows drawn independently, or both the same, which reaches gamma; none of it without the person's own prior."""
    d, gamma = 0.1, 0.3
    ((person,),) = call(con, "person_prior", d, 2)
    factor = factor_of(con, person, gamma)
    numbers = coins(con, kind, factor, 2)
    assert judged(con, kind, person, gamma, *numbers, 2)[1] == pytest.approx(factor, rel=HAIR)
    independent = np.array([d * d, d * (1 - d), d * (1 - d), (1 - d) ** 2])
    together = np.array([person, 0, 0, 1 - person])
    one = seen(kind, numbers)
    for known in combinations_with_replacement(range(5), 2):
        likely = likelihoods([one] * 2, known, of_two_rows())
        for prior in (independent, together, *priors(4, 4)):
            assert_within(likely, prior, factor)
        assert posteriors(likely, independent, [0, 1, 2]).max() <= gamma * (1 + HAIR)
        assert posteriors(likely, together, [0, 1, 2]).max() == pytest.approx(gamma, rel=HAIR)
    naive = seen(kind, coins(con, kind, factor_of(con, d, gamma), 2))
    reached = posteriors(likelihoods([naive] * 2, (0, 0), of_two_rows()), together, [0, 1, 2]).max()
    assert reached == pytest.approx(0.475, abs=5e-4)


def test_the_noise_for_one_row_does_not_protect_two(con: Con) -> None:
    factor = factor_of(con, 0.19, 0.3)
    likely = likelihoods([bag(*coins(con, "bag", factor))] * 2, (0, 0), of_two_rows())
    with pytest.raises(AssertionError):
        assert_within(likely, np.array([0.19, 0, 0, 0.81]), factor)


# --- What can be learned by linking, and what can be estimated ------------------------------------


@pytest.mark.parametrize("values", [2, 3, 4])
def test_who_takes_the_one_match_is_right_as_often_as_the_curve_says(con: Con, values: int) -> None:
    """A person alone in the slice, uniform values: L / (L + values - 1); gamma where d is 1 / values."""
    factor = 20.0
    p, q = coins(con, "bag", factor)
    one = bag(p, q)
    likely = likelihoods([one] * values, (0,) * values, one_row(values)).reshape([values, *[one.shape[1]] * values])
    seen_in = np.indices(likely.shape[1:]) > 0
    lone = seen_in.sum(axis=0) == 1
    matched = sum(likely[place][lone].sum() for place in range(values))
    right = sum(likely[place][lone & seen_in[place]].sum() for place in range(values))
    assert right / matched == pytest.approx(factor / (factor + values - 1), rel=HAIR)
    if values > 2:
        ((d,),) = call(con, "linking_prior", values, 1)
        assert call(con, "posterior_bound", d, factor)[0][0] == pytest.approx(right / matched, rel=HAIR)


@pytest.mark.parametrize("rows", range(5))
@pytest.mark.parametrize(("p", "q"), [(0.375, 0.111), (0.5, 0.2), (0.8, 0.6), (0.9, 0.0)])
def test_the_weights_are_unbiased_and_know_their_variance(con: Con, p: float, q: float, rows: int) -> None:
    """The exact moments of what a tuple with so many rows shows; skew is a covariance, not a third moment."""
    chance = bag(p, q)[rows]
    counts = np.arange(len(chance))
    view, domain = call(con, "bag_weights", p, q)
    estimate, variance, skew = (counts * view[i] + domain[i] for i in (1, 2, 3))
    true = chance @ (estimate - rows) ** 2
    assert chance @ estimate == pytest.approx(rows, abs=HAIR)
    assert chance @ variance == pytest.approx(true, rel=1e-8, abs=HAIR)
    covariance = chance @ ((estimate - rows) * (variance - true))
    assert chance @ skew == pytest.approx(covariance, rel=1e-8, abs=HAIR)
    assert call(con, "bag_error", max(rows, 1), 1, p, q, max(rows, 1), 1)[0][1] ** 2 >= true * (1 - HAIR)


@pytest.mark.parametrize("rows", range(5))
@pytest.mark.parametrize("a", [0.05, 0.4, 0.8])
def test_the_weights_of_a_signed_bag_are_unbiased_and_know_their_variance(con: Con, a: float, rows: int) -> None:
    chance, counts = signed_bag(a)[rows], signed_counts(a)
    (_, view, *nothing), (_, negative, *nothing_either), (_, weight, variance, skew) = call(
        con, "signed_bag_weights", a
    )
    assert (nothing, nothing_either, weight, skew) == ([0, 0], [0, 0], 0, 0)
    estimate = np.where(counts > 0, view, negative) * np.abs(counts)
    assert chance @ estimate == pytest.approx(rows, abs=1e-8)
    assert chance @ (estimate - rows) ** 2 == pytest.approx(variance, rel=1e-8)
    expected = call(con, "signed_bag_error", max(rows, 1), 1, a, 1)[0][0]
    if rows:
        assert chance @ np.abs(counts) == pytest.approx(expected, rel=1e-8)
