"""Beliefs given negations, facts and implications between several people, against a list of all possible worlds."""

from __future__ import annotations

import random
from fractions import Fraction

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.worlds import Implication, Statement
from support import strategies
from support.dictionaries import structs
from support.strategies import EXAMPLES, quote, same_name

TESTED = {"belief", "minimality_bound", "possible_worlds"}
Con = duckdb.DuckDBPyConnection
VALUES = ["", "a", "o'x", "NULL", "=", None]
NAMES = [name for name in strategies.NAMES if name not in {"person", "null"}]


def statements(chance: random.Random, people: list[str]) -> list[Statement]:
    """Up to three statements of any kind, about anybody and any value, NULL too."""
    found = []
    for _ in range(chance.randint(0, 3)):
        who, other = (chance.choice(people) or None for _ in range(2))
        parts = chance.choice([["not"], ["not"], ["has"], ["has", "then"]])
        said = {"person": who, **{part: chance.choice(VALUES) for part in parts}}
        said["null"] = " ".join(part for part in parts if said[part] is None) or None
        found.append(said | ({"other": other} if "then" in parts else {}))
    return found


def rules(chance: random.Random, people: list[str]) -> list[Implication]:
    """Up to two implications with up to three people on each side, one side perhaps empty."""

    def side(least: int) -> list[Statement]:
        found = []
        for _ in range(chance.randint(least, 3)):
            value = chance.choice(VALUES)
            found.append(
                {"person": chance.choice(people) or None, "has": value, "null": "has" if value is None else None}
            )
        return found

    found: list[Implication] = []
    for _ in range(chance.randint(0, 2)):
        left = side(0)
        found.append({"if": left, "then": side(0 if left else 1)})
    return found


@settings(max_examples=max(EXAMPLES // 3, 3))
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique_by=same_name),
    seed=st.integers(0, 2**32),
)
def test_belief_agrees(con: Con, names: list[str], seed: int) -> None:
    chance = random.Random(seed)
    one, two, secret = names
    classes = [[chance.choice(VALUES) for _ in range(chance.randint(1, 5))] for _ in range(3)]
    places = [["x", 1], ["o'y", None], [None, 2]]
    rows = [[*places[at], value] for at, values in enumerate(classes) for value in values]
    chance.shuffle(rows)
    strategies.create_table(con, "t", {one: "VARCHAR", two: "INTEGER", secret: "VARCHAR"}, rows)
    people = {"": 0, "Tom": 0, "A'n": chance.choice([1, 2])}
    known = statements(chance, list(people))
    given_ = [*known, {"person": "A'n", one: places[people["A'n"]][0], two: places[people["A'n"]][1]}]
    implied = rules(chance, list(people))
    atoms = [atom for rule in implied for side in rule.values() for atom in side]
    named = {name: people[name] for name in people if name in {"", "A'n"} or mentioned(name, [*known, *atoms])}
    expected = oracles.belief(classes, named, known, implied)
    roles = f"[{literal(one)}, {literal(two)}], {literal(secret)}, {who(one, two)}"
    asked = f"FROM priv.belief('t', {roles}, {structs(maps(given_))}{implications(implied)})"
    if expected is None:
        with pytest.raises(duckdb.Error, match="contradicts the table"):
            con.execute(asked).fetchall()
        return
    before = {value: Fraction(classes[0].count(value), len(classes[0])) for value in classes[0]}
    found = {value: pytest.approx((first, then), abs=1e-12) for value, first, then in con.execute(asked).fetchall()}
    assert found == {value: (float(before[value]), float(expected[value])) for value in before}


def mentioned(name: str, known: list[Statement]) -> bool:
    return any(name in (said.get("person"), said.get("other")) for said in known)


def maps(known: list[Statement]) -> list[dict[str, object]]:
    """Without what is not said: a key of a struct may be anything."""
    return [{key.replace("'", "''"): value for key, value in said.items() if value is not None} for said in known]


def implications(implied: list[Implication]) -> str:
    """As the last argument; without any it is left out."""
    written = ", ".join(
        f"{{'if': {structs(maps(list(rule['if'])))}, 'then': {structs(maps(list(rule['then'])))}}}" for rule in implied
    )
    return f", [{written}]" if implied else ""


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def who(one: str, two: str) -> str:
    return f"{{{quote(one)}: 'x', {quote(two)}: 1}}"


def test_what_is_missing_can_be_known(con: Con) -> None:
    """That somebody's value is not NULL leaves the others; a text of these letters is something else."""
    con.execute("CREATE OR REPLACE TABLE ill AS FROM (VALUES (1, 'null'), (1, NULL), (1, 'Flu')) AS v(q, s)").fetchall()
    asked = "SELECT value, belief FROM priv.belief('ill', ['q'], 's', {q: '1'}, "
    assert con.execute(f"{asked}[{{'null': 'not'}}]) ORDER BY 1").fetchall() == [("Flu", 0.5), ("null", 0.5), (None, 0)]
    assert con.execute(f"{asked}[{{'null': 'has'}}]) ORDER BY 1").fetchall() == [("Flu", 0), ("null", 0), (None, 1)]
    other = "[{person: 'Tom', 'null': 'has'}, {'not': 'null'}]"
    assert con.execute(f"{asked}{other}) ORDER BY 1").fetchall() == [("Flu", 1), ("null", 0), (None, 0)]


def test_umeko_has_the_flu(example_tables: Con) -> None:
    """The lecture's second attack: one half each before, certain once it is known that she has no heart disease."""
    asked = "FROM priv.belief('patients', ['zip', 'age'], 'disease', {zip: '130**', age: '< 30'}, "
    before = [("Flu", 0.5, 0.5), ("Heart", 0.5, 0.5)]
    assert example_tables.execute(f"{asked}[])").fetchall() == before
    assert example_tables.execute(f"{asked}[{{'not': 'Heart'}}])").fetchall() == [
        ("Flu", 0.5, 1.0),
        ("Heart", 0.5, 0.0),
    ]


BOTH = "'if': [{person: 'Tom', has: 'a'}, {person: 'Ann', has: 'b'}]"


@pytest.mark.parametrize(
    ("implications", "expected"),
    [
        ("[]", {"a": 1 / 2, "b": 1 / 4, "c": 1 / 4}),
        # 12 worlds of three of a, a, b, c, told apart 24; if Tom has a and Ann b (4), it is a or c anyway.
        # Three of a, a, b, c in turn: 24 worlds. If Tom has a and Ann b (4 of them), it is a or c anyway.
        (f"[{{{BOTH}, 'then': [{{has: 'a'}}, {{has: 'c'}}]}}]", {"a": 1 / 2, "b": 1 / 4, "c": 1 / 4}),
        # Now it is not the other a: 2 of the 4 are ruled out.
        (f"[{{{BOTH}, 'then': [{{has: 'c'}}]}}]", {"a": 10 / 22, "b": 6 / 22, "c": 6 / 22}),
        ("[{'if': [], 'then': [{has: 'b'}, {has: 'c'}]}]", {"a": 0, "b": 1 / 2, "c": 1 / 2}),
        ("[{'if': [{person: 'Tom', has: 'b'}, {has: 'c'}], 'then': []}]", {"a": 12 / 22, "b": 6 / 22, "c": 4 / 22}),
        ("[{'if': [{has: 'a'}], 'then': []}, {'if': [{has: 'b'}], 'then': []}]", {"a": 0, "b": 0, "c": 1}),
    ],
)
def test_several_people_on_both_sides_of_an_implication(
    con: Con, implications: str, expected: dict[str, float]
) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE four AS FROM (VALUES (1, 'a'), (1, 'a'), (1, 'b'), (1, 'c')) AS v(q, s)"
    ).fetchall()
    asked = f"SELECT value, belief FROM priv.belief('four', ['q'], 's', {{q: '1'}}, [], {implications})"
    assert dict(con.execute(asked).fetchall()) == pytest.approx(expected)


@pytest.mark.one_version
@pytest.mark.parametrize(
    "implications",
    [
        "'Heart'",
        "NULL",
        "[1]",
        "[NULL]",
        "[{'if': [{has: 'Flu'}]}]",
        "[{'if': [{has: 'Flu'}], 'then': NULL}]",
        "[{'if': [], 'then': []}]",
        "[{'if': 'Flu', 'then': [{has: 'Flu'}]}]",
        "[{'if': ['Flu'], 'then': [{has: 'Flu'}]}]",
        "[{'if': [{isnt: 'Flu'}], 'then': [{has: 'Flu'}]}]",
        "[{'if': [{person: 'Tom'}], 'then': [{has: 'Flu'}]}]",
        "[{'if': [NULL], 'then': [{has: 'Flu'}]}]",
        "[{'if': [{has: 'Flu'}], 'then': [{has: 'Flu', 'null': 'has'}]}]",
        "[{'if': [{has: 'Flu'}], 'then': [{'null': 'then'}]}]",
        "[{'if': [{has: 'Flu'}], 'then': [{has: 'Flu'}], 'unless': [{has: 'Heart'}]}]",
        "[{'if': [{has: 'Flu'}], 'then': [{has: 'Flu'}]}, NULL]",
    ],
)
def test_what_is_no_implication_is_refused(example_tables: Con, implications: str) -> None:
    """A part that could not be read would be knowledge that is left out: a belief that is too small."""
    who = "{zip: '130**', age: '< 30'}"
    with pytest.raises(duckdb.Error, match="implications is a list of implications"):
        example_tables.execute(
            f"FROM priv.belief('patients', ['zip', 'age'], 'disease', {who}, [], {implications})"
        ).fetchall()


@pytest.mark.parametrize(("negations", "disclosure"), [([], 2 / 5), (["Lung"], 2 / 3), (["Lung", "Mumps"], 1.0)])
def test_no_knowledge_passes_the_bound_of_ck_safety(
    example_tables: Con, negations: list[str], disclosure: float
) -> None:
    """k implications at most, and the lecture's negations reach it."""
    known = "[" + ", ".join(f"{{'not': '{value}'}}" for value in negations) + "]"
    asked = f"SELECT max(belief) FROM priv.belief('wards', ['ward'], 'disease', {{ward: 'men'}}, {known})"
    assert example_tables.execute(asked).fetchall() == [(pytest.approx(disclosure),)]
    bound = f"FROM priv.ck_safety('wards', ['ward'], 'disease', {len(negations)})"
    assert example_tables.execute(bound).fetchall() == [(pytest.approx(disclosure),)]


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("who", "known", "complaint"),
    [
        ("{zip: '130**'}", "[]", "who must give a value for each quasi-identifier"),
        ("{zip: '1', age: '2'}", "[]", "nobody in the table has these quasi-identifiers"),
        ("{zip: '130**', age: '< 30'}", "[{'not': 'Heart'}, {'not': 'Flu'}]", "contradicts the table"),
        ("{zip: '130**', age: '< 30'}", "'Heart'", "known must be a list of statements"),
        ("{zip: '130**', age: '< 30'}", "[{isnt: 'Heart'}]", "a statement in known has"),
        ("{zip: '130**', age: '< 30'}", "[{'then': 'Heart'}]", "a statement in known has"),
        ("{zip: '130**', age: '< 30'}", "[{'not': 'Flu', has: 'Heart'}]", "a statement in known has"),
        ("{zip: '130**', age: '< 30'}", "[{'null': 'has'}]", "contradicts the table"),
        ("{zip: '130**', age: '< 30'}", "[{'null': 'disease'}]", "null in a statement in known names the parts"),
        ("{zip: '130**', age: '< 30'}", "[{'not': 'Flu', 'null': 'not'}]", "null in a statement in known names the"),
        ("{zip: '130**', age: '< 30'}", "[{'null': 'not, has'}]", "a statement in known has"),
        (
            "{zip: '130**', age: '< 30'}",
            "[{person: 'A', zip: '130**', age: '< 30'}, {person: 'A', zip: '130**', age: '30-40'}]",
            "a person in known is given two classes",
        ),
        (
            "{zip: '130**', age: '< 30'}",
            "list_transform(range(30), lambda i: {'person': CAST(i AS VARCHAR), 'not': 'Flu'})",
            "too many people and values",
        ),
    ],
)
def test_what_cannot_be_believed_is_refused(example_tables: Con, who: str, known: str, complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute(f"FROM priv.belief('patients', ['zip', 'age'], 'disease', {who}, {known})").fetchall()


@settings(max_examples=max(EXAMPLES // 3, 3))
@given(st.lists(st.lists(st.sampled_from(VALUES), min_size=1, max_size=5), min_size=1, max_size=3))
def test_worlds_are_as_many_as_can_be_listed(con: Con, classes: list[list[str | None]]) -> None:
    rows = [[at, value] for at, values in enumerate(classes) for value in values]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR"}, rows)
    found = con.execute("FROM priv.possible_worlds('t', ['q'], 's')").fetchall()
    assert found == [pytest.approx(oracles.possible_worlds(classes))]


@settings(max_examples=max(EXAMPLES // 3, 3))
@given(st.fractions(0, 1, max_denominator=50), st.integers(1, 12), st.data())
def test_a_sample_of_worlds_bounds_all_of_them(con: Con, belief: Fraction, worlds: int, data: st.DataObject) -> None:
    excluded = data.draw(st.integers(0, worlds))
    found = con.execute(f"FROM priv.minimality_bound({float(belief)!r}, {excluded}, {worlds})").fetchall()
    share, after = oracles.minimality_bound(belief, excluded, worlds)
    if share < 1:
        assert found == [pytest.approx((float(share), float(after)))]
    else:  # nothing is left that could be believed less than for certain
        assert found == [(1, 1)]


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("0.5, 3, 2", "at most all"),
        ("1.5, 0, 2", "belief must lie between 0 and 1"),
        ("0.5, -1, 2", "excluded must be a whole number"),
        ("0.5, 0, 0", "worlds must be a whole number of at least 1"),
    ],
)
def test_no_bound_of_no_sample(con: Con, arguments: str, complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        con.execute(f"FROM priv.minimality_bound({arguments})").fetchall()


def test_no_bound_of_nothing(con: Con) -> None:
    assert con.execute("FROM priv.minimality_bound(NULL, 0, 5)").fetchall() == [(0.451, None)]
    assert con.execute("FROM priv.minimality_bound(0.5, NULL, 5)").fetchall() == [(None, None)]
