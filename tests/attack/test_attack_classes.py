"""Attacks by the classes of a table, against all possible worlds of tiny ones; and on the lecture's own table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, groupby, permutations, product
from typing import Any

import duckdb
import oracles
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies

from sqlpriv.attacks.classes import background, closeness, homogeneity
from sqlpriv.attacks.findings import AttackFinding
from sqlpriv.attacks.guesses import ClassGuess, of_table
from sqlpriv.attacks.target import Knowledge
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Grid
from sqlpriv.macros.calls import Calls
from sqlpriv.table.source import Source

Row = tuple[int, str]
QUICK = settings(max_examples=max(strategies.EXAMPLES // 10, 4))
tiny = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=1, max_size=6)
LECTURE = [
    *[("130**", "< 30", "Heart")] * 2, *[("130**", "< 30", "Flu")] * 2, ("1485*", "> 40", "Cancer"),
    ("1485*", "> 40", "Heart"), *[("1485*", "> 40", "Flu")] * 2, *[("130**", "30-40", "Cancer")] * 4,
]  # fmt: skip


@pytest.fixture(scope="module")
def calls() -> Iterator[Calls]:
    """One connection for all random tables: creating the macros takes longer than they do."""
    with duckdb.connect() as con:
        yield Calls(con)


def table(calls: Calls) -> Source:
    """Table t, as attacks are given it."""
    return Source(calls.con, calls, "t", "t", ())


def guessed(calls: Calls, rows: Sequence[Row]) -> dict[str, ClassGuess]:
    strategies.create_table(calls.con, "t", {"q": "INTEGER", "s": "VARCHAR"}, [list(row) for row in rows])
    return of_table(table(calls), ["q"], ["s"])


def numbers(found: object) -> dict[str, Any]:
    assert isinstance(found, AttackFinding)
    return {figure.name: figure.value for figure in found.figures}


def worlds(rows: Sequence[Row]) -> Iterator[dict[int, str]]:
    """Every way to hand out the values of each class to its people, by the places of these."""
    ordered = sorted(range(len(rows)), key=lambda i: rows[i][0])
    classes = [list(members) for _, members in groupby(ordered, key=lambda i: rows[i][0])]
    for dealt in product(*(permutations([rows[i][1] for i in members]) for members in classes)):
        yield {
            i: v for members, values in zip(classes, dealt, strict=True) for i, v in zip(members, values, strict=True)
        }


def beliefs(found: Sequence[dict[int, str]], person: int) -> dict[str, Fraction]:
    values = [world[person] for world in found]
    return {v: Fraction(values.count(v), len(values)) for v in set(values)}


@QUICK
@given(tiny)
def test_certainty_is_that_of_all_worlds(calls: Calls, rows: list[Row]) -> None:
    own = guessed(calls, rows)
    (first,) = homogeneity(own, {}, False)
    known = {f.case: numbers(f) for f in background(own, {}, Knowledge(2, 0))}
    every = list(worlds(rows))
    believed = [beliefs(every, person) for person in range(len(rows))]
    found = numbers(first)
    assert found["certain"] == sum(len(b) == 1 for b in believed)
    assert found["surest_guess"] == pytest.approx(float(max(max(b.values()) for b in believed)))
    assert found["guessed_right"] == pytest.approx(float(sum(max(b.values()) for b in believed)))
    for n in (1, 2):
        # What anybody believes of a person who rules out up to n values that some world does not give the person.
        sure = []
        for person, b in enumerate(believed):
            ruled = [r for size in range(n + 1) for r in combinations(sorted(b), size) if len(r) < len(b)]
            left = [beliefs([w for w in every if w[person] not in r], person) for r in ruled]
            sure.append(max(max(one.values()) for one in left))
        case = known[f"{n} negation{'s' * (n > 1)}"]
        assert case["certain"] == sum(s == 1 for s in sure)
        assert case["surest_guess"] == pytest.approx(float(max(sure)))


@QUICK
@given(tiny, st.integers(1, 2))
def test_implications_are_those_of_all_worlds(calls: Calls, rows: list[Row], k: int) -> None:
    table = [{"q": q, "s": s} for q, s in rows]
    *_, last = background(guessed(calls, rows), {}, Knowledge(0, k))
    found = numbers(last)
    assert found["surest_guess"] == pytest.approx(float(oracles.ck_safety_by_worlds(table, ["q"], "s", k)))
    each = oracles.ck_safety_per_class(table, ["q"], "s", k)
    assert found["certain"] == sum(size for size, value in each.values() if value == 1)


@QUICK
@given(tiny)
def test_beliefs_move_as_far_as_shares_differ(calls: Calls, rows: list[Row]) -> None:
    (finding,) = closeness(guessed(calls, rows), {}, {})
    found = numbers(finding)
    values, whole = {s for _, s in rows}, [s for _, s in rows]
    factors, distances = [], []
    for q, _ in rows:
        own = [s for other, s in rows if other == q]
        shares = [(Fraction(own.count(v), len(own)), Fraction(whole.count(v), len(whole))) for v in values]
        factors.append(max(mine / all_ for mine, all_ in shares))
        distances.append(sum(abs(mine - all_) for mine, all_ in shares) / 2)
    assert found["largest_factor"] == pytest.approx(float(max(factors)))
    assert found["worst_t"] == pytest.approx(float(max(distances)))
    assert found["mean_t"] == pytest.approx(float(sum(distances) / len(rows)))


def test_the_lecture(calls: Calls) -> None:
    """Bob's class is all cancer; Umeko's is flu or heart disease, and flu for certain without the heart."""
    strategies.create_table(calls.con, "t", dict.fromkeys(("zip", "age", "ill"), "VARCHAR"), [list(r) for r in LECTURE])
    own = of_table(table(calls), ["zip", "age"], ["ill"])
    (first,) = homogeneity(own, {}, True)
    found = numbers(first)
    assert (found["certain"], found["homogeneous_classes"], found["guessed_right"]) == (4, 1, 8)
    (second,) = background(own, {}, Knowledge(1, 0))
    assert numbers(second) == {"certain": 8, "surest_guess": 1}
    assert isinstance(first, AttackFinding)
    (grid,) = first.private
    assert isinstance(grid, Grid)
    assert (grid.private, grid.rows) == (True, (("zip 130**, age 30-40", 4),))


def test_persons_are_counted_where_they_are_named(calls: Calls) -> None:
    rows = [[1, "a", 7], [1, "a", 7], [1, "b", 8]]
    strategies.create_table(calls.con, "t", {"q": "INTEGER", "s": "VARCHAR", "p": "INTEGER"}, rows)
    by_row, by_person = (of_table(table(calls), ["q"], ["s"], p)["s"].homogeneity() for p in (None, "p"))
    assert (by_row["people"], by_row["guessed_right"]) == (3, 2)
    assert (by_person["people"], by_person["guessed_right"]) == (2, 1)


@pytest.mark.slow
def test_similar_values_are_one_group(calls: Calls) -> None:
    """Nobody's disease is certain, and everybody knows that one class has the stomach."""
    rows = [[1, "ulcer"], [1, "gastritis"], [2, "flu"], [2, "ulcer"]]
    strategies.create_table(calls.con, "t", {"q": "INTEGER", "s": "VARCHAR"}, rows)
    levels = [("ulcer", "stomach", "*"), ("gastritis", "stomach", "*"), ("flu", "lungs", "*")]
    tree = pa.table({f"level{i}": [level[i] for level in levels] for i in range(3)})
    own = of_table(table(calls), ["q"], ["s"])
    (found,) = closeness(own, own, {"s": tree})
    assert numbers(found)["certain_group"] == 2
    assert own["s"].homogeneity()["certain"] == 0
    # A hierarchy that misses a value says nothing of a release that has it.
    (found,) = closeness(own, {}, {"s": tree.slice(0, 2)})
    assert "certain_group" not in numbers(found)


@pytest.mark.parametrize("given", [{"negations": -1}, {"implications": 11}])
def test_attackers_know_a_number_of_facts(given: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be a whole number from 0 to 10"):
        Knowledge(**given)
