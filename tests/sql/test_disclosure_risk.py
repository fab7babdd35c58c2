"""Identification, sensitivity and risk against their oracles, on tables with general and missing cells."""

from __future__ import annotations

import math
import random

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.disclosure import Weights
from support import dictionaries
from support.agreement import assert_rows
from support.dictionaries import Risk, risks, structs
from support.strategies import EXAMPLES

TESTED = {
    "identification",
    "disclosure_risk",
    "disclosure_risk_records",
    "bayes_risk",
    "dictionary_order",
    "hierarchy_weights",
    "sensitivity",
    "personal_sensitivity",
    "disclosure_utility",
}
Con = duckdb.DuckDBPyConnection
ONE, TWO = (f"'\"{name}\"'" for name in dictionaries.TABLES[1:])
SOME = settings(max_examples=max(EXAMPLES // 3, 3))  # every example asks several queries of many parts
WEIGHTS = [0.0, 0.25, 0.5, 1.0, 3.0, math.inf]


def ask(con: Con, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


@given(risk=risks())
def test_identification_agrees(con: Con, risk: Risk) -> None:
    dictionaries.create(con, risk)
    counts = oracles.identification(risk.records, risk.entries[0], risk.trees)
    expected = [(at, n, 1 / n if n else 0.0) for at, n in enumerate(counts)]
    found = ask(
        con, f"SELECT record.\"row #\", entries, p FROM priv.identification('t', {ONE}, {structs(risk.links())})"
    )
    assert_rows(found, expected, risk)


@SOME
@given(risk=risks(), seed=st.integers(0, 2**32))
def test_risk_agrees(con: Con, risk: Risk, seed: int) -> None:
    """phi by an expression, psi by a number, infinite ones among them, and the records above a threshold."""
    dictionaries.create(con, risk)
    chance = random.Random(seed)
    phi, psi = [chance.choice(WEIGHTS) for _ in risk.records], chance.choice([0.0, 0.0, 0.5, 2.0, math.inf])
    con.execute('ALTER TABLE t ADD COLUMN "my phi" DOUBLE').fetchall()
    con.executemany('UPDATE t SET "my phi" = ? WHERE "row #" = ?', [[x, at] for at, x in enumerate(phi)])
    counts = oracles.identification(risk.records, risk.entries[0], risk.trees)
    given_ = f"'t', {ONE}, {structs(risk.links())}, '\"my phi\" + 0', CAST('{psi}' AS DOUBLE)"
    all_psi = [psi] * len(phi)
    assert_rows(ask(con, f"FROM priv.disclosure_risk({given_})"), [oracles.disclosure_risk(counts, phi, all_psi)], risk)
    losses = oracles.disclosure_losses(counts, phi, all_psi)
    above = sorted(((-loss, at) for at, loss in enumerate(losses) if loss > 0.5))
    found = ask(con, f'SELECT record."row #", loss, entries FROM priv.disclosure_risk_records({given_}, 0.5)')
    assert_rows(found, [(at, -loss, counts[at]) for loss, at in above], risk)


@SOME
@given(risk=risks(), prior=st.sampled_from([0.0, 0.25, 1.0]))
def test_several_dictionaries_agree(con: Con, risk: Risk, prior: float) -> None:
    """The last column is one that only the first dictionary knows, when there are others."""
    dictionaries.create(con, risk)
    links = risk.links(dictionary=None)
    if len(links) > 1:
        links[-1]["dictionary"] = '"dictionary # 1"'
    blind = [[*cells[:-1], None] if len(links) > 1 else cells for cells in risk.entries[1]]
    counts = [oracles.identification(risk.records, own, risk.trees) for own in (risk.entries[0], blind)]
    losses = [oracles.disclosure_losses(own, [4.0] * len(own), [1.0] * len(own)) for own in counts]
    found = ask(con, f"FROM priv.bayes_risk('t', MAP {{{ONE}: {prior}, {TWO}: {1 - prior}}}, {structs(links)}, 4, 1)")
    assert_rows(found, [oracles.bayes_risk(losses, [prior, 1 - prior])], risk)


@SOME
@given(risk=risks())
def test_the_order_of_dictionaries_agrees_and_bounds_the_risk(con: Con, risk: Risk) -> None:
    """Definition 5, and Proposition 1 where it holds: for the records that the first dictionary is made of."""
    dictionaries.create(con, risk)
    numbered = [(str(at), cells) for at, cells in enumerate(risk.entries[1])]
    expected = oracles.dictionary_order({str(at): r for at, r in enumerate(risk.entries[0])}, numbered, risk.trees)
    links = structs(risk.links())
    assert_rows(ask(con, f"FROM priv.dictionary_order({ONE}, {TWO}, 'row #', {links})"), [expected], risk)
    more = f'SELECT * REPLACE (-"row #" - 1 AS "row #") FROM {TWO[1:-1]}'
    wider = f"CREATE OR REPLACE TABLE wider AS FROM {ONE[1:-1]} UNION ALL {more}"
    con.execute(wider).fetchall()
    [(_, _, _, precedes)] = ask(con, f"FROM priv.dictionary_order({ONE}, 'wider', 'row #', {links})")
    assert precedes
    bounds, true = (
        ask(con, f"SELECT risk, worst FROM priv.disclosure_risk({ONE}, {which}, {links}, 3, 1)")[0]
        for which in (ONE, "'wider'")
    )
    assert all(t <= b + 1e-12 for t, b in zip(true, bounds, strict=True))


@SOME
@given(risk=risks(), seed=st.integers(0, 2**32))
def test_sensitivity_and_utility_agree(con: Con, risk: Risk, seed: int) -> None:
    dictionaries.create(con, risk)
    chance = random.Random(seed)
    form = chance.choice(["linear", "multiplicative"])
    factors = [chance.choice([0.0, 0.25, 2.0, math.inf]) for _ in risk.columns]
    weights: list[Weights] = [own_weights(con, chance, risk, place) for place in range(len(risk.columns))]
    items = items_of(risk, factors, weights)
    sets = own_sets(chance, len(items))
    names = [item["attribute"] for item in items]
    for (first, *others), factor in sets.items():
        also = [names[place] for place in others]
        items.append({**items[first], "also": also, "weight": factor, "values": None})
    expected = [oracles.sensitivity(r, risk.trees, factors, weights, sets, form) for r in risk.records]
    create_sets(con, {tuple(str(names[place]) for place in own): weight for own, weight in sets.items()})
    for listed in (items, [*items[: len(names)], {"sets": "together"}]):
        asked = f"priv.sensitivity('t', {structs(listed)}, '{form}')"
        found = ask(con, f'SELECT record."row #", sensitivity FROM {asked}')
        assert_rows(found, list(enumerate(expected)), (risk, listed))
    utility = [oracles.disclosure_utility(record, risk.trees) for record in risk.records]
    found = ask(con, f"SELECT record.\"row #\", utility FROM priv.disclosure_utility('t', {structs(items)})")
    assert_rows(found, list(enumerate(utility)), risk)
    personal_agrees(con, chance, risk, items, weights, list(sets), form)


def own_sets(chance: random.Random, columns: int) -> dict[tuple[int, ...], float]:
    """Some sets of two columns or more, each with a weight; no set twice, in whatever order."""
    drawn = [chance.sample(range(columns), chance.randint(2, columns)) for _ in range(2)] if columns > 1 else []
    found = {frozenset(own): tuple(own) for own in drawn if chance.random() < 0.7}
    return {own: chance.choice([0.5, math.inf]) for own in found.values()}


def create_sets(con: Con, sets: dict[tuple[str, ...], float]) -> None:
    """The same sets as a table."""
    con.execute("CREATE OR REPLACE TABLE together (attributes VARCHAR[], weight DOUBLE)").fetchall()
    if sets:
        con.executemany("INSERT INTO together VALUES (?, ?)", [[list(own), weight] for own, weight in sets.items()])


def test_three_attributes_are_worse_together_than_their_weights(example_tables: Con) -> None:
    """Equation 4 with k = 3: a label has the share of the set's weight that it covers, and `*` has none."""
    given_ = (
        "[{attribute: 'city', weight: 0.5, hierarchy: 'cities'}, {attribute: 'born', weight: 3, hierarchy: 'births'}, "
        "{attribute: 'id', weight: 1}, {attribute: 'id', also: ['city', 'born'], weight: 8}]"
    )
    found = ask(example_tables, f"SELECT sensitivity FROM priv.sensitivity('members', {given_}, 'linear')")
    assert found == [(4.5 + 8,), (3 + 8 / 2,), (1.25,), (4.5 + 8,)]  # two days are in May 1975, one in 1980
    create_sets(example_tables, {("born", "id", "city"): 8.0})
    listed = given_.replace("{attribute: 'id', also: ['city', 'born'], weight: 8}", "{sets: 'together'}")
    assert ask(example_tables, f"SELECT sensitivity FROM priv.sensitivity('members', {listed}, 'linear')") == found


def own_weights(con: Con, chance: random.Random, risk: Risk, place: int) -> Weights:
    """1 for all values, or a table of weights, for all leaves and some other values."""
    tree = risk.trees[place]
    if chance.random() < 0.5:
        return 1.0
    values = (
        {str(p[0]) for p in tree if p[0] is not None} if tree else {str(r[place]) for r in risk.records} - {"None", "*"}
    )
    own = {value: chance.choice(WEIGHTS) for value in sorted(values)}
    con.execute(f'CREATE OR REPLACE TABLE "values # {place}" (value VARCHAR, weight DOUBLE)').fetchall()
    if own:
        con.executemany(f'INSERT INTO "values # {place}" VALUES (?, ?)', [list(item) for item in own.items()])
    return own


def items_of(risk: Risk, factors: list[float], weights: list[Weights]) -> list[dict[str, object]]:
    return [
        {
            "attribute": dictionaries.expression(name),
            "also": None,
            "weight": factors[place],
            "hierarchy": risk.hierarchy(place),
            "values": None if isinstance(weights[place], float) else f'"values # {place}"',
        }
        for place, name in enumerate(risk.columns)
    ]


def personal_agrees(
    con: Con,
    chance: random.Random,
    risk: Risk,
    items: list[dict[str, object]],
    weights: list[Weights],
    sets: list[tuple[int, ...]],
    form: str,
) -> None:
    """Every record a person of its own, with weights of its own, for sets too."""
    singles = len(risk.columns)
    columns = [str(item["attribute"]) for item in items[:singles]]
    names = columns + [" and ".join(columns[place] for place in own) for own in sets]
    own = [[chance.choice([0.0, 0.5, 2.0]) for _ in names] for _ in risk.records]
    con.execute("CREATE OR REPLACE TABLE minds (p VARCHAR, a VARCHAR, w DOUBLE)").fetchall()
    rows = [[str(at), name, w] for at, mine in enumerate(own) for name, w in zip(names, mine, strict=True)]
    con.executemany("INSERT INTO minds VALUES (?, ?, ?)", rows)
    expected = [
        oracles.sensitivity(
            record, risk.trees, mine[:singles], weights, dict(zip(sets, mine[singles:], strict=True)), form
        )
        for record, mine in zip(risk.records, own, strict=True)
    ]
    most = max(map(sum, own))
    call = f"priv.personal_sensitivity('t', {structs(items)}, '{form}', 'row #', 'minds', "
    found = ask(con, f'SELECT record."row #", sensitivity FROM {call}{most})')
    assert_rows(found, list(enumerate(expected)), (risk, items))
    if most > 0:
        with pytest.raises(duckdb.Error, match="add up to more than the total"):
            ask(con, f"FROM {call}{most * 0.9})")


@given(risk=risks(), seed=st.integers(0, 2**32))
def test_weights_of_hierarchies_agree(con: Con, risk: Risk, seed: int) -> None:
    chance = random.Random(seed)
    dictionaries.create(con, risk)
    for place, tree in enumerate(risk.trees):
        if tree is not None:
            own = own_weights(con, chance, risk, place)
            paths = [path for path in tree if path[0] is not None]
            expected = oracles.hierarchy_weights(own, paths)
            weight = "1" if isinstance(own, float) else f"'\"values # {place}\"'"
            found = ask(con, f"FROM priv.hierarchy_weights('\"tree # {place}\"', {weight})")
            assert_rows(sorted(found, key=lambda row: (row[1], row[0])), expected, (tree, own))
