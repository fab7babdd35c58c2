"""The learned attack on releases: run on what keeps people and values apart, silent where noise bounds beliefs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bucket_policies import QI, SENSITIVE, publish_apart

import sqlpriv

PEOPLE = (
    "CREATE TABLE people AS SELECT i * i % 997 % 11 AS job, 20 + i % 60 AS age, 'v' || (i * i % 997 % 11) AS s "
    "FROM range(900) AS r(i)"
)
COLUMNS = {"job": QI, "age": QI, "s": SENSITIVE}


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
