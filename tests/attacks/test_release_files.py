"""Files and ledgers that somebody prepared: nothing of theirs runs, is believed, or is written over."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.publishing import open_release, publish, show, verify

pytestmark = pytest.mark.slow

NOISY = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
COLUMNS = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
PEOPLE = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
SECRET = "SECRET-42"


def test_a_view_in_the_place_of_a_table_does_not_run(tmp_path: Path) -> None:
    """It could read any file of whoever looks at the release."""
    (tmp_path / "secret.txt").write_text(SECRET)
    result = publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE))
    path = result.written.output
    with duckdb.connect(str(path)) as con:
        con.execute("ALTER TABLE sqlpriv_release.about RENAME TO told").fetchall()
        con.execute(
            "CREATE VIEW sqlpriv_release.about AS SELECT name, CASE WHEN name = 'date' THEN "
            f"(SELECT content FROM read_text('{tmp_path}/secret.txt')) ELSE value END AS value "
            "FROM sqlpriv_release.told"
        ).fetchall()
    for look in (show, verify, open_release):
        with pytest.raises(ReleaseError, match="about is a view, which would run when it is read") as refused:
            look(path)
        assert SECRET not in str(refused.value)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE sqlpriv_release.about SET value = 'no list' WHERE name = 'policy'",
        "UPDATE sqlpriv_release.parameters SET value = NULL WHERE name = 'd'",
        "UPDATE sqlpriv_release.attributes SET name = NULL",
        "ALTER TABLE sqlpriv_release.attributes DROP COLUMN name",
        "UPDATE sqlpriv_release.domain_weights SET power = NULL",
    ],
)
def test_nonsense_in_a_file_is_one_sentence(tmp_path: Path, sql: str) -> None:
    path = publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)).written.output
    with duckdb.connect(str(path)) as con:
        con.execute(sql).fetchall()
    for command in ("show", "verify"):
        done = run(tmp_path, command, path.name)
        assert "Traceback" not in done.stderr
        assert done.returncode in ({0, 2} if command == "show" else {1, 2})


def test_a_copy_of_a_file_beside_it_is_known(tmp_path: Path) -> None:
    """By its content, wherever it is."""
    files = {"people.csv": "q,s\n" + "1,a\n1,b\n2,a\n2,b\n"}
    columns = {"q": qi(), "s": role("sensitive")}
    publish(write_policy(tmp_path, policy_text(columns, "k = 2", table='source = "people.csv"'), files=files))
    shutil.copy(tmp_path / "people.csv", tmp_path / "copy.csv")
    other = policy_text(columns, "k = 4", table='source = "copy.csv"').replace("people-release", "copy-release")
    with pytest.raises(ReleaseError, match="'people' was released on"):
        publish(write_policy(tmp_path, other))


def test_beside_is_about_one_release_and_not_about_many(tmp_path: Path) -> None:
    """Bags with fresh coins, one a night, would be averaged."""
    first = write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)
    publish_with(first)
    again = write_noise_policy(tmp_path, COLUMNS, NOISY + 'coexists_because = "for the auditors"')
    publish_with(again, key=b"another key of sixteen bytes", output="second.duckdb")
    with pytest.raises(ReleaseError, match=r"by this very policy\. With new noise it would be one more release"):
        publish_with(again, key=b"a third key of sixteen bytes", output="third.duckdb")
    assert publish_with(again, key=b"another key of sixteen bytes", output="second.duckdb").written.again


def test_a_policy_is_compared_with_the_bound_of_the_file(tmp_path: Path) -> None:
    path = publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)).written.output
    for was, now in (
        ("gamma = 0.4", "gamma = 0.3"), ("d = 0.1", "d = 0.05"), ("n_public = 300", "n_public = 301"),
    ):  # fmt: skip
        other = write_noise_policy(tmp_path, COLUMNS, NOISY.replace(was, now))
        assert not verify(path, other).passed, now
    assert verify(path, write_noise_policy(tmp_path, COLUMNS, NOISY)).passed


def test_a_bag_that_drops_rows_needs_a_public_size(tmp_path: Path) -> None:
    """The number of rows left would tell whether a person's value lies in the domain."""
    columns = COLUMNS | {"a": published('"range:1..29"', outside='"drop"')}
    with pytest.raises(PolicyError, match="noisy_counts with rows dropped by 'a' needs n_public"):
        write_noise_policy(tmp_path, columns, NOISY.replace("n_public = 300\n", ""), PEOPLE)


def test_a_bag_needs_public_domains(tmp_path: Path) -> None:
    """The value that only one person has would stand in the domain, whatever the coins."""
    with pytest.raises(PolicyError, match="noisy counts need public domains"):
        write_noise_policy(tmp_path, COLUMNS | {"a": published('"active"')}, NOISY, PEOPLE)


def test_noise_that_no_coin_can_make_is_refused(tmp_path: Path) -> None:
    release = NOISY.replace("d = 0.1", "d = 1e-12").replace("gamma = 0.4", "gamma = 0.99999") + "p = 0.5"
    with pytest.raises(PolicyError, match="which cannot be drawn at random here, so every published row would be true"):
        publish_with(write_noise_policy(tmp_path, COLUMNS, release, PEOPLE))


def test_a_database_of_others_is_not_written_over(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "own.duckdb")) as con:
        con.execute(
            "CREATE SCHEMA release; CREATE TABLE release.about (x INTEGER); CREATE TABLE t AS SELECT 1"
        ).fetchall()
    before = (tmp_path / "own.duckdb").read_bytes()
    with pytest.raises(ReleaseError, match="is there already and is no release"):
        publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE), output="own.duckdb")
    assert (tmp_path / "own.duckdb").read_bytes() == before


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO sqlpriv_release.about VALUES ('note', 'alice')",
        "UPDATE sqlpriv_release.about SET value = 'alice' WHERE name = 'objective'",
        "INSERT INTO sqlpriv_release.parameters VALUES ('true_n', 4)",
        "INSERT INTO sqlpriv_release.labels_q SELECT 'alice', level, above FROM sqlpriv_release.labels_q LIMIT 1",
        "UPDATE sqlpriv_release.attributes SET position = 0",
        "ALTER TABLE sqlpriv_release.about ALTER value SET DEFAULT 'alice'",
        "CREATE TABLE sqlpriv_release.more (name VARCHAR, value VARCHAR CHECK (value <> 'alice')); "
        "INSERT INTO sqlpriv_release.more FROM sqlpriv_release.about; DROP TABLE sqlpriv_release.about; "
        "ALTER TABLE sqlpriv_release.more RENAME TO about",
    ],
)
def test_nothing_more_fits_into_a_generalized_release(tmp_path: Path, sql: str) -> None:
    files = {"people.csv": "q,s\n" + "1,a\n1,b\n2,a\n2,b\n"}
    columns = {"q": qi(), "s": role("sensitive")}
    done = publish(write_policy(tmp_path, policy_text(columns, "k = 2", table='source = "people.csv"'), files=files))
    assert verify(done.written.output).passed
    with duckdb.connect(str(done.written.output)) as con:
        con.execute(sql).fetchall()
    assert not verify(done.written.output).passed


def test_a_ledger_of_wrong_types_stops_publishing(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(
        '{"releases": [{"time": 1, "table": 2, "digest": 3, "content": 4, "method": 5, '
        '"parameters": 6, "coins": 7, "view": "8", "views": 9, "output": 10}]}'
    )
    with pytest.raises(ReleaseError, match="cannot be read; nothing is published without it"):
        publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE))


def test_a_ledger_behind_a_link_stays_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    policy = write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)
    publish_with(policy, ledger="real/ledger.db")
    (tmp_path / "ledger.json").symlink_to(tmp_path / "real" / "ledger.db")
    assert publish_with(policy).written.again
    assert (tmp_path / "ledger.json").is_symlink()
    assert not (tmp_path / "ledger.json-unfinished").exists()


STEERING = "\x1b[2Jall is well\nverified  everything\u202e\x9b1m"


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["alpha_beta", "generalize"])
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE sqlpriv_release.about SET value = {} WHERE name IN ('counts', 'date', 'adversary', 'sqlpriv')",
        "INSERT INTO sqlpriv_release.reasons VALUES ('accept', {})",
        "INSERT INTO sqlpriv_release.reasons VALUES ({}, 'so it is')",
        "UPDATE sqlpriv_release.about SET value = {} WHERE name = 'method'",
        "UPDATE sqlpriv_release.attributes SET role = {}",
        "CREATE TABLE domain.b2 AS SELECT {} AS x; ALTER TABLE domain.b2 RENAME TO {quoted}",
    ],
)
def test_words_of_a_file_cannot_steer_a_terminal(tmp_path: Path, method: str, sql: str) -> None:
    if method == "generalize":
        text = policy_text({"a": qi(), "b": role("sensitive")}, "k = 2")
        path = publish(write_policy(tmp_path, text, PEOPLE)).written.output
    else:
        path = publish_with(write_noise_policy(tmp_path, COLUMNS, NOISY, PEOPLE)).written.output
    with duckdb.connect(str(path)) as con:
        literal, quoted = (q + STEERING + q for q in "'\"")
        for statement in sql.replace("{quoted}", quoted).replace("{}", literal).split("; "):
            con.execute(statement).fetchall()
    for command in (("show",), ("verify",), ("show", "--json"), ("verify", "--json")):
        done = run(tmp_path, *command, path.name)
        assert not set("\x1b\u202e\x9b") & set(done.stdout + done.stderr)
        assert "\nverified  everything" not in done.stdout + done.stderr
    with suppress(ReleaseError):  # it is refused, or shown without that
        assert STEERING not in str(show(path))
