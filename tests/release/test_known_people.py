"""The same people are known again in other columns; strangers are not taken for them, and sometimes nobody can tell."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest
from support.ledgers import entries
from support.policies import policy_text, qi, role

from benchmarks.disguises import Shape, disguises, strangers
from sqlpriv.core.errors import ReleaseError
from sqlpriv.demo import hospital
from sqlpriv.publishing import publish, read_policy
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.show import show_ledger
from sqlpriv.release.ledger.store import read_ledger
from sqlpriv.table.cells import SamePeople
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import take_fingerprint
from sqlpriv.table.resemblance import resemblances

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

Con = duckdb.DuckDBPyConnection
SECOND = "A second release made independently would expose people"
HOSPITAL = Shape(
    ("patient_id",),
    ("zip", "birth_date", "admission_date", "diagnosis", "sex", "nationality", "length_of_stay"),
    "length_of_stay",
    "length_of_stay < 4",
)


def in_common(con: Con, first: str, second: str, person: str | None = None) -> SamePeople | None:
    """What the second table has in common with the first, by its sample alone."""
    for name, query in (("first_table", first), ("second_table", second)):
        con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}").fetchall()
    earlier = take_fingerprint(WholeRows(con, "first_table"), "a secret")
    later = take_fingerprint(WholeRows(con, "second_table"), "a secret", person, {"earlier": earlier.sample})
    return later.people.get("earlier")


def are_the_same(con: Con, first: str, second: str, person: str | None = None) -> bool:
    found = in_common(con, first, second, person)
    return found is not None and found.are_the_same


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Con:
    """A year of the hospital, as table t."""
    con = duckdb.connect()
    hospital.create(con, "t", rows=4000)
    return con


TELLING = ("without zip and birth_date", "half of the rows without two", "doubled, without two", "a column shuffled")


@pytest.mark.parametrize("disguise", TELLING)
def test_the_same_people_are_known_without_some_columns(year: Con, disguise: str) -> None:
    assert are_the_same(year, "FROM t", disguises(HOSPITAL)[disguise])


@pytest.mark.slow
def test_41_of_44_disguises_are_seen_through(year: Con) -> None:
    year.execute("CREATE OR REPLACE TEMP TABLE plain AS FROM t").fetchall()
    earlier = take_fingerprint(WholeRows(year, "plain"), "a secret")
    missed = []
    for what, query in disguises(HOSPITAL).items():
        year.execute(f"CREATE OR REPLACE TEMP TABLE disguised AS {query}").fetchall()
        later = take_fingerprint(WholeRows(year, "disguised"), "a secret", None, {"earlier": earlier.sample})
        by_cells = "earlier" in later.people and later.people["earlier"].are_the_same
        if not (by_cells or later.digest == earlier.digest or resemblances(year, earlier.sketches, later.sketches)):
            missed.append(what)
    assert len(missed) <= 3, missed


def test_strangers_are_not_taken_for_them(year: Con) -> None:
    pairs = [*strangers(range(2), ["sex = 'F'", "length_of_stay < 3"])]
    assert [pair for pair in pairs if are_the_same(year, *pair)] == []
    hospital.create(year, "other_year", rows=4000, seed=8)
    assert not are_the_same(year, "FROM t", "FROM other_year")
    year.execute("DROP TABLE other_year").fetchall()


def test_numbers_that_count_up_tell_only_with_another_column(con: Con) -> None:
    patients = "SELECT 'P' || (100000 + i) AS person, {0} % 60 AS age{1} FROM range(3000) AS r(i)"
    first = patients.format("hash(i)", ", hash(i, 2) % 500 AS visit")
    again = patients.format("hash(i)", ", hash(i, 3) % 9 AS ward")
    others = patients.format("hash(i, 'b')", ", hash(i, 4) % 9 AS ward")
    found = in_common(con, first, again)
    assert found is not None
    assert (found.are_the_same, found.numbered, found.columns) == (True, True, ("person", "age"))
    assert not are_the_same(con, first, others)
    # Sorted by age, rows of the same number agree among strangers, too: as those that follow each other do.
    numbered = "SELECT row_number() OVER (ORDER BY age) AS person, * EXCLUDE (person) FROM ({0})"
    assert not are_the_same(con, numbered.format(first), numbered.format(others))


def test_nobody_can_tell_where_few_rows_are_distinct(con: Con) -> None:
    one, two = (
        f"SELECT hash(i, {n}) % 2 AS sex, hash(i, {n}, 1) % 5 AS stage, i AS at FROM range(900) AS r(i)" for n in (1, 2)
    )
    for other in (two, one):
        found = in_common(
            con, one.replace("i AS at", "hash(i) AS more"), other.replace("i AS at", "hash(i, 7) AS less")
        )
        assert found is not None
        assert (found.can_tell, found.is_unclear, found.are_the_same) == (False, True, False)


def test_visits_tell_as_persons_do(con: Con) -> None:
    """A person with several rows has no row that is distinct: other persons' rows are what counts."""
    people = "SELECT hash(i, 5) AS code, hash(i) % 80 AS age, hash(i, 2) % 900 AS zip FROM range(2000) AS r(i)"
    visits = f"SELECT *, hash(code, j) % 365 AS day FROM ({people}), range(3) AS v(j)"
    assert are_the_same(con, people.replace("hash(i, 5) AS code, ", ""), visits, "code")


def published(
    folder: Path, source: str, columns: dict[str, str], output: str, more: str = "", require: str = "k = 2"
) -> Path:
    text = policy_text(columns, require, "suppression = 0.9", table=f'source = "{source}"')
    path = folder / f"{output}.toml"
    path.write_text(text.replace("people-release.duckdb", output).replace("\n[release]", f"{more}\n[release]"))
    return path


FIRST = {"patient_id": role("identifier"), "zip": qi(), "birth_date": role("drop"), "sex": qi()}
REST = {"admission_date": role("drop"), "nationality": qi(), "diagnosis": role("sensitive")}


@pytest.mark.slow
def test_the_same_rows_without_what_made_them_known_are_refused(tmp_path: Path) -> None:
    hospital.write(tmp_path, rows=3000)
    with duckdb.connect() as con:
        rest = f"SELECT * EXCLUDE (patient_id, zip, birth_date, length_of_stay) FROM '{tmp_path / 'hospital.parquet'}'"
        con.execute(f"COPY ({rest}) TO '{tmp_path / 'less.parquet'}'").fetchall()
    publish(published(tmp_path, "hospital.parquet", FIRST | REST | {"length_of_stay": qi()}, "first.duckdb"))
    less = {"sex": qi()} | REST
    with pytest.raises(ReleaseError, match=rf"taken for it: 100% of .*{SECOND}"):
        publish(published(tmp_path, "less.parquet", less, "second.duckdb", require="k = 3"))
    # Where its owner says why, it is entered as about the same people, and what follows it knows of both.
    path = published(tmp_path, "less.parquet", less, "second.duckdb", require="k = 3")
    path.write_text(path.read_text() + 'coexists_because = "the first one was for the auditors"\n')
    publish(path)
    book = read_ledger(ledger_path())
    first, second = book.entries
    assert book.people[second.id] == {first.id}
    shown = show_ledger(read_policy(path))
    assert len(shown.content) == 2


@pytest.mark.slow
def test_a_ledger_of_an_earlier_version_is_read_and_grows(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "".join(f"{i % 5},{i % 3}\n" for i in range(90)))
    columns = {"a": qi(), "b": role("sensitive")}
    publish(published(tmp_path, "people.csv", columns, "first.duckdb"))
    with sqlite3.connect(ledger_path()) as con:
        con.executescript("DROP TABLE samples; DROP TABLE people; UPDATE about SET value = '1' WHERE name = 'format'")
    assert [(e.output, read_ledger(ledger_path()).samples) for e in entries()] == [("first.duckdb", {})]
    (tmp_path / "others.csv").write_text("c,d\n" + "".join(f"x{i % 7},y{i % 4}\n" for i in range(90)))
    publish(published(tmp_path, "others.csv", {"c": qi(), "d": role("sensitive")}, "second.duckdb"))
    book = read_ledger(ledger_path())
    assert [e.output for e in book.entries] == ["first.duckdb", "second.duckdb"]
    assert set(book.samples) == {book.entries[1].id}
