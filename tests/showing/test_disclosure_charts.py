"""The pictures of disclosure risk: what they show, read off their SVG, and what they refuse."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sqlpriv.errors import InputError
from sqlpriv.showing import charts
from sqlpriv.showing.charts.disclosure import frontier

pytestmark = pytest.mark.one_version

THRESHOLDS = [
    {"c": 0, "risk": 0.01, "utility": 1.5},
    {"c": 5, "risk": 0.2, "utility": 5.25},
    {"c": 6, "risk": 0.3, "utility": 5.25},
    {"c": 13, "risk": math.inf, "utility": 13.0},
]
LEVELS = [
    {"c": c, "attribute": attribute, "level": level, "share": share}
    for c in (0, 5)
    for attribute in ("$city$", "born")
    for level, share in ((0, 0.25), (2, 0.75))
]


def test_the_frontier_leaves_out_what_is_beaten(tmp_path: Path) -> None:
    assert [row["c"] for row in frontier(THRESHOLDS[:3])] == [0, 5]
    drawn = charts.draw_disclosure(THRESHOLDS, tmp_path / "frontier.svg", chosen=5).read_text(encoding="utf-8")
    for text in ("frontier (2)", "chosen: c = 5", "1 with an infinite risk are left out", "c = 0"):
        assert text in drawn
    assert "c = 6" not in drawn


def test_levels_are_drawn_for_each_attribute(tmp_path: Path) -> None:
    drawn = charts.draw_disclosure_levels(LEVELS, tmp_path / "levels.svg").read_text(encoding="utf-8")
    for text in ("$city$", "born", "0, suppressed", "threshold c"):
        assert text in drawn


def test_curves_by_the_size_of_the_dictionary_are_named(tmp_path: Path) -> None:
    rows = [{"entries": n, "risk": 1 / n, "curve": f"c = {n % 2}"} for n in (1, 2, 3, 1_000_000)]
    drawn = charts.draw_risk_by_entries(rows, tmp_path / "entries.svg").read_text(encoding="utf-8")
    for text in ("c = 0", "c = 1", "1,000,000"):
        assert text in drawn
    assert charts.draw_risk_by_entries([{"entries": 3, "risk": 0.5}], tmp_path / "one.png").stat().st_size > 0


def test_estimates_that_are_no_bounds_are_set_off(tmp_path: Path) -> None:
    rows = [{"estimated": 0.5, "true": 0.25, "precedes": True}]
    name = "not in order"
    assert name not in charts.draw_risk_bound(rows, tmp_path / "bound.svg").read_text(encoding="utf-8")
    rows.append({"estimated": 0.1, "true": 0.25, "precedes": False})
    assert name in charts.draw_risk_bound(rows, tmp_path / "none.svg").read_text(encoding="utf-8")


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no disclosure to draw: no figure is finite"):
        charts.draw_disclosure(THRESHOLDS[3:], tmp_path / "none.svg")
    with pytest.raises(InputError, match="no levels to draw"):
        charts.draw_disclosure_levels([], tmp_path / "none.svg")
    assert not list(tmp_path.iterdir())
