"""Agents over the real protocol: a client starts `sqlpriv mcp` and gets estimates, reasons, and never a row."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import duckdb
import pytest
from support.bi_corpus import EXACT
from support.commands import run
from support.releases import write_release

import sqlpriv.apps.mcp.catalog
import sqlpriv.release.open
from sqlpriv.apps.mcp.catalog import MOST_DESCRIBED, Catalog
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.release.open import OpenRelease, run_rewritten
from sqlpriv.rewrite.bind.relations import Answer

mcp = pytest.importorskip("mcp", reason="the package mcp is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.one_version]

COUNT = "SELECT count(*) AS n FROM people"


POLICY = """
[table]
source = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = "ranges:5,10"
domain = "range:20..59"
[columns.ill]
role = "sensitive"
[require]
k = 2
[release]
accept = "made-up people"
method = "generalize"
"""
NOISE = """
[table]
source = "people.csv"
[columns]
age = { role = "published", domain = "range:20..59" }
ill = { role = "published", domain = ["yes", "no"] }
[release]
accept = "made-up people"
method = "frapp"
d = 0.02
gamma = 0.5
uncovered = "a test"
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A release of each kind of bounds, both of a table that is called people."""
    folder = tmp_path_factory.mktemp("mcp")
    rows = "".join(f"{20 + i % 40},{'yes' if i % 3 else 'no'}\n" for i in range(400))
    (folder / "people.csv").write_text("age,ill\n" + rows, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    sqlpriv.publish(folder / "policy.toml", folder / "labels.duckdb", ledger_file=folder / "ledger.db")
    (folder / "noise.toml").write_text(NOISE, encoding="utf-8")
    sqlpriv.publish(folder / "noise.toml", folder / "noise.duckdb", ledger_file=folder / "another.db")
    return folder / "labels.duckdb", folder / "noise.duckdb"


def with_client(paths: list[Path], talk: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    arguments = ["-m", "sqlpriv", "mcp", *map(str, paths)]

    async def session() -> None:
        async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=arguments)) as client:
            await talk(client)

    asyncio.run(session())


def told(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found = json.loads(result.content[0].text)
    assert isinstance(found, dict)
    return found


def test_a_client_describes_asks_and_explains(files: tuple[Path, Path]) -> None:
    async def talk(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["ask", "describe", "explain"]
        assert "x_low" in client.instructions
        first, second = "people", "noise"
        about = told(await client.call_tool("describe", {"release": second}))
        assert (about["name"], about["table"]) == (second, "people")
        assert about["what"].startswith("people: estimates of a private table, from a release by frapp. ")
        assert "95% interval" in about["answers"]
        assert about["columns"] == {"age": "BIGINT: 20 to 59", "ill": "VARCHAR: no, yes"}
        assert len(about["questions"]) == 3
        for question in about["questions"]:
            assert told(await client.call_tool("ask", {"sql": question, "release": second}))["rows"]
        column = told(await client.call_tool("describe", {"release": second, "column": "AGE"}))
        assert (column["column"], column["values"][:2], column["number_of_values"]) == ("age", ["20", "21"], 40)
        for name in (first, second):
            answer = told(await client.call_tool("ask", {"sql": COUNT, "release": name}))
            (row,) = answer["rows"]
            assert list(row) == ["n", "n_low", "n_high"]
            assert row["n_low"] <= row["n"] <= row["n_high"]
            assert answer["complete"]
            explained = told(await client.call_tool("explain", {"sql": COUNT, "release": name}))
            assert explained["sql"].startswith("SELECT")
        refused = await client.call_tool("ask", {"sql": "SELECT * FROM people", "release": first})
        assert refused.is_error
        assert "a SELECT of single rows" in refused.content[0].text
        unnamed = await client.call_tool("ask", {"sql": COUNT})
        assert unnamed.is_error
        assert "name one of these releases: people, noise" in unnamed.content[0].text

    with_client(list(files), talk)


LEAKS = (
    "SELECT * FROM people",
    "FROM people LIMIT 1",
    "FROM duckdb_tables()",
    "SELECT * FROM read_csv('/etc/passwd')",
    "FROM sqlpriv_release.about",
    "ATTACH 'x.duckdb'; SELECT count(*) FROM people",
    "COPY (SELECT count(*) FROM people) TO 'x.csv'",
    "SET enable_external_access = true",
    "PRAGMA database_list",
)


@pytest.fixture(scope="module")
def both(files: tuple[Path, Path]) -> Iterator[Catalog]:
    with Catalog(files, 10, 10) as catalog:
        yield catalog


@pytest.mark.parametrize("sql", LEAKS)
def test_no_way_around_the_rewriter(both: Catalog, sql: str) -> None:
    for name in both.names:
        with pytest.raises(SqlprivError):
            both.ask(sql, name, 0.95, None)


def test_a_long_answer_is_cut_and_says_so(files: tuple[Path, Path]) -> None:
    with Catalog(files[:1], 2, 10) as catalog:
        answer = catalog.ask("SELECT age, count(*) AS n FROM people GROUP BY age", None, 0.95, None)
    assert (len(answer["rows"]), answer["complete"]) == (2, False)


def test_parameters_are_values(files: tuple[Path, Path]) -> None:
    with Catalog(files[:1], 2, 10) as catalog:
        bound = catalog.ask(f"{COUNT} WHERE age > ?", None, 0.95, [30])
        assert bound["rows"] == catalog.ask(f"{COUNT} WHERE age > 30", None, 0.95, None)["rows"]


def test_no_more_rows_are_held_than_are_told(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def run_and_count(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
        found = run_rewritten(con, sql)
        held.append(found.num_rows)
        return found

    for module in (sqlpriv.release.open, sqlpriv.apps.mcp.catalog):
        monkeypatch.setattr(module, "run_rewritten", run_and_count, raising=False)
    sql = "SELECT age, count(*) AS n FROM people GROUP BY age ORDER BY age DESC"
    with Catalog(files[:1], 2, 10) as catalog:
        answer = catalog.ask(sql, None, 0.95, None)
        assert [row["age"] for row in answer["rows"]] == [59, 58]
        assert catalog.ask("DESCRIBE people", None, 0.95, None)["complete"]
    assert held == [3, 2]


ENDLESS = "SELECT count(*) FROM range(60000) a, range(60000) b WHERE a.range + b.range = -1"


@pytest.mark.parametrize("rewriting", [0, 0.2])
def test_a_slow_question_is_interrupted(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, rewriting: float
) -> None:
    """Also where time is over before its query runs, and there is nothing to interrupt yet."""

    def rewrite_slowly(*_: object, **__: object) -> Answer:
        time.sleep(rewriting)
        return Answer(ENDLESS, ())

    with Catalog(files[:1], 10, 0.1) as catalog:
        monkeypatch.setattr(catalog._open["people"], "_rewritten", rewrite_slowly)
        with pytest.raises(InputError, match=r"takes more than 0\.1 seconds; ask for fewer groups"):
            catalog.ask(COUNT, None, 0.95, None)
        monkeypatch.undo()
        catalog._seconds = 10
        assert catalog.ask(COUNT, None, 0.95, None)["rows"]


def test_an_interrupt_that_met_no_query_is_repeated(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def run_later(con: duckdb.DuckDBPyConnection, sql: str) -> Any:
        time.sleep(0.2)
        return run_rewritten(con, ENDLESS)

    for module in (sqlpriv.release.open, sqlpriv.apps.mcp.catalog):
        monkeypatch.setattr(module, "run_rewritten", run_later, raising=False)
    with Catalog(files[:1], 10, 0.1) as catalog, pytest.raises(InputError, match=r"takes more than 0\.1 seconds"):
        catalog.ask(COUNT, None, 0.95, None)


def test_releases_are_given_back_where_a_later_one_is_not_there(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, open_files = [], sqlpriv.apps.mcp.catalog.open_files

    def open_and_keep(*given: Any, **others: Any) -> OpenRelease:
        opened.append(open_files(*given, **others))
        return opened[-1]

    monkeypatch.setattr(sqlpriv.apps.mcp.catalog, "open_files", open_and_keep)
    with pytest.raises(InputError, match=r"none\.duckdb"):
        Catalog([files[0], tmp_path / "none.duckdb"], 2, 10)
    (first,) = opened
    with pytest.raises(duckdb.ConnectionException):
        first.con.execute("SELECT 1")


def test_names_that_are_not_there(files: tuple[Path, Path], tmp_path: Path) -> None:
    with Catalog(files[:1], 2, 10) as catalog, pytest.raises(InputError, match="name one of these releases: people"):
        catalog.describe("patients")
    with pytest.raises(InputError, match="two releases would be called"):
        Catalog([files[0], files[0], files[0]], 2, 10)
    done = run(tmp_path, "mcp", "none.duckdb")
    assert done.returncode == 2
    assert "none.duckdb" in done.stderr


def test_many_columns_fit_on_one_screen(tmp_path: Path) -> None:
    names = [f"a_measurement_with_a_long_name_{i}" for i in range(60)]
    columns = {n: ("VARCHAR", [f"a long value of {n}, the {i}th" for i in range(20)]) for n in names}
    made = write_release(tmp_path / "wide.duckdb", columns, [tuple(v[0] for _, v in columns.values())], EXACT)
    with Catalog([made.path]) as catalog:
        about = catalog.describe(None)
        assert len(json.dumps(about, ensure_ascii=False)) <= MOST_DESCRIBED
        assert list(about["columns"]) == names[: len(about["columns"])]
        assert about["more_columns"].startswith(f"{60 - len(about['columns'])} more: ")
        column = catalog.describe(None, names[-1])
        assert (len(column["values"]), column["number_of_values"]) == (20, 20)
        with pytest.raises(InputError, match="there is no column 'none'"):
            catalog.describe(None, "none")


def test_an_answer_has_as_many_bytes_as_it_may(files: tuple[Path, Path]) -> None:
    sql = "SELECT age, count(*) AS n FROM people GROUP BY age ORDER BY age"
    with Catalog(files[:1], most_bytes=1000) as catalog:
        answer = catalog.ask(sql, None, 0.95, None)
    assert not answer["complete"]
    assert 10 < len(answer["rows"]) < 40
    assert len(json.dumps(answer["rows"])) <= 1200


def test_numbers_have_the_digits_that_they_are_good_for(files: tuple[Path, Path]) -> None:
    with Catalog(files[1:]) as catalog, sqlpriv.open_release(files[1]) as opened:
        (row,) = catalog.ask("SELECT count(*) AS n, avg(age) AS a FROM people", None, 0.95, None)["rows"]
        exact = dict(zip(row, opened.sql("SELECT count(*) AS n, avg(age) AS a FROM people").fetchall()[0], strict=True))
    for name in ("n", "a"):
        low, value, high = (row[f"{name}{end}"] for end in ("_low", "", "_high"))
        assert low - 1e-6 <= exact[f"{name}_low"] <= exact[f"{name}_high"] <= high + 1e-6
        assert abs(value - exact[name]) <= 0.05 * (high - low)
        assert max(len(str(v)) for v in (low, value, high)) <= 6


def test_a_question_that_heeds_no_interrupt_is_left_alone(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is answered in time, and the next question has a connection of its own."""
    released = Event()
    with Catalog(files[:1], 10, 0.1) as catalog:
        monkeypatch.setattr(catalog._open["people"], "_rewritten", lambda *_, **__: released.wait(20))
        with pytest.raises(InputError, match="takes more than"):
            catalog.ask(COUNT, None, 0.95, None)
        catalog._seconds = 10
        assert catalog.ask(COUNT, None, 0.95, None)["rows"]
        released.set()
