"""Records linked by similar names within blocks, against a comparison of all pairs, and the risk after linking."""

from __future__ import annotations

import random

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.disclosure import Cells, Tree
from support import dictionaries
from support.agreement import assert_rows
from support.dictionaries import Risk, expression, risks, structs
from support.strategies import EXAMPLES, NAMES, create_table, same_name

TESTED = {"linkage", "linkage_risk"}
Con = duckdb.DuckDBPyConnection
SOME = settings(max_examples=max(EXAMPLES // 3, 3))
WORDS = ["martha", "marhta", "dwayne", "duane", "dixon", "dicksonx", "o'x", "", "müller", "muller", "NULL", "a", "ab"]


@SOME
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique_by=same_name),
    seed=st.integers(0, 2**32),
)
def test_linkage_agrees(con: Con, names: list[str], seed: int) -> None:
    chance = random.Random(seed)

    def table(most: int) -> list[Cells]:
        first = (chance.choice([*WORDS, None, "*"]) for _ in range(most))
        return [[word, *(chance.choice(["x", "y", None]) for _ in names[1:])] for word in first]

    records, entries = table(chance.randint(1, 10)), table(chance.randint(1, 15))
    for name, rows in (("t", records), ("dictionary # 1", entries)):
        columns = {"row #": "INTEGER", **dict.fromkeys(names, "VARCHAR")}
        create_table(con, name, columns, [[at, *row] for at, row in enumerate(rows)])
    similarities = [chance.choice([None, 0.5, 0.8, 0.9]), *[None] * (len(names) - 1)]
    sides = [{"record": expression(name), "entry": expression(name)} for name in names]
    links = [{**side, "similarity": least} for side, least in zip(sides, similarities, strict=True)]
    blocks = chance.sample(range(len(names)), chance.randint(1, len(names)))
    pairs = oracles.linkage(records, entries, similarities, blocks)
    expected = []
    for at in range(len(records)):
        own = [entry for record, entry in pairs if record == at]
        expected += [(at, entry, len(own), 1 / len(own) if own else 0.0) for entry in own or [None]]
    given_ = f"'t', '\"dictionary # 1\"', {structs(links)}, {structs([sides[place] for place in blocks])}"
    asked = f'SELECT record."row #", entry."row #", entries, p FROM priv.linkage({given_})'
    assert_rows(con.execute(asked).fetchall(), expected, (records, entries, links, blocks))


@SOME
@given(risk=risks(), seed=st.integers(0, 2**32))
def test_the_risk_after_linking_agrees(con: Con, risk: Risk, seed: int) -> None:
    """Ways to link with the same chance, by chances p(z|y), and where it is known which of them are right (W)."""
    chance = random.Random(seed)
    dictionaries.create(con, risk)
    number = len(risk.records)
    ids = [chance.randint(1, 4) for _ in risk.records]
    chances = [chance.choice([0.5, 1.0, 2.0, 0.125]) for _ in ids]
    success = [chance.choice([True, False, None]) for _ in ids]
    con.execute('ALTER TABLE t ADD COLUMN "whose one" INTEGER').fetchall()
    con.execute("ALTER TABLE t ADD COLUMN likely DOUBLE").fetchall()
    con.execute("ALTER TABLE t ADD COLUMN hit BOOLEAN").fetchall()
    con.executemany(
        'UPDATE t SET "whose one" = ?, likely = ?, hit = ? WHERE "row #" = ?',
        [[*row, at] for at, row in enumerate(zip(ids, chances, success, strict=True))],
    )
    counts = oracles.identification(risk.records, risk.entries[0], risk.trees)
    losses = oracles.disclosure_losses(counts, [3.0] * number, [0.5] * number)
    given_ = f"'t', 'whose one', '\"dictionary # 1\"', {structs(risk.links())}, 3, 0.5"
    for more, weights, right in (
        ("", [1.0] * number, [True] * number),
        (", 'likely'", chances, [True] * number),
        (", 'likely + 0', 'hit = true'", chances, success),
        (", 4, 'hit'", [1.0] * number, success),
    ):
        found = con.execute(f"FROM priv.linkage_risk({given_}{more})").fetchall()
        assert_rows(found, [oracles.linkage_risk(losses, 0.5, ids, weights, right)], (risk, more))


@SOME
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=same_name),
    seed=st.integers(0, 2**32),
)
def test_similar_cells_are_consistent(con: Con, names: list[str], seed: int) -> None:
    """Section 7.2: Jaro's similarity decides which entries fit, in the risk and in what is best to disclose."""
    chance = random.Random(seed)

    def table(most: int) -> list[Cells]:
        return [[chance.choice([*WORDS, None, "*"]) for _ in names] for _ in range(chance.randint(1, most))]

    records, *books = table(8), table(15), table(15)
    for name, rows in zip(dictionaries.TABLES, (records, *books), strict=True):
        columns = {"row #": "INTEGER", **dict.fromkeys(names, "VARCHAR")}
        create_table(con, name, columns, [[at, *row] for at, row in enumerate(rows)])
    least = [chance.choice([None, 0.5, 0.8, 0.9]) for _ in names]
    trees: list[Tree] = [None] * len(names)
    links: list[dict[str, object]] = [
        {"record": expression(name), "entry": expression(name), "hierarchy": None, "similarity": own}
        for name, own in zip(names, least, strict=True)
    ]
    counts = [oracles.identification(records, entries, trees, least) for entries in books]
    one, two = (f"'\"{name}\"'" for name in dictionaries.TABLES[1:])
    asked = f"SELECT entries FROM priv.identification('t', {one}, {structs(links)})"
    assert_rows(con.execute(asked).fetchall(), [(n,) for n in counts[0]], (records, links))
    losses = [oracles.disclosure_losses(own, [4.0] * len(own), [1.0] * len(own)) for own in counts]
    risk = con.execute(f"FROM priv.disclosure_risk('t', {one}, {structs(links)}, 4, 1)").fetchall()
    assert_rows(risk, [oracles.disclosure_risk(counts[0], [4.0] * len(records), [1.0] * len(records))], links)
    several = con.execute(f"FROM priv.bayes_risk('t', MAP {{{one}: 0.25, {two}: 0.75}}, {structs(links)}, 4, 1)")
    assert_rows(several.fetchall(), [oracles.bayes_risk(losses, [0.25, 0.75])], links)
    known = [place == 0 or chance.random() < 0.7 for place in range(len(names))]
    phi = [chance.choice([0.25, 1.0]) for _ in names]
    items: list[dict[str, object]] = [
        {"attribute": link["record"], "weight": weight, "entry": link["entry"] if knows else None, "similarity": own}
        for link, weight, knows, own in zip(links, phi, known, least, strict=True)
    ]

    def harm(labels: Cells) -> float:
        return oracles.sensitivity(labels, trees, phi, [1.0] * len(phi), {}, "linear")

    asked = f"priv.disclosure_offers('t', {one}, {structs(items)}, 'linear', 0, 'bayes')"
    offers = con.execute(f'SELECT record."row #", utility, loss FROM {asked}').fetchall()
    for at, record in enumerate(records):
        best = oracles.disclosure_offers(record, books[:1], trees, known, (harm, lambda _: 0.0), [1.0], least)
        assert {u: loss for own, u, loss in offers if own == at} == pytest.approx(best, rel=1e-9)


def test_a_misspelt_name_is_found_by_its_similarity_alone(con: Con) -> None:
    """Equal cells find nobody; those that are similar by 0.8 find one of two."""
    create_table(con, "disclosed", {"name": "VARCHAR"}, [["Jonathan"]])
    create_table(con, "people", {"name": "VARCHAR"}, [["Jonathon"], ["Jonatan"], ["Maria"]])
    links = "[{record: 'name', entry: 'name'%s}]"
    asked = "SELECT found, risk FROM priv.disclosure_risk('disclosed', 'people', %s, 6, 0)"
    assert con.execute(asked % links % "").fetchall() == [(0, 0.0)]
    assert con.execute(asked % links % ", similarity: 0.8").fetchall() == [(1, 3.0)]


def test_blocks_are_expressions_and_what_is_gained_raises_the_risk(con: Con) -> None:
    """A disclosed name and town, a source with the birth year, and a dictionary of names, towns and years."""
    create_table(con, "disclosed", {"id": "INTEGER", "name": "VARCHAR", "town": "VARCHAR"}, [[1, "Jonathan", "x"]])
    create_table(con, "source", {"who": "VARCHAR", "born": "INTEGER"}, [["Jonathon", 1975], ["Johanna", 1980]])
    people = [["x", 1975], ["x", 1976], ["x", 1977], ["y", 1975]]
    create_table(con, "people", {"town": "VARCHAR", "born": "INTEGER"}, people)
    links = "[{record: 'name', entry: 'who', similarity: 0.9}], [{record: 'left(name, 2)', entry: 'left(who, 2)'}]"
    con.execute(
        "CREATE OR REPLACE TABLE enlarged AS SELECT record.*, entry.born AS born "
        f"FROM priv.linkage('disclosed', 'source', {links})"
    ).fetchall()
    assert con.execute("SELECT id, born FROM enlarged").fetchall() == [(1, 1975)]
    before = "SELECT risk FROM priv.disclosure_risk('disclosed', 'people', ['town'], 6, 0)"
    after = "SELECT risk FROM priv.linkage_risk('enlarged', 'id', 'people', ['town', 'born'], 6, 0)"
    assert con.execute(f"SELECT ({before}), ({after})").fetchall() == [(2.0, 6.0)]


def test_likelier_links_and_wrong_ones_weigh_as_they_should(con: Con) -> None:
    """p(z|y) is 3/4 for the one who has the record and 1/4 for another: only the first one costs anything."""
    rows = [[1, "x", 1975, 3, True], [1, "x", 1976, 1, False]]
    kinds = {"id": "INTEGER", "town": "VARCHAR", "born": "INTEGER", "likely": "INTEGER", "is_right": "BOOLEAN"}
    create_table(con, "ways", kinds, rows)
    create_table(con, "people", {"town": "VARCHAR", "born": "INTEGER"}, [["x", 1975], ["x", 1976], ["x", 1976]])
    asked = "SELECT risk, linked FROM priv.linkage_risk('ways', 'id', 'people', ['town', 'born'], 6, 0%s)"
    assert con.execute(asked % "").fetchall() == [(4.5, 1.0)]  # 6 and 6 / 2, each by half
    assert con.execute(asked % ", 'likely'").fetchall() == [(5.25, 1.0)]
    assert con.execute(asked % ", 'likely', 'is_right'").fetchall() == [(4.5, 0.75)]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("'0 * id'", "the chances of the links of a record must add up to a number above 0"),
        ("-1", "the chance of a link must be a number of at least 0"),
        ("'infinity'::DOUBLE", "must add up to a number above 0"),
        ("1, 'city'", "success must be true, false or NULL for every link"),
        ("1, 2.5", "success must be a boolean column or expression"),
    ],
)
def test_chances_and_successes_that_are_none_are_refused(example_tables: Con, more: str, complaint: str) -> None:
    asked = f"FROM priv.linkage_risk('linked_guests', 'id', 'phone_book', ['city'], 12, 0, {more})"
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute(asked).fetchall()


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("identification('members', 'phone_book', [{LINK, similarity: 2}])", "similarity of a link must be above 0"),
        ("identification('members', 'phone_book', [{LINK, hierarchy: 'cities', similarity: 1}])", "not both"),
        ("dictionary_order('phone_book', 'town_book', 'name', [{LINK, similarity: 1}])", "and nothing else"),
    ],
)
def test_similarities_that_cannot_be_are_refused(example_tables: Con, call: str, complaint: str) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute("FROM priv." + call.replace("LINK", "record: 'city', entry: 'city'")).fetchall()


@pytest.mark.parametrize(
    ("links", "blocks", "complaint"),
    [
        ("['city']", "[]", "the links name no attribute"),
        ("[{record: 'city', entry: 'city', similarity: 0}]", "['city']", "similarity of a link must be above 0"),
        ("[{record: 'city', entry: 'city', similarity: 1.5}]", "['city']", "similarity of a link must be above 0"),
        ("[{record: 'city', entry: 'city', hierarchy: 'cities'}]", "['city']", "a link has record, entry, similarity"),
        ("['city']", "[{record: 'id', entry: '1.5'}]", "never equal as texts"),
    ],
)
def test_links_that_cannot_be_compared_are_refused(
    example_tables: Con, links: str, blocks: str, complaint: str
) -> None:
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute(f"FROM priv.linkage('members', 'phone_book', {links}, {blocks})").fetchall()
