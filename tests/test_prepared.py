"""The prepared file holds what creating the macros gives, and nobody else can slip another one in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import sqlpriv
from sqlpriv.errors import InputError
from sqlpriv.macros import catalog, prepared
from sqlpriv.macros.prepared import prepared_file, start_release_file
from sqlpriv.macros.statements import STORAGE, creations

Con = duckdb.DuckDBPyConnection

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here: nothing is kept")


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a few macros only, which are made in a fraction of the time."""
    few = {name: catalog.macros()[name] for name in ("k_anonymity", "version")}
    monkeypatch.setattr(prepared, "macros", lambda: few)
    prepared._content.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sqlpriv"


@pytest.fixture(autouse=True)
def forgotten() -> None:
    prepared._content.cache_clear()


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was made anew, one after the other."""
    made: list[bytes] = []
    make: Callable[[str], bytes] = prepared._made

    def recorded(storage: str) -> bytes:
        made.append(make(storage))
        return made[-1]

    monkeypatch.setattr(prepared, "_made", recorded)
    return made


def known() -> Path:
    found = prepared_file(STORAGE)
    assert found is not None
    return found


def macros_of(con: Con) -> list[tuple[object, ...]]:
    return con.execute(
        "SELECT function_name, function_type, parameters, macro_definition, comment FROM duckdb_functions() "
        "WHERE schema_name = 'priv' AND database_name = current_database() ORDER BY ALL"
    ).fetchall()


def command_line() -> str | None:
    return shutil.which("duckdb", path=str(Path(sys.executable).parent))


# --- what it holds ------------------------------------------------------------------------------


def created(con: Con) -> Con:
    for statement in creations(catalog.macros().values()):
        con.execute(statement).fetchall()
    return con


def test_a_copied_macro_is_a_created_one() -> None:
    """Macro for macro, also when loaded again, and nothing stays attached."""
    with duckdb.connect() as con:
        expected = macros_of(created(con))
    assert len(expected) == sum(len(m.overloads) for m in catalog.macros().values())
    with duckdb.connect() as con:
        for _ in range(2):
            sqlpriv.load(con)
            assert macros_of(con) == expected
        attached = con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert attached == [("memory",)]


def test_a_started_file_is_one_in_which_the_macros_were_created(tmp_path: Path) -> None:
    start_release_file(tmp_path / "new.duckdb")
    config = {"storage_compatibility_version": STORAGE}
    created(duckdb.connect(tmp_path / "created.duckdb", config=config)).close()
    with duckdb.connect(tmp_path / "new.duckdb", read_only=True) as con:
        started = macros_of(con)
        assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    with duckdb.connect(tmp_path / "created.duckdb", read_only=True) as con:
        assert macros_of(con) == started


@pytest.mark.skipif(command_line() is None, reason="duckdb-cli is not installed in this environment")
@pytest.mark.usefixtures("cache_folder")
def test_what_is_added_to_it_is_read_by_an_older_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "release.duckdb"
    start_release_file(path)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS f (STORAGE_VERSION '{STORAGE}')").fetchall()
        con.execute("CREATE TABLE f.people AS SELECT 1 AS zip FROM range(7); DETACH f").fetchall()
    asked = [
        str(command_line()),
        "-readonly",
        "-csv",
        "-noheader",
        str(path),
        "FROM priv.k_anonymity('people', ['zip'])",
    ]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == "7"


@pytest.mark.usefixtures("cache_folder")
def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("mine")
    with pytest.raises(InputError, match=r"there is already a file x\.duckdb"):
        start_release_file(tmp_path / "x.duckdb")
    assert (tmp_path / "x.duckdb").read_text() == "mine"


# --- it is made once ----------------------------------------------------------------------------


def test_it_is_made_once_and_for_its_owner_alone(cache_folder: Path, making: list[bytes], tmp_path: Path) -> None:
    for name in ("a", "b"):
        prepared._content.cache_clear()
        start_release_file(tmp_path / name)
        assert (tmp_path / name).read_bytes() == making[0]
    assert len(making) == 1
    assert [path.stat().st_mode & 0o777 for path in (cache_folder, *cache_folder.iterdir())] == [0o700, 0o600]


def test_another_version_and_another_format_have_their_own(
    cache_folder: Path, making: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared_file()
    prepared_file(STORAGE)
    monkeypatch.setattr(prepared, "__version__", "0.0.9")
    prepared._key.cache_clear()
    prepared_file()
    prepared._key.cache_clear()
    assert (len(making), len(list(cache_folder.iterdir()))) == (3, 3)


@pytest.mark.usefixtures("making")
def test_the_folder_does_not_grow_for_ever(cache_folder: Path) -> None:
    cache_folder.mkdir(mode=0o700, parents=True)
    for number in range(12):
        (cache_folder / f"macros-{number}.duckdb").touch()
        os.utime(cache_folder / f"macros-{number}.duckdb", (number, number))
    newest = known()
    assert {path.name for path in cache_folder.iterdir()} == {
        newest.name,
        *(f"macros-{number}.duckdb" for number in range(5, 12)),
    }


# --- nobody else can slip another one in --------------------------------------------------------


def tampered(path: Path) -> None:
    with duckdb.connect(path) as con:
        con.execute("CREATE OR REPLACE MACRO priv.k_anonymity(a, b) AS TABLE SELECT 1000000 AS k").fetchall()


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def open_to_others(path: Path) -> None:
    path.chmod(0o644)


def linked(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("happened", [tampered, cut_short, emptied, open_to_others, linked])
def test_a_file_in_doubt_is_made_anew(
    cache_folder: Path, making: list[bytes], happened: Callable[[Path], None], tmp_path: Path
) -> None:
    happened(known())
    start_release_file(tmp_path / "x.duckdb")
    assert len(making) == 2
    assert (tmp_path / "x.duckdb").read_bytes() == making[1]
    assert known().parent == cache_folder
    assert len(making) == 2, "and then it is kept"


def test_a_folder_in_its_place_does_no_harm(cache_folder: Path, making: list[bytes], tmp_path: Path) -> None:
    a_folder(known())
    start_release_file(tmp_path / "x.duckdb")
    assert (tmp_path / "x.duckdb").read_bytes() == making[-1]
    assert cache_folder.is_dir()


def shared_folder(folder: Path) -> None:
    folder.chmod(0o770)


def shared_above(folder: Path) -> None:
    folder.parent.chmod(0o777)


def linked_folder(folder: Path) -> None:
    folder.rename(folder.parent / "moved")
    folder.symlink_to(folder.parent / "moved")


@pytest.mark.parametrize("happened", [shared_folder, shared_above, linked_folder])
def test_a_folder_that_others_may_change_is_not_used(
    cache_folder: Path, making: list[bytes], happened: Callable[[Path], None], tmp_path: Path
) -> None:
    tampered(known())
    happened(cache_folder)
    assert prepared_file() is None
    start_release_file(tmp_path / "x.duckdb")
    assert (tmp_path / "x.duckdb").read_bytes() == making[-1]


def test_a_shared_folder_with_the_sticky_bit_may_stand_above(cache_folder: Path) -> None:
    """Such as /tmp: others may add files there, but not replace ours."""
    known()
    cache_folder.parent.chmod(0o1777)
    assert known().parent == cache_folder


@pytest.mark.usefixtures("cache_folder")
def test_what_belongs_to_somebody_else_is_not_used(making: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Root, say, who has kept the HOME of the user that called sudo."""
    known()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert prepared_file() is None
    assert prepared._content() == making[-1]


def test_a_cache_that_cannot_be_written_is_done_without(
    cache_folder: Path, making: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_folder.parent.write_text("a file where the folder should be")
    for name in ("a", "b"):
        start_release_file(tmp_path / name)
        assert (tmp_path / name).read_bytes() == making[0]
    assert len(making) == 1, "kept for the process"
    monkeypatch.delattr(os, "geteuid")
    assert prepared_file() is None


def test_a_relative_cache_folder_is_ignored_as_its_standard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert prepared._folder() == tmp_path / ".cache" / "sqlpriv"


# --- load does without it -----------------------------------------------------------------------


@pytest.mark.parametrize("before", ["SET enable_external_access = false", "BEGIN"])
def test_a_connection_that_cannot_copy_creates(before: str) -> None:
    with duckdb.connect() as con:
        con.execute(before).fetchall()
        sqlpriv.load(con)
        assert con.execute("SELECT count(DISTINCT function_name) FROM duckdb_functions() "
                           "WHERE schema_name = 'priv'").fetchall() == [(len(catalog.macros()),)]  # fmt: skip
