"""A column called n, class or count must not be taken for one of ours, whatever its role and even without one."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import duckdb
import pytest
from support.attempts import (
    COLUMN_PARAMS,
    LIST_PARAMS,
    Attempt,
    Rows,
    attempts,
    cases,
    checks,
    our_names,
    our_relations,
    same,
    share,
    usually,
)

# The names that the SQL texts give to what they read, and those that a user is likely to have.
CORE = [
    "n",
    "class",
    "count",
    "value",
    "size",
    "r",
    "part",
    "holder",
    "members",
    "pairs",
    "labels",
    "record",
    "id",
    "name",
    "item",
    "rows",
    "k",
    "s",
    "t",
    "person",
]
# With a column `id` predicates are those of single persons; the others are columns of the small tables anyway.
PLAIN = [n for n in our_names() if n not in {"id", "name", "value", "sigma", "share", "at_most"}]
SHARES = 8


def quoted(name: str) -> str:
    return '"' + name + '"'


def copies(column: str, names: list[str]) -> str:
    return ", ".join(f"{column} AS {quoted(n)}" for n in names)


def without_names(answer: Rows) -> Rows:
    """Classes without the names of their columns, sets as their sizes; the report without the names it repeats."""
    rows = [tuple(_without_names(v) for v in row) for row in answer]
    return [row[2:] if len(row) == 7 else row for row in rows]


def _without_names(value: object) -> object:
    if isinstance(value, dict):
        return tuple(value.values())
    return len(value) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def con(template: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables again, with more columns and with other names, as temporary ones."""
    with duckdb.connect(template, read_only=True, config={"threads": 1}) as connection:
        for number in range(SHARES):
            _widen(connection, [*PLAIN, *our_relations()][number::SHARES], number)
        for at in range(len(CORE)):
            _rename(connection, at)
        yield connection


def _widen(con: duckdb.DuckDBPyConnection, names: list[str], number: int) -> None:
    for table in ("people", "town", "prior", "shape", "sets", "own_sets"):
        taken = {str(row[0]) for row in con.execute(f"DESCRIBE {table}").fetchall()}
        extra = copies("row_number() OVER ()", [n for n in names if n not in taken])
        con.execute(f"CREATE TEMP TABLE {table}_wide{number} AS SELECT {extra}, * FROM {table}").fetchall()


def _rename(con: duckdb.DuckDBPyConnection, at: int) -> None:
    names = dict(zip(("zip", "age", "disease", "patient", "record"), roles(at), strict=True))
    for table in ("people", "town"):
        kept = [c for c in names if (table, c) != ("town", "disease")]
        columns = ", ".join(f"{c} AS {quoted(names[c])}" for c in kept)
        con.execute(f"CREATE TEMP TABLE {table}_{at} AS SELECT {columns} FROM {table}").fetchall()


def roles(at: int) -> list[str]:
    """Five neighbours in the list of core names: two quasi-identifiers, sensitive, person, record."""
    return [CORE[(at + i) % len(CORE)] for i in range(5)]


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", checks("tbl"))
def test_columns_without_a_role_do_not_matter(con: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    number = attempts().index(attempt) % SHARES
    params = ("tbl", "original", "population", "prior", "shape", "predicates")
    wider = {p: f"{attempt.usual[p]}_wide{number}" for p in params}
    assert same(attempt.ask(con, **wider), usually(con, attempt))


@pytest.mark.some(20)
@pytest.mark.parametrize("attempt", checks("tbl"))
def test_the_answer_does_not_depend_on_the_names(con: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    expected = without_names(usually(con, attempt))
    number = attempts("tbl").index(attempt)
    for at in {number % len(CORE), CORE.index("n")}:
        *qis, disease, patient, record = roles(at)
        given = attempt.ask(
            con,
            tbl=f"people_{at}",
            original=f"people_{at}",
            population=f"town_{at}",
            qis=qis,
            columns=qis,
            buckets=qis,
            sensitive=disease,
            person=patient,
            id=record if attempt.name == "kl_divergence" else patient,
        )
        assert same(without_names(given), expected), roles(at)


def _lists_names(macro: str) -> bool:
    return macro.endswith("_classes") or macro == "uniqueness"


@pytest.mark.some(2)
@pytest.mark.parametrize("attempt", [a for a in checks(*LIST_PARAMS) if not _lists_names(a.values[0].name)])
def test_our_names_as_quasi_identifiers(db: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """Many at once, each a copy of zip, so the classes are those of zip."""
    taken = {"zip", "record", "patient", "disease"}
    names = list(share(attempt, [n for n in our_names() if n not in taken], SHARES))
    zips = copies("zip", names)
    db.execute(f"CREATE TEMP TABLE copied AS SELECT {zips}, record, patient, disease FROM people").fetchall()
    db.execute(f"CREATE TEMP TABLE copied_town AS SELECT {zips}, patient FROM town").fetchall()
    given = attempt.ask(db, tbl="copied", original="copied", population="copied_town", qis=names, buckets=names)
    expected = attempt.ask(db, qis=["zip"], buckets=["zip"])
    assert same(without_names(given), without_names(expected))


@pytest.mark.slow
def test_every_name_of_ours_as_sensitive_and_as_person(db: duckdb.DuckDBPyConnection) -> None:
    call = "FROM priv.l_diversity(?, ['zip', 'age'], ?, ?)"
    expected = db.execute(call, ["people", "disease", "patient"]).fetchall()
    names = [n for n in our_names() if n not in {"zip", "age"}]
    for number, secret, person in zip(count(), names, [*names[1:], names[0]], strict=False):
        columns = f"disease AS {quoted(secret)}, patient AS {quoted(person)}"
        db.execute(f"CREATE TEMP TABLE t{number} AS SELECT zip, age, {columns} FROM people").fetchall()
        assert db.execute(call, [f"t{number}", secret, person]).fetchall() == expected


def test_a_struct_called_like_our_table_does_not_stand_in_for_it(db: duckdb.DuckDBPyConnection) -> None:
    """`__priv_t."zip"` could be a field of a column of that name; the table's own column comes first."""
    db.execute("CREATE TEMP TABLE t AS SELECT {'zip': 'same'} AS __priv_t, record AS zip FROM people").fetchall()
    assert db.execute("FROM priv.k_anonymity('t', ['zip'])").fetchall() == [(1,)]


@pytest.mark.parametrize("attempt", cases(*LIST_PARAMS, *COLUMN_PARAMS))
def test_a_reserved_column_is_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for param in set(attempt.params) & {*LIST_PARAMS, *COLUMN_PARAMS}:
        name = ["zip", "__PRIV_t"] if param in LIST_PARAMS else "__Priv_t"
        with pytest.raises(duckdb.InvalidInputException, match="names that start with __priv_ are reserved"):
            attempt.ask(shared, **{param: name})
