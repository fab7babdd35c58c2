"""hide, gen and generalize as views over views: the text forms chain on every DuckDB, and say what the macros say."""

from __future__ import annotations

import duckdb
import pytest

TESTED = {"hide_text", "gen_text", "generalize_text"}
Con = duckdb.DuckDBPyConnection
CALLS = {
    "hide": ("'age', 'id <> 3'",),
    "gen": ("'id', 'age', 'age_labels'", "'id', 'age', 'age_labels', 'id = 4'"),
    "generalize": ("MAP {'age': 1}, MAP {'age': 'age_ranges'}",),
}
CHAIN = (
    ("hide", "'id', 'age < 50'"),
    ("hide", "'age', 'age <> 44'"),
    ("gen", "'id', 'age', 'age_labels', 'age IS NULL'"),
    ("gen", "'id', 'age', 'more_labels'"),
    ("hide", "'age', 'age <> ''young'''"),
)


@pytest.mark.parametrize(("name", "arguments"), [(name, given) for name, listed in CALLS.items() for given in listed])
def test_the_text_is_what_the_macro_runs(example_tables: Con, name: str, arguments: str) -> None:
    expected = example_tables.execute(f"FROM priv.{name}('ages', {arguments}) ORDER BY id").fetchall()
    text = f"FROM query(priv.{name}_text('ages', {arguments})) ORDER BY id"
    assert example_tables.execute(text).fetchall() == expected


def chained(con: Con, kind: str, form: str) -> list[tuple[object, ...]]:
    """A chain of five operators, each over the one before."""
    con.execute("CREATE OR REPLACE TABLE more_labels AS FROM (VALUES (1, 'young')) AS v(id, age)").fetchall()
    before = "ages"
    for step, (name, arguments) in enumerate(CHAIN):
        made = f"chained_{kind}_{step}".lower()
        call = form.format(name, f"'{before}', {arguments}")
        con.execute(f"CREATE OR REPLACE {kind} {made} AS FROM {call}").fetchall()
        before = made
    return con.execute(f"FROM {before} ORDER BY id NULLS LAST, age").fetchall()


def test_five_views_chain(example_tables: Con) -> None:
    """Hiding over hiding over generalized cells is the example of the paper, and what DuckDB 2.0 refuses of macros."""
    expected = chained(example_tables, "TABLE", "priv.{}({})")
    assert chained(example_tables, "VIEW", "query(priv.{}_text({}))") == expected
    assert expected == [(1, None), (2, "31"), (3, None), (None, "58")]


def test_the_macros_themselves_do_not_chain_on_duckdb_2(example_tables: Con) -> None:
    """Where they do one day, the text forms are not needed any more."""
    example_tables.execute("CREATE OR REPLACE VIEW once AS FROM priv.hide('ages', 'age', 'id <> 3')").fetchall()
    again = "FROM priv.hide('once', 'age', 'id <> 4')"
    if duckdb.__version__ >= "2":
        with pytest.raises(duckdb.BinderException, match="infinite recursion"):
            example_tables.execute(again).fetchall()
    else:
        assert len(example_tables.execute(again).fetchall()) == 4


def test_a_text_of_another_condition_is_refused(example_tables: Con) -> None:
    with pytest.raises(duckdb.Error, match="the condition must be one expression"):
        example_tables.execute("FROM query(priv.hide_text('ages', 'age', 'true; DROP TABLE ages'))").fetchall()
