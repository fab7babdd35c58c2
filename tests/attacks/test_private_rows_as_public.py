"""What is named as public or as a domain is not the private table in disguise: a view, a copy, a file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest
from support.randomized_policies import published, write_noise_policy

from sqlpriv.core.errors import PolicyError
from sqlpriv.publishing import publish
from sqlpriv.table.named_tables import is_private
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import TableReference

pytestmark = pytest.mark.slow

PEOPLE = """
CREATE TABLE people AS SELECT (i * 37) % 100 AS a, (i * i) % 89 AS b FROM range(300) AS r(i);
CREATE SCHEMA other;
CREATE TABLE other.people AS SELECT i AS a, i * 3 AS b FROM range(100) AS r(i);
CREATE TABLE numbers AS SELECT i AS a, 'number ' || i AS name FROM range(100) AS r(i);
CREATE VIEW named AS FROM numbers WHERE a >= 0;
CREATE VIEW plain AS FROM people;
CREATE VIEW above AS WITH x AS (SELECT a, count(*) AS n FROM PLAIN GROUP BY a) FROM x;
CREATE VIEW inside AS SELECT a FROM numbers WHERE a IN (SELECT a FROM main.people);
CREATE VIEW queried AS FROM query_table('people');
CREATE MACRO sneaky() AS TABLE FROM people;
CREATE VIEW by_macro AS FROM sneaky();
CREATE TABLE copied AS SELECT b AS x, a AS y FROM people ORDER BY hash(a) LIMIT 200;
"""
RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
DOMAIN = published('"range:0..99"')
ITSELF = "is the private table itself"
MADE_OF = "is, or reads, the source of the private .*, so it counts as private. .* export that list to a file"
NOT_FOLLOWED = "cannot be followed to what it reads; make a table of what is public in it"
COPY = "is taken for a copy of the private table: .* are in both; name what is public"


def policy(folder: Path, public: str = "", domain: str = DOMAIN, table: str = "people") -> None:
    sql = "" if (folder / "private.duckdb").exists() else PEOPLE
    more = f'[public]\nnumbers_of_all = "{public}"' if public else ""
    where = f'database = "private.duckdb"\nsource = "{table}"'
    columns = {"a": domain, "b": DOMAIN}
    publish(write_noise_policy(folder, columns, RELEASE, sql, table=where, more=more), force=True)


def refused(folder: Path, message: str, **given: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy(folder, **given)
    assert not list(folder.glob("*release*"))


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("public", "message"),
    [
        ("people", ITSELF),
        ("plain", ITSELF),
        ("above", ITSELF),
        ("inside", ITSELF),
        ("queried", NOT_FOLLOWED),
        ("by_macro", NOT_FOLLOWED),
        ("copied", COPY),
    ],
)
def test_the_private_table_is_no_public_table(tmp_path: Path, public: str, message: str) -> None:
    refused(tmp_path, message, public=public)


@pytest.mark.parametrize("table", ["plain", "above", "inside", "queried", "copied"])
def test_the_private_table_is_no_domain(tmp_path: Path, table: str) -> None:
    column = "y" if table == "copied" else "a"
    message = {"queried": NOT_FOLLOWED, "copied": COPY}.get(table, "it would be read from the private table; write")
    refused(tmp_path, f"domain of 'a': .*{message}", domain=published(f'"table:{table}.{column}"'))


def test_what_a_private_view_is_made_of_is_private(tmp_path: Path) -> None:
    refused(tmp_path, MADE_OF, public="people", table="plain")


@pytest.mark.some(1)
@pytest.mark.parametrize("table", ["twice", "joined", "deep"])
def test_what_a_private_view_is_made_of_is_private_through_other_views(tmp_path: Path, table: str) -> None:
    """More columns than the private view shows, and values under another name: rows would not tell."""
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute(PEOPLE).fetchall()
        con.execute(
            "ALTER TABLE people ADD COLUMN c INTEGER; ALTER TABLE people ADD COLUMN d INTEGER;"
            "UPDATE people SET c = hash(a, b) % 1000, d = hash(b, a) % 77;"
            "CREATE VIEW kinds AS SELECT DISTINCT a AS kind FROM people;"
            "CREATE VIEW fewer AS SELECT a, b FROM people; CREATE VIEW twice AS FROM fewer;"
            "CREATE VIEW joined AS SELECT p.a, p.b FROM people AS p JOIN numbers AS n ON n.a = p.a;"
            "CREATE VIEW deep AS SELECT a, b FROM joined"
        ).fetchall()
    refused(tmp_path, MADE_OF, public="people", table=table)
    refused(tmp_path, MADE_OF, domain=published('"table:kinds.kind"'), table=table)


def test_a_list_that_a_private_view_joins_is_private_until_it_is_a_file(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute(PEOPLE).fetchall()
        con.execute("CREATE VIEW joined AS SELECT p.* FROM people AS p JOIN numbers AS n ON n.a = p.a").fetchall()
        con.execute(f"COPY numbers TO '{tmp_path}/numbers.csv'").fetchall()
    refused(tmp_path, MADE_OF, public="named", table="joined")
    policy(tmp_path, public="numbers.csv", table="joined")


def test_other_tables_and_views_are_what_the_owner_says(tmp_path: Path) -> None:
    policy(tmp_path, public="named", domain=published('"table:numbers.a"'))
    with duckdb.connect(str(tmp_path / "people-release.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM public.numbers_of_all").fetchall() == [(100,)]


def test_files_are_known_by_what_they_are_and_what_they_hold(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        rows = "SELECT (i * 37) % 100 AS a, (i * i) % 89 AS b FROM range(300) AS r(i)"
        con.execute(f"COPY ({rows}) TO '{tmp_path}/people.csv'").fetchall()
        con.execute(f"COPY (SELECT b, a FROM ({rows}) WHERE a > 30) TO '{tmp_path}/part.parquet'").fetchall()
    shutil.copy(tmp_path / "people.csv", tmp_path / "copy.csv")
    os.link(tmp_path / "people.csv", tmp_path / "hard.csv")
    for file, message in (("people.csv", ITSELF), ("hard.csv", ITSELF), ("copy.csv", COPY), ("part.parquet", COPY)):
        more = f'[public]\nnumbers_of_all = "{file}"'
        columns = {"a": DOMAIN, "b": DOMAIN}
        found = write_noise_policy(tmp_path, columns, RELEASE, table='source = "people.csv"', more=more)
        with pytest.raises(PolicyError, match=message):
            publish(found, force=True)
    assert not list(tmp_path.glob("*release*"))


def test_a_file_that_a_private_view_reads_is_private(tmp_path: Path) -> None:
    rows = "SELECT (i * 37) % 100 AS a, (i * i) % 89 AS b FROM range(300) AS r(i)"
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute(f"COPY ({rows}) TO '{tmp_path}/rows.csv'").fetchall()
        con.execute(f"CREATE VIEW people AS FROM read_csv('{tmp_path}/rows.csv')").fetchall()
        con.execute(f"CREATE VIEW again AS SELECT a FROM '{tmp_path}/rows.csv'").fetchall()
    refused(tmp_path, MADE_OF, public="rows.csv")
    refused(tmp_path, MADE_OF, public="again")


STAYS = """
SELECT hash(i, 1) % 50 AS zip, CASE WHEN hash(i, 2) % 2 = 0 THEN 'F' ELSE 'M' END AS sex, 'd' || hash(i, 3) % 20 AS ill,
  hash(i, 4) % 31 AS stay, 1950 + hash(i, 5) % 41 AS born, DATE '2024-01-01' + CAST(hash(i, 6) % 480 AS INTEGER) AS day,
  i AS id
FROM range(2000) AS r(i)
"""


def named_beside_stays(folder: Path, query: str, columns: str = "*") -> None:
    """Whether what the query of the table `stays` gives may be a public table beside it, both in files."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE stays AS {STAYS}").fetchall()
        con.execute(f"COPY (SELECT {columns} FROM stays) TO '{folder}/stays.parquet'").fetchall()
        con.execute(f"COPY ({query}) TO '{folder}/public.parquet'").fetchall()
    reference = TableReference(folder, "stays.parquet", None, {})
    with open_table(reference, ()) as source:
        assert not is_private(source, "public.parquet")


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT zip, sex, ill FROM stays",
        "SELECT zip, sex, ill FROM stays LIMIT 600",
        "SELECT sex, ill, stay, born FROM stays",
        "SELECT sex, ill FROM stays",
        "SELECT id, ill FROM stays",
        "SELECT DISTINCT stay, born, ill FROM stays",
        "SELECT *, zip % 7 AS more, stay % 5 AS still_more FROM stays",
        "SELECT zip, stay, born, sex || ill AS both FROM stays WHERE sex = 'F'",
        "SELECT * EXCLUDE (id, day), row_number() OVER () + 7000 AS id FROM stays ORDER BY hash(id)",
    ],
)
def test_some_columns_of_the_private_rows_are_a_copy(tmp_path: Path, query: str) -> None:
    with pytest.raises(PolicyError, match=COPY):
        named_beside_stays(tmp_path, query)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (SELECT DISTINCT sex FROM stays), (SELECT DISTINCT ill FROM stays)",
        "SELECT DISTINCT ill, sex FROM stays WHERE sex = 'F' OR ill <> 'd3'",
        "SELECT *, hash(ill) % 1000 AS people FROM (SELECT DISTINCT sex, ill FROM stays), range(2020, 2024) AS y(year)",
        "SELECT * FROM (SELECT DISTINCT zip FROM stays), (SELECT DISTINCT ill FROM stays), "
        "(VALUES ('F'), ('M')) AS v(sex)",
        "SELECT CAST(DATE '2024-01-01' + CAST(i AS INTEGER) AS DATE) AS day, i % 7 AS stay FROM range(480) AS r(i)",
        "SELECT zip, zip // 10 AS sex, 'town ' || zip AS town FROM range(50) AS r(zip)",
        "SELECT hash(i, 77) % 50 AS zip, 'd' || hash(i, 78) % 20 AS ill, "
        "hash(i, 79) % 31 AS stay FROM range(900) AS r(i)",
    ],
)
def test_lists_of_what_is_possible_and_strangers_are_no_copies(tmp_path: Path, query: str) -> None:
    named_beside_stays(tmp_path, query)


@pytest.mark.some(1)
@pytest.mark.parametrize("columns", ["sex, ill, stay", "sex, ill"])
def test_all_pairs_are_no_copy_of_a_table_of_little_more(tmp_path: Path, columns: str) -> None:
    pairs = "SELECT * FROM (SELECT DISTINCT ill AS disease FROM stays), (VALUES ('F'), ('M')) AS v(sex)"
    named_beside_stays(tmp_path, pairs, columns)
    named_beside_stays(tmp_path, pairs.replace(" AS disease", ""), columns)
    named_beside_stays(tmp_path, "SELECT DISTINCT ill, sex FROM stays WHERE sex = 'F' OR ill <> 'd3'", columns)
