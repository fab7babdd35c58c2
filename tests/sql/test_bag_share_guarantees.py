"""Noise by public shares: what beliefs become, by enumerating everything that can be seen of tiny domains."""

from typing import NamedTuple

import duckdb
import numpy as np
import pytest
from support.agreement import call
from support.bags import assert_within, bag, likelihoods, one_row, posteriors, priors
from support.beliefs import HAIR, Matrix

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection


class Share(NamedTuple):
    """What a public share comes to."""

    d: float
    factor: float
    covered: bool
    seen: Matrix


def by_share(con: Con, p: float, shares: tuple[float, ...], times: float, gamma: float, *most: float) -> list[Share]:
    """Of each value its d, its factor, whether it is covered, and what is seen of its tuples."""
    found = call(con, "bag_share_factors", shares, times, gamma, *most)
    noise = call(con, "bag_share_noise", p, [row[2] for row in found])
    return [
        Share(d, factor, covered, bag(p, q)) for (_, d, factor, covered), (_, q, _) in zip(found, noise, strict=True)
    ]


@pytest.mark.some(1)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("gamma", "bare"), [(0.3, 1), (0.3, 2), (0.5, 0)])
def test_noise_by_shares_of_the_sensitive_values_bounds_each_of_them(
    con: Con, times: float, gamma: float, bare: int
) -> None:
    """Who knows all other columns sees one slice, a tuple for each value, and believes in one with all its d."""
    shares = {0: (0.02, 0.08, 0.1, 0.2), 1: (0.02, 0.08, 0.1, 0.8), 2: (0.02, 0.1, 0.4, 0.48)}[bare]
    values = by_share(con, 0.3 if times == 1 else 0.2, shares, times, gamma)
    assert [v.covered for v in values] == [True] * (4 - bare) + [False] * bare
    largest = max(v.factor for v in values)
    for known in ((0, 0, 0, 0), (0, 1, 0, 3)):
        likely = likelihoods([v.seen for v in values], known, one_row(4))
        for place, value in enumerate(values):
            prior = np.array(shares)
            prior[place] = 0
            prior *= (1 - value.d) / prior.sum()
            prior[place] = value.d
            reached = posteriors(likely, prior, [place]).max()
            if value.covered:
                assert reached == pytest.approx(gamma, rel=HAIR)
            else:
                assert reached > gamma
            assert_within(likely, prior, largest)
        for prior in priors(4, 4):
            assert_within(likely, prior, largest)
            for place, value in enumerate(values):
                if 0 < prior[place] < 1:
                    after = posteriors(likely, prior, [place])
                    changed = (after / (1 - after)).max() / (prior[place] / (1 - prior[place]))
                    assert changed <= value.factor * (1 + HAIR)


def test_who_knows_little_else_is_covered_by_averaging(con: Con) -> None:
    """Two values of another column, two of the sensitive one: d of a value spread over its tuples in any way."""
    gamma = 0.3
    rare, common = by_share(con, 0.3, (0.03, 0.1), 1, gamma)
    for known in ((0, 0, 0, 0), (0, 1, 2, 0)):
        likely = likelihoods([rare.seen, common.seen] * 2, known, one_row(4))
        for value, places in ((rare, [0, 2]), (common, [1, 3])):
            for part in (0.0, 0.2, 0.5, 1.0):
                for other in (0.1, 0.5):
                    rest = [place for place in range(4) if place not in places]
                    prior = np.zeros(4)
                    prior[places] = value.d * part, value.d * (1 - part)
                    prior[rest] = (1 - value.d) * other, (1 - value.d) * (1 - other)
                    assert posteriors(likely, prior, places).max() <= gamma * (1 + HAIR)


def test_a_second_sensitive_column_is_covered_by_the_largest_noise(con: Con) -> None:
    """Its values are guessed evenly: no tuple has less noise than that takes, or it would be too little."""
    gamma, d = 0.3, 0.1
    ((most, _),) = call(con, "odds_factor", d, gamma)
    capped, bare = (by_share(con, 0.3, (0.005, 0.1), 1, gamma, *limit) for limit in ((most,), ()))
    assert capped[0].factor == pytest.approx(most)
    prior = np.array([d, 0, 0, 1 - d])  # in the other column's first value, where the rare value of the first is

    def reached(values: list[Share]) -> float:
        likely = likelihoods([v.seen for v in values] * 2, (0, 0, 0, 0), one_row(4))
        return float(posteriors(likely, prior, [0, 1]).max())

    assert reached(capped) == pytest.approx(gamma, rel=HAIR)
    assert reached(bare) > 0.8


def test_noise_by_the_share_of_a_whole_tuple_breaks_the_bound(con: Con) -> None:
    """A tenth of the people are alike in what is known, one in a hundred of them has the value: .81 for .3."""
    p, gamma, known_share, share = 0.4, 0.3, 0.1, 0.01
    tuples = by_share(con, p, (known_share * share, known_share * (1 - share)), 1, gamma)
    prior = np.array([share, 1 - share])
    reached = posteriors(likelihoods([t.seen for t in tuples], (0, 0), one_row(2)), prior, [0]).max()
    assert reached == pytest.approx(0.81, abs=0.005)


@pytest.mark.parametrize("rows", range(3))
@pytest.mark.parametrize("p", [0.2, 0.6])
def test_weights_by_powers_of_the_noise_are_unbiased_and_know_their_variance(con: Con, p: float, rows: int) -> None:
    """The exact moments of two tuples of different noise together."""
    view, *domain = call(con, "bag_share_weights", p)
    noise = call(con, "bag_share_noise", p, [3.0, 40.0])
    seen = [bag(p, q)[n] for (_, q, _), n in zip(noise, (rows, 1), strict=True)]
    chance = np.multiply.outer(*seen).ravel()
    counts = np.add.outer(*(np.arange(len(s)) for s in seen)).ravel()
    of_domain = [sum(row[part] * mu ** row[1] for row in domain for _, _, mu in noise) for part in (2, 3, 4)]
    estimate, variance, skew = (counts * view[part] + of_domain[part - 2] for part in (2, 3, 4))
    true = chance @ (estimate - rows - 1) ** 2
    assert chance @ estimate == pytest.approx(rows + 1, rel=1e-8)
    assert chance @ variance == pytest.approx(true, rel=1e-8)
    assert chance @ skew == pytest.approx(chance @ ((estimate - rows - 1) * (variance - true)), rel=1e-7)
