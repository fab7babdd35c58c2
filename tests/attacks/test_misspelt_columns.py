"""A name that is nearly right must not be skipped: the check would pass on fewer columns."""

from pathlib import Path

import duckdb
import pytest
from support.attempts import COLUMN_PARAMS, LIST_PARAMS, Attempt, cases, refusal, share

import sqlpriv
from sqlpriv.core.errors import InputError

pytestmark = pytest.mark.one_version

NEARLY = {
    **{param: ["zip", "agee"] for param in LIST_PARAMS},
    "sensitive": "diseas",
    "person": "patien",
    "id": "recor",
}


@pytest.mark.some(30)
@pytest.mark.parametrize("attempt", cases(*NEARLY))
def test_a_misspelt_column_is_refused_by_name(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for param in set(attempt.params) & set(NEARLY):
        misspelt = NEARLY[param]
        said = refusal(shared, attempt.sql(**{param: misspelt}))
        name = misspelt[-1] if isinstance(misspelt, list) else misspelt
        assert f'does not have a column named "{name}"' in said


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", cases(*LIST_PARAMS))
def test_a_pattern_is_no_column(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for pattern in (".*", *share(attempt, ("zip|age", "people.zip", '"zip"', " zip"), 4)):
        said = refusal(shared, attempt.sql(**{param: [pattern] for param in LIST_PARAMS}))
        assert "does not have a column named" in said


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", cases(*COLUMN_PARAMS))
def test_a_column_of_another_table_is_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """`sigma` is a column of the prior, `top` one of the hierarchy."""
    for param in set(attempt.params) & set(COLUMN_PARAMS):
        for other in ("sigma", "top"):
            assert f'"{other}"' in refusal(shared, attempt.sql(**{param: other}))


@pytest.mark.parametrize("attempt", cases("population", "original"))
def test_the_other_table_needs_the_columns_too(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    db.execute("CREATE TEMP TABLE other AS SELECT record, patient, zip, age AS years FROM people").fetchall()
    said = refusal(db, attempt.sql(population="other", original="other"))
    assert 'does not have a column named "age"' in said


@pytest.mark.parametrize("attempt", cases("prior", "shape", "predicates"))
def test_a_belief_with_a_misspelt_column_is_refused(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for param in set(attempt.params) & {"prior", "shape", "predicates"}:
        for needed in ("value", {"prior": "sigma", "shape": "share", "predicates": "name"}[param]):
            db.execute(
                f"CREATE OR REPLACE TEMP TABLE other AS SELECT * RENAME ({needed} AS {needed}s) "
                f"FROM {attempt.usual[param]}"
            ).fetchall()
            assert f'"{needed}"' in refusal(db, attempt.sql(**{param: "other"}))


def test_a_row_number_that_is_no_column_is_refused(shared: duckdb.DuckDBPyConnection) -> None:
    assert '"rowid"' in refusal(shared, "FROM priv.k_anonymity('people', ['rowid'])")


def test_case_does_not_matter_as_everywhere_in_duckdb(shared: duckdb.DuckDBPyConnection) -> None:
    lower = shared.execute("FROM priv.l_diversity('people', ['zip', 'age'], 'disease')").fetchall()
    upper = shared.execute("FROM priv.l_diversity('PEOPLE', ['ZIP', 'Age'], 'DISEASE')").fetchall()
    assert lower == upper


def test_a_letter_beyond_a_to_z_in_another_case_is_another_column(tmp_path: Path) -> None:
    """DuckDB folds the case of A to Z alone."""
    data = tmp_path / "people.csv"
    data.write_text("Ärzte,zip\n1,a\n2,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has no column 'ärzte'; it has Ärzte, zip"):
        sqlpriv.check(data, ["ärzte", "ZIP"])
    with pytest.raises(InputError, match=r"has no column 'ärzte'; it has Ärzte, zip"):
        sqlpriv.attack(data, qis=["ärzte", "ZIP"])
