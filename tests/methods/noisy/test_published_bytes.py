"""With its key a randomized release comes out again, to the last row: hashes of the rows as they were at first.

Noisy counts were once a part of alpha_beta, and their hashes are those of then. A hash that changes is a second release
with fresh noise for everyone who publishes again. It is taken here, so that it is the same for every format.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from support.ledgers import entries, void
from support.policies import write_policy
from support.randomized_policies import KEY

from sqlpriv.core.errors import ReleaseError
from sqlpriv.methods import METHODS
from sqlpriv.publishing import publish, show, verify

pytestmark = pytest.mark.one_version

PEOPLE = (
    "CREATE OR REPLACE TABLE people AS SELECT 20 + (i * 7) % 10 AS age, ['F', 'M'][1 + (i // 3) % 2] AS sex, "
    "['flu', 'cold', 'mumps', 'gout', 'gout'][1 + (i * i + i // 7) % 5] AS ill, i // 2 AS who FROM range({}) AS r(i)"
)
COLUMNS = """who = { role = "drop" }
age = { role = "quasi-identifier", domain = "range:20..29" }
sex = { role = "quasi-identifier", domain = ["F", "M"], null = true }
ill = { role = "sensitive", domain = ["flu", "cold", "mumps", "gout"] }
"""
PERSONS = COLUMNS.replace('"drop"', '"person"')
SHARED = COLUMNS.replace('"gout"]', '"gout"], share = [1, 2, 3, 4]')
ALL_SHARED = SHARED.replace('"range:20..29"', f"{[*range(20, 30)]}, share = {[1] * 10}").replace(
    "null = true", "share = [1, 1]"
)
COUNTS = 'method = "noisy_counts"\n'
SETS = 'method = "alpha_beta"\nd = 0.01\n'
INDEPENDENT = 'adversary = "independent"\n'
GOLDEN = {
    "one_sided": (
        COLUMNS,
        COUNTS + "p = 0.3\nn_public = 400",
        "ce1faf1e88e8310d",
    ),
    "one_sided, size of the table": (
        COLUMNS,
        COUNTS + "p = 0.5",
        "8edf62381b9571b7",
    ),
    "one_sided_by_shares": (
        SHARED,
        COUNTS + "n_public = 400",
        "a7b67bfb5e6b5951",
    ),
    "signed": (
        COLUMNS,
        COUNTS + "gamma = 0.9",
        "ede6a7b66bd890a4",
    ),
    "signed, persons": (
        PERSONS,
        COUNTS + "rows_each = 2\nn_public = 400\nd = 0.2",
        "bbba190bdda78b4c",
    ),
    "uniform, distinct": (
        COLUMNS,
        SETS.replace("0.01", "0.1") + 'duplicates = "distinct"',
        "9cf4540c7bb77725",
    ),
    "uniform, slots": (
        COLUMNS,
        SETS + "slots = 60",
        "7fba56b9750295e4",
    ),
    "by_shares": (
        ALL_SHARED,
        SETS + INDEPENDENT + "slots = 60",
        "1faf89df1f104004",
    ),
    "sequence": (
        COLUMNS,
        SETS + INDEPENDENT + "slots = 60\nviews = 3",
        "9196e183aa53abbf",
    ),
    "replacement": (
        COLUMNS,
        'method = "frapp"\nd = 0.01',
        "f673667f83af5318",
    ),
}
"""By mechanism: the columns, [release], and the hash of the rows."""
SECOND = "3c6c445a0249117f"
"""Of the second view of the sequence, with five rows more."""


def write(folder: Path, name: str, rows: int = 400) -> Path:
    columns, release, _ = GOLDEN[name]
    gamma = "" if "gamma" in release else "gamma = 0.7\n"
    text = f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{columns}[release]\n{gamma}'
    (folder / "key").write_bytes(KEY)
    return write_policy(folder, f'{text}uncovered = "a test"\n{release}\n', PEOPLE.format(rows))


def published(folder: Path, name: str, rows: int = 400, output: str = "release.duckdb") -> Path:
    path = folder / output
    publish(write(folder, name, rows), path, folder / "key", folder / "ledger", force=True)
    return path


def hash_of_rows(path: Path) -> str:
    """Of the names of the columns and the published rows, sorted."""
    with duckdb.connect(str(path), read_only=True) as con:
        found = con.execute("SELECT * FROM sqlpriv_release.published ORDER BY ALL")
        names = [column[0] for column in found.description]
        return hashlib.sha256(repr((names, found.fetchall())).encode()).hexdigest()[:16]


@pytest.mark.some(2)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_key_and_table_give_the_rows_of_then(tmp_path: Path, name: str) -> None:
    path = published(tmp_path, name)
    content = show(path).content
    assert hash_of_rows(path) == GOLDEN[name][2]
    assert content["mechanism"] == name.partition(",")[0]
    assert verify(path, tmp_path / "policy.toml").passed


def test_the_second_view_of_a_sequence_has_the_rows_of_then(tmp_path: Path) -> None:
    published(tmp_path, "sequence")
    second = published(tmp_path, "sequence", 405, "second.duckdb")
    assert hash_of_rows(second) == SECOND


def test_every_mechanism_that_a_file_may_name_is_among_them() -> None:
    declared = {m.name for method in METHODS.values() for m in getattr(method, "mechanisms", ())}
    assert declared == {name.partition(",")[0] for name in GOLDEN}


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("one_sided", "signed"),
        ("one_sided", "one_sided_by_shares"),
        ("one_sided", "uniform"),
        ("signed", "one_sided"),
        ("one_sided_by_shares", "one_sided"),
        ("uniform, slots", "sequence"),
        ("uniform, slots", "by_shares"),
        ("sequence", "uniform"),
        ("by_shares", "uniform"),
    ],
)
def test_a_file_that_names_another_mechanism_is_refused(tmp_path: Path, name: str, other: str) -> None:
    path = published(tmp_path, name)
    with duckdb.connect(str(path)) as con:
        con.execute(f"UPDATE sqlpriv_release.about SET value = '{other}' WHERE name = 'mechanism'").fetchall()
    assert not verify(path).passed


def test_what_was_begun_under_the_old_name_is_refused_and_gets_no_fresh_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noisy counts begun as alpha_beta: neither finished nor begun again, until the owner voids the entry."""
    policy, ledger = write(tmp_path, "one_sided"), tmp_path / "ledger"

    def crash(step: str) -> None:
        if step == "entered":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("sqlpriv.publishing.path._reached", crash)
        with pytest.raises(KeyboardInterrupt):
            publish(policy, tmp_path / "release.duckdb", tmp_path / "key", ledger, force=True)
    with closing(sqlite3.connect(ledger)) as con, con:
        ((number, text),) = con.execute("SELECT id, entry FROM entries").fetchall()
        old = json.dumps(json.loads(text) | {"method": "alpha_beta"})
        con.execute("UPDATE entries SET entry = ? WHERE id = ?", (old, number))
    (begun,) = entries(ledger)
    assert (begun.method, begun.finished) == ("alpha_beta", False)
    for key_file in (tmp_path / "key", None):
        with pytest.raises(ReleaseError, match=r"was begun on .* and not finished"):
            publish(policy, tmp_path / "release.duckdb", key_file, ledger, force=True)
    assert entries(ledger) == [begun]
    assert not (tmp_path / "release.duckdb").exists()
    void(ledger, begun.name, "it never went out")
    publish(policy, tmp_path / "release.duckdb", tmp_path / "key", ledger, force=True)
    assert hash_of_rows(tmp_path / "release.duckdb") == GOLDEN["one_sided"][2]
