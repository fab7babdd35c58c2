"""The weights of randomized views by enumeration: the mean estimate is the truth, the mean variance the variance."""

import math
from itertools import product

import duckdb
import numpy as np
import pytest
from support.agreement import call
from support.beliefs import Matrix, bits, likelihoods

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
VALUES = np.array([1.0, -2.0, 3.5, 1.0])
TOLERANCE = 1e-9


def assert_unbiased(likely: Matrix, estimates: Matrix, variances: Matrix, truth: Matrix) -> None:
    """For every instance (a column of the likelihoods), over all views."""
    expected = estimates @ likely
    assert expected == pytest.approx(truth, abs=TOLERANCE)
    spread = (estimates**2) @ likely - expected**2
    assert variances @ likely == pytest.approx(spread, rel=TOLERANCE, abs=TOLERANCE)


def by_source(con: Con, name: str, *parameters: float) -> dict[str, tuple[float, ...]]:
    return {row[0]: row[1:] for row in call(con, name, *parameters)}


@pytest.mark.parametrize(("alpha", "beta"), [(0.46, 0.04), (0.3, 0.3), (0.6, 0.4), (0.25, 0.0)])
@pytest.mark.parametrize("values", [np.ones(4), VALUES], ids=["count", "sum"])
def test_sums_over_a_view_are_unbiased(con: Con, alpha: float, beta: float, values: Matrix) -> None:
    weights = by_source(con, "alpha_beta_weights", alpha, beta)
    seen = bits(4)
    (view, view_variance, _), (domain, domain_variance, _) = weights["view"], weights["domain"]
    estimates = seen @ values * view + values.sum() * domain
    variances = seen @ values**2 * view_variance + (values**2).sum() * domain_variance
    assert_unbiased(likelihoods([(alpha + beta, beta)] * 4), estimates, variances, bits(4) @ values)


@pytest.mark.parametrize(("alpha", "beta"), [(0.46, 0.04), (0.3, 0.3), (0.6, 0.1)])
def test_the_skew_is_the_slope_of_the_variance_of_a_count(con: Con, alpha: float, beta: float) -> None:
    """One hit more in the table: the predicted error grows by skew / variance."""
    for _, _, variance, skew in call(con, "alpha_beta_weights", alpha, beta):
        two, three = (call(con, "alpha_beta_error", 10, 50, alpha, beta, hits, 20)[0][1] ** 2 for hits in (2, 3))
        assert skew == pytest.approx(variance * (three - two), rel=1e-6)


def test_the_predicted_error_is_that_of_the_estimate(con: Con) -> None:
    """alpha_beta_error, against all views of a table of two rows, for a count of three of four elements."""
    alpha, beta = 0.45, 0.05
    weights = by_source(con, "alpha_beta_weights", alpha, beta)
    satisfied = np.array([1.0, 1, 1, 0])
    estimates = bits(4) @ satisfied * weights["view"][0] + 3 * weights["domain"][0]
    likely = likelihoods([(alpha + beta, beta)] * 4)
    for table in ((1, 0, 0, 1), (1, 1, 0, 0)):
        at = int("".join(map(str, table)), 2)
        expected = estimates @ likely[:, at]
        error = math.sqrt(((estimates - expected) ** 2) @ likely[:, at])
        found = call(con, "alpha_beta_error", 2, 4, alpha, beta, int(satisfied @ np.array(table)), 3)[0]
        assert found[:2] == pytest.approx((bits(4).sum(axis=1) @ likely[:, at], error))


def test_noise_by_shares_is_unbiased(con: Con) -> None:
    shares = [0.5, 0.3, 0.15, 0.05]
    ((alpha, rate),) = call(con, "alpha_beta_source_parameters", 0.05, 0.5, 0.2)
    noise = [-math.expm1(-rate * share) for share in shares]
    weights = [by_source(con, "alpha_beta_weights", alpha, beta) for beta in noise]
    view, view_variance, domain, domain_variance = (
        np.array([w[source][column] for w in weights]) for source in ("view", "domain") for column in (0, 1)
    )
    estimates = bits(4) @ (VALUES * view) + VALUES @ domain
    variances = bits(4) @ (VALUES**2 * view_variance) + VALUES**2 @ domain_variance
    pairs = [(alpha + beta, beta) for beta in noise]
    assert_unbiased(likelihoods(pairs), estimates, variances, bits(4) @ VALUES)


@pytest.mark.parametrize("views", [2, 3])
def test_later_views_are_unbiased_whatever_came_before(con: Con, views: int) -> None:
    """Every set of tuples in earlier views with every table of now: that is every history."""
    ((alpha, beta, persist),) = call(con, "sequence_parameters", 0.05, 0.2, views)
    weights = by_source(con, "sequence_weights", alpha, beta, persist)
    p = alpha + beta
    now = bits(4)
    for earlier in bits(4):
        likely = likelihoods([(p, p * persist if old else beta) for old in earlier])
        found = []
        for column, values in ((0, VALUES), (1, VALUES**2)):
            both, before, view, domain = (weights[kind][column] for kind in ("both", "earlier", "view", "domain"))
            per_element = (
                now * np.where(earlier > 0, both, view) + (1 - now) * np.where(earlier > 0, before, 0.0) + domain
            )
            found.append(per_element @ values)
        assert_unbiased(likely, found[0], found[1], bits(4) @ VALUES)


def test_the_weights_of_a_sequence_are_its_two_strata(con: Con) -> None:
    """The four weights are the two strata of the estimator written out."""
    alpha, beta, persist = 0.4, 0.1, 0.5
    p = alpha + beta
    weights = {kind: row[0] for kind, row in by_source(con, "sequence_weights", alpha, beta, persist).items()}
    for both, before, view, more in product((0, 3), (0, 2), (0, 5), (0, 7)):
        domain = both + before + view + more
        old = both + before
        written = (both - p * persist * old) / (p * (1 - persist)) + (view - beta * (domain - old)) / (p - beta)
        ours = (
            both * weights["both"] + before * weights["earlier"] + view * weights["view"] + domain * weights["domain"]
        )
        assert ours == pytest.approx(written)


@pytest.mark.parametrize("stay", [0.3, 0.5, 0.9])
def test_frapp_is_unbiased_and_its_error_exact(con: Con, stay: float) -> None:
    """Three records in a domain of four tuples, every table and every view."""
    domain, rows = 4, 3
    move = (1 - stay) / (domain - 1)
    weights = by_source(con, "frapp_weights", stay, move, rows)
    cross_estimate, cross_square = call(con, "frapp_cross_terms", stay, move, rows)[0]
    one = np.full((domain, domain), move) + np.eye(domain) * (stay - move)
    likely = np.kron(np.kron(one, one), one)
    tuples = np.array(list(product(range(domain), repeat=rows)))
    g, q = stay, move
    for values in (VALUES, np.array([1.0, 0, 0, 0]), np.array([1.0, 1, 1, 0])):
        estimates = values[tuples].sum(axis=1) * weights["view"][0] + values.sum() * weights["domain"][0]
        truth = values[tuples].sum(axis=1)
        expected = estimates @ likely
        assert expected == pytest.approx(truth)
        spread = (estimates**2) @ likely - expected**2
        squares, total = (values[tuples] ** 2).sum(axis=1), values.sum()
        written = (g - q) * (1 - g + q) * squares + rows * q * (values**2).sum()
        written -= 2 * (g - q) * q * total * truth + rows * q**2 * total**2
        assert spread == pytest.approx(written / (g - q) ** 2)
        guessed = (values[tuples] ** 2).sum(axis=1) * weights["view"][1] + (values**2).sum() * weights["domain"][1]
        guessed += cross_estimate * total * estimates + cross_square * total**2
        assert guessed @ likely == pytest.approx(spread)
        if values.max() == 1:
            for hits in set(truth.astype(int).tolist()):
                error = call(con, "frapp_error", rows, domain, stay, hits, int(values.sum()))[0][0]
                assert spread[truth == hits] == pytest.approx(error**2)
