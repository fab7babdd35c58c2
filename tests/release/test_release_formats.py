"""Files of other formats: every command says which version wrote them and what to do."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.randomized_policies import KEY, publish_with, published, write_noise_policy

from sqlpriv import publishing
from sqlpriv.core.errors import ReleaseError
from sqlpriv.methods.noisy.policy import RandomizedPolicy

COLUMNS = {"a": published('"range:0..99"')}
PEOPLE = "CREATE TABLE people AS SELECT i % 100 AS a FROM range(300) AS r(i)"
RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
OLDER = "people-release.duckdb was written by sqlpriv 0.3.0, in format 6, which this version, "
NEWER = "people-release.duckdb was written by sqlpriv 9.1, in format 17; this version, "


def ready(folder: Path) -> RandomizedPolicy:
    (folder / "key").write_bytes(KEY)
    return write_noise_policy(folder, COLUMNS, RELEASE, PEOPLE)


def write_older(folder: Path) -> Path:
    """A release as format 6 had it, as far as anybody looks."""
    path = folder / "people-release.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS made").fetchall()
        con.execute("CREATE SCHEMA made.sqlpriv_release").fetchall()
        about = "('format', '6'), ('sqlpriv', '0.3.0'), ('method', 'alpha_beta'), ('table', 'people')"
        con.execute(f"CREATE TABLE made.sqlpriv_release.about AS FROM (VALUES {about}) AS v(name, value)").fetchall()
    return path


def write_newer(policy: RandomizedPolicy) -> Path:
    path = publish_with(policy).written.output
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE sqlpriv_release.about SET value = '17' WHERE name = 'format'").fetchall()
        con.execute("UPDATE sqlpriv_release.about SET value = '9.1' WHERE name = 'sqlpriv'").fetchall()
    return path


@pytest.mark.parametrize("command", [["show"], ["verify"], ["query", "SELECT count(*) FROM people"]])
def test_an_older_format_is_to_be_published_again(tmp_path: Path, command: list[str]) -> None:
    write_older(tmp_path)
    done = run(tmp_path, command[0], "people-release.duckdb", *command[1:])
    assert done.returncode == 2
    assert done.stderr.startswith(f"sqlpriv: {OLDER}")
    assert "publish it again from its table, with the same key" in done.stderr


@pytest.mark.some(1)
@pytest.mark.parametrize("command", [["show"], ["verify"], ["query", "SELECT count(*) FROM people"]])
def test_a_newer_format_needs_a_newer_version(tmp_path: Path, command: list[str]) -> None:
    write_newer(ready(tmp_path))
    done = run(tmp_path, command[0], "people-release.duckdb", *command[1:])
    assert done.returncode == 2
    assert done.stderr.startswith(f"sqlpriv: {NEWER}")
    assert "upgrade it" in done.stderr


def test_a_file_of_an_older_format_is_not_replaced_where_the_ledger_knows_nothing_of_it(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    before = write_older(tmp_path).read_bytes()
    with pytest.raises(ReleaseError, match=r"'people-release.duckdb' is a release of 'people' already, and the ledger"):
        publishing.publish(policy, None, tmp_path / "key", force=True)
    assert (tmp_path / "people-release.duckdb").read_bytes() == before


def test_a_file_of_a_newer_format_is_not_replaced(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    path = write_newer(policy)
    before = path.read_bytes()
    for ledger in ("ledger.json", "other.json"):
        with pytest.raises(ReleaseError) as error:
            publishing.publish(policy, None, tmp_path / "key", tmp_path / ledger, force=True)
        assert str(error.value).startswith(NEWER)
        assert "upgrade it" in str(error.value)
    assert path.read_bytes() == before
    assert not (tmp_path / "other.json").exists()


def test_a_release_by_an_unknown_method(tmp_path: Path) -> None:
    path = publish_with(ready(tmp_path)).written.output
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE sqlpriv_release.about SET value = 'magic' WHERE name = 'method'").fetchall()
    for command in (["show"], ["verify"], ["query", "SELECT count(*) FROM people"]):
        done = run(tmp_path, command[0], path.name, *command[1:])
        assert done.returncode == 2
        assert "is a release by 'magic', which this version does not know; upgrade it" in done.stderr
