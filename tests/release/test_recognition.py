"""A table is known again: a copy, link, export or view, with rows or a column less; strangers are not taken for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest
from support.ledgers import entries
from support.policies import policy_text, qi, role, write_policy

from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import publish
from sqlpriv.release.ledger.place import ledger_path

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

# Nothing counts up, and no column is unique: what a hospital might export.
PEOPLE = """
CREATE TABLE people AS SELECT 20 + (i * 7919) % 60 AS age, 1000 + (i * 104729) % 97 AS zip, (i * i) % 7 AS ill,
  CASE WHEN i % 11 = 0 THEN NULL ELSE DATE '2020-01-01' + CAST((i * 31) % 700 AS INTEGER) END AS admitted
FROM range(600) AS r(i)
"""
SECOND = "A second release made independently would expose people"
COLUMNS = ("age", "zip", "ill", "admitted")


def policy(folder: Path, table: str, columns: tuple[str, ...] = COLUMNS, output: str = "second.duckdb") -> Path:
    folder.mkdir(exist_ok=True)
    roles = {c: role("sensitive") if c == "ill" else qi() for c in columns if c != "more"}
    roles |= {c: role("drop") for c in columns if c == "more"}
    require = "k = 3" if output == "people-release.duckdb" else "k = 4"  # the very same again would be allowed
    text = policy_text(roles, require, "suppression = 0.1", table=table)
    return write_policy(folder, text.replace("people-release.duckdb", output))


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with a database whose table people was released."""
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute(PEOPLE).fetchall()
    publish(policy(tmp_path, in_database("people"), output="people-release.duckdb"))
    return tmp_path


def in_database(table: str, database: str = "private.duckdb") -> str:
    return f'database = "{database}"\nsource = "{table}"'


def change(folder: Path, sql: str) -> None:
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute(sql).fetchall()


def refused(path: Path, how: str = SECOND) -> None:
    with pytest.raises(ReleaseError, match=how):
        publish(path)
    assert not (path.parent / "second.duckdb").exists()
    assert len(entries()) == 1


def test_a_copied_database_in_another_folder_is_known(released: Path) -> None:
    (released / "below").mkdir()
    shutil.copy(released / "private.duckdb", released / "below" / "copy.duckdb")
    refused(policy(released / "below", in_database("people", "copy.duckdb")), rf"'people' was released on .* {SECOND}")


def test_a_link_and_a_hard_link_are_known(released: Path) -> None:
    (released / "link.duckdb").symlink_to(released / "private.duckdb")
    os.link(released / "private.duckdb", released / "hard.duckdb")
    change(released, "DELETE FROM people WHERE age < 70")  # by its place, whatever is in it
    refused(policy(released, in_database("people", "link.duckdb")))
    refused(policy(released, in_database("people", "hard.duckdb")))


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT ill, admitted, zip, age FROM people", COLUMNS),
        ("SELECT * FROM people ORDER BY hash(age)", COLUMNS),
        ("SELECT * FROM people LIMIT 599", COLUMNS),
        ("SELECT * FROM people LIMIT 60", COLUMNS),
        ("SELECT * FROM people WHERE age < 40", COLUMNS),
        ("FROM people UNION ALL FROM people", COLUMNS),
        ("FROM people UNION ALL SELECT age + 100, zip, ill, admitted FROM people LIMIT 1100", COLUMNS),
        ("SELECT age AS years, zip AS code, ill, admitted AS day FROM people", ("years", "code", "ill", "day")),
        ("SELECT * EXCLUDE (zip) FROM people", ("age", "ill", "admitted")),
        ("SELECT * EXCLUDE (age) FROM people LIMIT 500", ("zip", "ill", "admitted")),
        ("SELECT *, age % 3 AS more FROM people", (*COLUMNS, "more")),
        ("SELECT * REPLACE (hash(age) % 50 AS age) FROM people", COLUMNS),
        ("SELECT * REPLACE (CAST(age AS DOUBLE) AS age, CAST(zip AS VARCHAR) AS zip) FROM people", COLUMNS),
    ],
)
def test_a_view_of_it_is_taken_for_it(released: Path, query: str, columns: tuple[str, ...]) -> None:
    change(released, f"CREATE VIEW seen AS {query}")
    refused(policy(released, in_database("seen"), columns))


@pytest.mark.parametrize(("file", "options"), [("o.csv", ""), ("o.parquet", ""), ("p.csv", "(DELIMITER ';')")])
def test_an_export_is_taken_for_it(released: Path, file: str, options: str) -> None:
    change(released, f"COPY people TO '{released / file}' {options}")
    refused(policy(released, f'source = "{file}"'))


def test_the_refusal_says_what_it_was_taken_for_and_beside_overrides(released: Path) -> None:
    change(released, "CREATE TABLE others AS FROM people LIMIT 400")
    path = policy(released, in_database("others"))
    refused(
        path, r"'people' \(this table is taken for it: 100% of the rows of the smaller one are in both\) was released"
    )
    path.write_text(path.read_text() + 'coexists_because = "the other part is for the ward"\n')
    publish(path)
    assert [e.table for e in entries()] == ["people", "others"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (age * 7 + zip) % 60 + 20 AS age, 1000 + (zip * 5 + ill) % 97 AS zip, (age + zip) % 7 AS ill, "
        "DATE '2020-01-01' + CAST((age * zip) % 700 AS INTEGER) AS admitted FROM people",
        "SELECT * FROM (FROM people LIMIT 100) UNION ALL "
        "SELECT 100 + hash(zip, age) % 60, 5000 + zip, hash(age, zip, 1) % 7, "
        "DATE '2020-01-01' + CAST(hash(age, zip) % 700 AS INTEGER) FROM people LIMIT 700",
    ],
)
def test_a_stranger_is_not_taken_for_it(released: Path, query: str) -> None:
    change(released, f"CREATE TABLE strangers AS {query}")
    publish(policy(released, in_database("strangers")))
    assert len(entries()) == 2


def test_tables_of_a_few_codes_that_have_nothing_to_do_with_each_other_are_strangers(tmp_path: Path) -> None:
    """All four kinds of rows are in every such table; only how often can tell."""
    for number, seed in enumerate((0.1, 0.2, 0.3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        coins = "random() < 0.5 AS a, random() < 0.4 AS b, random() < 0.2 AS c"
        with duckdb.connect(str(folder / "private.duckdb")) as con:
            con.execute(f"SELECT setseed({seed})").fetchall()
            con.execute(f"CREATE TABLE people AS SELECT {coins} FROM range(500)").fetchall()
        columns = {"a": qi(), "b": qi(), "c": role("sensitive")}
        publish(write_policy(folder, policy_text(columns, "k = 3", "suppression = 0.1")))
    assert len(entries()) == 3


def test_numbers_that_count_up_do_not_make_tables_alike(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with duckdb.connect(str(folder / "private.duckdb")) as con:
            con.execute(
                f"CREATE TABLE people AS SELECT i AS id, format('P{{:05d}}', i) AS code, "
                f"DATE '2020-01-01' + CAST(i AS INTEGER) AS day, hash(i * {number}) % 5 AS ill FROM range(400) AS r(i)"
            ).fetchall()
        columns = {"id": role("drop"), "code": role("drop"), "day": qi("dates:month,year"), "ill": role("sensitive")}
        publish(write_policy(folder, policy_text(columns, "k = 3", "suppression = 0.1")))
    assert len(entries()) == 2


def test_persons_are_known_by_their_numbers_alone(tmp_path: Path) -> None:
    """Their other columns may all have changed: they are the same people."""
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with duckdb.connect(str(folder / "private.duckdb")) as con:
            con.execute(
                "CREATE TABLE people AS SELECT hash(i // 3) % 1000000007 AS who, "
                f"hash(i, {number}) % 9 AS age, hash(i, {number + 2}) % 5 AS ill FROM range(600) AS r(i)"
            ).fetchall()
        columns = {"who": role("person"), "age": qi(), "ill": role("sensitive")}
        path = write_policy(folder, policy_text(columns, "k = 3", "suppression = 0.1"))
        if number == 1:
            publish(path)
        else:
            refused(path, r"100% of the persons \('who'\) of the smaller one are in both")


def test_a_dangling_link_is_no_ledger(released: Path) -> None:
    (released / "ledger").symlink_to(released / "gone.db")
    with pytest.raises(ReleaseError, match="the ledger 'ledger' is a link that leads nowhere"):
        publish(policy(released, in_database("people")), ledger_file=released / "ledger")
    assert not (released / "gone.db").exists()


def test_a_ledger_behind_a_link_is_used_and_the_link_stays(released: Path) -> None:
    (released / "ledger").symlink_to(ledger_path())
    with pytest.raises(ReleaseError, match=SECOND):
        publish(policy(released, in_database("people")), ledger_file=released / "ledger")
    assert (released / "ledger").is_symlink()


def test_a_ledger_that_is_gone_where_a_release_is_stops_everything(released: Path) -> None:
    ledger_path().unlink()
    path = policy(released, in_database("people"), output="people-release.duckdb")
    before = (released / "people-release.duckdb").read_bytes()
    with pytest.raises(ReleaseError, match=r"'people-release.duckdb' is a release of 'people' already, and the ledger"):
        publish(path)
    assert (released / "people-release.duckdb").read_bytes() == before
    assert not ledger_path().exists()


def test_a_ledger_that_others_could_read_is_tightened_and_that_is_said(released: Path) -> None:
    ledger_path().chmod(0o644)
    done = publish(policy(released, in_database("people"), output="people-release.duckdb"))
    assert ledger_path().stat().st_mode & 0o077 == 0
    assert done.written.warnings == ("others could read or write the ledger 'ledger.db'; now only you can",)


def test_a_folder_that_others_can_write_holds_no_ledger(released: Path) -> None:
    shared = released / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(ReleaseError, match=r"others can write into the folder of the ledger 'book.db', and so"):
        publish(policy(released, in_database("people")), ledger_file=shared / "book.db")
    assert list(shared.iterdir()) == []
    with pytest.raises(ReleaseError, match=r"there is no folder for the ledger 'book.db'"):
        publish(policy(released, in_database("people")), ledger_file=released / "nowhere" / "book.db")


@pytest.mark.parametrize("owned", ["folder", "ledger"])
def test_a_ledger_or_folder_of_somebody_else_is_refused(
    released: Path, monkeypatch: pytest.MonkeyPatch, owned: str
) -> None:
    """Whatever its mode is: who owns the folder can replace what is in it."""
    other = released / "other"
    other.mkdir(mode=0o700)
    ledger = other / "book.db"
    ledger.touch(mode=0o600)
    theirs = {"folder": other, "ledger": ledger}[owned]
    stat = Path.stat

    def owned_by_another(path: Path, **more: bool) -> os.stat_result:
        found = stat(path, **more)
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:10])) if path == theirs else found

    monkeypatch.setattr(Path, "stat", owned_by_another)
    message = {"folder": "the folder of the ledger 'book.db' belongs to", "ledger": "the ledger 'book.db' belongs to"}
    with pytest.raises(ReleaseError, match=f"{message[owned]} somebody else"):
        publish(policy(released, in_database("people")), ledger_file=ledger)
    assert list(other.iterdir()) == [ledger]
