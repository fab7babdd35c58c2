"""The paper's claims on the ACS table, and that a claim which does not hold is noticed."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.epsilon_claims import (
    Adversary,
    Figures,
    all_claims,
    class_one_below_class_three,
    class_one_below_class_two,
    epsilon_rises,
    same_nodes_as_diversity,
)
from benchmarks.epsilon_lattice import FIGURE_2_NODE, TABLE_5, Measured, draw_figures, least_cost, measure, table_5

pytestmark = pytest.mark.one_version

TOP = (5, 2, 1, 1)


@pytest.fixture(scope="module")
def acs(shared_data: Path) -> Path:
    file = shared_data / "acs" / "acs2024_5attr_ge17.parquet"
    if not file.is_file():
        pytest.skip("the ACS table is not in ../shared/data/acs")
    return file


@pytest.fixture(scope="module")
def measured(acs: Path) -> Measured:
    return measure(acs)


@pytest.fixture
def figures(measured: Measured) -> Figures:
    return measured.figures


def test_every_claim_holds_on_every_node(figures: Figures) -> None:
    claims = all_claims(figures)
    assert claims
    for claim in claims:
        assert not claim.failures, claim.text
        assert claim.compared >= 2 * 5 * 72


def test_table_5_of_our_data(measured: Measured) -> None:
    """Figures computed once with exact fractions from the counts, not by the code under test."""
    assert len(measured.nodes) == 72
    assert measured.figures.rows == 2_268_281
    expected = {
        TOP: (1.114469, 1.000001, 1.000770, 1.534908, 1.374116, 1.0),
        (5, 1, 1, 0): (2.110898, 1.598120, 1.013105, 7.323704, 2.438021, 1.774246),
    }
    for node, epsilons in expected.items():
        assert measured.epsilons(node) == pytest.approx(epsilons, rel=1e-6)
    assert table_5(measured).row_count == 41 + 1  # and the row of counts


@pytest.mark.deep
def test_the_pictures_are_drawn(acs: Path, measured: Measured, tmp_path: Path) -> None:
    drawn = draw_figures(acs, measured, tmp_path)
    assert [path.name for path in drawn] == ["figure2a.svg", "figure2b.svg", "figure2c.svg", "figure3.svg"]
    assert all(str(list(row.node)).replace(" ", "") in drawn[3].read_text() for row in measured.nodes)
    assert str(list(FIGURE_2_NODE)) in drawn[0].read_text()


def test_less_stubborn_adversaries_allow_better_tables(measured: Measured) -> None:
    costs = [cost for _, cost in least_cost(measured, "class2", "", "all_squares", 1, 1.0)]
    assert costs == sorted(costs)
    assert math.isinf(costs[-1])


def tampered(figures: Figures, adversary: Adversary, factor: float) -> Figures:
    """The figures with one epsilon of one node changed."""
    changed = {**figures.epsilon[adversary], TOP: figures.epsilon[adversary][TOP] * factor}
    return replace(figures, epsilon={**figures.epsilon, adversary: changed})


def test_a_claim_that_does_not_hold_is_noticed(figures: Figures) -> None:
    one, two, three = TABLE_5[1], TABLE_5[3], TABLE_5[5]
    assert class_one_below_class_two(tampered(figures, two, 0.5)).failures
    # The most general table looks just like the prior: it uses all of the tolerance, and not a bit more is free.
    assert class_one_below_class_three(tampered(figures, one, 1 + 1e-11)).failures
    assert class_one_below_class_three(tampered(figures, three, 1 - 1e-11)).failures
    assert epsilon_rises(tampered(figures, two, 0.5)).failures
    assert same_nodes_as_diversity(tampered(figures, TABLE_5[4], 1.01)).failures


def test_at_equality_only_class_three_allows_the_node(figures: Figures) -> None:
    claim = same_nodes_as_diversity(figures, [13])
    assert not claim.failures
    assert "[4, 1, 0, 0] at c = 13" in claim.remark
    assert figures.recursive_c[4, 1, 0, 0] == pytest.approx(13, abs=1e-12)
