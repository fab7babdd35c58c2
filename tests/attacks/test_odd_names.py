"""Names with spaces, dots, quotes and letters of all alphabets, of tables, schemas, databases and columns."""

import duckdb
import pytest
from support.attempts import Attempt, checks, refused_by_us, same, usually

NEW = duckdb.__version__ >= "2"
ODD = [
    "with space", "with.dot", "it's", "größe", "年齢", "Ünï 1", "1", "select", "a,b", "(x)", "--", "/* */", "%", "?",
    "$1", "{x}", "a\tb", "a\nb", "😀", "é", "e\u0301", " ", "x;", "\\",
]  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("name", ODD)
def test_a_table_of_an_odd_name(db: duckdb.DuckDBPyConnection, name: str) -> None:
    db.execute(f"CREATE TEMP TABLE {quoted(name)} AS FROM people").fetchall()
    for written in (quoted(name), f"temp.{quoted(name)}", f'"temp"."main".{quoted(name)}'):
        assert db.execute("FROM priv.k_anonymity(?, ['zip'])", [written]).fetchall() == [(3,)]


@pytest.mark.parametrize("name", [n for n in ODD if "." not in n])
def test_quotes_around_a_name_without_dots_may_be_left_out(db: duckdb.DuckDBPyConnection, name: str) -> None:
    """query_table takes the text as a name, not as SQL: nothing in it needs to be escaped."""
    db.execute(f"CREATE TEMP TABLE {quoted(name)} AS FROM people").fetchall()
    assert db.execute("FROM priv.k_anonymity(?, ['zip'])", [name]).fetchall() == [(3,)]


def test_schemas_and_databases_of_odd_names(own: duckdb.DuckDBPyConnection) -> None:
    for name in ("with space", "with.dot", "it's", "größe", "select"):
        own.execute(f"ATTACH ':memory:' AS {quoted(name)}").fetchall()
        own.execute(f"CREATE SCHEMA {quoted(name)}.{quoted(name + '!')}").fetchall()
        full = f"{quoted(name)}.{quoted(name + '!')}.{quoted(name + '?')}"
        own.execute(f"CREATE TABLE {full} AS FROM people").fetchall()
        assert own.execute("FROM priv.k_anonymity(?, ['zip'])", [full]).fetchall() == [(3,)]
        sql = "FROM priv.k_map(?, ?, ['zip'])"
        assert own.execute(sql, [full, full]).fetchall() == [(3,)]
        own.execute(f"DETACH {quoted(name)}").fetchall()


def test_a_table_name_with_a_double_quote_inside(db: duckdb.DuckDBPyConnection) -> None:
    """DuckDB 1.5 cannot read it through query_table: it says so and what to do."""
    db.execute('CREATE TEMP TABLE "we""ird" AS FROM people').fetchall()
    for sql in ("k_anonymity('\"we\"\"ird\"', ['zip'])", "k_map('people', 'temp.\"we\"\"ird\"', ['zip'])"):
        if NEW:
            assert db.execute(f"FROM priv.{sql}").fetchall() == [(3,)]
        else:
            said = refused_by_us(db, f"FROM priv.{sql}")
            assert said == "a table name with a double quote inside needs DuckDB 2.0; make a view with a plain name"
    with pytest.raises(duckdb.ParserException):
        db.execute("FROM priv.k_anonymity('we\"ird', ['zip'])").fetchall()


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", checks("tbl"))
def test_columns_of_odd_names(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """A double quote inside the name of a column is no trouble in any version."""
    zip_, age, disease, patient, record = ('z"ip.1', "it's, 年齢", 'd"";--', "p\n(x)", " ")
    columns = f"zip AS {quoted(zip_)}, age AS {quoted(age)}, patient AS {quoted(patient)}, record AS {quoted(record)}"
    db.execute(f"CREATE TEMP TABLE odd AS SELECT {columns}, disease AS {quoted(disease)} FROM people").fetchall()
    db.execute(f"CREATE TEMP TABLE odd_town AS SELECT {columns} FROM town").fetchall()
    given = attempt.ask(
        db, tbl="odd", original="odd", population="odd_town", qis=[zip_, age], columns=[zip_, age], buckets=[zip_, age],
        sensitive=disease, person=patient, id=record if attempt.name == "kl_divergence" else patient,
    )  # fmt: skip
    names_first = attempt.name == "uniqueness" or attempt.name.endswith("_classes")
    without = slice(1, None) if names_first else slice(None)
    without = slice(2, None) if attempt.name == "report" else without
    assert same([row[without] for row in given], [row[without] for row in usually(db, attempt)])


@pytest.mark.parametrize("name", ODD)
def test_the_report_repeats_an_odd_name_as_it_is(db: duckdb.DuckDBPyConnection, name: str) -> None:
    db.execute(f"CREATE TEMP TABLE t AS SELECT zip AS {quoted(name)}, disease FROM people").fetchall()
    found = db.execute("SELECT DISTINCT qis, sensitive FROM priv.report('t', ?, ['disease'])", [[name]])
    assert found.fetchall() == [([name], "disease")]
