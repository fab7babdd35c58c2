"""Sums over the public domain equal those over the whole product, at the cost of the factors only."""

from __future__ import annotations

import doctest
import importlib
import math
import pkgutil
import time
from collections.abc import Iterator

import duckdb
import pytest
import sqlglot
import strategies  # noqa: F401 - sets the number of examples
from hypothesis import given
from hypothesis import strategies as st
from predicates import Question, create_domains, networks, questions
from sqlglot import exp

from sqlpriv import rewrite
from sqlpriv.errors import InputError, UnsupportedSQLError
from sqlpriv.rewrite import batches
from sqlpriv.rewrite.attributes import DomainTable, public_rows
from sqlpriv.rewrite.domain_sums import DomainSums, domain_sums

ONE = exp.Literal.number(1)


@pytest.fixture(scope="module")
def domains() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as con:
        create_domains(con)
        yield con


def parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")


def summed(question: Question, **options: int) -> DomainSums:
    groups, values = [[parsed(text) for text in texts] for texts in (question.groups, question.values)]
    return domain_sums(parsed(question.condition), groups, values, question.domains, table_names=["P"], **options)


def by_group(rows: list[tuple[object, ...]], groups: int) -> dict[tuple[object, ...], list[float]]:
    found = {row[:groups]: [float(str(value)) for value in row[groups:]] for row in rows}
    assert len(found) == len(rows), "a group comes back once"
    return found


def assert_as_over_the_product(con: duckdb.DuckDBPyConnection, question: Question, **options: int) -> None:
    sums = summed(question, **options)
    groups = len(question.groups)
    answer = by_group(con.execute(sums.sql).fetchall(), groups)
    expected = by_group(con.execute(question.brute_force()).fetchall(), groups)
    assert answer.keys() == expected.keys(), sums.sql
    for group, wanted in expected.items():
        assert answer[group] == pytest.approx(wanted, rel=1e-9, abs=1e-6), sums.sql
        assert answer[group][0] == wanted[0], "counts are exact"


# The three together see 6,000 predicates in `make test-deep`.
@given(questions(), st.sampled_from([0, 20, 1_000_000]))
def test_sums_equal_those_over_the_whole_product(
    domains: duckdb.DuckDBPyConnection, question: Question, together: int
) -> None:
    assert_as_over_the_product(domains, question, together=together)


@given(networks())
def test_messages_over_shared_attributes_are_joined(domains: duckdb.DuckDBPyConnection, question: Question) -> None:
    assert_as_over_the_product(domains, question, together=0)


@given(questions() | networks())
def test_taking_every_wide_factor_apart_changes_nothing(domains: duckdb.DuckDBPyConnection, question: Question) -> None:
    """Small domains seldom make it pay, so here it is done whether it pays or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_MOST_BATCHES", 8)
        patch.setattr(batches, "effort", lambda state: -sum(len(batch.columns) for batch in state))
        assert_as_over_the_product(domains, question, together=-1)


@pytest.fixture(scope="module")
def students(domains: duckdb.DuckDBPyConnection) -> list[DomainTable]:
    """The domain of the paper's Example 4.1."""
    domains.execute("CREATE TABLE ages AS SELECT CAST(range AS INTEGER) AS age FROM range(20, 40)").fetchall()
    domains.execute(
        "CREATE TABLE nations AS SELECT unnest(['American', 'British', 'Indian']) AS nationality"
    ).fetchall()
    domains.execute("CREATE TABLE scores AS SELECT CAST(range AS INTEGER) AS score FROM range(81, 101)").fetchall()
    sizes = {"age": ("ages", 20), "nationality": ("nations", 3), "score": ("scores", 20)}
    return [DomainTable(column, table, size) for column, (table, size) in sizes.items()]


@pytest.fixture(scope="module")
def thousands(domains: duckdb.DuckDBPyConnection) -> list[DomainTable]:
    """Ten attributes of a thousand values each: 10^30 tuples."""
    domains.execute("CREATE TABLE thousand AS SELECT CAST(range AS INTEGER) AS n FROM range(1000)").fetchall()
    return [DomainTable(f"a{i}", f"(SELECT n AS a{i} FROM thousand)", 1000, "INTEGER") for i in range(1, 11)]


def sized(**sizes: int) -> list[DomainTable]:
    return [DomainTable(name, f"domain_{name}", size) for name, size in sizes.items()]


def ask(
    con: duckdb.DuckDBPyConnection, attributes: list[DomainTable], condition: str, *values: str, by: str = ""
) -> list[tuple[object, ...]]:
    groups = [parsed(by)] if by else []
    sums = domain_sums(parsed(condition), groups, [parsed(v) for v in values or ("1",)], attributes, table_names=["p"])
    return sorted(con.execute(sums.sql).fetchall(), key=str)


def test_example_4_1_counts_549(domains: duckdb.DuckDBPyConnection, students: list[DomainTable]) -> None:
    assert ask(domains, students, "score < 3 * age") == [(549,)]


def test_example_4_2_costs_its_factors_and_not_the_product() -> None:
    m1, m2, m3, m4 = 30, 40, 50, 60
    chain = parsed("a1 * a1 + a2 * a2 >= 20 AND a2 < a3 AND a3 + a4 > 7")
    sums = domain_sums(chain, [], [ONE], sized(a1=m1, a2=m2, a3=m3, a4=m4))
    assert sums.cost == m1 * m2 + m2 * m3 + m3 * m4 <= m3 * (m1 * m2 + m4)
    for select in parsed(sums.sql).find_all(exp.Select):
        assert len(select.args.get("joins") or ()) < 2, "no SELECT joins more than two relations"
    assert sums.plan.splitlines()[-1] == f"{sums.cost:,} rows"


@pytest.mark.parametrize(
    ("condition", "cost"),
    [
        ("a = b AND b = c AND c = d AND d = e AND e = a", 10_000 + 10_000 + 10**6 + 10**6 + 10**6),
        ("a < b AND a < c AND a < d AND a < e", 4 * 10_000),
        ("a > 1 AND b > 1 AND c > 1", 300),
        ("a = 1 AND a + b + c > 3", 10_000),
        ("a IN (1, 2) AND a + b + c > 3", 20_000),
        ("NOT (a < b OR c < d)", 20_000),
        ("a BETWEEN b AND c", 20_000),
    ],
)
def test_the_cost_is_that_of_the_widest_joins(condition: str, cost: int) -> None:
    sums = domain_sums(parsed(condition), [], [ONE], sized(a=100, b=100, c=100, d=100, e=100))
    assert sums.cost <= cost


def test_a_wide_or_becomes_its_complement() -> None:
    """Ten attributes in one OR would be 10^30 rows; what meets none of its parts is ten small counts."""
    condition = " OR ".join(f"a{i} > {i}" for i in range(10))
    sums = domain_sums(parsed(condition), [], [ONE], sized(**{f"a{i}": 1000 for i in range(10)}))
    assert sums.cost == 10 * 1000


def test_inclusion_and_exclusion_where_alternatives_are_conjunctions(
    domains: duckdb.DuckDBPyConnection, thousands: list[DomainTable]
) -> None:
    condition = "(a1 < 10 AND a2 < a3 AND a4 < 10) OR (a5 < 10 AND a6 < 10 AND a7 > a8) OR (a9 = 5 AND a1 >= 10)"
    ordered = 1000 * 999 // 2
    first, second, third = 10 * ordered * 10 * 10**18, 10 * 10 * ordered * 10**18, 990 * 10**24
    both = 10 * ordered * 10 * 10 * 10 * ordered * 10**6  # of the first two; the first and the third cannot both be
    expected = first + second + third - both - 990 * 10 * 10 * ordered * 10**12
    assert ask(domains, thousands, condition) == [(float(expected),)]


def test_a_chain_over_ten_to_the_thirty_answers_in_a_second(
    domains: duckdb.DuckDBPyConnection, thousands: list[DomainTable]
) -> None:
    chain = " AND ".join(f"a{i} <= a{i + 1}" for i in range(1, 10))
    start = time.perf_counter()
    answer = ask(domains, thousands, chain)
    seconds = time.perf_counter() - start
    assert answer == [(float(math.comb(1009, 10)),)]
    assert seconds < 1


def test_small_counts_stay_exact_in_huge_domains(
    domains: duckdb.DuckDBPyConnection, thousands: list[DomainTable]
) -> None:
    """Seven tuples of 10^30, counted, and left over when all others are taken away: a DOUBLE would lose them."""
    seven = " AND ".join([f"a{i} = {i}" for i in range(1, 10)] + ["a10 < 7"])
    assert ask(domains, thousands, seven) == [(7,)]
    negated = " OR ".join([f"a{i} <> {i}" for i in range(1, 10)] + ["a10 >= 7"])
    assert ask(domains, thousands, f"NOT ({negated})") == [(7,)]
    assert ask(domains, thousands, f"coalesce(a1 = 1, false) AND ({seven} OR (a2 = 2 AND {seven}))") == [(7,)]


def test_sums_of_many_attributes_are_taken_apart(
    domains: duckdb.DuckDBPyConnection, thousands: list[DomainTable]
) -> None:
    total = "a1 + 2 * a2 - a3 + a4 + a5"
    (answer,) = ask(domains, thousands, "true", total, f"({total}) * ({total})")
    variance, mean = (1000**2 - 1) / 12, 999 / 2
    assert answer == pytest.approx((4 * mean * 1e30, (8 * variance + (4 * mean) ** 2) * 1e30), rel=1e-9)


def test_every_group_comes_back(domains: duckdb.DuckDBPyConnection, students: list[DomainTable]) -> None:
    rows = ask(domains, students, "score < 3 * age AND nationality = 'Indian'", by="nationality")
    assert rows == [("American", 0), ("British", 0), ("Indian", 183)]
    assert ask(domains, students, "false", by="age >= 30") == [(False, 0), (True, 0)]


def test_what_can_never_be_true_costs_nothing(domains: duckdb.DuckDBPyConnection, thousands: list[DomainTable]) -> None:
    for never in ("false", "NULL"):
        assert ask(domains, thousands, f"a1 + a2 + a3 + a4 + a5 > 7 AND {never}") == [(0,)]
    assert ask(domains, thousands, "a1 + a2 + a3 + a4 + a5 > 7", "NULL", "0", by="a1 > 5") == [
        (False, 0, 0),
        (True, 0, 0),
    ]


def test_names_of_public_columns_are_not_captured(domains: duckdb.DuckDBPyConnection) -> None:
    """Table limits has a column age, too: a bare `age` in the subquery is that one, `p.age` is the attribute."""
    attributes = [DomainTable("age", '"domain 0"', 5), DomainTable("Score", '"domain 1"', 5)]
    assert ask(domains, attributes, "EXISTS (SELECT 1 FROM limits WHERE age = 20)") == [(25,)]
    assert ask(domains, attributes, "EXISTS (SELECT 1 FROM limits WHERE limits.age = p.age)") == [(15,)]
    assert ask(domains, attributes, "EXISTS (SELECT 1 FROM limits AS p WHERE p.age = 20)") == [(25,)]
    assert ask(domains, attributes, "p.age IN (SELECT age FROM limits WHERE least < SCORE)") == [(5,)]
    ours = [DomainTable("age", '"domain 0"', 5), DomainTable("__priv_x0", '"domain 3"', 4)]
    assert ask(domains, ours, "EXISTS (SELECT 1 FROM limits WHERE limits.age = 19 + __PRIV_x0)") == [(5,)]
    assert ask(domains, attributes, "20 IN (SELECT limits.age FROM limits WHERE least <= score)") == [(20,)]


def test_public_tables_can_be_joined(domains: duckdb.DuckDBPyConnection) -> None:
    attributes = [DomainTable("country", '"domain 5"', 4), DomainTable("Score", '"domain 1"', 5)]
    regions = public_rows("r", "(FROM regions UNION ALL FROM regions)", ["country", "continent", "gdp"], 8)
    joined = "p.country = r.country AND r.gdp < p.score"
    assert ask(domains, [*attributes, regions], joined) == [(30,)]
    rows = ask(domains, [*attributes, regions], f"{joined} AND r.gdp > 20", by="r.continent")
    assert rows == [("America", 10), ("Asia", 0), ("Europe", 10)]


def test_a_guard_keeps_its_value_from_failing(domains: duckdb.DuckDBPyConnection) -> None:
    domains.execute("CREATE OR REPLACE TABLE codes AS SELECT unnest(['1', '22', 'x']) AS code").fetchall()
    attributes = [DomainTable("code", "codes", 3), DomainTable("Score", '"domain 1"', 5)]
    guarded = "CASE WHEN regexp_matches(code, '^[0-9]+$') AND score > 85 THEN CAST(code AS INTEGER) END"
    assert ask(domains, attributes, "score > 80", guarded) == [(3 * 23,)]
    assert ask(domains, attributes, "regexp_matches(code, '^[0-9]+$')", "CAST(code AS INTEGER)") == [(5 * 23,)]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("code <> country", "CASE WHEN {number} THEN {rest} END"),
        ("{number} AND code <> country", "{rest}"),
        ("true", "CASE WHEN regexp_matches(code || length(country), '^[0-9]+$') THEN {rest} END"),
    ],
)
def test_a_guard_holds_in_every_step(domains: duckdb.DuckDBPyConnection, condition: str, value: str) -> None:
    """The value is summed in one step, what guards it is looked at in another, too."""
    domains.execute("CREATE OR REPLACE TABLE codes AS SELECT unnest(['1', '22', 'x']) AS code").fetchall()
    tables = {"code": ("codes", 3), "Score": ('"domain 1"', 5), "country": ('"domain 5"', 4)}
    attributes = [DomainTable(name, *table) for name, table in tables.items()]
    number, rest = "regexp_matches(code, '^[0-9]+$')", "CAST(code AS INTEGER) % (score - 80)"
    asked = [text.format(number=number, rest=rest) for text in (condition, value)]
    remainders = sum(code % (score - 80) for code in (1, 22) for score in (81, 82, 90, 97, 100))
    assert ask(domains, attributes, *asked) == [(3 * remainders,)]


def test_fields_and_lambdas_are_no_columns(domains: duckdb.DuckDBPyConnection) -> None:
    domains.execute("CREATE OR REPLACE TABLE pairs AS SELECT {'x': 1, 'l': [1, 2, 3]} AS pair").fetchall()
    attributes = [DomainTable("pair", "pairs", 1), DomainTable("age", '"domain 0"', 5)]
    assert ask(domains, attributes, "p.pair.x = 1 AND pair.x < age") == [(4,)]
    assert ask(domains, attributes, "len(list_filter(pair.l, lambda age: age > 1)) = 2") == [(5,)]


def test_too_wide_a_factor_is_refused_by_name() -> None:
    attributes = sized(age=1000, height=1000, weight=1000, city=7)
    with pytest.raises(UnsupportedSQLError, match=r"age \(1,000\) × height .* \"age\" \+ \"height\" \+ \"weight\" > 9"):
        domain_sums(parsed("city = 'x' AND age + height + weight > 9"), [], [ONE], attributes)
    with pytest.raises(UnsupportedSQLError, match="1,000,000,000 groups"):
        domain_sums(None, [parsed("age"), parsed("height"), parsed("weight")], [ONE], attributes)
    with pytest.raises(UnsupportedSQLError, match="budget of 500"):
        domain_sums(parsed("age > 7"), [], [ONE], attributes, budget=500)


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("wage > 3", InputError),
        ("p.wage > 3", InputError),
        ("q.age > 3", InputError),
        ("EXISTS (SELECT 1 FROM limits WHERE p.wage = 3)", InputError),
        ("age > sum(age)", UnsupportedSQLError),
        ("row_number() OVER () > 3", UnsupportedSQLError),
        ("age IN (SELECT age FROM p)", UnsupportedSQLError),
        ("#1 > 3", UnsupportedSQLError),
        ("unnest([1, 2]) > 1", UnsupportedSQLError),
        ("len([COLUMNS(*)]) > 3", UnsupportedSQLError),
    ],
)
def test_what_is_not_about_one_tuple_is_refused(condition: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        domain_sums(parsed(condition), [], [ONE], sized(age=3), table_names=["p"])


def test_the_callers_expressions_are_left_alone() -> None:
    condition = parsed("p.age > 3 AND NOT (p.age = 5 OR p.age = 7)")
    before = condition.sql()
    assert domain_sums(condition, [condition], [ONE], sized(age=3), table_names=["p"]).sql
    assert condition.sql() == before


def test_the_examples_in_the_docstrings_are_right() -> None:
    for module in pkgutil.iter_modules(rewrite.__path__):
        assert doctest.testmod(importlib.import_module(f"sqlpriv.rewrite.{module.name}")).failed == 0
