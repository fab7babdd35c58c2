"""`sqlpriv sql`: the plain SQL gives the macro's own answer, and other engines get only what they can run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import duckdb
import pytest
import sqlglot
from support import calls
from support.postgres import postgres

import sqlpriv
from sqlpriv.core.errors import InputError, UnsupportedSQLError
from sqlpriv.macros import dialects
from sqlpriv.macros.catalog import macro
from sqlpriv.macros.dialects import DIALECTS, transpile
from sqlpriv.macros.expand import called, expand

CALLS = dict(calls.calls())
OF_ANY_COLUMNS = (
    "operators/sdgs_view.sql", "operators/anatomy_view.sql", "operators/suppress.sql", "estimates/sdgs_view.sql",
    "estimates/view_estimates.sql",
)  # fmt: skip
OTHERS = [d for d in DIALECTS if d != "duckdb"]


@pytest.fixture(scope="module")
def with_macros() -> Iterator[duckdb.DuckDBPyConnection]:
    """One thread, here and below: two add up in an order of their own, and answers are compared to the last digit."""
    con = duckdb.connect(config={"threads": 1})
    sqlpriv.load(con)
    calls.create_tables(con)
    yield con
    con.close()


@pytest.fixture(scope="module")
def bare() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same tables without sqlpriv: plain SQL must be enough."""
    con = duckdb.connect(config={"threads": 1})
    calls.create_tables(con)
    yield con
    con.close()


# A macro that gives SQL as text is for query(), and is no query itself.
QUERIES = {name: query for name, query in CALLS.items() if "_text/" not in name}


@pytest.mark.some(25)
@pytest.mark.parametrize("name", QUERIES)
def test_the_expansion_equals_the_macro(
    name: str, with_macros: duckdb.DuckDBPyConnection, bare: duckdb.DuckDBPyConnection
) -> None:
    plain = expand(CALLS[name], bare)
    assert not re.search(r"\bpriv\s*\.|\bquery(_table)?\s*\(", plain)
    # What makes or estimates tables of any columns is for DuckDB alone, and names no columns.
    if macro(name.partition("/")[0]).file not in OF_ANY_COLUMNS:
        assert not re.search(r"\bCOLUMNS\s*\(", plain)
    expected = with_macros.execute(CALLS[name]).fetchall()
    assert repr(bare.execute(plain).fetchall()) == repr(expected)


EXPANDED: dict[str, str] = {}


@pytest.mark.slow
@pytest.mark.one_version
@pytest.mark.parametrize(
    "dialect",
    [d if d == "postgres" else pytest.param(d, marks=pytest.mark.deep) for d in OTHERS],
)
def test_other_dialects_parse_or_are_refused_by_name(
    dialect: str, bare: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expanded_once(sql: str, con: duckdb.DuckDBPyConnection) -> str:
        """The dialects differ in how they write the plain SQL, which is the same for all of them."""
        if sql not in EXPANDED:
            EXPANDED[sql] = expand(sql, con)
        return EXPANDED[sql]

    monkeypatch.setattr(dialects, "expand", expanded_once)
    written = 0
    refused = {}
    for name, query in QUERIES.items():
        try:
            text = transpile(query, dialect, bare)
        except UnsupportedSQLError as refusal:
            refused[name] = str(refusal)
            continue
        assert sqlglot.parse_one(text, dialect=dialect)
        assert not re.search(r"\bpriv\s*\.|query_table|list_|lambda", text, re.IGNORECASE)
        written += 1
    assert written >= 30
    for name, reason in refused.items():
        assert f"priv.{name.partition('/')[0]} cannot be written for {dialect}: it " in reason


@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("macro", ["k_anonymity", "l_diversity", "recursive_diversity", "t_closeness", "beta_likeness"])
def test_the_common_checks_are_written_for_every_engine(macro: str, dialect: str) -> None:
    query = next(q for name, q in CALLS.items() if name.startswith(f"{macro}/"))
    assert transpile(query, dialect)


def test_spark_and_bigquery_stop_on_an_empty_table_and_others_answer_null() -> None:
    query = "FROM priv.k_anonymity('t', ['a'])"
    assert "RAISE_ERROR('sqlpriv: the table has no rows" in transpile(query, "spark")
    assert "ERROR('sqlpriv: the table has no rows" in transpile(query, "bigquery")
    for dialect in ("postgres", "snowflake", "trino"):
        assert re.search(r"COUNT\(\*\) = 0 THEN NULL", transpile(query, dialect))


def test_a_call_inside_a_larger_query() -> None:
    plain = expand("SELECT k + 1 AS more FROM priv.k_anonymity('s.t', ['a b']) WHERE k > 1")
    assert 'FROM "s"."t" AS __priv_t' in plain
    assert plain.endswith(") AS k_anonymity WHERE k > 1")
    aliased = expand("SELECT a.k FROM priv.k_anonymity('t', ['x']) AS a, priv.k_anonymity('u', ['x']) AS b")
    assert called("SELECT priv.sdgs_delta(1, 2, 3) FROM priv.risk('t', ['a'])") == ["sdgs_delta", "risk"]
    assert " AS k_anonymity" not in aliased


def test_names_are_quoted_and_files_stay_files() -> None:
    assert '"we ird"."x.y"' in expand("FROM priv.risk('we ird.\"x.y\"', ['a'])")
    assert "FROM 'folder/t.parquet' AS __priv_t" in expand("FROM priv.risk('folder/t.parquet', ['a'])")
    assert '__priv_t."a""b"' in expand("FROM priv.risk('t', ['a\"b'])")


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1.5 cannot name such a table in query_table")
def test_a_double_quote_inside_a_table_name() -> None:
    assert '"we""ird"' in expand("FROM priv.risk('\"we\"\"ird\"', ['a'])")


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("SELECT 1", InputError, "no call of a priv macro"),
        ("FROM priv.k_anonimity('t', ['a'])", InputError, "there is no macro 'k_anonimity'"),
        ("FROM priv.k_anonymity('t')", InputError, "does not take 1 arguments"),
        ("FROM priv.k_anonymity('t', 'a')", InputError, "must be a list of column names"),
        ("FROM priv.k_anonymity('t', [])", InputError, "no quasi-identifier is named"),
        ("FROM priv.l_diversity('t', ['a'], 'A')", InputError, "among the quasi-identifiers"),
        ("FROM priv.k_anonymity(tbl := 't', qis := ['a'])", UnsupportedSQLError, "in order, without names"),
        ("FROM x, priv.k_anonymity(x.name, ['a'])", UnsupportedSQLError, "must be constants"),
        ("FROM priv.t_closeness_hierarchical('t', ['a'], 's', 'h')", UnsupportedSQLError, "--database"),
    ],
)
def test_what_cannot_be_expanded_is_refused(query: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        expand(query)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UnsupportedSQLError, match="unknown dialect 'oracle'"):
        transpile("FROM priv.k_anonymity('t', ['a'])", "oracle")


def test_a_view_of_the_expansion_can_be_checked_again(bare: duckdb.DuckDBPyConnection) -> None:
    """The way out of DuckDB 2.0's refusal to run a macro on a view made with the same macro."""
    con = duckdb.connect()
    sqlpriv.load(con)
    calls.create_tables(con)
    classes = expand("FROM priv.k_anonymity_classes('visits', ['zip', 'age'], 100)")
    con.execute(f"CREATE VIEW small AS SELECT size FROM ({classes})").fetchall()
    assert con.execute("FROM priv.k_anonymity('small', ['size'])").fetchall() == [(1,)]
    assert len(con.execute("FROM priv.k_anonymity_classes('small', ['size'], 100)").fetchall()) == 2
    con.close()


def plain_value(value: object) -> object:
    """A class as a tuple and every number as a rounded float, so that two engines can be compared."""
    if isinstance(value, dict):
        return tuple(plain_value(v) for v in value.values())
    if isinstance(value, tuple | list):
        return tuple(plain_value(v) for v in value)
    if isinstance(value, str | bytes | bool) or value is None:
        return value
    number = float(str(value))
    return number if math.isinf(number) else round(number, 9)


@pytest.mark.slow
def test_postgres_gives_the_same_answers(with_macros: duckdb.DuckDBPyConnection) -> None:
    """On a real server, for every macro that can be written for it."""
    psycopg = pytest.importorskip("psycopg")
    compared = 0
    with postgres() as address, psycopg.connect(address, autocommit=True) as pg:
        _copy_tables(with_macros, pg)
        for query in CALLS.values():
            try:
                text = transpile(query, "postgres")
            except UnsupportedSQLError:
                continue
            here = [plain_value(r) for r in with_macros.execute(query).fetchall()]
            there = [plain_value(r) for r in pg.execute(text).fetchall()]
            assert sorted(map(repr, there)) == sorted(map(repr, here)), query
            compared += 1
    assert compared >= 30


def _copy_tables(con: duckdb.DuckDBPyConnection, pg: object) -> None:
    types = {"VARCHAR": "text", "INTEGER": "integer", "DATE": "date"}
    for (table,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall():
        columns = con.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall()
        listed = ", ".join(f'"{name}" {types.get(kind, "double precision")}' for name, kind in columns)
        pg.execute(f"CREATE TABLE {table} ({listed})")  # type: ignore[attr-defined]
        places = ", ".join(["%s"] * len(columns))
        for row in con.execute(f"FROM {table}").fetchall():
            pg.execute(f"INSERT INTO {table} VALUES ({places})", row)  # type: ignore[attr-defined]


@pytest.mark.parametrize("call", ["l_diversity('t', ['a'], 's', 'p')", "k_map('t', 'u', ['a'])", "risk('t', ['a'])"])
def test_other_engines_read_a_table_once(call: str) -> None:
    """The second look at what DuckDB alone takes for equal would count every row twice elsewhere."""
    text = transpile(f"FROM priv.{call}", "spark")
    assert "UNION" not in text
    assert text.count("`t`") == 1
