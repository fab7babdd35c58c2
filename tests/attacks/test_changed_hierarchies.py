"""Editing a file that a policy names, to have a second release that the ledger takes for the first."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.sampled import COLUMNS, people, sampled_policy, write_people

from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.publishing import publish

SEX = 'sex = { role = "quasi-identifier", hierarchy = "suppression", domain = ["F", "M"] }'
FROM_A_FILE = 'sex = { role = "quasi-identifier", hierarchy = "sexes.csv", domain = ["F", "M"] }'
ONE_LABEL, TWO_LABELS = "F;any;*\nM;any;*\n", "F;f;*\nM;m;*\n"
GENERALIZE = """
[table]
database = "private.duckdb"
source = "people"
[columns]
ssn = { role = "identifier" }
age = { role = "drop" }
sex = { role = "quasi-identifier", hierarchy = "sexes.csv" }
ill = { role = "sensitive" }
[require]
k = 2
[release]
accept = "made-up people"
method = "generalize"
output = "out.duckdb"
node = { sex = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, people(400))
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "sexes.csv").write_text(ONE_LABEL)
    return tmp_path


def rows(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("FROM people ORDER BY ALL").fetchall()


def test_other_labels_are_another_sample(folder: Path) -> None:
    columns = COLUMNS.replace(SEX, FROM_A_FILE)
    budget = "[ledger]\nbudget = { epsilon = 1.5, delta = 0.5 }"
    policy = sampled_policy(folder, columns=columns, node="node = { age = 2, sex = 1 }", ledger=budget)
    publish(policy, key_file=folder / "key")
    (folder / "sexes.csv").write_text(TWO_LABELS)
    with pytest.raises((PolicyError, ReleaseError), match=r"budget"):
        publish(policy, folder / "second.duckdb", key_file=folder / "key")
    assert not (folder / "second.duckdb").exists()


def test_other_labels_are_another_generalization(folder: Path) -> None:
    policy = folder / "policy.toml"
    policy.write_text(GENERALIZE)
    publish(policy)
    before = rows(folder / "out.duckdb")
    (folder / "sexes.csv").write_text(TWO_LABELS)
    with pytest.raises(ReleaseError, match="a file that it names has changed since"):
        publish(policy, folder / "second.duckdb")
    assert not (folder / "second.duckdb").exists()
    assert publish(policy).written.again, "in its own place it is left as it was"
    assert rows(folder / "out.duckdb") == before
    (folder / "sexes.csv").write_text(ONE_LABEL)
    assert publish(policy).written.again


DISCLOSE = """
[table]
database = "private.duckdb"
source = "people"
[columns]
ssn = { role = "person" }
age = { role = "quasi-identifier", hierarchy = "ranges:10"%s }
sex = { role = "quasi-identifier", hierarchy = "suppression"%s }
ill = { role = "drop" }
[release]
method = "disclose"
goal = "utility"
c = 0.02
dictionary = "book.csv"
output = "out.duckdb"
%s
"""


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["book", "minds", "weights"])
def test_another_dictionary_or_other_weights_are_another_disclosure(folder: Path, changed: str) -> None:
    """Neither a second file nor the figures of one that was not written: the release that is there keeps its own."""
    minds = 'personal = { source = "minds.csv", total = 9 }'
    weights = {"minds": ("", "", minds), "weights": (', weight = "weights.csv"', "", "")}.get(changed, ("", "", ""))
    policy = folder / "policy.toml"
    policy.write_text(DISCLOSE % weights)
    files = {
        "book": "SELECT 18 + i %% 60 AS age, CASE WHEN i %% 2 = 0 THEN 'F' ELSE 'M' END AS sex FROM range({0}) AS r(i)",
        "minds": "SELECT ssn, a, {0} / 400.0 AS weight FROM p.people, (VALUES ('age'), ('sex')) AS v(a)",
        "weights": "SELECT CAST(i AS VARCHAR) AS value, {0} / 400.0 AS weight FROM range(120) AS r(i)",
    }
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{folder / 'private.duckdb'}' AS p (READ_ONLY)").fetchall()

        def write(name: str, number: int) -> None:
            rows = files[name].replace("%%", "%").format(number)
            con.execute(f"COPY ({rows}) TO '{folder / name}.csv'").fetchall()

        for name in files:
            write(name, 400)
        publish(policy)
        published = (folder / "out.duckdb").read_bytes()
        write(changed, 1200)
    for output in (None, folder / "second.duckdb"):
        with pytest.raises((PolicyError, ReleaseError), match=r"published before|second release|beside"):
            publish(policy, output)
    assert not (folder / "second.duckdb").exists()
    assert (folder / "out.duckdb").read_bytes() == published
