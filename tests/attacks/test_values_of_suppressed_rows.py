"""A value that only suppressed rows have is nowhere in a release: not in a row, not in a label, not in a hierarchy."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import generalize, policy_text, qi, role, write_policy

from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Facts
from sqlpriv.publishing import publish, verify
from sqlpriv.release.file import WRITTEN

pytestmark = pytest.mark.slow

COMPARE = import_module("sqlpriv.methods.generalized.generalize.write")
WRITE = import_module("sqlpriv.methods.generalized.generalize.write")
OUTLIER = "7654321"
# 400 cars that are driven, and one that was driven round the earth 191 times.
CARS = f"""
CREATE TABLE people AS SELECT 40 + i % 4 AS age, 1000 + i * 117 AS mileage, i % 5 AS fault FROM range(400) AS r(i);
INSERT INTO people VALUES (99, {OUTLIER}, 0)
"""
FEW_MILEAGES = f"""
CREATE TABLE people AS SELECT 40 AS age, i % 8 AS mileage, i % 5 AS fault FROM range(400) AS r(i);
INSERT INTO people VALUES (40, {OUTLIER}, 0)
"""
RELEASE = "suppression = 0.01"


def columns(hierarchy: str) -> dict[str, str]:
    return {"age": qi(), "mileage": qi(hierarchy), "fault": role("sensitive")}


def labels(output: Path) -> set[str]:
    with duckdb.connect(str(output), read_only=True) as con:
        found = con.execute("SELECT DISTINCT CAST(mileage AS VARCHAR) FROM people").fetchall()
        found += con.execute(
            "SELECT unnest(list_concat([label], above)) FROM sqlpriv_release.labels_mileage"
        ).fetchall()
    return {str(label) for (label,) in found}


@pytest.mark.some(1)
@pytest.mark.parametrize("keep", ["", "\nkeep_suppressed = true"])
def test_bins_end_where_published_rows_end(tmp_path: Path, keep: str) -> None:
    result = generalize(write_policy(tmp_path, policy_text(columns("bins:4,2"), "k = 5", RELEASE + keep), CARS))
    assert (result.node, result.suppressed_rows) == ({"age": 0, "mileage": 1}, 1)
    first = {"less than 13000", "13000-24999", "25000-36999", "37000 or more"}
    second = {"less than 25000", "25000 or more"}
    assert labels(result.output) == first | second | {"*"}
    assert OUTLIER.encode() not in result.output.read_bytes()


def test_bins_are_what_they_were_where_nothing_is_suppressed(tmp_path: Path) -> None:
    rows = CARS.partition(";")[0]
    result = generalize(write_policy(tmp_path, policy_text(columns("bins:4,2"), "k = 5", RELEASE), rows))
    assert result.suppressed_rows == 0
    assert {"less than 13000", "36000 or more", "less than 25000", "25000 or more"} <= labels(result.output)


def test_levels_above_raw_values_are_named_by_published_rows(tmp_path: Path) -> None:
    """The values themselves are published, and the outlier stands in the labels above them."""
    result = generalize(write_policy(tmp_path, policy_text(columns("bins:2"), "k = 5", RELEASE), FEW_MILEAGES))
    assert (result.node["mileage"], result.suppressed_rows) == (0, 1)
    assert labels(result.output) == {*"01234567", "less than 5", "5 or more", "*"}


def test_texts_and_a_bin_of_which_nothing_is_left(tmp_path: Path) -> None:
    rows = (
        "CREATE TABLE people AS SELECT 40 AS age, 'b' || i % 2 AS mileage, 0 AS fault FROM range(40) AS r(i) "
        "UNION ALL SELECT 40 + i, 'a' || i, 0 FROM range(10) AS r(i) UNION ALL SELECT 40, NULL, 0 FROM range(9)"
    )
    text = policy_text({**columns("bins:5"), "age": qi()}, "k = 5", "suppression = 0.2")
    result = generalize(write_policy(tmp_path, text, rows))
    assert result.suppressed_rows == 10
    assert all("a" not in label for label in labels(result.output))


def test_a_table_of_labels_that_was_made_from_the_data_is_refused(tmp_path: Path) -> None:
    made = f"""{CARS}; CREATE TABLE hierarchy_mileage AS SELECT mileage AS value,
      CASE WHEN mileage < 20000 THEN '1000-19954' ELSE '20071-{OUTLIER}' END AS level1, '*' AS level2 FROM people"""
    path = write_policy(tmp_path, policy_text(columns("table:hierarchy_mileage"), "k = 5", RELEASE), made)
    with pytest.raises(ReleaseError, match=r"1 label.s. of 'mileage' hold a value that only suppressed rows"):
        generalize(path)
    assert not list(tmp_path.glob("*release*"))


def test_a_table_that_lists_what_there_could_be_is_taken_for_public(tmp_path: Path) -> None:
    """Whose cut points anybody may know, though one of them is also the value of a row that is suppressed."""
    made = f"""{CARS}; CREATE TABLE hierarchy_mileage AS SELECT i AS value,
      CASE WHEN i < 20000 THEN '0-19999' ELSE '20000-{OUTLIER}' END AS level1, '*' AS level2
      FROM (SELECT unnest(range(50000)) AS i UNION ALL SELECT {OUTLIER})"""
    path = write_policy(tmp_path, policy_text(columns("table:hierarchy_mileage"), "k = 5", RELEASE), made)
    assert labels(generalize(path).output) == {"0-19999", f"20000-{OUTLIER}", "*"}


def test_a_range_may_end_at_the_value_of_a_suppressed_row(tmp_path: Path) -> None:
    rows = (
        "CREATE TABLE people AS SELECT 40 AS age, 21 + i % 9 AS mileage, 0 AS fault FROM range(99) AS r(i); "
        "INSERT INTO people VALUES (99, 20, 0)"
    )
    result = generalize(write_policy(tmp_path, policy_text(columns("ranges:10"), "k = 50", "suppression = 0.1"), rows))
    assert labels(result.output) == {"20-29", "*"}


@pytest.mark.some(1)
@pytest.mark.parametrize("hierarchy", ["suppression", "bins:4,2"])
def test_the_search_finds_what_slipped_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hierarchy: str) -> None:
    """Whatever fault there may be in what is written, the file does not take its place."""
    write = WRITE.write_generalized

    def slip(con: duckdb.DuckDBPyConnection, *given: Any, **named: Any) -> int:
        count = int(write(con, *given, **named))
        for table, value in (("published", OUTLIER), ("labels_mileage", f"'{OUTLIER}'")):
            sql = f"UPDATE {WRITTEN}.sqlpriv_release.{table} SET {{}} = {value} WHERE rowid = 0"
            con.execute(sql.format("mileage" if table == "published" else "label")).fetchall()
        return count

    monkeypatch.setattr(WRITE, "write_generalized", slip)
    monkeypatch.setattr(COMPARE, "_is_the_same", lambda _: True)
    monkeypatch.setattr("sqlpriv.publishing.path.judged_file", lambda *_: Facts("not verified", {}, passed=True))
    path = write_policy(tmp_path, policy_text(columns(hierarchy), "k = 5", RELEASE), FEW_MILEAGES)
    with pytest.raises(ReleaseError, match="values of 'mileage' that only suppressed rows have"):
        generalize(path)


def test_verify_says_what_a_file_alone_cannot_tell(tmp_path: Path) -> None:
    cars = f"{CARS}; ALTER TABLE people ALTER mileage TYPE VARCHAR"
    done = publish(write_policy(tmp_path, policy_text(columns("bins:4,2"), "k = 5", RELEASE), cars))
    told = [part.text for part in done.facts.parts if getattr(part, "mark", "") == "warning"]
    assert told == [
        "Bins of 'mileage' end at values that published rows have, and reveal them; labels of your own would not."
    ]
    checks = {c["check"]: c["passed"] for c in verify(tmp_path / "people-release.duckdb").content["checks"]}
    assert checks["no value that only suppressed rows have"] is None
