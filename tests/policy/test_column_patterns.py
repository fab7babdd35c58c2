"""Columns named by patterns, and how much each counts in a search: what is not named has no place in a release."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.drafts import drafted

from sqlpriv.core.errors import PolicyError
from sqlpriv.publishing import plan, publish, read_policy, verify

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

COLUMNS = 'age = { role = "quasi-identifier", hierarchy = "ranges:5,10,20" }\nill = { role = "sensitive" }\n'
WIDE = (
    'SELECT 20 + i % 60 AS age, i % 4 AS ill, i % 7 AS "Lab_a", i % 5 AS lab_b, i AS note, i % 3 AS region '
    "FROM range(3000) AS r(i)"
)


def policy(folder: Path, columns: str, release: str = "") -> Path:
    """A policy for the wide table."""
    drafted(folder, WIDE)
    path = folder / "policy.toml"
    text = f'[table]\nsource = "t"\ndatabase = "d.duckdb"\n[columns]\n{columns}[require]\nk = 5\ndistinct_l = 2\n'
    path.write_text(f'{text}[release]\nmethod = "generalize"\noutput = "r.duckdb"\n{release}', encoding="utf-8")
    return path


def test_a_star_drops_all_other_columns(tmp_path: Path) -> None:
    path = policy(tmp_path, COLUMNS + '"*" = { role = "drop" }\n')
    publish(path, ledger_file=tmp_path / "ledger.db")
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        names = {name for (name, *_) in con.execute("DESCRIBE FROM t").fetchall()}
    assert not names & {"Lab_a", "lab_b", "note", "region"}
    assert verify(tmp_path / "r.duckdb", path).passed


def test_a_pattern_gives_a_role_to_the_columns_that_have_none(tmp_path: Path) -> None:
    lab = '"lab_*" = { role = "quasi-identifier", hierarchy = "suppression" }\n"*" = { role = "drop" }\n'
    path = policy(tmp_path, f'lab_b = {{ role = "drop" }}\n{COLUMNS}{lab}')
    assert list(plan(path).content["node"]) == ["age", "Lab_a"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (
            '"lab_*" = { role = "sensitive" }',
            "'lab_\\*' is a pattern of names, and gives them one of drop, ide",
        ),
        ('"*" = { role = "other" }', "'\\*' is a pattern of names, and gives them one of identifier, drop"),
        ('"*" = { role = "quasi-identifier", hierarchy = "suppression" }', "gives them one of identifier, drop"),
    ],
)
def test_what_is_protected_has_a_name(tmp_path: Path, entry: str, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        read_policy(policy(tmp_path, f"{COLUMNS}{entry}\n"))


def test_a_pattern_that_fits_nothing_names_nothing(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="has the columns 'Lab_a', 'lab_b', 'note', 'region', which the policy"):
        plan(policy(tmp_path, COLUMNS + '"visit_*" = { role = "drop" }\n'))


TWO = (
    'age = {{ role = "quasi-identifier", hierarchy = "ranges:5,10,20"{0} }}\n'
    '"Lab_a" = {{ role = "quasi-identifier", hierarchy = "suppression" }}\n'
    'ill = {{ role = "sensitive" }}\n"*" = {{ role = "drop" }}\n'
)


def node(folder: Path, more: str, release: str = "") -> dict[str, int]:
    """The node that is chosen."""
    path = policy(folder, TWO.format(more), release)
    path.write_text(path.read_text(encoding="utf-8").replace("k = 5", "k = 60"), encoding="utf-8")
    found: dict[str, int] = plan(path).content["node"]
    return found


def test_an_important_column_stays_finer(tmp_path: Path) -> None:
    assert node(tmp_path, "")["Lab_a"] < node(tmp_path, ", importance = 50")["Lab_a"]
    assert node(tmp_path, ", importance = 50")["age"] < node(tmp_path, ", importance = 0.01")["age"]
    assert node(tmp_path, "") == node(tmp_path, ", importance = 1")


def test_no_column_is_published_above_its_highest_level(tmp_path: Path) -> None:
    assert node(tmp_path, "")["age"] > 1
    assert node(tmp_path, ", max_level = 1") == {"age": 1, "Lab_a": 1}
    with pytest.raises(PolicyError, match="even at the highest levels that may be published"):
        node(tmp_path, ", max_level = 0")
    with pytest.raises(PolicyError, match="the node asks for level 2 of 'age', and its max_level is 1"):
        node(tmp_path, ", max_level = 1", "node = { age = 2, Lab_a = 1 }")


def test_importance_counts_where_columns_are_summed(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="importance counts for the objectives loss, height, precision, entropy"):
        node(tmp_path, ", importance = 2", 'objective = "discernibility"')
