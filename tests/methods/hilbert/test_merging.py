"""Groups that fail are merged with neighbours until all hold, and no further."""

from __future__ import annotations

import numpy as np
import pytest
from sqlpriv.udfs.line import Dimension, Line, group_line

from sqlpriv.methods.generalized.hilbert.grouping import added_losses, merge_failing

pytestmark = pytest.mark.one_version


def make_line(count: int, k: int, seed: int = 1) -> Line:
    draw = np.random.default_rng(seed)
    values = [draw.random(count) for _ in range(2)]
    dimensions = [Dimension(v, v, lambda low, high: high - low) for v in values]
    return Line(dimensions, draw.integers(1, 3, count), k)


def judge_by(values: np.ndarray, least: int) -> object:
    """Groups fail that have fewer different values."""

    def judge(groups: np.ndarray) -> np.ndarray:
        return np.array([len(set(values[groups == g])) < least for g in range(groups[-1] + 1)])

    return judge


@pytest.mark.parametrize("seed", range(6))
def test_all_groups_hold_at_last(seed: int) -> None:
    line = make_line(300, 3, seed)
    values = np.random.default_rng(seed).geometric(0.5, 300)
    groups = group_line(line).groups
    judge = judge_by(values, 3)
    assert judge(groups).any()
    merged = merge_failing(line, groups, judge)
    assert not judge(merged).any()
    assert merged.tolist() == sorted(merged)
    assert set(merged) == set(range(merged[-1] + 1))
    # Groups are only put together, never cut: each old one is in one new one.
    assert all(len(set(merged[groups == g])) == 1 for g in range(groups[-1] + 1))
    assert merged[-1] > groups[-1] / 6


def test_groups_that_hold_are_left_alone() -> None:
    line = make_line(60, 3)
    groups = group_line(line).groups
    assert merge_failing(line, groups, lambda g: np.zeros(g[-1] + 1, dtype=bool)) is groups


def test_what_cannot_hold_is_one_group_at_last() -> None:
    line = make_line(60, 3)
    merged = merge_failing(line, group_line(line).groups, lambda g: np.ones(g[-1] + 1, dtype=bool))
    assert set(merged) == {0}


def test_a_rare_value_far_away_takes_few_rounds() -> None:
    """All groups hold but the first one, until it reaches the other end."""
    line = make_line(4000, 2)
    groups = group_line(line).groups
    rounds = []

    def judge(found: np.ndarray) -> np.ndarray:
        rounds.append(found[-1])
        fails = np.zeros(found[-1] + 1, dtype=bool)
        fails[0] = (found == 0).sum() < 3000
        return fails

    merged = merge_failing(line, groups, judge)
    assert (merged == 0).sum() >= 3000
    assert len(rounds) < 50


def test_a_group_takes_the_neighbour_with_which_it_loses_least() -> None:
    values = np.array([0.0, 0.1, 0.5, 0.6, 0.7, 0.8])
    line = Line([Dimension(values, values, lambda a, b: b - a)], np.ones(6, dtype=int), 2)
    groups = np.array([0, 0, 1, 1, 2, 2])
    assert added_losses(line, groups) == pytest.approx([4 * 0.6 - 0.4, 4 * 0.3 - 0.4])
    merged = merge_failing(line, groups, lambda g: np.array([False, g[-1] == 2] + [False] * (g[-1] - 1)))
    assert merged.tolist() == [0, 0, 1, 1, 1, 1]
