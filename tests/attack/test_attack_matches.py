"""Everybody is found where their row is published: in releases of every kind, with NULL, stars, dates and fractions."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bucket_policies import publish_apart
from support.policies import policy_text, qi, role, write_policy

from sqlpriv.attacks.matches import match_people
from sqlpriv.attacks.target import Inputs, open_target
from sqlpriv.methods.records import VALUE, OwnedRelease
from sqlpriv.publishing import publish, read_policy

pytestmark = [pytest.mark.one_version, pytest.mark.slow]
PEOPLE = """CREATE TABLE people AS SELECT
    CASE WHEN i % 7 = 0 THEN NULL ELSE lpad(CAST(i * 37 % 100 AS VARCHAR), 3, '0') END AS zip,
    CASE WHEN i % 11 = 0 THEN NULL ELSE DATE '1990-01-01' + CAST(i * 101 % 2000 AS INTEGER) END AS born,
    i * 13 % 50 / 4 AS height, 'd' || (i % 4) AS ill,
    CASE WHEN i % 5 = 0 THEN NULL ELSE ['F', 'M'][1 + i % 2] END AS sex
    FROM range(60) AS r(i)"""
COLUMNS = {
    "zip": qi("mask:3"), "born": qi("dates:month,year,decade"), "height": qi("ranges:2,6"),
    "sex": qi("sexes.csv"), "ill": role("sensitive"),
}  # fmt: skip
SEXES = {"sexes.csv": "F;person;*\nM;person;*\n;person;*\n"}
WAYS = {
    "stars": 'method = "generalize"\nsuppression = 0.4\nkeep_suppressed = true',
    "left out": 'method = "generalize"\nsuppression = 0.4',
    "node": 'method = "generalize"\nnode = { zip = 2, born = 3, height = 2, sex = 1 }\nsuppression = 0.9',
    "mondrian": 'method = "mondrian"',
    "public cuts": 'method = "mondrian"\ncuts = "public"',
    "hilbert": 'method = "hilbert"',
}


def found_where_they_are(path: Path, output: Path, column: str = "ill") -> tuple[int, int]:
    """How many rows could be in some class, and in one that has their value."""
    policy = read_policy(path)
    with open_target(Inputs(output, policy=policy)) as target:
        assert target.private is not None
        assert target.method is not None
        records = target.method.records_with_value(OwnedRelease(target.files[0], target.private, policy), column)
        rows = f"(SELECT *, '=' || {column} AS __own, row_number() OVER () AS __row FROM {target.private.table})"
        matches = match_people(
            target.scratch,
            records,
            rows,
            open_nulls=False,
            people_columns=["__own", "__row"],
            record_columns=[VALUE],
        )
        asked = (
            f"SELECT count(DISTINCT k1), count(DISTINCT k1) FILTER (r.b0 = p.k0) FROM {matches.pairs} "
            f"JOIN {matches.people} AS p ON p.id = person JOIN {matches.records} AS r ON r.id = record"
        )
        ((some, own),) = target.calls.con.execute(asked).fetchall()
        return some, own


@pytest.mark.parametrize("way", WAYS)
def test_everybody_is_in_a_class_with_their_value(tmp_path: Path, way: str) -> None:
    text = policy_text(COLUMNS, "k = 3").replace('method = "generalize"', WAYS[way])
    path = write_policy(tmp_path, text, PEOPLE, SEXES)
    done = publish(path, ledger_file=tmp_path / "ledger")
    with open_target(Inputs(done.written.output)) as target:
        about = target.files[0].about
    gone = 0 if about.get("kept_suppressed") == "yes" else int(about["suppressed_rows"])
    if way == "stars":
        assert about["kept_suppressed"] == "yes"
    assert found_where_they_are(path, done.written.output) == (60 - gone, 60 - gone)


APART = {
    "anatomy": ("distinct_l = 3", 'method = "anatomy"'),
    "three groups": (
        "distinct_l = 1",
        'method = "slicing"\nbucket = 5\ngroups = [["zip", "born", "height"], ["sex"], ["ill"]]',
    ),
    "known beside it": ("", 'method = "slicing"\nbucket = 5\ngroups = [["zip", "born", "height"], ["sex", "ill"]]'),
}


@pytest.mark.parametrize("way", APART)
def test_everybody_is_in_a_bucket_with_their_value(tmp_path: Path, way: str) -> None:
    columns = {**dict.fromkeys(("zip", "born", "height", "sex"), role("quasi-identifier")), "ill": role("sensitive")}
    done = publish_apart(tmp_path / "a", columns, PEOPLE, *APART[way])
    assert found_where_they_are(tmp_path / "a" / "policy.toml", done.written.output) == (60, 60)
