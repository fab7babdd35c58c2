"""Parameters of a prepared statement are values: the same answers, the same refusals."""

import math

import duckdb
import pytest
from support.attempts import Attempt, cases, refused_by_us, same, usually

pytestmark = pytest.mark.one_version


@pytest.mark.some(40)
@pytest.mark.parametrize("attempt", cases())
def test_every_argument_may_be_a_parameter(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    marks = ", ".join(f"${p}" for p in attempt.params)
    values = {p: attempt.usual[p] for p in attempt.params}
    sql = attempt.call(marks)
    found = shared.execute(sql, values).fetchall() if values else shared.execute(sql).fetchall()
    assert same(found, usually(shared, attempt))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None, ["zip"], 2], "the table must be given by its name"),
        ([5, ["zip"], 2], "the table must be given by its name"),
        (["people", "zip", 2], "the quasi-identifiers must be a list"),
        (["people", None, 2], "no quasi-identifier is named"),
        (["people", [], 2], "no quasi-identifier is named"),
        (["people", [None], 2], "no quasi-identifier is named"),
        (["people", ["zip", None], 2], "the name of a quasi-identifier is NULL"),
        (["people", ["zip", "ZIP"], 2], "a quasi-identifier is named twice"),
        (["people", ["zip"], None], "the threshold must be a number"),
        (["people", ["zip"], math.nan], "the threshold must be a number"),
        (["__priv_t", ["zip"], 2], "names that start with __priv_ are reserved"),
    ],
)
def test_bad_parameters_are_refused(shared: duckdb.DuckDBPyConnection, values: list[object], said: str) -> None:
    found = refused_by_us(shared, "FROM priv.k_anonymity_classes(?, ?, ?)", values)
    assert found.startswith(said)


def test_no_predicates_as_a_parameter_means_single_values(shared: duckdb.DuckDBPyConnection) -> None:
    """A program that passes None for what it does not use must not be told that all is well."""
    few = "FROM priv.epsilon_class2('people', ['zip'], 'disease', 100, 0)"
    more = "FROM priv.epsilon_class2('people', ['zip'], 'disease', 100, 0, ?)"
    assert shared.execute(more, [None]).fetchall() == shared.execute(few).fetchall()


def test_a_prepared_statement_is_not_bound_for_good(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("PREPARE ask AS FROM priv.k_anonymity($1, $2)").fetchall()
    db.execute("CREATE TEMP TABLE one AS FROM people LIMIT 1").fetchall()
    assert db.execute("EXECUTE ask('people', ['zip'])").fetchall() == [(3,)]
    assert db.execute("EXECUTE ask('one', ['age'])").fetchall() == [(1,)]
    assert refused_by_us(db, "EXECUTE ask('people', 'zip')").startswith("the quasi-identifiers must be")


def test_a_variable_and_named_arguments(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("SET VARIABLE which = 'people'").fetchall()
    sql = "FROM priv.k_anonymity(tbl := getvariable('which'), qis := ['zip'])"
    assert db.execute(sql).fetchall() == [(3,)]


@pytest.mark.parametrize(
    "call",
    [
        "(VALUES ('people')) AS n(t), priv.k_anonymity(n.t, ['zip'])",
        "priv.k_anonymity((SELECT 'people'), ['zip'])",
        "priv.k_anonymity('people', (SELECT ['zip']))",
        "(VALUES (['zip'])) AS n(q), priv.k_anonymity('people', n.q)",
    ],
)
def test_a_name_out_of_a_table_is_refused_by_duckdb(shared: duckdb.DuckDBPyConnection, call: str) -> None:
    with pytest.raises(duckdb.BinderException):
        shared.execute(f"FROM {call}").fetchall()
