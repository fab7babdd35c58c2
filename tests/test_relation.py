"""Temporary tables: names that are unique while they are there, and scopes that leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.relation import Relation, Scratch, temporary_tables
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import take_fingerprint


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as found:
        yield found


def there(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()]


def test_a_relation_is_its_name_and_knows_its_columns(con: duckdb.DuckDBPyConnection) -> None:
    made = Scratch(con).table("SELECT range AS n, 'x' AS t FROM range(3)", "numbers")
    assert str(made) == made.name == "__scratch_numbers_1"
    assert (made.columns, made.count(), made.written) == ({"n": "BIGINT", "t": "VARCHAR"}, 3, 3)
    con.execute(f"INSERT INTO {made} VALUES (3, 'y')").fetchall()
    assert (made.count(), made.written) == (4, 3)


def test_a_view_is_a_relation_too(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW seen AS SELECT 1 AS a").fetchall()
    assert Relation(con, "seen").columns == {"a": "INTEGER"}


def test_the_same_word_gives_different_names(con: duckdb.DuckDBPyConnection) -> None:
    scratch = Scratch(con)
    names = {scratch.table("SELECT 1 AS a", "labels").name for _ in range(5)}
    assert len(names) == 5


def test_a_scope_drops_what_was_made_in_it_and_no_more(con: duckdb.DuckDBPyConnection) -> None:
    scratch = Scratch(con)
    kept = scratch.table("SELECT 1 AS a", "kept")
    with scratch.nested() as inner:
        mine = inner.table("SELECT 2 AS a", "mine")
        with inner.nested() as innermost:
            innermost.table(f"FROM {mine}", "copy")
            later = scratch.table(f"FROM {mine}", "later")
            assert len(there(con)) == 4
        assert there(con) == sorted([kept.name, mine.name, later.name])
    assert there(con) == sorted([kept.name, later.name])


def test_the_same_steps_make_the_same_names(con: duckdb.DuckDBPyConnection) -> None:
    scratch = Scratch(con)
    found = []
    for _ in range(3):
        with scratch.nested() as inner:
            found.append([inner.table("SELECT 1 AS a", hint).name for hint in ("paths", "steps")])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_nothing_is_left_behind_after_an_error(con: duckdb.DuckDBPyConnection, error: BaseException) -> None:
    def fail() -> None:
        with Scratch(con).nested() as inner:
            inner.table("SELECT 1 AS a", "labels")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert there(con) == []


def test_a_query_that_fails_leaves_no_table_and_no_name(con: duckdb.DuckDBPyConnection) -> None:
    scratch = Scratch(con)

    def fail() -> None:
        with scratch.nested() as inner:
            inner.table("SELECT 1 AS a", "labels")
            inner.table("SELECT error('no')", "broken")

    with pytest.raises(SqlprivError):
        fail()
    assert there(con) == []
    assert scratch.table("SELECT 1 AS a", "labels").name == "__scratch_labels_1"


def test_a_scope_may_end_after_its_connection(con: duckdb.DuckDBPyConnection) -> None:
    with Scratch(con).nested() as inner:
        inner.table("SELECT 1 AS a", "labels")
        con.close()


def test_a_table_can_go_before_its_scope_ends(con: duckdb.DuckDBPyConnection) -> None:
    scratch = Scratch(con)
    with scratch.nested() as inner:
        first = inner.table("SELECT 1 AS a", "work")
        second = inner.table(f"FROM {first}", "work")
        inner.drop(first)
        assert there(con) == [second.name]
    assert there(con) == []


def test_temporary_tables_of_a_step_that_fails_do_not_stay_in_a_connection_of_the_user(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS id, i % 7 AS age FROM range(40) AS r(i)").fetchall()

    def step() -> None:
        with temporary_tables(con) as tables:
            first = tables.table("FROM people", "rows")
            assert tables.table("FROM people LIMIT 3", "rows") == first
            tables.table("SELECT no_such_column FROM people", "cells")

    with pytest.raises(SqlprivError):
        step()
    assert there(con) == ["people"]


def test_a_fingerprint_leaves_no_table(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE people AS SELECT i % 20 AS id, i % 7 AS age FROM range(400) AS r(i)").fetchall()
    sample = take_fingerprint(WholeRows(con, "people"), "a secret").sample
    assert sample is not None
    take_fingerprint(WholeRows(con, "people"), "a secret", None, {"earlier": sample})
    assert there(con) == ["people"]
