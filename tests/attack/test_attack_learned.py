"""The learned attack on releases: of groups that are published apart, and of the shares in classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.bucket_policies import QI, SENSITIVE, bucket_policy_text, publish_apart
from support.policies import write_policy

import sqlpriv

PEOPLE = (
    "CREATE TABLE people AS SELECT i * i % 997 % 11 AS job, 20 + i % 60 AS age, 'v' || (i * i % 997 % 11) AS s "
    "FROM range(900) AS r(i)"
)
COLUMNS = {"job": QI, "age": QI, "s": SENSITIVE}


def test_a_plan_says_no_where_the_file_would_teach_too_much(tmp_path: Path) -> None:
    text = bucket_policy_text(COLUMNS, "distinct_l = 4")
    said = sqlpriv.plan(write_policy(tmp_path, text, PEOPLE)).content["verdict"]
    assert said["word"] == "no"
    assert any(why.startswith("a reader who learns from the whole file guesses s of ") for why in said["because"])


def learned(path: Path, **options: Any) -> tuple[dict[str, Any], str]:
    found = sqlpriv.attack(path, worlds=0, **options).content["attacks"]
    (attack,) = [a for a in found if a["attack"] == "learned"]
    return {name: figure["value"] for name, figure in attack["figures"].items()}, attack["sentence"]


@pytest.mark.parametrize(
    "release",
    [
        'method = "anatomy"',
        pytest.param('method = "slicing"\nbucket = 4\ngroups = [["job", "age"], ["s"]]', marks=pytest.mark.slow),
    ],
)
def test_a_reader_of_groups_passes_their_promise(tmp_path: Path, release: str) -> None:
    path = publish_apart(tmp_path, COLUMNS, PEOPLE, "distinct_l = 4", release).written.output
    figures, sentence = learned(path)
    assert figures["people"] == 900
    assert figures["certain_99"] > 400
    assert figures["guessed_right"] > 700
    assert "right_99" not in figures
    assert "if the beliefs are right" in sentence
    figures, sentence = learned(path, policy=tmp_path / "policy.toml")
    assert figures["guessed_right"] > 700
    assert figures["right_99"] == pytest.approx(figures["certain_99"], rel=0.02)
    assert figures["promised"] == 0.25
    assert figures["breaks_promise"] == 1
    assert sentence.endswith("The promise is broken.")


def test_the_shares_of_a_sample_are_read_off(tmp_path: Path) -> None:
    """Random noise decides who is in it, and not what a class of it teaches of people like them."""
    text = (
        '[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n'
        'job = { role = "quasi-identifier", hierarchy = "suppression", domain = "range:0..10" }\n'
        'age = { role = "drop" }\ns = { role = "sensitive" }\n'
        '[release]\nmethod = "sdgs"\nk = 3\nbeta = 0.5\nepsilon = 2.0\nn_public = 900\nnode = { job = 0 }\n'
        'node_is_public = "a test"\naccept = "a test"\n'
    )
    release = tmp_path / "release.duckdb"
    sqlpriv.publish(write_policy(tmp_path, text, PEOPLE), release, force=True)
    figures, sentence = learned(release)
    with duckdb.connect(str(release), read_only=True) as con:
        rows = "SELECT job, s, count(*) AS n FROM sqlpriv_release.published GROUP BY ALL"
        shares = f"SELECT sum(n) AS size, max(n) AS most FROM ({rows}) GROUP BY job"
        counted = "sum(size), sum(size) FILTER (most >= .9 * size), sum(size) FILTER (most >= .99 * size), sum(most)"
        expected = con.execute(f"SELECT {counted} FROM ({shares})").fetchall()[0]
    assert tuple(figures[f] for f in ("people", "certain_90", "certain_99", "guessed_right")) == expected
    assert figures["certain_99"] > 300
    assert "people of the sample" in sentence
