"""DuckDB 2.0 refuses a table macro over a view made with that macro; the expansion is the way out."""

import duckdb
import pytest
from support.attempts import Attempt, checks

from sqlpriv.macros.expand import expand

NEW = duckdb.__version__ >= "2"
RECURSION = 'infinite recursion detected: attempting to recursively expand table macro "{}"'
CHECKS = [c.values[0] for c in checks("tbl") if len(c.values[0].params) == 3]
CHECKS = [a for a in CHECKS if not a.name.endswith("_classes")]


@pytest.fixture
def counted(db: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A table with its own k beside it, by a view over a check."""
    db.execute(
        "CREATE TEMP VIEW seen AS SELECT people.*, k FROM people, priv.k_anonymity('people', ['zip'])"
    ).fetchall()
    return db


def test_the_same_macro_is_refused_or_right(counted: duckdb.DuckDBPyConnection) -> None:
    sql = "FROM priv.k_anonymity('seen', ['zip', 'k'])"
    if NEW:
        with pytest.raises(duckdb.BinderException, match=RECURSION.format("k_anonymity")):
            counted.execute(sql).fetchall()
    else:
        assert counted.execute(sql).fetchall() == [(3,)]


def test_the_expansion_is_answered(counted: duckdb.DuckDBPyConnection) -> None:
    """Either of the two will do: no macro is expanded inside itself any more."""
    asked = expand("FROM priv.k_anonymity('seen', ['zip', 'k'])")
    assert counted.execute(asked).fetchall() == [(3,)]
    view = expand("SELECT zip, k FROM people, priv.k_anonymity('people', ['zip']) AS c")
    counted.execute(f"CREATE TEMP VIEW plain AS {view}").fetchall()
    assert counted.execute("FROM priv.k_anonymity('plain', ['zip', 'k'])").fetchall() == [(3,)]


@pytest.mark.parametrize("attempt", [a for a in CHECKS if a.name != "k_anonymity"], ids=lambda a: str(a.name))
def test_another_macro_is_answered(counted: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """Helpers are inlined, so two of our macros never share one that could be called recursive."""
    assert attempt.ask(counted, tbl="seen") == attempt.ask(counted)


def test_two_calls_in_one_query_are_no_recursion(db: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT a.k, b.k FROM priv.k_anonymity('people', ['zip']) AS a, priv.k_anonymity('people', ['age']) AS b"
    assert db.execute(sql).fetchall() == [(3, 3)]


def test_a_prior_may_be_a_view_over_our_macro(db: duckdb.DuckDBPyConnection) -> None:
    """As its page says: keep it as a view and pass the view's name."""
    db.execute("CREATE TEMP VIEW seen_before AS FROM priv.prior_from_counts('people', 'disease')").fetchall()
    db.execute("CREATE TEMP TABLE kept AS FROM seen_before").fetchall()
    asked = "FROM priv.epsilon_class1('people', ['zip'], 'disease', '{}', 0)"
    assert db.execute(asked.format("seen_before")).fetchall() == db.execute(asked.format("kept")).fetchall()
