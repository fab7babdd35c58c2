"""What the macros of disclosure risk refuse, in one sentence each."""

from __future__ import annotations

import re

import duckdb
import pytest

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection

SETS = {
    "sets_of_others": "(['city', 'name'], 1)",
    "sets_twice": "(['city', 'born'], 1), (['born', 'city'], 1)",
    "sets_negative": "(['city', 'born'], -1)",
}
CITY = "{record: 'city', entry: 'city', hierarchy: 'cities'}"
REFUSED = {
    "no link": ("[]", "the links name no attribute that the table and the dictionary share"),
    "a text": ("'city'", "the links must be a list such as"),
    "no entry": ("[{record: 'city', hierarchy: 'cities'}]", "every link needs a record and an entry"),
    "a strange key": ("[{record: 'city', entry: 'city', tree: 'cities'}]", "a link has record, entry, hierarchy"),
    "types": ("[{record: 'id', entry: '1.5'}]", "link 1 compares INTEGER with DECIMAL.* never equal as texts"),
    "two statements": ("[{record: 'city', entry: 'city; SELECT 1'}]", "must be one expression"),
    "a comment": ("[{record: 'city', entry: 'city -- x'}]", "must be one expression"),
    "out of its place": ("[{record: 'city', entry: 'city) AS x, (1'}]", "parentheses of the expression of a link"),
    "an aggregate": ("[{record: 'city', entry: 'max(city)'}]", "cannot contain aggregates"),
    "a window": ("[{record: 'city', entry: 'first_value(city) OVER ()'}]", "cannot contain window"),
    "our names": ("[{record: 'city', entry: '__priv_n + 1'}]", "names that start with __priv_ are reserved"),
    "a hierarchy that misses entries": (
        "[{record: 'city', entry: 'name', hierarchy: 'cities'}]",
        "does not cover the dictionary",
    ),
    "one that misses records": ("[{record: 'id', entry: 'city', hierarchy: 'cities'}]", "does not cover the table"),
    "a hierarchy without levels": (
        "[{record: 'city', entry: 'city', hierarchy: 'flat'}]",
        "link 1 needs rows and at least two",
    ),
    "one that does not nest": ("[{record: 'city', entry: 'city', hierarchy: 'forked'}]", "does not nest"),
    "two tops": ("[{record: 'city', entry: 'city', hierarchy: 'two_tops'}]", "must hold one label for all values"),
    "a gap": ("[{record: 'city', entry: 'city', hierarchy: 'gaps'}]", "has a NULL above the first column"),
    "a star below the top": (
        "[{record: 'city', entry: 'city', hierarchy: 'starred'}]",
        "only the top .* may be called",
    ),
}


@pytest.fixture(scope="module")
def odd(example_tables: Con) -> Con:
    example_tables.execute("""
    CREATE OR REPLACE TABLE flat AS SELECT city FROM cities;
    CREATE OR REPLACE TABLE forked AS SELECT city, state, left(city, 1) AS initial, top FROM cities;
    CREATE OR REPLACE TABLE two_tops AS SELECT city, concat('all of ', city) AS top FROM cities;
    CREATE OR REPLACE TABLE gaps AS SELECT city, NULL AS state, top FROM cities;
    CREATE OR REPLACE TABLE starred AS SELECT city, '*' AS state, 'any' AS top FROM cities;
    CREATE OR REPLACE TABLE nobody AS FROM members WHERE false;
    CREATE OR REPLACE TABLE few AS FROM (VALUES ('Ithaca', 1), ('Albany', 2)) AS v(city, weight);
    CREATE OR REPLACE TABLE negative AS FROM (VALUES ('Ithaca', 1), ('Albany', 2), ('Boston', -1)) AS v(city, weight);
    CREATE OR REPLACE TABLE twice AS SELECT city, 1 AS weight FROM cities, range(2);
    """).fetchall()
    return example_tables


def refusal(con: Con, sql: str) -> str:
    with pytest.raises(duckdb.Error) as caught:
        con.execute(sql).fetchall()
    return str(caught.value)


@pytest.mark.some(8)
@pytest.mark.parametrize(("links", "complaint"), REFUSED.values(), ids=REFUSED)
def test_links_that_cannot_be_followed_are_refused(odd: Con, links: str, complaint: str) -> None:
    said = refusal(odd, f"FROM priv.identification('members', 'phone_book', {links})")
    assert re.search(complaint, said), said


@pytest.mark.some(8)
@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (f"identification('nobody', 'phone_book', [{CITY}])", "the table has no rows"),
        (f"identification('members', 'nobody', [{CITY}])", "a dictionary has no rows"),
        (f"disclosure_risk('nobody', 'phone_book', [{CITY}], 1, 0)", "the table has no rows"),
        (f"disclosure_risk_records('nobody', 'phone_book', [{CITY}], 1, 0, 5)", "the table has no rows"),
        ("sensitivity('nobody', ['city'], 'linear')", "the table has no rows"),
        (f"disclosure_risk('members', 'phone_book', [{CITY}], -1, 0)", "phi must be a number of at least 0"),
        (f"disclosure_risk('members', 'phone_book', [{CITY}], 'id - 2', 0)", "phi must be a number of at least 0"),
        (f"disclosure_risk('members', 'phone_book', [{CITY}], 1, 'city')", "psi must be a number of at least 0"),
        (f"disclosure_risk('members', 'phone_book', [{CITY}], NULL, 0)", "phi must be a number, or an expression"),
        (f"disclosure_risk('members', 'phone_book', [{CITY}], 1, 'row_number() OVER ()')", "cannot contain window"),
        (f"bayes_risk('members', MAP {{'phone_book': 0.5}}, [{CITY}], 1, 0)", "add up to 1"),
        (f"bayes_risk('members', MAP {{'phone_book': 1.5, 'cities': -0.5}}, [{CITY}], 1, 0)", "at least 0"),
        (f"bayes_risk('members', ['phone_book'], [{CITY}], 1, 0)", "a map from tables to priors"),
        (
            "bayes_risk('members', MAP {'phone_book': 1.0}, [{record: 'city', entry: 'city', dictionary: 'x'}], 1, 0)",
            "the links name no attribute",
        ),
        (f"dictionary_order('town_twice', 'phone_book', 'name', [{CITY}])", "is NULL, or stands twice"),
        ("sensitivity('members', ['city'], 'cubic')", "linear or multiplicative"),
        (
            "sensitivity('members', [{attribute: 'city', weight: -1}], 'linear')",
            "a weight must be a number of at least 0",
        ),
        (
            "sensitivity('members', [{attribute: 'city', weight: 'much'}], 'linear')",
            "a weight must be a number of at least 0",
        ),
        ("sensitivity('members', [{attribute: 'city', price: 1}], 'linear')", "and nothing else"),
        (
            "sensitivity('members', [{attribute: 'city', also: 'born'}, {attribute: 'city'}], 'linear')",
            "two attributes that stand in the list",
        ),
        ("sensitivity('members', ['city', 'city'], 'linear')", "an attribute has two weights"),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'born'}, {attribute: 'id'}, "
            "{attribute: 'city', also: ['born', 'id']}, {attribute: 'id', also: ['city', 'born']}], 'linear')",
            "an attribute has two weights",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'born'}, "
            "{attribute: 'city', also: ['born', 'city']}], 'linear')",
            "stand in the list themselves, each of them once",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {sets: 'sets_of_others'}], 'linear')",
            "a set of the table needs",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'born', sets: 'sets_of_others'}], 'linear')",
            "named once, by itself",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'born'}, {sets: 'sets_twice'}], 'linear')",
            "a set twice",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'born'}, {sets: 'sets_negative'}], 'linear')",
            "the weight of a set is missing, negative",
        ),
        (
            "personal_sensitivity('members', [{attribute: 'city'}, {attribute: 'born'}, {sets: 'sets_of_others'}], "
            "'linear', 'id', 'minded', 9)",
            "where weights are personal, sets stand in the list",
        ),
        (
            "sensitivity('members', [{attribute: 'city'}, {attribute: 'city', also: ['born', 'id']}], 'linear')",
            "two attributes that stand in the list",
        ),
        (
            "sensitivity('members', [{attribute: 'city', hierarchy: 'cities', values: 'few'}], 'linear')",
            "the weights of attribute 1 miss a value",
        ),
        (
            "sensitivity('members', [{attribute: 'city', hierarchy: 'cities', values: 'negative'}], 'linear')",
            "a weight of attribute 1 is missing, negative",
        ),
        (
            "sensitivity('members', [{attribute: 'city', hierarchy: 'cities', values: 'twice'}], 'linear')",
            "name a value twice",
        ),
        (
            "sensitivity('members', [{attribute: 'id', hierarchy: 'cities'}], 'linear')",
            "the hierarchy of attribute 1 does not cover the table",
        ),
        ("hierarchy_weights('cities', -1)", "a weight must be a number of at least 0"),
        ("hierarchy_weights('cities', 'few')", "miss a value"),
        (
            "personal_sensitivity('members', ['city', 'born'], 'linear', 'id', 'minded', 1)",
            "add up to more than the total",
        ),
        (
            "personal_sensitivity('members', ['city', 'born', 'id'], 'linear', 'id', 'minded', 5)",
            "has no weight for an attribute",
        ),
    ],
)
def test_what_cannot_be_priced_is_refused(odd: Con, call: str, complaint: str) -> None:
    odd.execute("CREATE OR REPLACE TABLE town_twice AS FROM town_book UNION ALL FROM town_book").fetchall()
    for name, rows in SETS.items():
        odd.execute(f"CREATE OR REPLACE TABLE {name} AS FROM (VALUES {rows}) AS v(attributes, weight)").fetchall()
    assert complaint in refusal(odd, f"FROM priv.{call}")
