"""NULL is a value of its own: rows with a NULL are a class like any other, never dropped and never matched with all."""

import duckdb
import pytest
from support.attempts import Attempt, checks

NULLS = """
CREATE TEMP TABLE gaps AS FROM (VALUES
  (NULL, 'x', 'a', 1), ('1', 'x', 'a', 2), ('1', 'x', 'b', 3), ('1', 'x', 'a', 4), (NULL, NULL, 'a', 5),
  (NULL, NULL, NULL, 6)) AS v(zip, age, disease, patient)
"""


@pytest.fixture
def gaps(db: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    db.execute(NULLS).fetchall()
    return db


def one(con: duckdb.DuckDBPyConnection, call: str) -> tuple[object, ...]:
    rows = con.execute(f"FROM priv.{call}").fetchall()
    assert len(rows) == 1
    return tuple(rows[0])


def test_a_class_of_one_row_with_a_null_is_k_1(gaps: duckdb.DuckDBPyConnection) -> None:
    assert one(gaps, "k_anonymity('gaps', ['zip', 'age'])") == (1,)
    assert one(gaps, "k_anonymity('gaps', ['zip', 'age'], 'patient')") == (1,)
    assert one(gaps, "k_anonymity('gaps', ['zip'])") == (3,)


def test_the_classes_show_their_nulls(gaps: duckdb.DuckDBPyConnection) -> None:
    found = gaps.execute("FROM priv.k_anonymity_classes('gaps', ['zip', 'age'], 3)").fetchall()
    assert found == [({"zip": None, "age": "x"}, 1, 1), ({"zip": None, "age": None}, 2, 2)]


def test_a_null_is_one_sensitive_value(gaps: duckdb.DuckDBPyConnection) -> None:
    assert one(gaps, "l_diversity('gaps', ['age'], 'disease')")[0] == 2
    assert one(gaps, "alpha_k_anonymity('gaps', ['age'], 'disease')") == (0.75, 2)
    values = gaps.execute("FROM priv.prior_from_counts('gaps', 'disease')").fetchall()
    assert sorted(values, key=str) == [("a", 5), ("b", 2), (None, 2)]


def test_the_word_null_is_not_null(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("CREATE TEMP TABLE t AS FROM (VALUES ('NULL', 'NULL'), (NULL, NULL)) AS v(q, s)").fetchall()
    assert one(db, "k_anonymity('t', ['q'])") == (1,)
    assert one(db, "beta_likeness('t', ['q'], 's')") == (1.0,)
    prior = "CREATE TEMP TABLE p AS FROM (VALUES ('NULL', 9)) AS v(value, sigma)"
    db.execute(prior).fetchall()
    with pytest.raises(duckdb.InvalidInputException, match="missing from the prior"):
        db.execute("FROM priv.epsilon_class1('t', ['q'], 's', 'p', 0)").fetchall()


def test_a_null_in_the_population_stands_for_itself_only(gaps: duckdb.DuckDBPyConnection) -> None:
    gaps.execute("CREATE TEMP TABLE all_known AS SELECT '1' AS zip, 'x' AS age FROM range(9)").fetchall()
    assert one(gaps, "k_map('gaps', 'all_known', ['zip', 'age'])") == (0,)
    assert one(gaps, "k_map('gaps', 'gaps', ['zip', 'age'])") == (1,)


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", checks("qis", "buckets"))
def test_a_table_of_nothing_but_nulls_has_one_class(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """Every column NULL but the person and the record: one class, of all rows."""
    db.execute(
        "CREATE TEMP TABLE void AS SELECT record, patient, CAST(NULL AS VARCHAR) AS zip, "
        "CAST(NULL AS INTEGER) AS age, CAST(NULL AS VARCHAR) AS disease FROM people"
    ).fetchall()
    db.execute("CREATE TEMP TABLE unknown AS FROM (VALUES ('unknown', NULL)) AS v(name, value)").fetchall()
    below = attempt.name in {"k_anonymity_classes", "l_diversity_classes", "entropy_diversity_classes", "k_map_classes"}
    rows = attempt.ask(
        db,
        tbl="void",
        population="void",
        original="void",
        predicates="unknown",
        sigma=9,
        threshold=1e9 if below else -1.0,
    )
    if attempt.name.endswith("_classes"):
        assert [row[0] for row in rows] == [{"zip": None, "age": None}]
        assert rows[0][1] == (8 if {"person", "id"} & set(attempt.params) else 10)
