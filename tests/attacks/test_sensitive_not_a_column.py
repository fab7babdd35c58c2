"""The sensitive column, the person and the id are one column each, given by name."""

import duckdb
import pytest
from support.attempts import COLUMN_PARAMS, Attempt, cases, refused_by_us, share

pytestmark = pytest.mark.one_version

ONE_NAME = "a column must be given by its name, as text"
SEVERAL = "the sensitive column must be given by its name, or several in a list"
WRONG = ["5", "1.5", "true", "['disease']", "[['disease']]", "{'a': 'disease'}", "[]", "[NULL]"]


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", cases(*COLUMN_PARAMS))
def test_what_is_no_name_is_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for param in set(attempt.params) & set(COLUMN_PARAMS):
        if (attempt.name, param) == ("report", "sensitive"):
            continue  # takes lists, see below
        for given in ("NULL", *share(attempt, WRONG, 8)):
            sql = attempt.sql(**{param: "<name>"}).replace("'<name>'", given)
            assert refused_by_us(shared, sql) == ONE_NAME, sql


@pytest.mark.parametrize("given", ["NULL", "5", "true", "[['disease']]", "[]", "[NULL]", "[5]"])
def test_the_report_refuses_what_is_neither_a_name_nor_a_list_of_names(
    shared: duckdb.DuckDBPyConnection, given: str
) -> None:
    assert refused_by_us(shared, f"FROM priv.report('people', ['zip'], {given})") == SEVERAL


@pytest.mark.parametrize("given", ["['disease', NULL]", "CAST(NULL AS VARCHAR)", "CAST(NULL AS VARCHAR[])"])
def test_the_report_refuses_a_sensitive_name_that_is_null(shared: duckdb.DuckDBPyConnection, given: str) -> None:
    said = refused_by_us(shared, f"FROM priv.report('people', ['zip'], {given})")
    assert said == "the name of a column is NULL or holds a control character"


def test_the_report_refuses_an_empty_list(shared: duckdb.DuckDBPyConnection) -> None:
    sql = "FROM priv.report('people', ['zip'], CAST([] AS VARCHAR[]))"
    assert refused_by_us(shared, sql) == "no sensitive column is named"
