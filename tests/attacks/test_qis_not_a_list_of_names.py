"""DuckDB takes a string for a pattern of column names and an empty list for no column at all."""

import duckdb
import pytest
from support.attempts import LIST_PARAMS, Attempt, cases, refused_by_us, share

pytestmark = pytest.mark.one_version

LIST = "the quasi-identifiers must be a list of column names"
NONE = "no quasi-identifier is named"
NULL = "the name of a "
TWICE = "a quasi-identifier is named twice"
# What is given, in SQL, and how it is refused. The report takes lists of lists, so it has its own table below.
WRONG = {
    "'zip'": LIST,
    "'.*'": LIST,
    "''": LIST,
    "3": LIST,
    "[1, 2]": LIST,
    "[['zip']]": LIST,
    "('zip', 'age')": LIST,
    "{'a': 'zip'}": LIST,
    "MAP {'zip': 'age'}": LIST,
    "CAST(['zip'] AS VARCHAR[1])": LIST,
    "true": LIST,
    "NULL": NONE,
    "[]": NONE,
    "[NULL]": NONE,
    "CAST(NULL AS VARCHAR[])": NONE,
    "CAST([] AS VARCHAR[])": NONE,
    "CAST([NULL] AS VARCHAR[])": NONE,
    "['zip', NULL]": NULL,
    "[NULL, 'zip']": NULL,
    "['zip', 'zip']": TWICE,
    "['zip', 'age', 'ZIP']": TWICE,
}
REPORT = {
    "'zip'": LIST,
    "3": LIST,
    "[1, 2]": LIST,
    "[[1]]": LIST,
    "[[['zip']]]": LIST,
    "('zip', 'age')": LIST,
    "true": LIST,
    "NULL": LIST,
    "[[]]": LIST,
    "[]": NONE,
    "CAST([] AS VARCHAR[])": NONE,
    "CAST(NULL AS VARCHAR[])": NONE,
    "CAST([[]] AS VARCHAR[][])": NONE,
    "[['zip'], []]": NONE,
    "[['zip'], NULL]": NONE,
    "[NULL, ['zip']]": NONE,
    "[NULL]": NULL,
    "['zip', NULL]": NULL,
    "[['zip'], ['age', NULL]]": NULL,
}


@pytest.mark.some(18)
@pytest.mark.parametrize("attempt", [a for a in cases(*LIST_PARAMS) if "report" not in str(a.id)])
def test_what_is_no_list_of_names_is_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for given, why in share(attempt, list(WRONG.items()), 4):
        sql = attempt.sql(**dict.fromkeys(LIST_PARAMS, "<qis>")).replace("'<qis>'", given)
        assert refused_by_us(shared, sql).startswith(why), sql


def test_each_of_these_is_refused_by_the_simplest_check(shared: duckdb.DuckDBPyConnection) -> None:
    for given, why in WRONG.items():
        assert refused_by_us(shared, f"FROM priv.k_anonymity('people', {given})").startswith(why)


@pytest.mark.parametrize("attempt", [a for a in cases(*LIST_PARAMS) if "report" in str(a.id)])
def test_the_report_refuses_what_is_no_list_of_names_or_of_lists(
    shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    for given, why in REPORT.items():
        sql = attempt.sql(qis="<qis>").replace("'<qis>'", given)
        assert refused_by_us(shared, sql).startswith(why), sql


def test_an_empty_name_is_refused(shared: duckdb.DuckDBPyConnection) -> None:
    for sql in ("k_anonymity('people', [''])", "l_diversity('people', ['zip'], '')", "k_anonymity('', ['zip'])"):
        with pytest.raises(duckdb.ParserException):
            shared.execute(f"FROM priv.{sql}").fetchall()


def test_the_report_answers_a_name_that_is_given_twice_as_if_it_were_once(
    shared: duckdb.DuckDBPyConnection,
) -> None:
    """Rows equal on zip are equal on zip and ZIP: the same classes, so the same answers."""
    asked = "SELECT model, parameters, value, worst_class_size FROM priv.report('people', {}, 'disease'{})"
    for person in ("", ", 'patient'"):
        once = shared.execute(asked.format("['zip']", person)).fetchall()
        assert shared.execute(asked.format("['zip', 'ZIP']", person)).fetchall() == once
        both = shared.execute(asked.format("[['zip'], ['ZIP', 'zip']]", person)).fetchall()
        assert both == once + once


def test_two_spellings_of_a_name_do_not_hide_a_column_that_duckdb_could_rename_them_to(
    db: duckdb.DuckDBPyConnection,
) -> None:
    """The second zip of a subquery is called zip_1, as a column of the user may be."""
    db.execute("CREATE TEMP TABLE t AS SELECT 'x' AS zip, i AS zip_1, i % 2 AS d FROM range(4) AS r(i)").fetchall()
    sql = "SELECT qis, value FROM priv.report('t', [['zip'], ['ZIP'], ['zip_1']], 'd') WHERE model = 'k_anonymity'"
    assert db.execute(sql).fetchall() == [(["zip"], 4.0), (["ZIP"], 4.0), (["zip_1"], 1.0)]
