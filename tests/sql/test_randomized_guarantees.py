"""The guarantees of randomized views, by enumerating every instance and every view of tiny domains."""

import math
from itertools import product

import duckdb
import numpy as np
import pytest
from support.agreement import call
from support.beliefs import HAIR, Matrix, assert_private, bits, exclusive, independent, largest, likelihoods, posteriors

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
BOUNDS = [(0.01, 0.2), (0.05, 0.2), (0.1, 0.2), (0.12, 0.3), (0.2, 0.5)]
INDEPENDENT = [("independent", "paper"), ("independent", "tight")]


def coins(con: Con, d: float, gamma: float, adversary: str, choice: str) -> tuple[float, float]:
    """The chances to keep an element of the table and to add another one."""
    ((alpha, beta),) = call(con, "alpha_beta_parameters", d, gamma, adversary, choice)
    return alpha + beta, beta


# --- One view, elements independent or one of a group -----------------------------------------


@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
@pytest.mark.parametrize(("adversary", "choice"), [*INDEPENDENT, ("exclusive", "default")])
def test_no_independent_prior_leads_beyond_gamma_nor_below_its_share(
    con: Con, adversary: str, choice: str, d: float, gamma: float
) -> None:
    """Four tuples, all instances with all views, for every mix of small, middling, largest and certain priors."""
    likely = likelihoods([coins(con, d, gamma, adversary, choice)] * 4)
    worst = 0.0
    for priors in product((d / 1000, d / 2, d, 1.0), repeat=4):
        if min(priors) <= d:
            worst = max(worst, assert_private(likely, independent(priors), d, gamma, negative=True))
    assert (worst == pytest.approx(gamma, rel=HAIR)) == (adversary == "independent")


def test_tuple_by_tuple_is_as_good_as_all_at_once(con: Con) -> None:
    """What lets the other tests look at one tuple: with independent priors the others do not matter."""
    kept, added = coins(con, 0.05, 0.2, "independent", "paper")
    priors = [0.05, 0.01, 0.04, 1.0]
    after = posteriors(likelihoods([(kept, added)] * 4), independent(priors), bits(4))
    for prior, column in zip(priors, after.T, strict=True):
        alone = posteriors(likelihoods([(kept, added)]), independent([prior]), bits(1))
        assert sorted({round(x, 12) for x in column}) == sorted({round(x, 12) for x in alone[:, 0]})


def test_eight_tuples_at_once(con: Con) -> None:
    likely = likelihoods([coins(con, 0.05, 0.2, "independent", "tight")] * 8)
    assert_private(likely, independent([0.05, 0.05, 0.04, 0.03, 0.02, 0.01, 0.001, 0.05]), 0.05, 0.2, negative=True)


@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
def test_who_knows_that_a_person_is_in_the_table_stays_below_gamma(con: Con, d: float, gamma: float) -> None:
    likely = likelihoods([coins(con, d, gamma, "exclusive", "default")] * 8)
    shapes = [
        [[d, 1 - d], [1.0], [d, d, 1 - 2 * d], [0.5, 0.5]],
        [[d / 2, d, (1 - d) / 2, (1 - 2 * d) / 2], [d, 1 - d - d / 10, d / 20, d / 20]],
        [[d, *[(1 - d) / 7] * 7]],
        [[1 / 8] * 8],
    ]
    for groups in shapes:
        prior = exclusive(groups)
        assert prior.sum() == pytest.approx(1)
        if min(min(group) for group in groups) <= d:
            worst = assert_private(likely, prior, d, gamma, negative=False)
            if any(d in group for group in groups):
                assert worst == pytest.approx(gamma, rel=HAIR)


def test_who_knows_that_a_person_is_in_the_table_learns_what_he_is_not(con: Con) -> None:
    """No negative promise: another value of the same person is seen, and the first is all but ruled out."""
    likely = likelihoods([coins(con, 0.01, 0.2, "exclusive", "default")] * 3)
    after = posteriors(likely, exclusive([[0.01, 0.01, 0.98]]), bits(3))
    assert after[:, 0].min() / 0.01 < 0.01 / 0.2


@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
@pytest.mark.parametrize(("adversary", "choice"), INDEPENDENT)
def test_parameters_for_the_independent_adversary_fail_against_the_exclusive_one(
    con: Con, adversary: str, choice: str, d: float, gamma: float
) -> None:
    """By exactly what the guarantee prints."""
    kept, added = coins(con, d, gamma, adversary, choice)
    printed = call(con, "alpha_beta_guarantee", d, gamma, kept - added, added)[0]
    found = largest(likelihoods([(kept, added)] * 4), exclusive([[d, (1 - d) / 2, (1 - d) / 2], [1.0]]), bits(4)[:, :1])
    assert gamma < found == pytest.approx(printed[3], rel=HAIR)
    assert printed[1] is False


@pytest.mark.parametrize(("p", "beta"), [(0.5, 0.05), (0.8, 0.3), (0.9, 0.01), (0.4, 0.02)])
def test_what_is_printed_of_given_coins_is_what_enumeration_finds(con: Con, p: float, beta: float) -> None:
    d, gamma = 0.05, 0.2
    judged = call(con, "alpha_beta_guarantee", d, gamma, p - beta, beta)[0]
    likely = likelihoods([(p, beta)] * 3)
    after = posteriors(likely, independent([d, d, 1e-9]), bits(3))
    assert judged[2] == pytest.approx(after[:, 0].max(), rel=HAIR)
    assert judged[4] == pytest.approx(after[:, 2].min() / 1e-9, rel=1e-6)
    one_less = np.log(likely[:, bits(3)[:, 0] == 1] / likely[:, bits(3)[:, 0] == 0])
    assert judged[6] == pytest.approx(np.abs(one_less).max(), rel=HAIR)


# --- Several rows of one kind: slots --------------------------------------------------------------


def one_row_at_most(d: float, slots: int) -> Matrix:
    """Pr(instance) of two tuples that are each in the table with d, in a random slot."""
    one = np.where(bits(slots).sum(axis=1) == 1, d / slots, 0.0)
    one[0] = 1 - d
    return np.kron(one, one)


@pytest.mark.parametrize("slots", [2, 3, 4])
@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
@pytest.mark.parametrize(("adversary", "choice"), [*INDEPENDENT, ("exclusive", "default")])
def test_a_row_in_a_random_slot_stays_below_gamma(
    con: Con, adversary: str, choice: str, d: float, gamma: float, slots: int
) -> None:
    """Slots that exclude each other, slots that are independent, and slots of somebody who is known to be there."""
    ((element,),) = call(con, "alpha_beta_slot_prior", d, slots)
    likely = likelihoods([coins(con, element, gamma, adversary, choice)] * (2 * slots))
    assert_private(likely, one_row_at_most(d, slots), d / slots, gamma, negative=False)
    assert_private(likely, independent([d / slots] * (2 * slots)), d / slots, gamma, negative=True)
    if adversary == "exclusive":
        somebody = exclusive([[*[d / slots] * slots, *[(1 - d) / slots] * slots]])
        assert_private(likely, somebody, d / slots, gamma, negative=False)


def test_a_share_of_d_for_each_slot_is_a_hair_too_little(con: Con) -> None:
    """One row of a tuple in one of two slots: that it is in one rules out the other, which is not independence."""
    likely = likelihoods([coins(con, 0.1 / 2, 0.2, "independent", "paper")] * 4)
    assert largest(likely, one_row_at_most(0.1, 2)) == pytest.approx(0.2038, abs=5e-5)


def test_numbering_copies_breaks_the_bound_and_slots_do_not(con: Con) -> None:
    """Two persons have the tuple, each with d / 2. Numbered, the second row tells that there is a first."""
    d, gamma = 0.02, 0.2
    likely = likelihoods([coins(con, d / 2, gamma, "independent", "paper")] * 2)
    none, one, two = (1 - d / 2) ** 2, d * (1 - d / 2), (d / 2) ** 2
    in_slots = np.array([none, one / 2, one / 2, two])
    numbered = np.array([none, 0, one, two])
    assert assert_private(likely, in_slots, d / 2, gamma, negative=True) == pytest.approx(gamma, rel=HAIR)
    assert largest(likely, numbered) == pytest.approx(0.36, rel=HAIR)


def test_the_promise_is_for_a_row_and_not_for_its_kind(con: Con) -> None:
    """A tuple that is seen in both of its slots is believed more than any of them: docs/noise.md says so."""
    d, gamma = 0.01, 0.2
    likely = likelihoods([coins(con, d / 2, gamma, "exclusive", "default")] * 2)
    somewhere = (bits(2).sum(axis=1) > 0).astype(float)[:, None]
    found = largest(likely, np.array([1 - d, d / 2, d / 2, 0]), somewhere)
    assert gamma < found <= 2 * gamma / (1 + gamma)


# --- Noise that follows a public distribution --------------------------------------------------


def by_shares(con: Con, d_max: float, gamma: float, shares: list[float]) -> list[tuple[float, float]]:
    ((alpha, rate),) = call(con, "alpha_beta_source_parameters", d_max, max(shares), gamma)
    noise = [-math.expm1(-rate * share) for share in shares]
    return [(alpha + beta, beta) for beta in noise]


SHARES = [a * b for a in (0.6, 0.3, 0.099, 0.001) for b in (0.75, 0.25)]


@pytest.mark.parametrize(("d_max", "gamma"), BOUNDS)
def test_noise_by_shares_bounds_the_priors_it_is_made_for(con: Con, d_max: float, gamma: float) -> None:
    pairs = by_shares(con, d_max, gamma, SHARES)
    bounds = [d_max * share / max(SHARES) for share in SHARES]
    reached = 0.0
    for share in (1.0, 0.5, 0.001):
        after = posteriors(likelihoods(pairs), independent([share * bound for bound in bounds]), bits(8))
        assert after.max() <= gamma * (1 + HAIR)
        kept = after.min(axis=0) / (share * np.array(bounds))
        assert (kept >= np.array(bounds) / gamma * (1 - HAIR)).all()
        reached = max(reached, after.max())
    assert reached == pytest.approx(gamma, rel=HAIR)


def test_noise_by_shares_does_not_bound_who_knows_better(con: Con) -> None:
    """The largest prior at a tuple that has a tenth of the noise."""
    pairs = by_shares(con, 0.001, 0.2, [0.5, 0.05])
    assert largest(likelihoods(pairs), independent([0.001, 0.001])) == pytest.approx(0.71, abs=0.005)


# --- Sequences of views -------------------------------------------------------------------------


def history_likelihoods(kept: float, fresh: list[float], again: float) -> Matrix:
    """Pr(in which views | in which versions of the table) of one tuple, a row for each pattern of views."""
    views = len(fresh)
    patterns = [tuple(map(int, row)) for row in bits(views)]
    found = np.ones((len(patterns), len(patterns)))
    for (i, seen), (j, present) in product(enumerate(patterns), repeat=2):
        for view in range(views):
            chance = kept if present[view] else again if any(seen[:view]) else fresh[view]
            found[i, j] *= chance if seen[view] else 1 - chance
    assert found.sum(axis=0) == pytest.approx(1)
    return found


def sequence(con: Con, d: float, gamma: float, views: int) -> Matrix:
    ((alpha, beta, persist),) = call(con, "sequence_parameters", d, gamma, views)
    return history_likelihoods(alpha + beta, [beta] * views, (alpha + beta) * persist)


@pytest.mark.parametrize("views", [1, 2, 3, 4])
@pytest.mark.parametrize(("d", "gamma"), [(0.001, 0.2), (0.01, 0.2), (0.05, 0.2), (0.05, 0.4), (0.1, 0.5)])
def test_no_history_of_a_row_leads_beyond_gamma(con: Con, d: float, gamma: float, views: int) -> None:
    """Every history of additions and removals with prior d, against never; and a mix of all of them."""
    likely = sequence(con, d, gamma, views)
    ever = np.arange(likely.shape[1]) > 0
    mixed = np.where(ever, d / (likely.shape[1] - 1), 1 - d)
    priors = [np.where(np.arange(likely.shape[1]) == history, d, 0.0) for history in np.flatnonzero(ever)]
    worst = 0.0
    for prior in (*priors, mixed):
        prior[0] = 1 - d
        after = posteriors(likely, prior, ever.astype(float)[:, None])
        assert after.max() <= gamma * (1 + HAIR)
        assert after.min() >= d * d / gamma * (1 - HAIR)
        worst = max(worst, after.max())
    assert worst == pytest.approx(gamma, rel=HAIR)


def test_two_rows_with_their_histories_at_once(con: Con) -> None:
    """The joint of two tuples over two views: what the other does makes no difference."""
    d, gamma = 0.05, 0.2
    likely = sequence(con, d, gamma, 2)
    prior = np.array([1 - d, d / 3, d / 3, d / 3])
    ever = (np.arange(4) > 0).astype(float)
    both = posteriors(np.kron(likely, likely), np.kron(prior, prior), np.kron(ever, np.ones(4))[:, None])
    alone = posteriors(likely, prior, ever[:, None])
    assert both.reshape(4, 4) == pytest.approx(np.repeat(alone, 4, axis=1))


def test_single_view_parameters_are_not_enough_for_two_views(con: Con) -> None:
    """As the paper prints it, a row that is added at the second view is believed 1/3 for gamma = 0.2."""
    d, gamma = 0.01, 0.2
    kept, added = coins(con, d, gamma, "independent", "paper")
    likely = history_likelihoods(kept, [added, (1 - kept) * added], kept * math.exp(-1 / 2))
    added_later = np.array([1 - d, d, 0, 0])
    assert largest(likely, added_later, np.array([[0.0], [1], [0], [0]])) == pytest.approx(1 / 3, rel=HAIR)
    unchanged = np.array([1 - d, 0, 0, d])
    same_noise = history_likelihoods(kept, [added, added], kept * math.exp(-1 / 2))
    assert largest(same_noise, unchanged, np.array([[0.0], [0], [0], [1]])) > gamma


# --- FRAPP, record by record --------------------------------------------------------------------


def record_likelihoods(stay: float, move: float, domain: int) -> Matrix:
    return np.full((domain, domain), move) + np.eye(domain) * (stay - move)


@pytest.mark.parametrize("domain", [3, 5, 8])
@pytest.mark.parametrize(("d", "gamma"), BOUNDS)
def test_a_record_of_frapp_stays_below_gamma(con: Con, d: float, gamma: float, domain: int) -> None:
    """One record, then some with priors of their own in a view that is a bag: nobody sees whose row is whose."""
    ((stay, move),) = call(con, "frapp_parameters", d, gamma, domain)
    assert stay + (domain - 1) * move == pytest.approx(1)
    one = record_likelihoods(stay, move, domain)
    first = np.array([d, *[(1 - d) / (domain - 1)] * (domain - 1)])
    assert posteriors(one, first, np.eye(domain)[:, :1]).max() == pytest.approx(gamma, rel=HAIR)
    records = 2 if domain == 8 else 3
    tuples = list(product(range(domain), repeat=records))
    bags = sorted({tuple(sorted(t)) for t in tuples})
    into = np.array([[tuple(sorted(t)) == bag for t in tuples] for bag in bags], dtype=float)
    prior, likely = first, one
    for place in range(1, records):
        prior, likely = np.kron(prior, np.roll(first, place)), np.kron(likely, one)
    event = np.array([[t[0] == 0] for t in tuples], dtype=float)
    assert posteriors(into @ likely, prior, event).max() <= gamma * (1 + HAIR)


def test_the_comparison_level_of_frapp_is_not_private(con: Con) -> None:
    """8 tuples and 3 records: .375 where .3 was asked for."""
    d, gamma, domain = 1 / 6, 0.3, 8
    ((stay, move),) = call(con, "frapp_comparison", d, gamma, domain, 3)
    first = np.array([d, *[(1 - d) / 7] * 7])
    found = posteriors(record_likelihoods(stay, move, domain), first, np.eye(domain)[:, :1]).max()
    assert found == pytest.approx(0.375, rel=HAIR)
    assert call(con, "frapp_guarantee", d, gamma, stay, move)[0][:2] == (False, pytest.approx(found))
