"""A sensitive column that defines the classes has one value in each: every number would be nonsense."""

import duckdb
import pytest
from support.attempts import LIST_PARAMS, Attempt, cases, refused_by_us

pytestmark = pytest.mark.one_version

AMONG = "the sensitive column is among the quasi-identifiers"
BOTH = [a for a in cases("sensitive") if set(LIST_PARAMS) & set(a.values[0].params)]


@pytest.mark.some(15)
@pytest.mark.parametrize("attempt", BOTH)
def test_it_is_refused_in_any_case(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    qis = ["zip", "Disease", "age"]
    for spelt in ("disease", "DISEASE"):
        assert refused_by_us(shared, attempt.sql(qis=qis, buckets=qis, sensitive=spelt)) == AMONG


def test_one_combination_of_the_report_is_enough(shared: duckdb.DuckDBPyConnection) -> None:
    for qis, sensitive in (("[['zip'], ['age', 'DISEASE']]", "'disease'"), ("['zip']", "['disease', 'ZIP']")):
        assert refused_by_us(shared, f"FROM priv.report('people', {qis}, {sensitive})") == AMONG


def test_the_person_may_be_a_quasi_identifier(shared: duckdb.DuckDBPyConnection) -> None:
    """Who knows the person knows the class: k = 1, and that is the right answer."""
    sql = "FROM priv.k_anonymity('people', ['zip', 'patient'], 'patient')"
    assert shared.execute(sql).fetchall() == [(1,)]
