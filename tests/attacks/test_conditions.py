"""A condition is SQL from the user, but one expression: it may not leave its parentheses, add rows or show cells."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.attempts import MARKER, cases, everything, literal, refusal, refused_by_us

pytestmark = pytest.mark.one_version

ONE = "the condition must be one expression"
PARENTHESES = "the parentheses of the condition do not match"
BOOLEAN = "the condition must be true or false"
CONTROL = "the condition holds a control character"
ESCAPES = {
    "true; DROP TABLE people": ONE,
    "true -- ": ONE,
    "true /* ": ONE,
    "true */": ONE,
    "true) OR (true": PARENTHESES,
    "true)) AS x FROM people --": ONE,
    "true) UNION ALL (SELECT * FROM town": PARENTHESES,
    ")(": PARENTHESES,
    "((true)": PARENTHESES,
    "(true))": PARENTHESES,
    "')' = ')') OR (true": PARENTHESES,
    '")" IS NULL OR true) OR (true': PARENTHESES,
    "'": ONE,
    "zip = 'x": ONE,
    '"zip': ONE,
    "'it''s' = '": ONE,
    "$$a$$ = 'a'": ONE,
    "$x$)$x$ = 'a'": ONE,
    "$1": ONE,
    r"E'\') OR (true) OR (' = ''": ONE,
    r"e'\'' = ''') OR (true) --'": ONE,
    r"1e'\'' = ''') OR (true) --'": ONE,
    r"'a'E'\'' = ''') --'": ONE,
    "U&'a' = 'a'": ONE,
    "x'41' = 'A'": ONE,
    "date'2020-01-01' IS NULL": ONE,
    "-- '\n) OR (true) --'\n": ONE,
    "/* ' */ ) OR (true) /* ' */": ONE,
    "true\x00": CONTROL,
    "true\x1e": CONTROL,
    "true\x0b": CONTROL,
    "": "the condition is empty",
    " \n\t\r ": "the condition is empty",
    "record": BOOLEAN,
    "zip": BOOLEAN,
    "zip, age": BOOLEAN,
    "[true]": BOOLEAN,
    "'true'": BOOLEAN,
}


@pytest.mark.some(120)
@pytest.mark.parametrize("attempt", cases("condition"))
@pytest.mark.parametrize("condition", ESCAPES)
def test_what_is_not_one_expression_is_refused(
    shared: duckdb.DuckDBPyConnection, attempt: object, condition: str
) -> None:
    sql = attempt.sql(condition="<condition>").replace("'<condition>'", "?")  # type: ignore[attr-defined]
    assert refused_by_us(shared, sql, [condition]).startswith(ESCAPES[condition])


@pytest.mark.some(60)
@pytest.mark.parametrize("given_", ["NULL", "5", "true", "['true']", "MAP {'a': 1}", "CAST('true' AS BLOB)"])
@pytest.mark.parametrize("attempt", cases("condition"))
def test_a_condition_is_text(shared: duckdb.DuckDBPyConnection, attempt: object, given_: str) -> None:
    sql = attempt.sql(condition="<condition>").replace("'<condition>'", given_)  # type: ignore[attr-defined]
    assert refused_by_us(shared, sql).startswith("the condition must be given as text")


GOOD = [
    "record = 1",
    "(record) = (1)",
    "record IN (SELECT record FROM town WHERE record = 1)",
    "EXISTS (FROM town AS t WHERE t.record = 1 AND t.record = __priv_t.record)",
    "record = (SELECT min(record) FROM people)",
    "SELECT record = 1",
    "record = 1 AND ';--/*)(' <> '$$'",
    """record = 1 AND 'it''s "' <> '"' """,
    "record\n=\t1",
    "CASE WHEN record = 1 THEN true END",
    "record = 1 OR NULL",
    "list_contains([1], record)",
    "record BETWEEN 1 AND 1",
    "date '2020-01-01' < DATE '2021-01-01' AND record = 1",
]


@pytest.mark.parametrize("condition", GOOD)
def test_one_expression_may_say_anything(shared: duckdb.DuckDBPyConnection, condition: str) -> None:
    sql = "SELECT record FROM priv.hide('people', 'record', ?) WHERE record IS NOT NULL"
    assert shared.execute(sql, [condition]).fetchall() == [(1,)]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "condition", ["unnest([true, false])", "twice(true)", "count(*) OVER () > 1", "max(record) > 1", "bool_or(true)"]
)
def test_a_condition_neither_adds_rows_nor_looks_at_other_rows(own: duckdb.DuckDBPyConnection, condition: str) -> None:
    """unnest in a SELECT would give every row once for each element, also from inside a macro of the user."""
    own.execute("CREATE MACRO twice(x) AS unnest([x, x])").fetchall()
    with pytest.raises(duckdb.BinderException):
        own.execute("FROM priv.hide('people', 'zip', ?)", [condition]).fetchall()


def test_a_condition_that_is_no_truth_value_shows_no_cell(shared: duckdb.DuckDBPyConnection) -> None:
    """DuckDB's refusal to take a text for a truth value would quote the text."""
    for condition in ("patient", "zip || disease", "CASE WHEN true THEN disease END"):
        assert refused_by_us(shared, f"FROM priv.hide('people', 'zip', {literal(condition)})") == BOOLEAN


def test_no_condition_changes_the_database(own: duckdb.DuckDBPyConnection) -> None:
    before = everything(own)
    for condition in ESCAPES:
        refusal(own, "FROM priv.hide('people', 'zip', ?)", [condition])
        refusal(own, "FROM priv.gen('people', 'record', 'disease', 'labels', ?)", [condition])
    assert everything(own) == before


PIECES = st.sampled_from(
    [
        "'",
        "''",
        '"',
        "(",
        ")",
        ";",
        "--",
        "/*",
        "*/",
        "$$",
        "$a$",
        "E'",
        "e",
        "\\",
        "\n",
        " ",
        "true",
        "OR",
        "zip",
        "1",
        "x",
    ]
)


@given(pieces=st.lists(PIECES, max_size=10))
def test_whatever_is_accepted_is_one_expression(shared: duckdb.DuckDBPyConnection, pieces: list[str]) -> None:
    """Where the guard lets a text pass, DuckDB itself must find one statement with one expression in it."""
    condition = "".join(pieces)
    try:
        shared.execute("FROM priv.hide('people', 'zip', ?)", [condition]).fetchall()
    except duckdb.Error as error:
        said = str(error)
        assert MARKER not in said
        return
    wrapped = f"SELECT ({condition}) AS one FROM people"
    statements = shared.extract_statements(wrapped)
    assert len(statements) == 1
    assert [c[0] for c in shared.execute(wrapped).description or []] == ["one"]
    shared.execute("SELECT 1").fetchall()
