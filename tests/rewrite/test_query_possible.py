"""Averages, ratios and correlations are shown within what is possible, however much noise there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.releases import alpha_beta, random_view, write_release

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

COLUMNS = {
    "fare": ("INTEGER", [1, 10, 30, 60]),
    "tip": ("INTEGER", [2, 5, None]),
    "zone": ("VARCHAR", ["a", "b", "c", "d"]),
    "day": ("INTEGER", list(range(12))),
}


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    path = tmp_path_factory.mktemp("possible") / "fares.duckdb"
    write_release(path, COLUMNS, random_view(COLUMNS, 40, 3), alpha_beta(0.1, 0.05), table="fares")
    with open_release(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("asked", "low", "high"),
    [
        ("avg(fare)", 1, 60),
        ("sum(fare) / count(*)", 1, 60),
        ("2 * sum(fare) / count(fare)", 2, 120),
        ("avg(fare) * -1", -60, -1),
        ("sum(tip) / count(tip)", 2, 5),
        ("sum(tip) / count(*)", 0, 5),
        ("sum(fare) FILTER (WHERE zone = 'a') / count(*)", 0, 60),
        ("corr(fare, day)", -1, 1),
    ],
)
def test_estimates_are_possible(noisy: OpenRelease, asked: str, low: float, high: float) -> None:
    groups = "zone" if asked.startswith("corr") else "day, zone"
    query = f"SELECT {asked} AS x FROM fares GROUP BY {groups}"
    for text in (query, f"SELECT x FROM ({query}) AS t"):
        found = [row[0] for row in noisy.sql(text, intervals=False).fetchall() if row[0] is not None]
        assert found
        assert low <= min(found) <= max(found) <= high


def test_a_ratio_of_an_outer_query_keeps_its_bounds(noisy: OpenRelease) -> None:
    inside = "SELECT day, zone, count(*) AS n, sum(fare) AS s FROM fares GROUP BY day, zone"
    rows = noisy.sql(f"WITH t AS ({inside}) SELECT s / n AS x FROM t WHERE n > 0 AND zone <> 'd'").fetchall()
    assert rows
    for x, low, high in rows:
        assert 1 <= low <= x <= high <= 60
