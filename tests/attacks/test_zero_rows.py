"""An empty table passes every "for all classes": nothing may be concluded from it."""

import duckdb
import pytest
from support.attempts import LIST_PARAMS, Attempt, cases, checks, refused_by_us, share

pytestmark = pytest.mark.one_version

EMPTY = "the table has no rows: there is nothing to check"


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", checks("tbl"))
def test_a_table_without_rows_is_refused_whatever_is_asked_of_it(
    shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    """DuckDB leaves out what a query does not need. Lists of classes are also asked how long they are."""
    call = attempt.sql(tbl="nobody", predicates=None)
    columns = [f'"{c[0]}"' for c in shared.execute(f"DESCRIBE {attempt.sql()}").fetchall()]
    listed = attempt.name.endswith("_classes") or attempt.name == "report"
    for asked in [columns[-1], "count(*)"] if listed else columns:
        assert refused_by_us(shared, f"SELECT {asked} {call}") == EMPTY, asked


LISTS = [a for a in cases("tbl") if a.values[0].name == "report" or a.values[0].name.endswith("_classes")]


@pytest.mark.parametrize("attempt", LISTS)
def test_a_condition_does_not_make_it_pass(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """As a test of dbt would ask: no row that is too bad. DuckDB drops what a condition rules out before it is read."""
    call = attempt.sql(tbl="nobody", predicates=None)
    conditions = ["value < 3", "size < 3 OR value > 0", "class.zip = 'x'", "class IS NOT NULL"]
    if attempt.name == "report":
        conditions = ["value < 3", "model = 'k_anonymity' AND value < 3", "parameters = ''", "worst_class_size = 1"]
    for condition in share(attempt, conditions, 2):
        assert refused_by_us(shared, f"{call} WHERE {condition}") == EMPTY, condition


@pytest.mark.parametrize("attempt", cases("predicates"))
def test_predicates_on_nobody_are_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """As an empty table, or because no value of theirs is in it."""
    said = refused_by_us(shared, attempt.sql(tbl="nobody"))
    assert said == EMPTY or said.startswith("a value of the predicates is neither in the table")


def test_an_empty_population_hides_nobody(shared: duckdb.DuckDBPyConnection) -> None:
    assert shared.execute("FROM priv.k_map('people', 'nobody', ['zip'])").fetchall() == [(0,)]
    risk = shared.execute("FROM priv.population_risk('people', 'nobody', ['zip'])").fetchall()
    assert risk == [(1.0, 1.0)]
    said = refused_by_us(shared, "FROM priv.delta_presence('people', 'nobody', ['zip'])")
    assert said.startswith("the table is not part of the population")


def test_an_empty_original_is_refused(shared: duckdb.DuckDBPyConnection) -> None:
    sql = "FROM priv.kl_divergence('people', 'nobody', ['zip'], 'record')"
    refused_by_us(shared, sql)


# What is measured against a population, asked of one person, or makes a table says little of the one row.
ELSEWHERE = {
    "k_map", "delta_presence", "population_risk", "belief",
    "alpha_beta", "frapp", "noisy_counts", "signed_noisy_counts", "suppress",
}  # fmt: skip


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", [c for c in cases(*LIST_PARAMS) if c.values[0].name not in ELSEWHERE])
def test_one_row_is_one_class_of_one(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    db.execute("CREATE TEMP TABLE single AS FROM people WHERE record = 1").fetchall()
    given = {
        "tbl": "single",
        "original": "single",
        "qis": ["zip"],
        "buckets": ["zip"],
        "columns": ["zip"],
        "predicates": None,
    }
    rows = attempt.ask(db, **given)
    worst = {
        "k_anonymity": (1,),
        "alpha_k_anonymity": (1.0, 1),
        "l_diversity": (1, 1.0),
        "recursive_diversity": (float("inf"),),
        "negation_diversity": (1.0,),
        "t_closeness": (0.0,),
        "t_closeness_ordered": (0.0,),
        "t_closeness_hierarchical": (0.0,),
        "beta_likeness": (0.0,),
        "enhanced_beta_likeness": (0.0,),
        "delta_disclosure": (0.0, 0.0),
        "ck_safety": (1.0,),
        "epsilon_class1": (float("inf"),),
        "epsilon_class2": (float("inf"),),
        "epsilon_class3": (float("inf"),),
        "epsilon_class4": (float("inf"),),
        "risk": (1.0, 1.0, 1, 1.0),
        "utility": (1, 1, 1.0, 1),
        "class_sizes": (1, 1, 1),
        "kl_divergence": (0.0,),
        "possible_worlds": (1, 0.0),
        "uniqueness": (["zip"], 1, 0.0, 1, 1.0, 1),
        "population_uniques": (2, 1, 2.0, 1.0, "zayatz"),
    }
    if attempt.name.endswith("_classes"):  # those that fail, so there may be none
        assert [size for _, size, _ in rows] in ([], [1])
    elif attempt.name == "report":
        assert {row[-1] for row in rows} == {1}
    else:
        assert rows == [worst[attempt.name]]
