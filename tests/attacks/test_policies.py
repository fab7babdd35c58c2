"""Policies and private tables that try to get something out that must not go out, or to confuse the search."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest
from support.policies import Generalized, generalize, policy_text, qi, role, toml_text, write_policy

from sqlpriv.core.errors import InputError, PolicyError, SqlprivError
from sqlpriv.core.sqltext import quoted
from sqlpriv.publishing import plan

SECRET = "SECRET-42"
OUR_NAMES = [
    "base", "nodes", "labels", "leaves", "values_0", "__frequencies", "hierarchies", "release", "n", "class", "node",
    "level0", "a0", "s0", "holder", "t", "l0", "v0", "attribute", "value", "number", "shown", "suppressed", "rows",
    "size", "priv", "__data", "__private", "checked", "leaf0", "w0_0", "rowid", "select", 'a"b', "o'x", "a.b", "x ",
    "[red]", "größe", "",
]  # fmt: skip


BESIDE = 'coexists_because = "both are made up"'


def release(folder: Path, text: str, sql: str) -> Generalized:
    return generalize(write_policy(folder, text, sql))


def published(result: Generalized, table: str = "people") -> list[tuple[object, ...]]:
    with duckdb.connect(str(result.output), read_only=True) as con:
        return con.execute(f"FROM {quoted('main', table)}").fetchall()


# --- an identifier that wants to be published ---------------------------------------------------

PERSON = f"CREATE TABLE people AS SELECT '{SECRET}' || i AS ssn, i // 2 AS age FROM range(4) AS r(i)"


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "columns",
    [
        {"ssn": role("identifier"), "SSN": role("other"), "age": qi()},
        {"ssn": role("identifier"), "age": qi("['ssn']")},
        {"ssn": role("identifier"), "age": qi("['people.ssn']")},
        {"ssn": role("identifier"), "age": qi("['__private.ssn']")},
        {"ssn": role("identifier"), "age": qi("['age.ssn']")},
        {"ssn": role("identifier"), "age": qi("['(SELECT min(ssn) FROM checked.people)']")},
        {"ssn": role("identifier"), "age": qi("['age || (FROM checked.people SELECT min(ssn))']")},
        {"ssn": role("identifier"), "age": qi("table:people")},
        {"ssn": '{ role = "identifier", hierarchy = "mask:20" }', "age": qi()},
        {"ssn": role("Identifier"), "age": qi()},
        {"age": qi()},
    ],
)
def test_an_identifier_is_not_published(tmp_path: Path, columns: dict[str, str]) -> None:
    with pytest.raises(SqlprivError) as refused:
        release(tmp_path, policy_text(columns, "k = 1"), PERSON)
    assert isinstance(refused.value, PolicyError)
    assert SECRET not in str(refused.value)
    assert not list(tmp_path.glob("*release*"))


def test_columns_of_a_pattern_are_those_of_the_value_alone(tmp_path: Path) -> None:
    text = policy_text({"ssn": role("identifier"), "age": qi("[\"COLUMNS('.*')\"]")}, "k = 4")
    result = release(tmp_path, text, PERSON)
    assert SECRET.encode() not in result.output.read_bytes()


def test_a_workload_cannot_ask_for_an_identifier(tmp_path: Path) -> None:
    text = policy_text({"ssn": role("identifier"), "age": qi()}, "k = 1", 'objective = "workload:w.sql"')
    (tmp_path / "w.sql").write_text(f"SELECT count(*) FROM people WHERE SSN = '{SECRET}1'")
    with pytest.raises(PolicyError, match="there is no column 'SSN'"):
        release(tmp_path, text, PERSON)


@pytest.mark.slow
def test_texts_that_a_collation_makes_equal_are_different_to_a_reader(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE people (zip VARCHAR COLLATE NOCASE, ill VARCHAR COLLATE NOCASE);"
        "INSERT INTO people VALUES ('a', 'x'), ('A', 'X'), ('b', 'x'), ('b', 'y')"
    )
    columns = {"zip": qi(), "ill": role("sensitive")}
    result = release(tmp_path, policy_text(columns, "k = 2"), sql)
    assert Counter(row[0] for row in published(result)) == Counter({"*": 4})
    result = release(tmp_path, policy_text(columns, "k = 1", BESIDE), "")
    assert sorted(published(result)) == [("A", "X"), ("a", "x"), ("b", "x"), ("b", "y")]
    assert result.classes == 3


# --- names like ours ----------------------------------------------------------------------------


@pytest.mark.some(2)
@pytest.mark.parametrize("first", range(0, len(OUR_NAMES) - 1, 6))
def test_columns_named_like_our_own(tmp_path: Path, first: int) -> None:
    """Each name is a quasi-identifier once, and sensitive, other or the person at other times."""
    names = [n for n in OUR_NAMES if n]
    qis = names[first : first + 6]
    sensitive, person = names[(first + 6) % len(names)], names[(first + 7) % len(names)]
    columns = {n: role("other") for n in names} | {n: qi() for n in qis}
    columns |= {sensitive: role("sensitive"), person: role("person")}
    listed = ", ".join(f"{'i' if n == person else f'i // 2 + {at * 100}'} AS {quoted(n)}" for at, n in enumerate(names))
    require = (
        "k = 4\ndistinct_l = 1\nt = 1\n"
        f'epsilon = {{ column = {toml_text(sensitive)}, adversary = "class2", sigma = 100, at_most = 1e6 }}'
    )
    conditions = " AND ".join(f"{quoted(n)} >= 0" for n in [*qis, sensitive, names[(first + 8) % len(names)]])
    (tmp_path / "w.sql").write_text(f"SELECT count(*) FROM t WHERE {conditions}")
    text = policy_text(columns, require, 'objective = "workload:w.sql"')
    result = release(tmp_path, text, f"CREATE TABLE people AS SELECT {listed} FROM range(8) AS r(i)")
    assert set(result.node.values()) == {1}
    shown = [n for n in names if n != person]
    expected = [tuple("*" if n in qis else i // 2 + names.index(n) * 100 for n in shown) for i in range(8)]
    assert Counter(published(result)) == Counter(expected)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["base", "release", "t", "__private", 'a"b', "a.b", "my o't"])
def test_tables_named_like_our_own(tmp_path: Path, name: str) -> None:
    table = quoted(name)
    text = policy_text(
        {"q": qi("bins:2"), "z": qi("table:h"), "s": role("sensitive")},
        'k = 2\nt_hierarchical = { s = { hierarchy = "table:h", at_most = 1 } }',
        table=f'database = "private.duckdb"\nsource = {toml_text(table)}',
    )
    sql = (
        f"CREATE TABLE {table} AS SELECT i AS q, 1 AS z, 1 AS s FROM range(4) AS r(i);"
        "CREATE TABLE h AS SELECT '1' AS v, '*' AS top"
    )
    result = release(tmp_path, text, sql)
    assert Counter(published(result, name)) == Counter(
        [("less than 2", None, 1, 1, 1), ("2 or more", 2, None, 1, 1)] * 2
    )


def test_a_file_whose_name_is_a_pattern(tmp_path: Path) -> None:
    for name in ("people[1].csv", "people1.csv", ".people.csv"):
        (tmp_path / name).write_text(f"q\n{name}\n")
    for name, table in (("people[1].csv", "people[1]"), (".people.csv", "people")):
        path = write_policy(tmp_path, policy_text({"q": qi()}, table=f'source = "{name}"'))
        assert published(generalize(path), table) == [(name,)]


# --- odd types ----------------------------------------------------------------------------------

TYPES = {
    "null": "NULL::VARCHAR",
    "some null": "CASE WHEN i % 4 = 0 THEN 7 END",
    "float": "CASE i % 4 WHEN 0 THEN '-0.0'::DOUBLE WHEN 1 THEN 0.0 WHEN 2 THEN 'nan' ELSE 'inf' END",
    "real": "(i % 2 + 0.1)::FLOAT",
    "list": "[i % 2, NULL]",
    "struct": "{'a': i % 2, 'b': NULL}",
    "enum": "(CASE WHEN i % 2 = 0 THEN 'z' ELSE 'a' END)::kind",
    "timestamp": "TIMESTAMP '2024-01-01 00:00:00' + INTERVAL (i % 2) SECOND",
    "time zone": "TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (i % 2) SECOND",
    "blob": "encode('x' || i % 2)",
    "boolean": "i % 2 = 0",
    "uuid": "'00000000-0000-0000-0000-00000000000'::VARCHAR || i % 2",
    "decimal": "(i % 2)::DECIMAL(9, 3)",
    "date": "DATE '2024-01-01' + (i % 2)::INTEGER",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_every_type(tmp_path: Path, kind: str) -> None:
    """The same column as quasi-identifier, as sensitive one and as it is."""
    sql = (
        "CREATE TYPE kind AS ENUM ('z', 'unused', 'a'); CREATE TABLE people AS "
        f"SELECT {TYPES[kind]} AS q, {TYPES[kind].replace('i %', 'i // 4 %')} AS s, {TYPES[kind]} AS o, i // 8 AS g "
        "FROM range(16) AS r(i)"
    )
    columns = {"q": qi(), "s": role("sensitive"), "o": role("other"), "g": qi()}
    result = release(tmp_path, policy_text(columns, "k = 2\ndistinct_l = 1\nt = 1"), sql)
    assert (result.node, result.suppressed_rows) == ({"q": 0, "g": 0}, 0)
    with duckdb.connect(str(result.output), read_only=True) as con:
        rows = con.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM people").fetchall()
        assert "unused" not in str(con.execute("DESCRIBE people").fetchall())
    assert len(rows) == 16
    assert all(row[0] == row[2] for row in rows)
    assert result.classes == len({(row[0], row[3]) for row in rows})


def test_values_that_are_one_text_are_published_as_that_text(tmp_path: Path) -> None:
    """As a class of four they would be k = 4, and a reader of the types could tell the number 1 from the text '1'."""
    union = "CASE WHEN i % 2 = 0 THEN union_value(number := 1)::UNION(number INTEGER, word VARCHAR) "
    sql = f"CREATE TABLE people AS SELECT {union} ELSE union_value(word := '1') END AS q FROM range(4) AS r(i)"
    result = release(tmp_path, policy_text({"q": qi()}, "k = 4"), sql)
    with duckdb.connect(str(result.output), read_only=True) as con:
        assert con.execute("SELECT typeof(q), q, count(*) FROM people GROUP BY ALL").fetchall() == [("VARCHAR", "1", 4)]


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", ["t_ordered = 1", 'objective = "kl"', 'objective = "entropy"'])
@pytest.mark.parametrize("sensitive", ["float", "enum", "null", "struct"])
def test_ordered_values_and_other_objectives_of_odd_types(tmp_path: Path, kind: str, sensitive: str) -> None:
    sql = (
        "CREATE TYPE kind AS ENUM ('z', 'unused', 'a'); CREATE TABLE people AS "
        f"SELECT i // 4 AS q, {TYPES[sensitive]} AS s FROM range(16) AS r(i)"
    )
    columns = {"q": qi(), "s": role("sensitive")}
    require, objective = ("k = 5", kind) if "objective" in kind else (f"k = 5\n{kind}", "")
    path = write_policy(tmp_path, policy_text(columns, require, objective), sql)
    assert plan(path).content["node"] == {"q": 1}


# --- empty and small ----------------------------------------------------------------------------


def test_an_empty_table(tmp_path: Path) -> None:
    for columns in ({"q": qi()}, {"q": qi("ranges:5")}, {"q": qi("bins:2")}):
        (tmp_path / "private.duckdb").unlink(missing_ok=True)
        with pytest.raises(InputError, match="people has no rows: there is nothing to publish"):
            release(tmp_path, policy_text(columns), "CREATE TABLE people AS SELECT 1 AS q WHERE false")
    path = write_policy(tmp_path, policy_text({"q": qi()}, table='source = "p.csv"'), files={"p.csv": "q\n"})
    with pytest.raises(InputError, match=r"p.csv has no rows"):
        generalize(path)


def test_one_row(tmp_path: Path) -> None:
    columns = {"q": qi("mask:3"), "s": role("sensitive")}
    result = release(tmp_path, policy_text(columns, "k = 1"), "CREATE TABLE people AS SELECT 'a' AS q, 1 AS s")
    assert (result.node, published(result)) == ({"q": 0}, [("a", 1)])
    with pytest.raises(PolicyError, match="where all 1 rows are one class, k>=2 fails: 1 is the most that can be met"):
        release(tmp_path, policy_text(columns, "k = 2", "suppression = 0.99"), "")


@pytest.mark.parametrize(
    "objective", ["loss", "height", "precision", "discernibility", "average_class_size", "kl", "entropy"]
)
def test_one_value_in_every_column(tmp_path: Path, objective: str) -> None:
    sql = "CREATE TABLE people AS SELECT NULL::INTEGER AS q, 'x' AS z, NULL AS s FROM range(3)"
    columns = {"q": qi(), "z": qi(), "s": role("sensitive")}
    path = write_policy(tmp_path, policy_text(columns, "k = 3\nt = 0", f'objective = "{objective}"'), sql)
    found = plan(path).content
    assert (found["node"], found["suppressed_rows"]) == ({"q": 0, "z": 0}, 0)


def test_rows_without_a_person_are_refused(tmp_path: Path) -> None:
    sql = f"CREATE TABLE people AS SELECT CASE WHEN i > 0 THEN '{SECRET}' || i END AS who, 1 AS q FROM range(4) AS r(i)"
    with pytest.raises(InputError) as refused:
        release(tmp_path, policy_text({"who": role("person"), "q": qi()}), sql)
    assert str(refused.value) == "the person column holds NULL; give every row a person"


def test_persons_are_counted_not_rows(tmp_path: Path) -> None:
    """Ten rows of one person are one person, and a value that she has ten times is held once."""
    sql = (
        "CREATE TABLE people AS SELECT 'ann' AS who, 'a' AS q, 'flu' AS s FROM range(10) UNION ALL "
        "SELECT 'bob' || i, 'b', 'ill' || i FROM range(5) AS r(i)"
    )
    columns = {"who": role("person"), "q": qi(), "s": role("sensitive")}
    result = release(tmp_path, policy_text(columns, "k = 2"), sql)
    assert result.node == {"q": 1}
    result = release(tmp_path, policy_text(columns, "k = 2", f"suppression = 0.7\n{BESIDE}"), "")
    assert (result.node, result.suppressed_rows) == ({"q": 0}, 10)
    assert Counter(row[0] for row in published(result)) == Counter({"b": 5})
