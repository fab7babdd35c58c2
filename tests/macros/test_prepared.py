"""The prepared file holds what creating the macros gives, and nobody else can slip another one in."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from support.clients import command_line, needs_command_line

import sqlpriv
from sqlpriv.core.engine import STORAGE
from sqlpriv.macros import catalog, install
from sqlpriv.macros.catalog import creations
from sqlpriv.macros.install import prepared_file

Con = duckdb.DuckDBPyConnection

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here: nothing is kept")


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a few macros only, which are made in a fraction of the time."""
    few = {name: catalog.macros()[name] for name in ("k_anonymity", "version")}
    for module in (catalog, install):
        monkeypatch.setattr(module, "macros", lambda: few)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sqlpriv"


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was made anew, one after the other."""
    made: list[bytes] = []
    make: Callable[[], bytes] = install._made

    def recorded() -> bytes:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(install, "_made", recorded)
    return made


def known() -> Path:
    found = prepared_file()
    assert found is not None
    return found


def installed(path: Path) -> list[tuple[object, ...]]:
    """The macros of a database in which they were just installed."""
    sqlpriv.install(path)
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT 1 AS zip FROM range(7)").fetchall()
        assert con.execute("FROM priv.k_anonymity('people', ['zip'])").fetchall() == [(7,)]
        return macros_of(con)


def macros_of(con: Con) -> list[tuple[object, ...]]:
    """Every macro with its definition. DuckDB keeps the columns of an EXCLUDE as a set, in an order of its own."""
    found = con.execute(
        "SELECT function_name, function_type, parameters, comment, macro_definition FROM duckdb_functions() "
        "WHERE schema_name = 'priv' AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    return [(*rest, re.sub(r"(?<=EXCLUDE \()[^()]+", _sorted_names, definition)) for *rest, definition in found]


def _sorted_names(names: re.Match[str]) -> str:
    return ", ".join(sorted(names[0].split(", ")))


def attached(con: Con) -> list[str]:
    return [
        name for (name,) in con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    ]


# --- what it holds ------------------------------------------------------------------------------


def created(con: Con) -> Con:
    for statement in ["BEGIN", *creations(catalog.macros().values()), "COMMIT"]:
        con.execute(statement).fetchall()
    return con


@pytest.mark.slow
def test_a_copied_macro_is_a_created_one() -> None:
    """Macro for macro, also when loaded again, and nothing stays attached."""
    with duckdb.connect() as con:
        expected = macros_of(created(con))
    assert len(expected) == sum(len(m.overloads) for m in catalog.macros().values())
    with duckdb.connect() as con:
        for _ in range(2):
            sqlpriv.load(con)
            assert macros_of(con) == expected
        assert attached(con) == ["memory"]


@pytest.mark.slow
def test_to_install_the_macros_is_to_create_them(tmp_path: Path) -> None:
    created(duckdb.connect(tmp_path / "created.duckdb", config={"storage_compatibility_version": STORAGE})).close()
    with duckdb.connect(tmp_path / "created.duckdb", read_only=True) as con:
        expected = macros_of(con)
    assert installed(tmp_path / "x.duckdb") == expected


@pytest.mark.slow
@needs_command_line
def test_they_are_read_by_an_older_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    installed(path)
    query = "FROM priv.k_anonymity('people', ['zip'])"
    asked = [str(command_line()), "-readonly", "-csv", "-noheader", str(path), query]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == "7"


# --- it is made once ----------------------------------------------------------------------------


def test_it_is_made_once_and_for_its_owner_alone(cache_folder: Path, making: list[bytes], tmp_path: Path) -> None:
    assert installed(tmp_path / "a") == installed(tmp_path / "b")
    assert len(making) == 1
    assert [path.stat().st_mode & 0o777 for path in (cache_folder, *cache_folder.iterdir())] == [0o700, 0o600]


def test_another_version_has_its_own(cache_folder: Path, making: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    known()
    monkeypatch.setattr(install, "__version__", "0.0.9")
    install._key.cache_clear()
    known()
    install._key.cache_clear()
    assert (len(making), len(list(cache_folder.iterdir()))) == (2, 2)


@pytest.mark.usefixtures("making")
def test_the_folder_does_not_grow_for_ever(cache_folder: Path) -> None:
    cache_folder.mkdir(mode=0o700, parents=True)
    for number in range(12):
        (cache_folder / f"macros-{number}.duckdb").touch()
        os.utime(cache_folder / f"macros-{number}.duckdb", (number, number))
    newest = known()
    assert {path.name for path in cache_folder.iterdir()} == {
        newest.name,
        *(f"macros-{number}.duckdb" for number in range(9, 12)),
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


@pytest.mark.some(2)
@pytest.mark.parametrize("happened", [tampered, cut_short, emptied, open_to_others, linked])
def test_a_file_in_doubt_is_made_anew(
    cache_folder: Path, making: list[bytes], happened: Callable[[Path], None], tmp_path: Path
) -> None:
    expected = installed(tmp_path / "before.duckdb")
    happened(known())
    assert installed(tmp_path / "x.duckdb") == expected
    assert known().parent == cache_folder
    assert len(making) == 2, "and then it is kept"


@pytest.mark.usefixtures("cache_folder")
def test_a_folder_in_its_place_does_no_harm(tmp_path: Path) -> None:
    expected = installed(tmp_path / "before.duckdb")
    place = known()
    place.unlink()
    place.mkdir()
    assert installed(tmp_path / "x.duckdb") == expected


def shared_folder(folder: Path) -> None:
    folder.chmod(0o770)


def shared_above(folder: Path) -> None:
    folder.parent.chmod(0o777)


def linked_folder(folder: Path) -> None:
    folder.rename(folder.parent / "moved")
    folder.symlink_to(folder.parent / "moved")


@pytest.mark.some(1)
@pytest.mark.parametrize("happened", [shared_folder, shared_above, linked_folder])
def test_a_folder_that_others_may_change_is_not_used(
    cache_folder: Path, happened: Callable[[Path], None], tmp_path: Path
) -> None:
    expected = installed(tmp_path / "before.duckdb")
    happened(cache_folder)
    assert prepared_file() is None
    assert installed(tmp_path / "x.duckdb") == expected


def test_a_shared_folder_with_the_sticky_bit_may_stand_above(cache_folder: Path) -> None:
    """Such as /tmp: others may add files there, but not replace ours."""
    known()
    cache_folder.parent.chmod(0o1777)
    assert known().parent == cache_folder


@pytest.mark.usefixtures("cache_folder")
def test_what_belongs_to_somebody_else_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the user who called sudo, say, whose HOME root has kept."""
    known()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert prepared_file() is None


@pytest.mark.usefixtures("cache_folder")
def test_where_files_have_no_owners_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    assert prepared_file() is None


def test_a_cache_that_cannot_be_written_is_done_without(cache_folder: Path, tmp_path: Path) -> None:
    cache_folder.parent.write_text("a file where the folder should be")
    assert prepared_file() is None
    assert len(installed(tmp_path / "x.duckdb")) == 3


def test_a_full_disk_is_no_error(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert prepared_file() is None
    assert list(cache_folder.iterdir()) == []


def test_a_relative_cache_folder_is_ignored_as_its_standard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert install._folder() == tmp_path / ".cache" / "sqlpriv"


# --- load does without it -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("before", ["SET enable_external_access = false", "BEGIN"])
def test_a_connection_that_cannot_copy_creates(before: str) -> None:
    with duckdb.connect() as con:
        con.execute(before).fetchall()
        sqlpriv.load(con)
        assert con.execute("SELECT count(DISTINCT function_name) FROM duckdb_functions() "
                           "WHERE schema_name = 'priv'").fetchall() == [(len(catalog.macros()),)]  # fmt: skip
