"""Loading and installing: twice is once, old is replaced, new is left alone, what is the user's stays his."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.clients import command_line, needs_command_line

import sqlpriv
from sqlpriv import __version__
from sqlpriv.core.errors import InstallError
from sqlpriv.demo import examples
from sqlpriv.macros.catalog import macros, script
from sqlpriv.macros.language import Macro, Overload

Con = duckdb.DuckDBPyConnection
MODULE = import_module("sqlpriv.macros.install")
ALL = macros()
# Most of these tests are about the transaction around the macros: a few of them do, in a fraction of the time.
FEW = {name: ALL[name] for name in ("k_anonymity", "k_anonymity_classes", "sdgs_delta", "version")}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "macros", lambda: FEW)


@pytest.fixture
def con() -> Iterator[Con]:
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(scope="session", params=["installed", pytest.param("script", marks=needs_command_line)])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of the examples and all macros: by `install`, or by the script that DuckDB 1.5.6 reads."""
    path = tmp_path_factory.mktemp("installed") / "hospital.duckdb"
    if request.param == "script":
        (path.parent / "sqlpriv.sql").write_text(script(), encoding="utf-8")
        read = [str(command_line()), "-bail", str(path), "-c", ".read sqlpriv.sql"]
        done = subprocess.run(read, cwd=path.parent, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    else:
        sqlpriv.install(path)
    with duckdb.connect(path) as connection:
        examples.create(connection)
    return path


def present(con: Con, database: str | None = None) -> dict[tuple[str, str], int]:
    """The macros in schema priv: name, kind, number of overloads."""
    rows = con.execute(
        "SELECT function_name, function_type, count(*) FROM duckdb_functions() "
        "WHERE schema_name = 'priv' AND database_name = coalesce(?, current_database()) GROUP BY ALL",
        [database],
    ).fetchall()
    return {(str(name), str(kind)): int(n) for name, kind, n in rows}


def expected(of: Mapping[str, Macro]) -> dict[tuple[str, str], int]:
    kinds = {True: "table_macro", False: "macro"}
    return {(m.name, kinds[m.is_table]): len(m.overloads) for m in of.values()}


def older(version: str, **changed: Macro) -> dict[str, Macro]:
    """The few macros as another version would have them: with other texts, perhaps with more macros."""
    said = replace(
        FEW["version"], overloads=(Overload((), ALL["version"].overloads[0].body.replace(__version__, version)),)
    )
    return {**FEW, **changed, "version": said}


def as_version(monkeypatch: pytest.MonkeyPatch, version: str, **changed: Macro) -> None:
    monkeypatch.setattr(MODULE, "__version__", version)
    monkeypatch.setattr(MODULE, "macros", lambda: older(version, **changed))


def version(con: Con) -> str:
    return str(con.execute("FROM priv.version()").fetchall()[0][0])


# --- twice is once ----------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_loading_twice_is_loading_once(con: Con) -> None:
    sqlpriv.load(con)
    once = present(con)
    sqlpriv.load(con)
    assert present(con) == once == expected(FEW)
    assert version(con) == __version__


@pytest.mark.slow
def test_installing_persists_all_macros(installed: Path) -> None:
    with duckdb.connect(installed, read_only=True) as con:
        assert present(con) == expected(ALL)
        assert version(con) == __version__
        assert con.execute("FROM priv.k_anonymity('patients', ['zip', 'age'])").fetchall() == [(4,)]


@pytest.mark.slow
def test_the_script_can_be_run_by_this_duckdb_and_over_what_is_installed(con: Con) -> None:
    for _ in range(2):
        con.execute(script()).fetchall()
        assert present(con) == expected(ALL)
    sqlpriv.load(con)  # takes the macros of a script for its own
    assert present(con) == expected(ALL)


@pytest.mark.usefixtures("few")
def test_installing_twice_is_installing_once(tmp_path: Path) -> None:
    for path in (tmp_path / "x.duckdb", str(tmp_path / "x.duckdb")):
        sqlpriv.install(path)
        with duckdb.connect(path) as con:
            assert present(con) == expected(FEW)


@pytest.mark.some(1)
def test_every_macro_carries_its_prose_as_a_comment(installed: Path) -> None:
    with duckdb.connect(installed, read_only=True) as con:
        rows = con.execute(
            "SELECT DISTINCT function_name, comment FROM duckdb_functions() WHERE schema_name = 'priv'"
        ).fetchall()
    assert dict(rows) == {m.name: "sqlpriv: " + m.header.prose.replace("\n", " ") for m in ALL.values()}


# --- old is replaced, new is left alone ---------------------------------------------------------


def test_an_older_version_is_replaced_whole(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the new version no longer has, and what has fewer overloads or is of another kind now."""
    gone = replace(FEW["k_anonymity"], name="t_anonymity")
    scalar = replace(FEW["k_anonymity"], is_table=False, overloads=(Overload(("a", "b", "c", "d"), "1"),))
    with monkeypatch.context() as old:
        as_version(old, "0.0.9", t_anonymity=gone, k_anonymity=scalar)
        sqlpriv.load(con)
    assert version(con) == "0.0.9"
    assert ("t_anonymity", "table_macro") in present(con)
    monkeypatch.setattr(MODULE, "macros", lambda: FEW)
    sqlpriv.load(con)
    assert present(con) == expected(FEW)
    assert version(con) == __version__


@pytest.mark.parametrize(
    ("ours", "newer"),
    [
        *(("0.1.0", newer) for newer in ("99.0.0", "0.1.1", "0.10.0", "1.0", "1.0.0rc1")),
        *(("1.0.0rc1", newer) for newer in ("1.0.0rc2", "1.0.0rc10", "1.0.0", "1.0", "1.0.1rc1", "1.10.0")),
    ],
)
def test_a_newer_version_is_left_alone(con: Con, monkeypatch: pytest.MonkeyPatch, ours: str, newer: str) -> None:
    with monkeypatch.context() as new:
        as_version(new, newer)
        sqlpriv.load(con)
    before = present(con)
    with monkeypatch.context() as present_one:
        present_one.setattr(MODULE, "__version__", ours)
        present_one.setattr(MODULE, "macros", lambda: FEW)
        with pytest.raises(InstallError, match=rf"holds sqlpriv {newer}, newer than this one \({re.escape(ours)}\)"):
            sqlpriv.load(con)
    assert (version(con), present(con)) == (newer, before)


@pytest.mark.usefixtures("few")
def test_an_exported_and_imported_database_is_known_again(
    con: Con, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMPORT DATABASE loses the comments, but what it brings must be replaced like anything old."""
    with monkeypatch.context() as old, duckdb.connect() as source:
        as_version(old, "0.0.9", t_anonymity=replace(FEW["k_anonymity"], name="t_anonymity"))
        sqlpriv.load(source)
        source.execute(f"EXPORT DATABASE '{tmp_path / 'export'}'").fetchall()
    con.execute(f"IMPORT DATABASE '{tmp_path / 'export'}'").fetchall()
    assert ("t_anonymity", "table_macro") in present(con)
    sqlpriv.load(con)
    assert present(con) == expected(FEW)


def test_every_macro_is_known_by_its_text_too() -> None:
    marks = ("sqlpriv: ", "__priv_")
    assert all(any(mark in o.body for mark in marks) for m in ALL.values() for o in m.overloads)


# --- what is the user's stays his ---------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_objects_of_the_user_in_the_schema_stay(con: Con) -> None:
    """Also a table or a scalar macro with the name of a table macro of ours."""
    con.execute(
        "CREATE SCHEMA priv; CREATE TABLE priv.version AS SELECT 7 AS x; CREATE VIEW priv.seen AS SELECT 8 AS x; "
        "CREATE MACRO priv.k_anonymity(x) AS x + 1; CREATE MACRO priv.mine() AS TABLE SELECT 9 AS x; "
        "COMMENT ON MACRO TABLE priv.mine IS 'about sqlpriv'"
    ).fetchall()
    for _ in range(2):
        sqlpriv.load(con)
        assert con.execute("SELECT x, priv.k_anonymity(1) FROM priv.mine()").fetchall() == [(9, 2)]
        assert con.execute("SELECT v.x, s.x FROM priv.version AS v, priv.seen AS s").fetchall() == [(7, 8)]
        assert version(con) == __version__


@pytest.mark.usefixtures("few")
def test_a_macro_of_the_user_by_our_name_is_not_replaced(con: Con) -> None:
    con.execute("CREATE SCHEMA priv; CREATE MACRO priv.k_anonymity(a, b) AS TABLE SELECT 1 AS mine").fetchall()
    with pytest.raises(InstallError, match="holds macros of your own by our names: k_anonymity"):
        sqlpriv.load(con)
    assert con.execute("FROM priv.k_anonymity(1, 2)").fetchall() == [(1,)]
    assert list(present(con)) == [("k_anonymity", "table_macro")]


@pytest.mark.usefixtures("few")
def test_a_transaction_of_the_user_stays_open(con: Con) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS x; BEGIN; INSERT INTO t VALUES (2)").fetchall()
    sqlpriv.load(con)
    assert con.execute("FROM priv.k_anonymity('t', ['x'])").fetchall() == [(1,)]
    con.execute("ROLLBACK").fetchall()
    assert (present(con), con.execute("SELECT count(*) FROM t").fetchall()) == ({}, [(1,)])
    con.execute("BEGIN; INSERT INTO t VALUES (3)").fetchall()
    sqlpriv.load(con)
    con.execute("COMMIT").fetchall()
    assert (present(con), con.execute("SELECT count(*) FROM t").fetchall()) == (expected(FEW), [(2,)])


@pytest.mark.usefixtures("few")
def test_loading_leaves_no_transaction_behind(con: Con) -> None:
    sqlpriv.load(con)
    con.execute("BEGIN").fetchall()
    con.execute("COMMIT").fetchall()


@pytest.mark.usefixtures("few")
def test_each_database_has_its_own_macros(con: Con) -> None:
    con.execute("ATTACH ':memory:' AS other; CREATE TABLE t AS SELECT 1 AS x; USE other").fetchall()
    sqlpriv.load(con)
    assert (present(con, "other"), present(con, "memory")) == (expected(FEW), {})
    assert con.execute("FROM other.priv.k_anonymity('memory.t', ['x'])").fetchall() == [(1,)]
    con.execute("USE memory").fetchall()
    sqlpriv.load(con)
    assert present(con, "memory") == expected(FEW)


# --- what cannot be done changes nothing --------------------------------------------------------


def test_a_failing_installation_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(FEW["k_anonymity"], name="zz", overloads=(Overload(("a",), "SELECT FROM WHERE"),))
    with monkeypatch.context() as old:
        as_version(old, "0.0.9")
        sqlpriv.install(tmp_path / "x.duckdb")
    monkeypatch.setattr(MODULE, "macros", lambda: {**FEW, "zz": broken})
    for name in ("x.duckdb", "new.duckdb"):
        with pytest.raises(duckdb.ParserException):
            sqlpriv.install(tmp_path / name)
    with duckdb.connect(tmp_path / "x.duckdb") as con:
        assert version(con) == "0.0.9"
        assert present(con) == expected(older("0.0.9"))
    assert [p.name for p in tmp_path.iterdir()] == ["x.duckdb"]


@pytest.mark.usefixtures("few")
def test_a_locked_file_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "held.duckdb"
    hold = f"import duckdb, sys; con = duckdb.connect({str(path)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            with pytest.raises(InstallError) as caught:
                sqlpriv.install(path)
        finally:
            holder.communicate(b"")
    said = str(caught.value)
    assert said.startswith("cannot open held.duckdb: another process holds it (")
    assert f"PID {holder.pid}" in said
    assert said.endswith("close it there first")


@pytest.mark.usefixtures("few")
def test_a_file_that_this_process_has_open(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "x.duckdb"), pytest.raises(InstallError, match=r"use sqlpriv\.load"):
        sqlpriv.install(tmp_path / "x.duckdb")
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'x.duckdb'}' AS held").fetchall()
        with pytest.raises(InstallError, match=r"use sqlpriv\.load"):
            sqlpriv.install(tmp_path / "x.duckdb")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "content", [b"hello", b"a,b\n1,2\n", b"PAR1" + b"x" * 5000, b"SQLite format 3\x00" + b"\x00" * 5000]
)
@pytest.mark.parametrize("name", ["x.duckdb", "x.csv", "x.parquet", "x.db"])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InstallError, match=f"cannot open {name}: it is not a DuckDB database"):
        sqlpriv.install(tmp_path / name)
    assert (tmp_path / name).read_bytes() == content


@pytest.mark.usefixtures("few")
def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "x.duckdb"):
        with pytest.raises(InstallError, match=f"cannot open {path.name}: it cannot be read or created here"):
            sqlpriv.install(path)
    for nowhere in ("", ":memory:"):
        with pytest.raises(InstallError, match="a database in memory keeps nothing"):
            sqlpriv.install(nowhere)


@pytest.mark.usefixtures("few")
def test_a_database_open_for_reading_only(tmp_path: Path, con: Con) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).close()
    with duckdb.connect(path, read_only=True) as reading, pytest.raises(InstallError, match="reading only"):
        sqlpriv.load(reading)
    con.execute(f"ATTACH '{path}' AS x (READ_ONLY); USE x").fetchall()
    with pytest.raises(InstallError, match="reading only"):
        sqlpriv.load(con)


@pytest.mark.usefixtures("few")
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_without_the_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(path).close()
    path.chmod(0o444)
    with pytest.raises(InstallError, match=r"x\.duckdb"):
        sqlpriv.install(path)


@pytest.mark.usefixtures("few")
def test_a_database_that_is_called_like_our_schema(tmp_path: Path, con: Con) -> None:
    """DuckDB could not tell `priv.k_anonymity` of the database from that of the schema, for ever after."""
    with pytest.raises(InstallError, match="a database is called priv"):
        sqlpriv.install(tmp_path / "priv.duckdb")
    assert list(tmp_path.iterdir()) == []
    con.execute("ATTACH ':memory:' AS PRIV").fetchall()
    with pytest.raises(InstallError, match="a database is called priv"):
        sqlpriv.load(con)


# --- other clients ------------------------------------------------------------------------------


def parsed(output: str) -> list[list[dict[str, Any]]]:
    """One array a statement, one after the other."""
    decoder, found, rest = json.JSONDecoder(), [], output.strip()
    while rest:
        rows, end = decoder.raw_decode(rest)
        found.append(rows)
        rest = rest[end:].strip()
    return found


def alike(left: object, right: object) -> bool:
    return left == (pytest.approx(right) if isinstance(right, float) else right)


@pytest.mark.slow
@needs_command_line
def test_the_command_line_of_duckdb_gives_the_same_answers(installed: Path) -> None:
    """DuckDB 1.5 opens the file whatever wrote it, and runs every macro without Python."""
    asked = {name: m.header.fields["example"] for name, m in ALL.items()}
    examples = "".join(f"{sql};\n" for sql in asked.values())
    run = subprocess.run(
        [str(command_line()), "-readonly", "-json", "-bail", str(installed)],
        input=examples, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    with duckdb.connect(installed, read_only=True) as con:
        for (name, sql), rows in zip(asked.items(), parsed(run.stdout), strict=True):
            found = con.execute(sql)
            columns = [c[0] for c in found.description or []]
            answers = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
            assert len(rows) == len(answers), name
            for left, right in zip(rows, answers, strict=True):
                flat = [[*row.pop("class", {}).values(), *row.values()] for row in (left, right)]
                assert len(flat[0]) == len(flat[1]), (name, flat)
                assert all(map(alike, *flat)), (name, flat)


@pytest.mark.some(1)
@needs_command_line
def test_the_command_line_of_duckdb_refuses_as_we_do(installed: Path) -> None:
    run = subprocess.run(
        [str(command_line()), "-readonly", str(installed), "FROM priv.k_anonymity('patients', 'zip')"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "sqlpriv: the quasi-identifiers must be a list of column names" in run.stderr
