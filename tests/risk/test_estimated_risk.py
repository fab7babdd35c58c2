"""The risk estimated with a dictionary that precedes the true one is never below the true risk (Proposition 1)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sqlpriv.display import charts
from sqlpriv.risk.dictionaries import Dictionary
from sqlpriv.risk.measure import estimated_and_true, risk_by_entries
from sqlpriv.risk.request import RiskRequest, WeightedColumn, open_tables
from sqlpriv.table.source import TableReference

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

CITIES = [(f"c{i}", f"s{i // 3}", "*") for i in range(9)]


def write(path: Path, rows: list[tuple[Any, ...]], names: str = "", between: str = ",") -> None:
    lines = [between.join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([names] * bool(names) + lines) + "\n", encoding="utf-8")


def tables(folder: Path, seed: int) -> RiskRequest:
    """A table that is itself the estimate, and a true dictionary: its people and more, with cells that say no more."""
    chance = random.Random(seed)
    people = [(n, *chance.choice(CITIES)[:1], chance.randint(1, 4)) for n in range(40)]
    state = {city: above for city, above, _ in CITIES}
    others = [(100 + n, chance.choice(CITIES)[0], chance.randint(1, 4)) for n in range(chance.randint(0, 80))]
    coarse = [(n, chance.choice([city, state[city], None]), chance.choice([ward, None])) for n, city, ward in people]
    write(folder / "table.csv", people, "who,city,ward")
    write(folder / "true.csv", coarse + others, "who,city,ward")
    write(folder / "sharper.csv", [(n, "c0", 1) for n, *_ in people], "who,city,ward")
    write(folder / "cities.csv", CITIES, between=";")
    columns = [WeightedColumn("city", "0.3", "cities.csv"), WeightedColumn("ward", "2", "suppression")]
    reference = TableReference(folder, "table.csv", None, {})
    return RiskRequest(reference, columns, [Dictionary("table.csv"), Dictionary("true.csv")], "multiplicative")


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(3))
def test_all_points_are_above_the_diagonal(tmp_path: Path, seed: int) -> None:
    with open_tables(tables(tmp_path, seed)) as found:
        points = estimated_and_true(found, "who")
    assert len(points) == 6, "two levels above a city and one above a ward"
    assert all(point["precedes"] for point in points)
    assert all(point["estimated"] >= point["true"] * (1 - 1e-12) for point in points)
    assert any(point["estimated"] > point["true"] * 1.01 for point in points), "or the test would prove nothing"
    drawn = charts.risk_bound_picture(points).written("svg").decode()
    assert "the estimate bounds the true risk" in drawn


def test_a_dictionary_that_says_something_else_is_no_bound(tmp_path: Path) -> None:
    request = tables(tmp_path, 5)
    with open_tables(
        RiskRequest(request.table, request.columns, [Dictionary("table.csv"), Dictionary("sharper.csv")])
    ) as found:
        assert not any(point["precedes"] for point in estimated_and_true(found, "who"))


def test_parts_of_a_dictionary_grow_to_the_whole(tmp_path: Path) -> None:
    with open_tables(tables(tmp_path, 6)) as found:
        rows = [row for row in risk_by_entries(found) if row["curve"] == "table.csv"]
    assert [row["entries"] for row in rows] == [4 * part for part in range(1, 11)]
