"""A disk that is full or closed: one sentence that names it, exit code 2, and nothing left behind."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy

from sqlpriv.core.engine import disk_trouble, translate
from sqlpriv.publishing import open_private, read_policy
from sqlpriv.table.source import open_source

TEXT = policy_text({"age": qi("ranges:10"), "note": role("other")}, "k = 2")
# The notes do not compress, so they fill whatever there is.
PEOPLE = (
    "CREATE TABLE people AS SELECT 20 + i % 50 AS age, sha256(CAST(i AS VARCHAR)) AS note FROM range({rows}) AS r(i)"
)
SMALL_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))
from sqlpriv.apps.cli.main import main
sys.argv = ["sqlpriv", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_a_full_disk_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    write_policy(tmp_path, TEXT, PEOPLE.format(rows=100_000))
    command = [sys.executable, "-c", SMALL_FILES, "publish", "policy.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sqlpriv: the disk of '")
    assert "' is full (" in done.stderr
    assert done.stderr.endswith("free some space there, or choose a folder on another disk\n")
    assert len(done.stderr.splitlines()) == 1
    unfinished = Path(done.stderr.split("'")[1])
    assert not unfinished.exists() or not list(unfinished.glob("*people-release*"))
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ('Could not write file "/no/sqlpriv-x/duckdb_temp_0.tmp": No space left on device',
         "the disk of '/no', where what does not fit into memory is kept, is full: free some space there, or set"),
        ('Failed to commit: Could not write file "/no/out.duckdb.wal": No space left on device SECRET',
         "the disk of '/no' is full: free some space there, or choose a folder on another disk"),
        ('Cannot open file "/no/out.duckdb": Read-only file system',
         "cannot write in the folder '/no': it is read-only, or not yours; choose another"),
    ],
)  # fmt: skip
def test_what_duckdb_says_of_a_disk_is_put_in_our_words(words: str, sentence: str) -> None:
    said = str(translate(duckdb.IOException(f"IO Error: {words}")))
    assert said.startswith(sentence)
    assert "SECRET" not in said


def test_a_full_disk_for_what_spills_is_not_called_a_lack_of_memory() -> None:
    words = (
        "Out of Memory Error: failed to offload data block. This limit was set by the 'max_temp_directory_size' setting"
    )
    assert "is full" in str(translate(duckdb.OutOfMemoryException(words)))


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EROFS, "cannot write in the folder '/no/such': it is read-only, or not yours; choose another"),
        (errno.ENOSPC, "the disk of '/no/such' is full: free some space there, or choose a folder on another disk"),
        (errno.ENOTDIR, "cannot read or write 'x.csv' in the folder '/no/such'"),
    ],
)
def test_errors_of_files_are_sentences(number: int, sentence: str) -> None:
    assert str(disk_trouble(OSError(number, os.strerror(number), "/no/such/x.csv"))) == sentence


def test_a_closed_folder_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/no/such/out.duckdb")

    monkeypatch.setattr("sqlpriv.publishing.read_policy", closed)
    done = run(tmp_path, "publish", "policy.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sqlpriv: cannot write in the folder '/no/such': it is read-only, or not yours; choose another\n"
    )


def test_the_words_of_the_engine_never_reach_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise duckdb.ConversionException("Could not convert string 'SECRET-42' to INT32")

    monkeypatch.setattr("sqlpriv.publishing.read_policy", fail)
    done = run(tmp_path, "plan", "policy.toml")
    assert done.returncode == 2
    assert "SECRET-42" not in done.stderr


def spill_of(con: duckdb.DuckDBPyConnection) -> Path:
    return Path(str(con.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]))


def test_what_does_not_fit_into_memory_is_kept_where_only_its_owner_reads(tmp_path: Path) -> None:
    """DuckDB's own choice is a folder .tmp beside the data, that everybody can read."""
    path = write_policy(tmp_path, TEXT, PEOPLE.format(rows=500))
    with (
        open_source("people", tmp_path / "private.duckdb") as checked,
        open_private(read_policy(path)) as (published, _),
    ):
        folders = [spill_of(checked.con), spill_of(published.con)]
        for folder in folders:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert tmp_path not in folder.parents
        checked.con.execute("SET memory_limit = '40MB'; SET threads = 1").fetchall()
        big = "CREATE TEMP TABLE big AS SELECT sha256(CAST(i AS VARCHAR)) AS h FROM range(1_000_000) AS r(i)"
        checked.con.execute(big).fetchall()
        assert list(folders[0].iterdir())
    assert not any(folder.exists() for folder in folders)
    assert not (tmp_path / ".tmp").exists()
