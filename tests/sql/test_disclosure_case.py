"""The case of the decision-theoretic paper on generated members, and its propositions."""

from __future__ import annotations

import random

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import EXAMPLES, create_table

Con = duckdb.DuckDBPyConnection

# Heights 4, 2, 3 and 4: city, race, birth date and income (Lebanon et al. 2009, Figure 8).
CASE = """
CREATE OR REPLACE TABLE case_cities AS SELECT concat('city ', c), concat('county ', c // 4), concat('state ', c // 16),
  concat('region ', c // 32), '*' FROM range(64) AS r(c)
  UNION ALL SELECT 'West Lafayette', 'Tippecanoe', 'Indiana', 'Midwest', '*';
CREATE OR REPLACE TABLE case_races AS FROM (VALUES ('White', 'European', '*'), ('Black', 'African', '*'),
  ('Chinese', 'Asian', '*'), ('Japanese', 'Asian', '*')) AS v(race, origin, top);
CREATE OR REPLACE TABLE case_births AS SELECT strftime(d, '%m/%d/%Y') AS day, strftime(d, '%B %Y') AS month,
  strftime(d, '%Y') AS year, '*' AS top FROM range(DATE '1960-01-01', DATE '1990-01-01', INTERVAL 1 DAY) AS r(d);
CREATE OR REPLACE TABLE case_incomes AS SELECT concat('$', i, 'k') AS income, concat(i // 10, '0s') AS tens,
  concat('twenties from ', (i + 20) // 40 * 40 - 20) AS forties,
  CASE WHEN i BETWEEN 20 AND 99 THEN '[$20k, $99k]' WHEN i < 20 THEN 'less' ELSE 'more' END AS range, '*' AS top
  FROM range(200) AS r(i);
CREATE OR REPLACE TABLE case_members AS
  FROM (VALUES (0, 'West Lafayette', 'White', '05/10/1975', '$52k'),
    (1, 'West Lafayette', NULL, 'May 1975', '[$20k, $99k]')) AS v(id, city, race, birth, income)
  UNION ALL SELECT 2 + i, concat('city ', i % 64), 'Black',
    strftime(DATE '1970-03-01' + CAST(i AS INTEGER), '%m/%d/%Y'), concat('$', 20 + i % 80, 'k')
    FROM range(500) AS r(i);
CREATE OR REPLACE TABLE case_census AS
  SELECT 34 AS age, '47906' AS zip, CASE WHEN i < 7 THEN 'White' ELSE 'Chinese' END AS race FROM range(198) AS r(i)
  UNION ALL SELECT 20 + i % 30, CASE WHEN i % 2 = 0 THEN '47906' ELSE '10001' END, 'Black' FROM range(900) AS r(i)
    WHERE i % 30 <> 14;
"""
WEIGHTS = """[{attribute: 'city', weight: 0.3, hierarchy: 'case_cities'},
  {attribute: 'race', weight: 0.4, hierarchy: 'case_races'},
  {attribute: 'birth', weight: 0.5, hierarchy: 'case_births'},
  {attribute: 'income', weight: 0.75, hierarchy: 'case_incomes'}]"""
LINKS = """[{record: 'city', hierarchy: 'case_cities',
    entry: 'CASE zip WHEN ''47906'' THEN ''West Lafayette'' ELSE ''region 0'' END'},
  {record: 'race', entry: 'race', hierarchy: 'case_races'},
  {record: 'birth', entry: '2009 - age', hierarchy: 'case_births'}]"""


@pytest.fixture(scope="module")
def case(con: Con) -> Con:
    con.execute(CASE).fetchall()
    con.execute(
        "CREATE OR REPLACE TABLE case_priced AS SELECT record.*, sensitivity "
        f"FROM priv.sensitivity('case_members', {WEIGHTS}, 'multiplicative')"
    ).fetchall()
    return con


def two(con: Con, column: str, macro: str) -> list[float]:
    """What a macro says of the paper's two records."""
    return [
        x for (x,) in con.execute(f"SELECT {column} FROM {macro} WHERE record.id < 2 ORDER BY record.id").fetchall()
    ]


@pytest.mark.slow
def test_the_numbers_of_the_paper(case: Con) -> None:
    sensitivities = two(case, "sensitivity", f"priv.sensitivity('case_members', {WEIGHTS}, 'multiplicative')")
    assert [round(x, 5) for x in sensitivities] == [7.02869, 1.38473]
    assert two(case, "utility", f"priv.disclosure_utility('case_members', {WEIGHTS})") == [13, 7]
    assert two(case, "entries", f"priv.identification('case_members', 'case_census', {LINKS})") == [7, 198]
    records = f"priv.disclosure_risk_records('case_priced', 'case_census', {LINKS}, 'sensitivity', 0, 0)"
    assert [round(x, 7) for x in two(case, "loss", records)] == [1.0040982, 0.0069936]


def test_only_some_of_the_generated_members_are_in_the_census(case: Con) -> None:
    """Or the numbers would be those of two records alone."""
    risk = f"priv.disclosure_risk('case_priced', 'case_census', {LINKS}, 'sensitivity', 0)"
    [(records, found, prohibited, worst)] = case.execute(
        f"SELECT records, found, prohibited, worst FROM {risk}"
    ).fetchall()
    assert (records, prohibited) == (502, 0)
    assert 2 < found < records
    assert worst >= 1.00409


@settings(max_examples=max(EXAMPLES // 4, 3))
@given(seed=st.integers(0, 2**32), level=st.integers(0, 2))
def test_k_anonymity_is_the_special_case(con: Con, seed: int, level: int) -> None:
    """Proposition 2: against the table itself no record of a k-anonymous table loses more than c / k."""
    chance = random.Random(seed)
    rows = [[chance.choice("abcdef"), chance.choice("xyz")] for _ in range(chance.randint(1, 25))]
    create_table(con, "t", {"one": "VARCHAR", "two": "VARCHAR"}, rows)
    paths = [[leaf, leaf in "abc", "*"] for leaf in "abcdef"]
    create_table(con, "hierarchy_one", {"value": "VARCHAR", "half": "VARCHAR", "top": "VARCHAR"}, paths)
    con.execute(f"CREATE OR REPLACE TABLE general AS FROM priv.generalize('t', MAP {{'one': {level}}})").fetchall()
    [(k,)] = con.execute("FROM priv.k_anonymity('general', ['one', 'two'])").fetchall()
    links = "[{record: 'one', entry: 'one', hierarchy: 'hierarchy_one'}, {record: 'two', entry: 'two'}]"
    [(worst,)] = con.execute(f"SELECT worst FROM priv.disclosure_risk('general', 't', {links}, 6, 0)").fetchall()
    assert worst == pytest.approx(6 / k, rel=1e-12)


def test_names_that_both_tables_have_are_links_enough(case: Con) -> None:
    asked = "priv.identification('case_census', 'case_census', ['age', 'zip', 'race'])"
    assert case.execute(f"SELECT record.age, entries FROM {asked} LIMIT 1").fetchall() == [(34, 7)]
