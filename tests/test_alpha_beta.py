"""The parameters of the alpha-beta algorithm: against their formulas, and as a guarantee by enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import duckdb
import oracles
import pytest
from agreement import call, macros_of
from hypothesis import given
from hypothesis import strategies as st
from oracles.noise import Instance, instances, worst_posteriors

Con = duckdb.DuckDBPyConnection
TESTED = macros_of([], "alpha_beta_parameters", "alpha_beta_guarantee", "alpha_beta_error", "frapp_parameters")
CHOICES = [("exclusive", "default"), ("independent", "paper"), ("independent", "tight")]
shares = st.floats(1e-6, 0.45)


@given(d=shares, more=st.floats(0.05, 0.9), choice=st.sampled_from(CHOICES))
def test_the_parameters_agree(con: Con, d: float, more: float, choice: tuple[str, str]) -> None:
    gamma = d + (1 - d) * more
    if choice[1] == "paper" and d / gamma > 0.5:
        return
    ((alpha, beta),) = call(con, "alpha_beta_parameters", d, gamma, *choice)
    assert (alpha, beta) == pytest.approx(oracles.alpha_beta_parameters(d, gamma, *choice), rel=1e-9, abs=1e-15)
    assert call(con, "alpha_beta_guarantee", d, alpha, beta)[0] == pytest.approx(
        oracles.alpha_beta_guarantee(d, alpha, beta), rel=1e-9
    )


@given(n=st.integers(1, 10**7), more=st.integers(0, 10**12), kept=st.floats(0.2, 0.95), noise=st.floats(1e-6, 0.1))
def test_the_expected_error_agrees(con: Con, n: int, more: int, kept: float, noise: float) -> None:
    arguments = (n, n + more, kept - noise, noise, n / 2, (n + more) / 2)
    expected = oracles.alpha_beta_error(*arguments)
    assert call(con, "alpha_beta_error", *arguments)[0] == pytest.approx(expected, rel=1e-9)


@given(d=shares, more=st.floats(0.05, 0.9), m=st.integers(2, 10**12))
def test_the_retention_of_frapp_agrees(con: Con, d: float, more: float, m: int) -> None:
    gamma = d + (1 - d) * more
    assert call(con, "frapp_parameters", d, gamma, m)[0] == pytest.approx(
        oracles.frapp_parameters(d, gamma, m), rel=1e-9
    )


def independent_prior(chances: tuple[Fraction, ...]) -> dict[Instance, Fraction]:
    """Tuples in the table independently, each with its own probability."""
    prior = {}
    for instance in instances(len(chances)):
        p = Fraction(1)
        for t, chance in enumerate(chances):
            p *= chance if t in instance else 1 - chance
        prior[instance] = p
    return prior


def exclusive_prior(chances: tuple[Fraction, ...]) -> dict[Instance, Fraction]:
    """Exactly one tuple is there: the attacker knows that the person is in the table, but not with which values."""
    return {frozenset([t]): chance for t, chance in enumerate(chances)}


@pytest.mark.parametrize(("d", "gamma"), [("1/10", "1/2"), ("1/5", "1/2"), ("1/4", "3/5"), ("1/20", "1/5")])
@pytest.mark.parametrize("choice", ["paper", "tight"])
def test_no_independent_adversary_learns_too_much(con: Con, d: str, gamma: str, choice: str) -> None:
    bound, limit = Fraction(d), Fraction(gamma)
    ((alpha, beta),) = call(con, "alpha_beta_parameters", float(bound), float(limit), "independent", choice)
    kept, noise = Fraction(alpha) + Fraction(beta), Fraction(beta)
    for chances in itertools.product([bound, bound / 2, Fraction(0), Fraction(1)], repeat=3):
        highest, lowest = worst_posteriors(independent_prior(chances), 3, kept, noise)
        assert highest <= limit * (1 + Fraction(1, 10**12))
        assert lowest >= bound / limit * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize(("parts", "gamma"), [(5, "1/2"), (6, "2/5"), (8, "3/10")])
def test_no_exclusive_adversary_learns_too_much(con: Con, parts: int, gamma: str) -> None:
    bound, limit = Fraction(1, parts), Fraction(gamma)
    ((alpha, beta),) = call(con, "alpha_beta_parameters", float(bound), float(limit), "exclusive", "default")
    highest, _ = worst_posteriors(
        exclusive_prior((bound,) * parts), parts, Fraction(alpha) + Fraction(beta), Fraction(beta)
    )
    assert highest <= limit * (1 + Fraction(1, 10**12))
    assert float(highest) == pytest.approx(float(limit), rel=1e-9), "the bound is reached, so no less noise would do"


def test_the_tight_parameters_do_not_hold_against_who_knows_who_is_in_the_table(con: Con) -> None:
    d = 10 * 30162 / 648023040
    ((alpha, beta),) = call(con, "alpha_beta_parameters", d, 0.2, "independent", "tight")
    assert call(con, "alpha_beta_guarantee", d, alpha, beta)[0][1] == pytest.approx(0.991, abs=5e-4)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("0.5, 0.4, 'exclusive', 'default'", "gamma must be above d"),
        ("0.3, 0.5, 'independent', 'paper'", "choose tight"),
        ("0.1, 0.5, 'exclusive', 'tight'", "adversary is exclusive"),
        ("2, 0.5, 'exclusive', 'default'", "probabilities"),
        ("NULL, 0.5, 'exclusive', 'default'", "probabilities"),
    ],
)
def test_what_is_not_private_is_refused(con: Con, arguments: str, complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        con.execute(f"FROM priv.alpha_beta_parameters({arguments})").fetchall()
