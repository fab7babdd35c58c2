"""The worst of several dictionaries: the rule whose largest risk is least, with the gap in plan and publish."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import duckdb
import oracles
import pytest
from test_disclose_weighed import TREES, Instance, check_bounds, chosen_by, drawn

from sqlpriv.publishing import plan, publish

PEOPLE = [
    ["a1", "b1", "s1"], ["a2", "b2", "s2"], ["a3", "b3", "s1"], ["a1", "b2", "s1"],
    ["a1", "b3", "s2"], ["a3", "b1", "s1"], ["a2", "b1", "s2"], ["a2", "b1", "s1"],
]  # fmt: skip
BOOKS: list[list[list[str | None]]] = [
    [["a1", "b3"], ["a3", "b2"], ["a1", "b3"], ["a2", "b3"]],
    [["a3", "b2"], ["a1", "b2"], ["a2", "b2"], ["a2", "b3"], ["a3", "b2"]],
]
WEIGHTS = [1.5, 1.0, 1.5, 0.0]
CASE = Instance(
    PEOPLE, BOOKS, [WEIGHTS], (0, 1), [0.0] * 3, 0.0, False, "linear", "worst", [0.5, 0.5], "risk", 3.0
)  # fmt: skip


def published_risks(folder: Path, instance: Instance) -> list[float]:
    """The risk against each dictionary of the rows in the release, by the slow functions."""
    policy = instance.write(folder)
    text = policy.read_text().replace("[release]", '[release]\noutput = "out.duckdb"\n[ledger]\npath = "l.db"\n', 1)
    head, _, rest = text.partition('[ledger]\npath = "l.db"\n')
    policy.write_text(f'{head}{rest}\n[ledger]\npath = "l.db"\n')
    publish(policy)
    with duckdb.connect(str(folder / "out.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT a, b, s FROM people").fetchall()
    assert min(oracles.disclosure_utility(row, TREES) for row in rows) >= instance.c
    phi = [oracles.sensitivity(row, TREES, WEIGHTS[:3], [1.0] * 3, {}, "linear") for row in rows]
    found = []
    for book in instance.books:
        chances = oracles.identification(rows, [[*entry, None] for entry in book], TREES)
        found.append(sum(oracles.disclosure_losses(chances, phi, [0.0] * len(rows))) / len(rows))
    return found


def test_the_worst_risk_is_the_least_of_all_rules(tmp_path: Path) -> None:
    """The best choice of every record by its own worst dictionary has a risk of .333 against one of them."""
    rowwise = max(sum(own[j] for own in _rowwise()) / len(PEOPLE) for j in range(2))
    assert rowwise == pytest.approx(1 / 3)
    assert CASE.minimax() == pytest.approx(0.21875)
    assert max(published_risks(tmp_path, CASE)) == pytest.approx(0.21875)


def _rowwise() -> list[tuple[float, ...]]:
    found = []
    for cells in PEOPLE:
        every = oracles.disclosure_choices(cells, CASE.filled_books, TREES, [True, True, False], CASE.harms(0))
        found.append(min((losses for losses, u in every if u >= CASE.c), key=max))
    return found


def test_the_plan_reports_the_gap_and_says_minimax_only_where_it_is_0(tmp_path: Path) -> None:
    facts = plan(CASE.write(tmp_path))
    bounds = facts.content["minimax"]
    assert bounds == {"lower": bounds["upper"], "upper": pytest.approx(0.21875), "gap": 0.0, "is_minimax": True}
    assert facts.content["gap"] == 0
    assert facts.content["risk"] >= bounds["upper"]


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", [1, 4, 5, 12])
def test_a_policy_finds_the_least_of_the_largest_risks(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.some(2)
def test_no_policy_finds_less(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed)


def check(folder: Path, seed: int) -> None:
    own = drawn(seed)
    goal = "both" if seed % 3 == 0 else "risk"
    books = own.books if len(own.books) > 1 else [*own.books, drawn(seed + 1000).books[0]]
    priors = [1 / len(books)] * len(books)
    c = 0.2 if goal == "both" else own.c if own.goal == "risk" else 2.0
    instance = dataclasses.replace(own, judge="worst", goal=goal, c=c, books=books, priors=priors)
    found = chosen_by(instance.write(folder)).minimax
    assert found is not None
    check_bounds(found, instance.minimax())
    assert found.gap == 0
