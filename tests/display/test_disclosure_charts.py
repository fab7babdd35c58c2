"""The pictures of disclosure risk: what they show, read off their SVG, and what they refuse."""

from __future__ import annotations

import math
import re

import pytest

from sqlpriv.core.errors import InputError
from sqlpriv.display import charts
from sqlpriv.display.charts.disclosure import frontier

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
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


def texts_of(picture: charts.Picture) -> list[str]:
    """The texts of a picture, as its SVG holds them."""
    return re.findall(r">([^<>]+)</t", picture.written("svg").decode())


def test_the_frontier_leaves_out_what_is_beaten() -> None:
    assert [row["c"] for row in frontier(THRESHOLDS[:3])] == [0, 5]
    picture = charts.disclosure_picture(THRESHOLDS, chosen=5)
    assert "1 with an infinite risk are left out." in picture.description
    drawn = texts_of(picture)
    for text in ("a threshold c", "frontier (2)", "chosen: c = 5", "c = 0", "c = 5"):
        assert text in drawn
    assert "c = 6" not in drawn


def test_levels_are_drawn_for_each_attribute() -> None:
    drawn = texts_of(charts.disclosure_levels_picture(LEVELS))
    for text in ("$city$", "born", "0, suppressed", "threshold c"):
        assert text in drawn


def test_curves_by_the_size_of_the_dictionary_are_named() -> None:
    rows = [{"entries": n, "risk": 1 / n, "curve": f"c = {n % 2}"} for n in (1, 2, 3, 1_000_000)]
    drawn = texts_of(charts.risk_by_entries_picture(rows))
    for text in ("c = 0", "c = 1", "1,000,000"):
        assert text in drawn
    assert "entries of the dictionary" in texts_of(charts.risk_by_entries_picture([{"entries": 3, "risk": 0.5}]))


def test_estimates_that_are_no_bounds_are_set_off() -> None:
    rows = [{"estimated": 0.5, "true": 0.25, "precedes": True}]
    name = "the dictionaries are not in order: no bound"
    assert name not in texts_of(charts.risk_bound_picture(rows))
    rows.append({"estimated": 0.1, "true": 0.25, "precedes": False})
    assert name in texts_of(charts.risk_bound_picture(rows))


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="no disclosure to draw: no figure is finite"):
        charts.disclosure_picture(THRESHOLDS[3:])
    with pytest.raises(InputError, match="no levels to draw"):
        charts.disclosure_levels_picture([])
