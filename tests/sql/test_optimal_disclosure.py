"""The optimal disclosure of every record against brute force over all rules."""

from __future__ import annotations

import math
import random

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.disclosure import Cells, Weights
from oracles.optimal import Choice, choices
from support import dictionaries
from support.dictionaries import Risk, risks, structs
from support.strategies import EXAMPLES

TESTED = {"optimal_disclosure"}
Con = duckdb.DuckDBPyConnection
ONE = "'\"dictionary # 1\"'"


@settings(max_examples=max(EXAMPLES // 3, 3))
@given(risk=risks(), seed=st.integers(0, 2**32), goal=st.sampled_from(["utility", "risk", "both"]))
def test_no_rule_is_better(con: Con, risk: Risk, seed: int, goal: str) -> None:
    dictionaries.create(con, risk)
    chance = random.Random(seed)
    form = chance.choice(["linear", "multiplicative"])
    factors = [chance.choice([0.0, 0.25, 1.0, 2.0, math.inf]) for _ in risk.columns]
    known = [place == 0 or chance.random() < 0.7 for place in range(len(risk.columns))]
    plain: list[Weights] = [1.0] * len(factors)
    items: list[dict[str, object]] = [
        {
            "attribute": dictionaries.expression(name),
            "weight": factors[place],
            "hierarchy": risk.hierarchy(place),
            "entry": dictionaries.expression(name) if known[place] else None,
        }
        for place, name in enumerate(risk.columns)
    ]

    def sensitivity(labels: Cells) -> float:
        return oracles.sensitivity(labels, risk.trees, factors, plain, {}, form)

    offered = [list(choices(record, risk.entries[0], risk.trees, known, sensitivity)) for record in risk.records]
    c = chance.choice([0.0, 0.05, 0.5, 1.0, 2.0, 3.0])
    best = [oracles.optimal_disclosure(own, goal, c) for own in offered]
    asked = f"priv.optimal_disclosure('t', {ONE}, {structs(items)}, '{form}', '{goal}', {c})"
    if None in best:
        with pytest.raises(duckdb.Error, match="no choice keeps c"):
            con.execute(f"FROM {asked}").fetchall()
        return
    rows = con.execute(f"SELECT labels, depths, entries, loss, utility FROM {asked}").fetchall()
    for (labels, depths, entries, loss, utility), own, expected in zip(rows, offered, best, strict=True):
        chosen = next(choice for choice in own if list(choice.labels) == labels)
        assert (entries, utility) == (chosen.entries, chosen.utility) == (entries, sum(depths))
        assert loss == pytest.approx(chosen.loss, rel=1e-9)
        assert worth(chosen, goal, c) == pytest.approx(expected[: 2 if goal == "utility" else 1], rel=1e-9, abs=1e-12)
        assert goal != "risk" or utility >= c


def worth(choice: Choice, goal: str, c: float) -> tuple[float, ...]:
    """What the goal looks at; two losses that are equal but for their last digits may go either way."""
    if goal == "utility":
        return (-choice.utility, choice.loss)
    return (choice.loss,) if goal == "risk" else (choice.loss - c * choice.utility,)


def test_pairs_and_values_are_priced_too(example_tables: Con) -> None:
    """As in sensitivity: the optimum at full utility is the table as it is."""
    weights = (
        "[{attribute: 'city', weight: 1, hierarchy: 'cities', values: 'city_weights', entry: 'city'}, "
        "{attribute: 'born', weight: 2, hierarchy: 'births', entry: 'born'}, "
        "{attribute: 'city', also: 'born', weight: 5}]"
    )
    example_tables.execute(
        "CREATE OR REPLACE TABLE city_weights AS FROM (VALUES ('Ithaca', 1), ('Albany', 3), ('Boston', 2)) AS v(c, w)"
    ).fetchall()
    chosen = f"priv.optimal_disclosure('members', 'phone_book', {weights}, 'linear', 'utility', 'infinity')"
    plain = weights.replace(", entry: 'city'", "").replace(", entry: 'born'", "")
    links = (
        "[{record: 'city', entry: 'city', hierarchy: 'cities'}, {record: 'born', entry: 'born', hierarchy: 'births'}]"
    )
    asked = (
        "SELECT record.id, labels = [record.city, record.born], o.loss, sensitivity * i.p "
        f"FROM {chosen} AS o JOIN priv.sensitivity('members', {plain}, 'linear') AS s USING (record) "
        f"JOIN priv.identification('members', 'phone_book', {links}) AS i USING (record) ORDER BY ALL"
    )
    rows = example_tables.execute(asked).fetchall()
    assert [(number, same) for number, same, *_ in rows] == [(1, True), (2, True), (3, True), (4, True)]
    assert [loss for *_, loss, _ in rows] == pytest.approx([expected for *_, expected in rows])


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("weights", "goal", "c", "complaint"),
    [
        ("['city']", "risk", "1", "name no attribute that the table and the dictionary share"),
        ("[{attribute: 'city', entry: 'city'}]", "least", "1", "the goal must be utility, risk or both"),
        ("[{attribute: 'city', entry: 'city'}]", "both", "-1", "what utility is worth"),
        ("[{attribute: 'city', entry: 'city'}]", "risk", "NULL", "the threshold must be a number"),
        ("[{attribute: 'city', entry: 'city'}]", "risk", "7", "no choice keeps c"),
        ("[{attribute: 'city', entry: 'city', hierarchy: 'births'}]", "risk", "1", "does not cover"),
        ("[{attribute: 'city', entry: 'city', weight: -0.5}]", "risk", "1", "a weight must be a number of at least 0"),
        (
            "[{attribute: 'city', entry: 'name', hierarchy: 'cities'}]",
            "risk",
            "1",
            "the hierarchy of attribute 1 does not cover the dictionary",
        ),
        (
            "[{attribute: 'city', entry: 'city', hierarchy: 'cities', values: 'one_city'}]",
            "risk",
            "1",
            "the weights of attribute 1 miss a value",
        ),
        ("[{attribute: 'id', entry: '1.5'}]", "risk", "1", "link 1 compares INTEGER with DECIMAL"),
    ],
)
def test_what_has_no_optimum_is_refused(example_tables: Con, weights: str, goal: str, c: str, complaint: str) -> None:
    example_tables.execute("CREATE OR REPLACE TABLE one_city AS SELECT 'Ithaca' AS city, 1 AS weight").fetchall()
    asked = f"FROM priv.optimal_disclosure('members', 'phone_book', {weights}, 'linear', '{goal}', {c})"
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute(asked).fetchall()
