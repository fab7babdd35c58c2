"""On Adult, with 4 and with 9 columns, every method has a row; those that refuse say why."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlpriv
from benchmarks.compare import write_policy
from sqlpriv.methods import METHODS

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

WORKLOAD = """SELECT count(*) FROM adult WHERE age BETWEEN 30 AND 44;
SELECT count(*) FROM adult WHERE sex = 'Female' AND age < 30;
SELECT race, count(*) FROM adult WHERE occupation IN ('Sales', 'Tech-support') GROUP BY race;
"""


@pytest.mark.parametrize("columns", [4, 9])
def test_every_method_has_a_row(shared_data: Path, tmp_path: Path, columns: int) -> None:
    if not (shared_data / "adult" / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    (tmp_path / "queries.sql").write_text(WORKLOAD)
    policy = write_policy(tmp_path, columns)
    facts = sqlpriv.compare(policy, tmp_path / "queries.sql", tune=False)
    rows = {row["method"]: row for row in facts.content["methods"]}
    assert list(rows) == list(METHODS)
    for row in rows.values():
        assert row.get("refused") or (row["answered"], row["by_size"][0]["numbers"] >= 1) == (3, True)
    done = [row for row in rows.values() if "refused" not in row]
    assert "generalize" in {row["method"] for row in done}
    assert all(row["inside"] == 1.0 for row in done if not METHODS[row["method"]].draws), "hard bounds hold the truth"
    for row in done:
        believed = 0.5 if METHODS[row["method"]].draws else 2 / 3  # a share of 0.5, at twice the odds
        assert row["posterior"] is None or row["assumed"] or row["posterior"] <= believed + 1e-9
    assert "say nothing" in rows["frapp"]["refused"]
