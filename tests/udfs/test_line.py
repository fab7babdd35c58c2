"""The grouping of a line is the best that there is, also where it is grouped in pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from oracles import lines
from sqlpriv.udfs import line as grouping
from sqlpriv.udfs.line import Dimension, Line, group_line

TREE = (0, 0, 0, 1, 1, 2, 2, 2)
"""The parents of eight leaves."""


def in_tree(values: Sequence[int]) -> float:
    """How large the smallest node is that holds leaves: a leaf, one of three parents, or the root."""
    if len(set(values)) == 1:
        return 0.0
    parents = {TREE[v] for v in values}
    return (TREE.count(parents.pop()) - 1) / (len(TREE) - 1) if len(parents) == 1 else 1.0


def in_range(values: Sequence[int]) -> float:
    return (max(values) - min(values)) / 7


EXTENTS = (in_range, in_tree, in_range)


def make_line(points: Sequence[lines.Point], k: int) -> Line:
    parents = np.array(TREE)
    sizes = (np.bincount(parents)[parents] - 1) / (len(TREE) - 1)

    def of_nodes(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.where(low == high, 0.0, np.where(parents[low] == parents[high], sizes[low], 1.0))

    values = np.array([v for v, _ in points]).T
    ranges = [Dimension(values[d], values[d], lambda low, high: (high - low) / 7) for d in (0, 2)]
    dimensions = [ranges[0], Dimension(values[1], values[1], of_nodes), ranges[1]]
    return Line(dimensions, np.array([rows for _, rows in points]), k)


def some_points(seed: int, count: int, most_rows: int) -> list[lines.Point]:
    draw = np.random.default_rng(seed)
    return [
        (tuple(int(v) for v in draw.integers(0, 8, 3)), int(rows)) for rows in draw.integers(1, most_rows + 1, count)
    ]


def check(points: list[lines.Point], k: int, least: float) -> None:
    """The grouping costs the least, says so, and keeps to k."""
    found = group_line(make_line(points, k))
    groups = found.groups
    assert found.is_best
    assert found.loss == pytest.approx(least)
    assert groups.tolist() == sorted(groups)
    together = [[p for p, g in zip(points, groups, strict=True) if g == number] for number in range(groups[-1] + 1)]
    assert sum(lines.cost(group, EXTENTS) for group in together) == pytest.approx(least)
    assert all(k <= sum(rows for _, rows in group) for group in together)
    assert all(len(group) <= 2 * k - 1 for group in together)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_short_lines_are_grouped_as_by_trying_all_groupings(k: int) -> None:
    for seed in range(15):
        points = some_points(seed, 5 + seed % 6, 1 + seed % 3)
        check(points, k, lines.least_of_all(points, EXTENTS, k))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 13])
def test_random_lines_are_grouped_as_by_brute_force(k: int) -> None:
    for seed in range(10):
        points = some_points(seed, 60 - 4 * seed, 1 + seed % 4)
        check(points, k, lines.least(points, EXTENTS, k))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_pieces_meet_where_a_best_grouping_cuts(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches that nearly touch, and little room: many pieces of all lengths, and the same loss as of the whole."""
    monkeypatch.setattr(grouping, "_STRETCH", 12)
    monkeypatch.setattr(grouping, "_APART", 1)
    found = 0
    for seed, room in enumerate([40, 400, 4000, 4000]):
        points = some_points(seed, 400, 1 + seed % 3)
        line = make_line(points, k)
        monkeypatch.setattr(grouping, "_WIDEST", 0)
        assert len(grouping._harmless_cuts(line)) == 0
        whole = group_line(line).loss
        monkeypatch.setattr(grouping, "_WIDEST", 128)
        monkeypatch.setattr(grouping, "_ROOM", room)
        found += len(grouping._harmless_cuts(line))
        check(points, k, whole)
    assert found > 20


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_line_read_in_parts_is_grouped_the_same(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_STRETCH", 12)
    monkeypatch.setattr(grouping, "_APART", 2)
    read: list[int] = []
    own = Line.part

    def part(line: Line, first: int, last: int) -> Line:
        read.append(last - first)
        return own(line, first, last)

    for seed, widest in enumerate([128, 128, 0]):
        monkeypatch.setattr(grouping, "_WIDEST", widest)
        line = make_line(some_points(seed, 700, 1 + seed), k)
        monkeypatch.setattr(grouping, "_PART", 10**6)
        whole = group_line(line).groups.tolist()
        with monkeypatch.context() as inside:
            inside.setattr(grouping, "_PART", 80)
            inside.setattr(grouping, "_ROOM", 200)
            inside.setattr(Line, "part", part)
            assert group_line(line).groups.tolist() == whole
    assert max(read) < 500


def test_equal_points_have_no_loss_however_many() -> None:
    points = [((3, 3, 3), 1)] * 700
    assert group_line(make_line(points, 3)).loss == 0


@pytest.mark.parametrize("k", [2, 7, 30])
def test_bundles_are_grouped_best_and_told(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too much work cuts are between bundles: k holds, and the loss is the least of those groupings."""
    points = some_points(k, 97, 2)
    monkeypatch.setattr(grouping, "_WORK", 97 * k // 4)
    found = group_line(make_line(points, k))
    assert found.bundle in (4, 8)
    assert not found.is_best
    size = found.bundle
    bundles = [points[i : i + size] for i in range(0, 97 - size, size)]
    bundles[-1] += points[sum(map(len, bundles)) :]
    assert found.groups.tolist() == sorted(found.groups)
    together = [[p for p, g in zip(points, found.groups, strict=True) if g == n] for n in range(found.groups[-1] + 1)]
    assert all(sum(rows for _, rows in group) >= k for group in together)
    least = least_of_bundles(bundles, k)
    assert found.loss == pytest.approx(least)
    assert sum(lines.cost(group, EXTENTS) for group in together) == pytest.approx(least)


def least_of_bundles(bundles: list[list[lines.Point]], k: int) -> float:
    """The least loss where cuts are between bundles only."""
    best = [0.0]
    for last in range(1, len(bundles) + 1):
        groups = ((first, [p for bundle in bundles[first:last] for p in bundle]) for first in range(last))
        allowed = [(first, group) for first, group in groups if sum(rows for _, rows in group) >= k]
        best.append(min((best[first] + lines.cost(group, EXTENTS) for first, group in allowed), default=float("inf")))
    return best[-1]


def test_a_line_of_too_few_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer rows than a group needs"):
        group_line(make_line([((1, 1, 1), 2)], 3))
