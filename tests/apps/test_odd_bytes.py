"""Names of files that are not UTF-8, as a shell passes them on: one sentence, and no fault of ours."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest
from support.commands import run

import sqlpriv
from sqlpriv.core.engine import fetch, open_database, open_memory
from sqlpriv.core.errors import InputError, ReleaseError

pytestmark = pytest.mark.one_version
ODD = os.fsdecode(b"m\xff")
SENTENCE = r"cannot open 'm\\udcff.duckdb': its path is not UTF-8; rename the file"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A database under such a name."""
    duckdb.connect(str(tmp_path / "m.duckdb")).close()
    try:
        return (tmp_path / "m.duckdb").rename(tmp_path / f"{ODD}.duckdb")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")


def test_a_database_is_neither_read_nor_written(odd: Path) -> None:
    before = odd.read_bytes()
    for write in (False, True):
        with pytest.raises(ReleaseError, match=SENTENCE), open_database(odd, write=write, error=ReleaseError):
            pass
    assert odd.read_bytes() == before


def test_a_release_is_not_opened(odd: Path) -> None:
    for call in (sqlpriv.open_release, sqlpriv.attack):
        with pytest.raises(InputError, match=SENTENCE):
            call(odd)


@pytest.mark.parametrize("on_progress", [None, lambda _: None])
def test_no_query_has_such_a_name_in_it(on_progress: None) -> None:
    with open_memory() as con, pytest.raises(InputError, match="a name of a file, table or column is not UTF-8"):
        fetch(con, f"FROM '{ODD}.csv'", on_progress=on_progress)


@pytest.mark.parametrize("command", ["attack", "report", "show", "verify"])
def test_commands_say_it(odd: Path, command: str) -> None:
    done = run(odd.parent, command, odd.name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "its path is not UTF-8; rename the file" in " ".join(done.stderr.split())
