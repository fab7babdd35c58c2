"""The minimax rule against brute force over all rules: never beyond the gap that it reports, exact where that is 0."""

from __future__ import annotations

import random

import duckdb
import numpy as np
import oracles
import pytest

from sqlpriv.core.relation import Scratch
from sqlpriv.risk import minimax
from sqlpriv.risk.minimax import Minimax, choose_minimax, solve_game

Records = list[tuple[int, list[list[float]]]]
"""Of each record its copies, and the costs of its choices against each attacker."""


def drawn(seed: int) -> Records:
    chance = random.Random(seed)
    attackers = chance.choice([2, 2, 3, 4])
    low = chance.choice([0.0, -2.0])

    def cost() -> float:
        return chance.choice([chance.uniform(low, 3), chance.uniform(low, 3), float(chance.randint(0, 3))])

    return [
        (chance.choice([1, 1, 1, 3]), [[cost() for _ in range(attackers)] for _ in range(chance.randint(1, 4))])
        for _ in range(chance.randint(1, 8))
    ]


def solved(records: Records) -> Minimax:
    """The bounds; the rule is priced again here, and takes one choice of every record."""
    with duckdb.connect() as con:
        scratch = Scratch(con)
        rows = [(r, copies, costs) for r, (copies, own) in enumerate(records) for costs in own]
        listed = ", ".join(f"({i}, {r}, {n}, {costs}::DOUBLE[])" for i, (r, n, costs) in enumerate(rows))
        choices = scratch.table(f"FROM (VALUES {listed}) AS v(choice, record, copies, costs)", "choices")
        taken, found = choose_minimax(scratch, choices, len(rows[0][2]))
        chosen = [rows[i] for (i,) in con.execute(f"SELECT choice FROM {taken.name}").fetchall()]
    assert sorted(r for r, _, _ in chosen) == list(range(len(records)))
    people = sum(copies for copies, _ in records)
    risks = [sum(n * costs[j] for _, n, costs in chosen) / people for j in range(len(rows[0][2]))]
    assert found.risks == pytest.approx(risks, abs=1e-12)
    assert found.upper == max(found.risks)
    return found


def check(records: Records) -> Minimax:
    found, best = solved(records), oracles.minimax_cost(records)
    assert found.gap >= 0
    assert found.lower - 1e-9 <= best <= found.upper + 1e-9
    assert found.gap or found.upper == pytest.approx(best, abs=1e-9)
    return found


@pytest.mark.some(5)
@pytest.mark.parametrize("seed", range(20))
def test_no_rule_is_better_by_more_than_the_gap(seed: int) -> None:
    check(drawn(seed))


@pytest.mark.slow
def test_small_tables_are_solved_exactly() -> None:
    assert [check(drawn(seed)).gap for seed in range(1000, 1200)] == [0.0] * 200


@pytest.mark.slow
def test_the_gap_is_sound_where_too_many_sums_would_have_to_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "_SUMS", 0)
    monkeypatch.setattr(minimax, "_SUMS_OF_MANY", 0)
    gaps = [check(drawn(seed)).gap for seed in range(2000, 2040)]
    assert any(gaps)


@pytest.mark.slow
def test_the_gap_is_sound_where_not_all_choices_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "_FETCHED", 3)
    gaps = [check(drawn(seed)).gap for seed in range(3000, 3040)]
    assert any(gaps)


@pytest.mark.slow
def test_the_gap_of_a_large_table_is_next_to_nothing() -> None:
    chance = random.Random(5)
    records = [(1, [[chance.random(), chance.random()] for _ in range(6)]) for _ in range(3000)]
    found = solved(records)
    assert 0 <= found.gap < 1e-4
    assert found.upper < max(sum(min(own, key=max)[j] for _, own in records) / 3000 for j in (0, 1))


@pytest.mark.parametrize("seed", range(20))
def test_the_game_is_solved(seed: int) -> None:
    """Of two columns the least of the rows is largest at an end, or where two rows cross."""
    costs = np.random.default_rng(seed).normal(size=(6, 2)) * 10.0 ** (seed % 5 - 2)
    slopes = costs[:, 0] - costs[:, 1]
    crossed = [
        (costs[b, 1] - costs[a, 1]) / (slopes[a] - slopes[b])
        for a in range(6)
        for b in range(a)
        if slopes[a] != slopes[b]
    ]
    best = max(float((w * costs[:, 0] + (1 - w) * costs[:, 1]).min()) for w in [0.0, 1.0, *crossed] if 0 <= w <= 1)
    weights, least = solve_game(costs)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert least == pytest.approx(best, rel=1e-9)
