"""The optimal disclosure in steps, for large tables: the same rows as the macro that defines it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import dictionaries
from support.dictionaries import Risk, risks, structs
from support.strategies import EXAMPLES

from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.risk import choices, coding, optimal
from sqlpriv.risk.coding import DisclosureProblem
from sqlpriv.risk.optimal import disclose_optimally

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

Con = duckdb.DuckDBPyConnection
Weights = Sequence[Mapping[str, Any]]
CITY: dict[str, object] = {"attribute": "city", "weight": 0.5, "hierarchy": "cities", "entry": "city"}
BORN: dict[str, object] = {"attribute": "born", "weight": 3, "hierarchy": "births", "entry": "born"}


@pytest.fixture(autouse=True)
def few_keys_are_many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small tables must take the way of large ones: bounds from coarse nodes, and several passes."""
    with monkeypatch.context() as patch:
        patch.setattr(optimal, "_FEW_KEYS", 1)
        patch.setattr(optimal, "_KEYS_SHARE", 1_000_000)
        patch.setattr(optimal, "_PASS_NODES", 2)
        patch.setattr(optimal, "_PASS_ROWS", 3)
        yield


def example_problem(con: Con, weights: Weights, form: str) -> DisclosureProblem:
    return DisclosureProblem(Relation(con, "members"), Relation(con, "phone_book"), weights, form)


def by_macro(con: Con, problem: DisclosureProblem, goal: str, c: object) -> object:
    listed = structs([dict(own) for own in problem.weights])
    tables = f"'{problem.table.name}', '{problem.dictionary.name}'"
    call = f"priv.optimal_disclosure({tables}, {listed}, '{problem.form}', '{goal}', {c})"
    try:
        return con.execute(f"FROM {call} ORDER BY ALL").fetchall()
    except duckdb.Error as error:
        return str(error).splitlines()[0].partition("sqlpriv: ")[2]


def in_steps(con: Con, problem: DisclosureProblem, goal: str, c: float) -> object:
    left = "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, '__scratch_')"
    try:
        with Scratch(con).nested() as scratch:
            found = disclose_optimally(scratch, problem, goal, c)
            assert con.execute(left).fetchall() == [(found.name,)]
            return con.execute(f"FROM {found.name} ORDER BY ALL").fetchall()
    except SqlprivError as error:
        return str(error)
    finally:
        assert con.execute(left).fetchall() == []


@settings(max_examples=max(EXAMPLES // 20, 3))
@given(risk=risks(), seed=st.integers(0, 2**32), goal=st.sampled_from(["utility", "risk", "both"]))
def test_steps_choose_as_the_macro_does(con: Con, risk: Risk, seed: int, goal: str) -> None:
    dictionaries.create(con, risk)
    chance = random.Random(seed)
    names = [dictionaries.expression(name) for name in risk.columns]
    items: list[dict[str, object]] = [
        {
            "attribute": name,
            "also": None,
            "weight": chance.choice([0.0, 0.25, 1.0, 2.0, math.inf]),
            "hierarchy": risk.hierarchy(place),
            "entry": name if place == 0 or chance.random() < 0.7 else None,
        }
        for place, name in enumerate(names)
    ]
    if len(names) > 1 and chance.random() < 0.4:
        first, *others = chance.sample(names, chance.randint(2, len(names)))
        own: dict[str, object] = {"attribute": first, "also": others, "weight": 3.0, "hierarchy": None, "entry": None}
        con.execute("CREATE OR REPLACE TABLE together (attributes VARCHAR[], weight DOUBLE)").fetchall()
        con.execute("INSERT INTO together VALUES (?, 3)", [[first, *others]]).fetchall()
        items.insert(chance.randint(0, len(items)), chance.choice([own, {"sets": "together"}]))
    problem = DisclosureProblem(
        Relation(con, "t"), Relation(con, '"dictionary # 1"'), items, chance.choice(["linear", "multiplicative"])
    )
    c = chance.choice([0.0, 0.05, 0.5, 1.0, 2.0, 3.0])
    assert in_steps(con, problem, goal, c) == by_macro(con, problem, goal, c)


@pytest.mark.some(1)
@pytest.mark.parametrize(("goal", "c"), [("risk", 1), ("utility", 0.5), ("both", 0.1)])
def test_general_cells_and_entries_are_counted_as_they_should(
    example_tables: Con, monkeypatch: pytest.MonkeyPatch, goal: str, c: float
) -> None:
    """With keys too long for a BIGINT, too."""
    monkeypatch.setattr(coding, "_NUMBER_BITS", 3)
    problem = example_problem(example_tables, [CITY, BORN], "linear")
    found = in_steps(example_tables, problem, goal, c)
    assert isinstance(found, list)
    assert len(found) == 4
    assert found == by_macro(example_tables, problem, goal, c)


REFUSED: dict[str, tuple[Weights, str, str, float, str]] = {
    "no shared attribute": ([{"attribute": "city"}], "linear", "risk", 1, "share; give one an entry"),
    "a negative weight": ([{**CITY, "weight": -1}], "linear", "risk", 1, "a weight must be a number of at least 0"),
    "no weight for a node": ([{**CITY, "values": "towns"}], "linear", "risk", 1, "attribute 1 miss a value"),
    "types": ([{"attribute": "id", "entry": "1.5"}], "linear", "risk", 1, "link 1 compares INTEGER with DECIMAL"),
    "a hierarchy that misses entries": ([{**CITY, "entry": "name"}], "linear", "risk", 1, "not cover the dictionary"),
    "one that misses records": ([{**CITY, "attribute": "id"}], "linear", "risk", 1, "does not cover the table"),
    "a form": ([CITY], "cubic", "risk", 1, "the form must be linear or multiplicative"),
    "a goal": ([CITY], "linear", "least", 1, "the goal must be utility, risk or both"),
    "a loss below nothing": ([CITY], "linear", "utility", -1, "no choice keeps c"),
    "too much utility": ([CITY], "linear", "risk", 7, "no choice keeps c"),
}


@pytest.mark.some(3)
@pytest.mark.parametrize(("weights", "form", "goal", "c", "complaint"), REFUSED.values(), ids=REFUSED)
def test_what_the_macro_refuses_is_refused_and_nothing_is_left(
    example_tables: Con, weights: Weights, form: str, goal: str, c: float, complaint: str
) -> None:
    example_tables.execute("CREATE OR REPLACE TABLE towns AS SELECT 'Ithaca' AS city, 1 AS weight").fetchall()
    problem = example_problem(example_tables, weights, form)
    said = in_steps(example_tables, problem, goal, c)
    assert isinstance(said, str)
    assert complaint in said


def test_too_many_choices_are_refused(example_tables: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "_MOST_CHOICES", 5)
    said = in_steps(example_tables, example_problem(example_tables, [CITY, BORN], "linear"), "risk", 1)
    assert isinstance(said, str)
    assert "choices, and 5 are tried at most; name fewer attributes" in said
