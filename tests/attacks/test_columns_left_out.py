"""DuckDB computes only what a query asks for: a refusal must not hang on a column that may be left out."""

import duckdb
import pytest
from support.attempts import Attempt, attempts, refused_by_us

pytestmark = pytest.mark.one_version

NAN = "CAST('nan' AS DOUBLE)"
SPOILT = {
    "threshold": NAN,
    "l": "0",
    "k": "-1",
    "b": "-1",
    "sigma": "0",
    "deltas": "[0.5]",
    "epsilons": "[-1.0, 1.0]",
    "epsilon": NAN,
    "beta": "2",
}


def spoilt(attempt: Attempt) -> dict[str, str]:
    """The calls of a macro with one bad number."""
    marked = {p: attempt.sql(**{p: f"<{p}>"}) for p in attempt.params if p in SPOILT}
    return {p: sql.replace(f"'<{p}>'", SPOILT[p]) for p, sql in marked.items()}


TABLES = [pytest.param(a, id=f"{a.name}-{len(a.params)}") for a in attempts() if a.is_table and spoilt(a)]


@pytest.mark.some(15)
@pytest.mark.parametrize("attempt", TABLES)
def test_a_bad_number_is_refused_whatever_is_asked(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    columns = [str(c[0]) for c in shared.execute(f"DESCRIBE {attempt.sql()}").fetchall()]
    unasked = {("sdgs_guarantee", "epsilon")}  # the epsilon that was given is given back
    for sql in spoilt(attempt).values():
        for column in {columns[0], columns[-1]}:
            if (attempt.name, column) not in unasked:
                refused_by_us(shared, f'SELECT "{column}" {sql}')


@pytest.mark.parametrize("column", ["epsilon", "delta"])
def test_a_composition_does_not_add_up_half_of_a_mistake(shared: duckdb.DuckDBPyConnection, column: str) -> None:
    for epsilons, deltas in (
        ("[1.0, 2.0]", "[1e-6]"),
        ("[1.0]", "[-1.0]"),
        ("[-1.0]", "[0.0]"),
        ("[1.0, NULL]", "[0, 0]"),
    ):
        refused_by_us(shared, f"SELECT {column} FROM priv.composition({epsilons}, {deltas})")


def test_a_person_column_with_null_is_refused_whatever_is_asked(db: duckdb.DuckDBPyConnection) -> None:
    db.execute("CREATE TEMP TABLE t AS SELECT * REPLACE (nullif(record, 3) AS record) FROM people").fetchall()
    said = "the person column holds NULL; give every row a person"
    for column in ("alpha", "k"):
        sql = f"SELECT {column} FROM priv.alpha_k_anonymity('t', ['zip'], 'disease', 'record')"
        assert refused_by_us(db, sql) == said
    for column in ("class", "size", "value", "count(*)"):
        sql = f"SELECT {column} FROM priv.k_anonymity_classes('t', ['zip'], 'record', 99)"
        assert refused_by_us(db, sql) == said
