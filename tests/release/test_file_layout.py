"""What the file of a release holds: numbers and names of closed lists, no sentence, no macro, and nothing else.

The wording of every method is compared with stored sentences, and files that were written when the format began are
verified and shown; support/golden.py says how both are made again.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.clients import command_line, needs_command_line
from support.golden import FILES, POLICIES, SENTENCES, golden_file, packed, publish_golden, sentences
from support.titles import CONTENTS, DECLARED, DIGESTS, FIXED

import sqlpriv
from sqlpriv.core.errors import ReleaseError
from sqlpriv.demo import hospital, story
from sqlpriv.release.file import FORMAT, attach_new, written
from sqlpriv.release.verify import is_close

GOLDEN: dict[str, Any] = json.loads(SENTENCES.read_text(encoding="utf-8"))


# -------------------- wording


@pytest.mark.some(2)
@pytest.mark.parametrize("name", POLICIES)
def test_the_numbers_of_a_release_make_these_sentences(name: str, tmp_path: Path) -> None:
    path = publish_golden(name, tmp_path)
    assert sqlpriv.verify(path, tmp_path / "policy.toml").passed
    assert sentences(path) == GOLDEN[name]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("version", [None, "0.0.1", "99.0"])
def test_a_file_of_another_version_of_the_format_verifies_and_says_the_same(
    name: str, version: str | None, tmp_path: Path
) -> None:
    path = golden_file(name, tmp_path)
    if version is not None:
        change(path, f"UPDATE sqlpriv_release.about SET value = '{version}' WHERE name = 'sqlpriv'")
    judged = sqlpriv.verify(path)
    assert judged.passed, judged.content
    assert sentences(path) == GOLDEN[name]


def test_the_files_are_of_this_format_and_small(tmp_path: Path) -> None:
    """A new format needs new files, and refuses these."""
    for name in FILES:
        with duckdb.connect(golden_file(name, tmp_path), read_only=True) as con:
            written_in = con.execute("SELECT value FROM sqlpriv_release.about WHERE name = 'format'").fetchall()
        assert written_in == [(str(FORMAT),)]
    assert sum(packed(name).stat().st_size for name in FILES) < 150_000


# -------------------- what somebody put into a file


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(path) as con:
        for statement in statements:
            con.execute(statement).fetchall()


def failing(path: Path) -> list[str]:
    return [str(c["check"]) for c in sqlpriv.verify(path).content["checks"] if c["passed"] is False]


FORGED = "CREATE MACRO priv.{}(tbl, qis) AS TABLE SELECT 999 AS k"
ACCEPT = "INSERT INTO sqlpriv_release.reasons VALUES ('accept', {})"
WORDS = "UPDATE sqlpriv_release.about SET value = 'all' WHERE name IN ('counts', 'groups_chosen')"
MORE = {
    "a forged macro": (["CREATE SCHEMA priv", FORGED.format("k_anonymity")], CONTENTS),
    "a macro in main": (["CREATE MACRO main.k_anonymity(tbl, qis) AS TABLE SELECT 999 AS k"], CONTENTS),
    "a macro that gives a number": (["CREATE MACRO sqlpriv_release.k() AS 999"], CONTENTS),
    "a comment on a table": (["COMMENT ON TABLE sqlpriv_release.published IS 'Ann has flu'"], CONTENTS),
    "a comment on a column": (["COMMENT ON COLUMN sqlpriv_release.about.name IS 'Ann has flu'"], CONTENTS),
    "a schema": (["CREATE SCHEMA more"], CONTENTS),
    "an empty schema of macros": (["CREATE SCHEMA priv"], CONTENTS),
    "a table": (["CREATE TABLE sqlpriv_release.more AS SELECT 1 AS x"], CONTENTS),
    "a type": (["CREATE TYPE main.more AS ENUM ('Ann')"], CONTENTS),
    "a name in about": (["INSERT INTO sqlpriv_release.about VALUES ('note', 'Ann has flu')"], DECLARED),
    "a sentence in about": (["INSERT INTO sqlpriv_release.about VALUES ('guarantee', 'All is well.')"], DECLARED),
    "a name in about twice": (["INSERT INTO sqlpriv_release.about VALUES ('date', '2024-01-01')"], DECLARED),
    "a name in parameters": (["INSERT INTO sqlpriv_release.parameters VALUES ('ann', 42)"], DECLARED),
    "no number": (["INSERT INTO sqlpriv_release.parameters VALUES ('ann', NULL)"], DECLARED),
    "a name in reasons": (["INSERT INTO sqlpriv_release.reasons VALUES ('note', 'Ann has flu')"], DECLARED),
    "a reason that steers": ([ACCEPT.format("'so' || chr(27) || '[2J'")], DECLARED),
    "a reason in two lines": ([ACCEPT.format("'so' || chr(10) || 'be it'")], DECLARED),
    "a long reason": ([ACCEPT.format("repeat('a', 10000)")], DECLARED),
    "a reason without words": ([ACCEPT.format("'...'")], DECLARED),
    "a reason that is none": ([ACCEPT.format("NULL")], DECLARED),
    "a word of no list": ([WORDS], DECLARED),
    "a column in about": (["ALTER TABLE sqlpriv_release.about ADD COLUMN note VARCHAR"], FIXED),
    "a column in reasons": (["ALTER TABLE sqlpriv_release.reasons ADD COLUMN note VARCHAR"], FIXED),
    "no table of reasons": (["DROP TABLE sqlpriv_release.reasons"], FIXED),
    "a digest of nothing": (
        ["INSERT INTO sqlpriv_release.digests VALUES ('Ann', 'flu')"],
        DIGESTS,
    ),
}  # fmt: skip


@pytest.mark.some(12)
@pytest.mark.parametrize("what", MORE)
@pytest.mark.parametrize("name", ["generalize", "frapp", "mondrian", "anatomy", "sdgs, groups", "disclose"])
def test_nothing_more_is_in_a_file(name: str, what: str, tmp_path: Path) -> None:
    path = golden_file(name, tmp_path)
    statements, check = MORE[what]
    change(path, *statements)
    assert check in failing(path)


@pytest.mark.parametrize("schema", ["priv", "sqlpriv_release", "domain"])
def test_a_view_that_would_run_is_refused(schema: str, tmp_path: Path) -> None:
    path = golden_file("generalize", tmp_path)
    change(path, f"CREATE SCHEMA IF NOT EXISTS {schema}", f"CREATE VIEW {schema}.more AS SELECT 42 AS x")
    with pytest.raises(ReleaseError, match=rf"{schema}\.more is a view, which would run when it is read"):
        sqlpriv.verify(path)


@pytest.mark.parametrize("name", FILES)
def test_a_file_holds_no_macro_and_no_comment(name: str, tmp_path: Path) -> None:
    with duckdb.connect(golden_file(name, tmp_path), read_only=True) as con:
        here = "WHERE database_name = current_database()"
        assert con.execute(f"SELECT count(*) FROM duckdb_functions() {here}").fetchall() == [(0,)]
        for listed in ("tables", "columns", "views"):
            found = con.execute(f"SELECT count(*) FROM duckdb_{listed}() {here} AND comment IS NOT NULL").fetchall()
            assert found == [(0,)]


# -------------------- how it is written


def test_a_new_file_is_one_file_without_free_blocks(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect() as con:
        with written(con, path):
            con.execute("CREATE TABLE release_file.sqlpriv_release.published AS FROM range(7)").fetchall()
        assert con.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]
    assert [found.name for found in tmp_path.iterdir()] == ["x.duckdb"]
    with duckdb.connect(path, read_only=True) as con:
        assert con.execute("SELECT block_size, free_blocks FROM pragma_database_size()").fetchall() == [(16384, 0)]


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("mine")
    with duckdb.connect() as con, pytest.raises(ReleaseError, match=r"there is already a file x\.duckdb"):
        attach_new(con, tmp_path / "x.duckdb")
    assert (tmp_path / "x.duckdb").read_text() == "mine"


def test_a_file_that_cannot_be_finished_is_not_left_attached(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        with pytest.raises(RuntimeError), written(con, tmp_path / "x.duckdb"):
            raise RuntimeError("a bug")
        assert con.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]


@pytest.mark.slow
@needs_command_line
def test_the_release_of_the_demo_is_small_and_opens_in_an_older_client(tmp_path: Path) -> None:
    hospital.write(tmp_path)
    (tmp_path / "policy.toml").write_text(story.GENERALIZE, encoding="utf-8")
    done = sqlpriv.publish(tmp_path / "policy.toml", ledger_file=tmp_path / "ledger.db")
    path = tmp_path / "hospital-release.duckdb"
    assert path.stat().st_size < 1_000_000
    counted = [str(command_line()), "-readonly", "-csv", "-noheader", str(path), "SELECT count(*) FROM hospital"]
    found = subprocess.run(counted, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert int(found.stdout) == done.content["rows"] - done.content["suppressed_rows"]


def test_an_infinite_number_is_close_to_no_other() -> None:
    """A tampered weight or epsilon of infinity would else pass for any number that it is compared with."""
    assert not any(is_close(found, 5.0) for found in (float("inf"), float("-inf"), float("nan"), None))
    assert is_close(5.0 + 1e-12, 5.0)
    assert is_close(float("inf"), float("inf"))
