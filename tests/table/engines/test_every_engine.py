"""Every engine counts, folds and publishes what DuckDB does: one suite for all, on tables with odd values."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.postgres import postgres
from support.spark import session
from typer.testing import CliRunner

from sqlpriv.apps.cli.main import app
from sqlpriv.table.engines import engine_table, rows_of
from sqlpriv.table.engines.rows import COUNT, Rows
from sqlpriv.table.folded import FoldedTable, digest_of_table, fingerprint_of_table
from sqlpriv.table.source import open_source

KINDS = {
    "who": "INTEGER", "name": "VARCHAR", "code": "VARCHAR", "x": "DOUBLE PRECISION", "many": "BIGINT",
    "dose": "NUMERIC(10, 2)", "day": "DATE", "moment": "TIMESTAMP", "ill": "BOOLEAN",
}  # fmt: skip
VALUES: dict[str, tuple[str | None, ...]] = {
    "name": ("Ann", "ann", "Ann ", "", "Zoë", "it''s", None),
    "code": ("01305", "1305", "1305.0", None),
    "x": ("0.0", "-0.0", "NaN", "1.5", "1e300", None),
    "many": ("9223372036854775807", "-9223372036854775807", "0", None),
    "dose": ("1.10", "1.1", "-0.00", None),
    "day": ("2024-02-29", "0044-03-15", "1582-10-10", None),
    "moment": ("2024-03-31 02:30:00", "2024-03-31 02:30:00.000001", None),
    "ill": ("true", "false", None),
}
SUBSETS = (["name", "x"], ["code", "dose", "many"], ["day", "moment", "ill"], list(KINDS))


def literals(seed: int) -> str:
    """The rows of a random table, as SQL after VALUES."""
    coin = random.Random(seed)
    rows = []
    for i in range(coin.choice((1, 60, 400))):
        drawn = {name: coin.choice(given) for name, given in VALUES.items()}
        cells = {"who": str(i // coin.choice((1, 3))), **drawn}
        shown = ", ".join(f"CAST({'NULL' if cells[n] is None else repr_of(cells[n])} AS {k})" for n, k in KINDS.items())
        rows.append(f"({shown})")
    return ", ".join(rows)


def repr_of(text: str | None) -> str:
    return f"'{text}'"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver comes with make test-spark")
    with postgres() as uri, driver.connect(uri, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("CREATE SCHEMA health")
        yield uri, cursor


Opens = Callable[[int, str], tuple[Rows, Rows]]
"""From a seed and an engine: the rows there, and in DuckDB."""


@pytest.fixture
def opened(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opens]:
    uri, cursor = server
    monkeypatch.setenv("PEOPLE_AT", uri)
    held: list[Rows] = []
    with duckdb.connect() as con:

        def open_table(seed: int, engine: str) -> tuple[Rows, Rows]:
            columns, values = ", ".join(KINDS), literals(seed)
            con.execute(f"CREATE OR REPLACE TABLE people AS FROM (VALUES {values}) AS t({columns})").fetchall()
            if engine == "postgres":
                cursor.execute("DROP TABLE IF EXISTS health.people")
                typed = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
                cursor.execute(f"CREATE TABLE health.people ({typed})")
                cursor.execute(f"INSERT INTO health.people VALUES {values}")
                there = rows_of(engine_table("postgres", "health.people", tmp_path, "people", "env:PEOPLE_AT"))
            else:
                session()
                (tmp_path / "people").mkdir()
                for part in range(3):
                    rows = f"SELECT * FROM people WHERE hash(who) % 3 = {part}"
                    con.execute(f"COPY ({rows}) TO '{tmp_path}/people/{part}.parquet'").fetchall()
                there = rows_of(engine_table("spark", "people", tmp_path, "people", None))
            here = rows_of(con.table("people"))
            assert there is not None
            assert here is not None
            held.extend((there, here))
            return there, here

        yield open_table
        for rows in held:
            rows.close()


def counted(con: duckdb.DuckDBPyConnection, rows: Rows, names: list[str], table: str) -> list[tuple[Any, ...]]:
    found = con.sql(f"FROM {rows.histogram(con, names, table).name}").fetchall()
    con.execute(f"DROP TABLE {table}").fetchall()
    return sorted(tuple(map(str, row)) for row in found)


@pytest.mark.parametrize("engine", ["spark", "postgres"])
@pytest.mark.parametrize("seed", range(3))
def test_what_an_engine_counts_is_what_duckdb_counts(opened: Opens, engine: str, seed: int) -> None:
    there, here = opened(seed, engine)
    assert dict(there.types) == dict(here.types)
    assert there.count() == here.count()
    assert {name: there.sharing(name) for name in KINDS} == {name: here.sharing(name) for name in KINDS}
    with duckdb.connect() as con:
        for names in SUBSETS:
            assert counted(con, there, names, "there") == counted(con, here, names, "here")


@pytest.mark.parametrize("engine", ["spark", "postgres"])
@pytest.mark.parametrize("seed", range(3))
def test_the_fingerprint_of_a_table_is_the_same_wherever_it_is(opened: Opens, engine: str, seed: int) -> None:
    there, here = opened(seed, engine)
    with duckdb.connect() as con:
        relation = here.histogram(con, ["name", "x"], "counted")
        whole = FoldedTable(con, there, relation) if there.folds else there.everything(con)
        assert digest_of_table(whole) == digest_of_table(here.everything(con))
        found, known = (fingerprint_of_table(w, "a secret", "who") for w in (whole, here.everything(con)))
    assert found.digest == known.digest
    assert {(s.kind, s.columns, s.cells) for s in found.sketches} == {
        (s.kind, s.columns, s.cells) for s in known.sketches
    }


PEOPLE = """
    SELECT 1000 * p + i AS id, CAST(20 + i * 7 % 50 AS INTEGER) AS age,
        lpad(CAST(1300 + i * 13 % 4 AS VARCHAR), 5, '0') AS zip,
        CASE i % 3 WHEN 0 THEN 'flu' WHEN 1 THEN 'cold' END AS ill, CAST(i % 40 AS INTEGER) AS who
    FROM {numbers}"""
SOURCES = {
    "spark": 'engine = "spark"\nsource = "people"',
    "duckdb": 'source = "people/*.parquet"\nname = "people"',
    "postgres": 'engine = "postgres"\nsource = "health.people"\nconnection = "env:PEOPLE_AT"\nname = "people"',
}
POLICIES = {
    "generalize": """
        [columns]
        id = { role = "identifier" }
        age = { role = "quasi-identifier", hierarchy = "ranges:10,30" }
        zip = { role = "quasi-identifier", hierarchy = "mask:5" }
        ill = { role = "sensitive" }
        who = { role = "drop" }
        [require]
        k = 9""",
    "persons": """
        [columns]
        id = { role = "drop" }
        age = { role = "quasi-identifier", hierarchy = "ranges:10,30" }
        zip = { role = "quasi-identifier", hierarchy = "mask:5" }
        ill = { role = "sensitive" }
        who = { role = "person" }
        [require]
        k = 9""",
    "noisy_counts": """
        [columns]
        id = { role = "drop" }
        age = { role = "published", domain = "range:20..69" }
        zip = { role = "drop" }
        ill = { role = "published", domain = ["flu", "cold"], null = true }
        who = { role = "drop" }""",
}
NOISE = "gamma = 0.8\nd = 0.05\nuncovered = 'only a test'\nn_public = 1200"


@pytest.fixture
def folder(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    uri, cursor = server
    session()
    (tmp_path / "people").mkdir()
    for part in range(3):
        numbers = f"(SELECT {part} AS p, i FROM range(400) AS r(i))"
        duckdb.sql(f"COPY ({PEOPLE.format(numbers=numbers)}) TO '{tmp_path}/people/{part}.parquet'")
    cursor.execute("DROP TABLE IF EXISTS health.people")
    numbers = "(SELECT p, i FROM generate_series(0, 2) AS p, generate_series(0, 399) AS i) AS r"
    cursor.execute(f"CREATE TABLE health.people AS {PEOPLE.format(numbers=numbers)}")
    (tmp_path / "key").write_text("5a" * 32)
    monkeypatch.setenv("PEOPLE_AT", uri)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def published(name: str, engine: str) -> tuple[list[Any], str]:
    """The rows of a release that the command line has published, and their digest."""
    method = name if name in {"generalize", "noisy_counts"} else "generalize"
    Path("policy.toml").write_text(
        f"[table]\n{SOURCES[engine]}\n[ledger]\npath = '{engine}.db'\n{POLICIES[name]}\n[release]\n"
        "accept = 'made-up people'\n"
        f"method = '{method}'\n{NOISE if method == 'noisy_counts' else ''}\noutput = '{engine}.duckdb'\n"
    )
    key = ["--key-file", "key"] if method == "noisy_counts" else []
    done = CliRunner().invoke(app, ["publish", "policy.toml", *key])
    assert done.exit_code == 0, done.output
    verified = CliRunner().invoke(app, ["verify", f"{engine}.duckdb", "--policy", "policy.toml"])
    assert verified.exit_code == 0, verified.output
    with duckdb.connect(f"{engine}.duckdb", read_only=True) as con:
        rows = con.sql("SELECT CAST(t AS VARCHAR), count(*) FROM main.people AS t GROUP BY 1 ORDER BY 1").fetchall()
        digest = con.sql("SELECT value FROM sqlpriv_release.about WHERE name = 'digest'").fetchall()[0][0]
    return rows, digest


@pytest.mark.parametrize("name", POLICIES)
def test_the_command_line_publishes_the_same_release_from_every_engine(folder: Path, name: str) -> None:
    found = {engine: published(name, engine) for engine in SOURCES}
    assert len(found["duckdb"][0]) > 3
    assert found["spark"] == found["duckdb"]
    assert found["postgres"] == found["duckdb"]


def test_persons_with_several_rows_are_counted_once(folder: Path) -> None:
    """A class is as large as its different persons; the sum of the persons of its combinations would be more."""
    options = ["--qi", "age,zip", "--sensitive", "ill", "--person", "who", "--json"]
    commands = (["people"], ["people", "--engine", "spark"],
                ["health.people", "--engine", "postgres", "--connection", "env:PEOPLE_AT"])  # fmt: skip
    found = []
    for command in commands:
        done = CliRunner().invoke(app, ["check", *command, *options])
        assert done.exit_code in (0, 1), done.output
        found.append(done.stdout.replace("health.people", "people"))
    assert found[1] == found[0]
    assert found[2] == found[0]


@pytest.mark.parametrize("engine", ["spark", "postgres"])
def test_a_policy_is_proposed_from_all_rows_of_an_engine(folder: Path, engine: str) -> None:
    there = {"spark": ["people"], "postgres": ["health.people", "--connection", "env:PEOPLE_AT"]}[engine]
    for command, file in ((["people"], "files.toml"), ([*there, "--engine", engine], "engine.toml")):
        done = CliRunner().invoke(app, ["init", *command, "--method", "generalize", "-o", file])
        assert done.exit_code == 0, done.output
    files, proposed = ((folder / f"{name}.toml").read_text().partition("[columns]") for name in ("files", "engine"))
    assert proposed[2] == files[2]
    assert "from 1,200 rows" in proposed[0]
    assert f'engine = "{engine}"' in proposed[0]


def test_nothing_is_left_of_what_was_counted(folder: Path) -> None:
    with open_source(engine_table("spark", "people", folder, "people", None)) as source:
        assert source.counted is not None
        spilt = Path(source.con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
        assert spilt.stat().st_mode & 0o777 == 0o700
        assert sum(n for (n,) in source.con.sql(f"SELECT {COUNT} FROM {source.counted.name}").fetchall()) == 1200
    assert not spilt.exists()
