"""Records linked by similar names within blocks, against a comparison of all pairs, and the risk after linking."""

from __future__ import annotations

import random

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.disclosure import Cells
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
    chance = random.Random(seed)
    dictionaries.create(con, risk)
    ids = [chance.randint(1, 4) for _ in risk.records]
    con.execute('ALTER TABLE t ADD COLUMN "whose one" INTEGER').fetchall()
    con.executemany('UPDATE t SET "whose one" = ? WHERE "row #" = ?', [[x, at] for at, x in enumerate(ids)])
    counts = oracles.identification(risk.records, risk.entries[0], risk.trees)
    losses = oracles.disclosure_losses(counts, [3.0] * len(ids), [0.5] * len(ids))
    given_ = f"'t', 'whose one', '\"dictionary # 1\"', {structs(risk.links())}, 3, 0.5"
    found = con.execute(f"FROM priv.linkage_risk({given_})").fetchall()
    assert_rows(found, [oracles.linkage_risk(losses, ids)], risk)


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
