"""Rows are not persons: five rows of one patient hide nobody, and a row of nobody could be anybody's."""

from dataclasses import replace

import duckdb
import pytest
from support.attempts import Attempt, cases, refused_by_us, same

pytestmark = pytest.mark.one_version

COUNTING = [a for a in cases("person") if "tbl" in a.values[0].params]


def test_five_rows_of_one_patient_are_k_1(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(
        "CREATE TEMP TABLE visits AS SELECT 'x' AS zip, 'ann' AS who, i AS visit FROM range(5) AS r(i)"
    ).fetchall()
    assert db.execute("FROM priv.k_anonymity('visits', ['zip'])").fetchall() == [(5,)]
    assert db.execute("FROM priv.k_anonymity('visits', ['zip'], 'who')").fetchall() == [(1,)]
    risk = db.execute("SELECT prosecutor, uniques FROM priv.risk('visits', ['zip'], 'who')").fetchall()
    assert risk == [(1.0, 1)]
    report = db.execute(
        "SELECT value, worst_class_size FROM priv.report('visits', ['zip'], 'visit', 'who') WHERE model = 'k_anonymity'"
    ).fetchall()
    assert report == [(1.0, 1)]


def test_one_patient_with_five_diagnoses_is_not_diverse(db: duckdb.DuckDBPyConnection) -> None:
    """The most concentrated histogram that fits: one person, one value, known for certain."""
    db.execute(
        "CREATE TEMP TABLE visits AS SELECT 'x' AS zip, 'ann' AS who, i AS visit FROM range(5) AS r(i)"
    ).fetchall()
    assert db.execute("FROM priv.l_diversity('visits', ['zip'], 'visit', 'who')").fetchall() == [(1, 1.0)]
    assert db.execute("FROM priv.ck_safety('visits', ['zip'], 'visit', 0, 'who')").fetchall() == [(1.0,)]
    assert db.execute("FROM priv.alpha_k_anonymity('visits', ['zip'], 'visit', 'who')").fetchall() == [(1.0, 1)]


@pytest.mark.parametrize("attempt", COUNTING)
def test_a_row_without_a_person_is_refused(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    db.execute(
        "CREATE TEMP TABLE t AS SELECT * REPLACE (nullif(patient, 'SECRET-42-cyd') AS patient) FROM people"
    ).fetchall()
    assert refused_by_us(db, attempt.sql(tbl="t")).startswith("the person column holds NULL")


@pytest.mark.parametrize("attempt", [a for a in cases("id") if "predicates" in a.values[0].params])
def test_an_id_column_with_null_is_refused(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """The id column is the person column of the predicates."""
    db.execute(
        "CREATE TEMP TABLE t AS SELECT * REPLACE (nullif(patient, 'SECRET-42-cyd') AS patient) FROM people"
    ).fetchall()
    for predicates in ("own_sets", None):
        sql = attempt.sql(tbl="t", predicates=predicates)
        assert refused_by_us(db, sql).startswith("the person column holds NULL")


@pytest.mark.parametrize("attempt", [a for a in cases("population") if "person" in a.values[0].params])
def test_the_population_needs_its_persons_too(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    db.execute(
        "CREATE TEMP TABLE t AS SELECT * REPLACE (nullif(patient, 'SECRET-42-cyd0') AS patient) FROM town"
    ).fetchall()
    assert refused_by_us(db, attempt.sql(population="t")).startswith("the person column holds NULL")


@pytest.mark.some(12)
@pytest.mark.parametrize("attempt", COUNTING)
def test_a_person_a_row_is_the_same_as_no_person_column(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """Counting distinct record numbers is counting rows, but for the population, which has each twice."""
    if attempt.name in {"k_map", "k_map_classes", "delta_presence", "delta_presence_classes", "population_risk"}:
        return
    rows = replace(attempt, params=tuple(p for p in attempt.params if p != "person"))
    assert same(attempt.ask(shared, person="record"), rows.ask(shared))


def test_the_persons_of_a_predicate_must_be_named(shared: duckdb.DuckDBPyConnection) -> None:
    said = refused_by_us(shared, "FROM priv.epsilon_class4('people', ['zip'], 'disease', 0, 'own_sets')")
    assert said == "the predicates are per person; name the id column as the last argument"
