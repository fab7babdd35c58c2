"""The intervals of variances, correlations, regressions, quantiles and windows hold the truth as often as they say.

As in test_coverage: asked of 400 releases in the deep run, of 40 in the quick one, which are copies of the table in one
release, or keys. Quantiles lie on values, so that their intervals hold the truth more often; here only too few are an
error, below 92%, or 90% where fewer than 30 rows are expected in the view.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from methods.noisy.test_coverage import MANY, POLICIES, asked_of, lowest
from support.coverage_numbers import Asked, Found

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

# Divided by 1, since they are unknown without rows, and not 0 as sums are.
STATISTICS = {
    "v": "var_samp(a) / 1",
    "d": "stddev_pop(b) / 1",
    "k": "covar_pop(a, b) / 1",
    "r": "corr(a, b) / 1",
    "e": "regr_r2(b, a) / 1",
    "g": "regr_slope(b, a) / 1",
    "i": "regr_intercept(b, a) / 1",
    "w": "skewness(a) / 1",
}
QUANTILES = {"m": "median(a) / 1", "q": "quantile_cont(b, 0.9) / 1", "x": "quantile_disc(a, 0.25) / 1"}
ASKED = [
    Asked(STATISTICS | QUANTILES),
    Asked(STATISTICS | QUANTILES, "s = 'x' AND v < 5"),
    Asked(QUANTILES, groups=("s",)),
]
WINDOWS = [
    Asked(
        {
            "p": "count(*) / sum(count(*)) OVER ()",
            "u": "sum(count(*)) OVER (ORDER BY b) / 1",
            "w": "(count(*) - lag(count(*)) OVER (ORDER BY b)) / 1",
            "z": "avg(sum(a)) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) / 1",
        },
        groups=("b",),
    )
]


def judge(name: str, all_found: Sequence[Found]) -> None:
    problems = []
    for found in all_found:
        keys, holding = len(found.answers), found.covered + found.unbounded
        if where := os.environ.get("SQLPRIV_REPORT_COVERAGE"):
            with Path(where).open("a") as file:
                file.write(f"{name} | {found.name} | {holding} of {keys}, {found.unbounded} unbounded\n")
        if holding < lowest(keys, 0.92 if found.expected_rows >= MANY else 0.9):
            problems.append(f"{found.name}: {holding} of {keys} intervals hold the truth")
    bounded = sum(f.bounded for f in all_found)
    assert bounded > sum(f.unbounded for f in all_found), name
    assert not problems, "\n".join([name, *problems])


@pytest.mark.parametrize("name", ["frapp", pytest.param("one-sided", marks=pytest.mark.slow)])
def test_forty_copies(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, ASKED, 1, 40))


@pytest.mark.parametrize("name", ["frapp", "one-sided"])
def test_windows_of_forty_keys(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, WINDOWS, 40, 1))


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in POLICIES if "share" not in name])
def test_four_hundred_copies(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, ASKED, 10, 40))


@pytest.mark.deep
@pytest.mark.parametrize("name", ["exclusive, slots", "frapp", "one-sided"])
def test_windows_of_four_hundred_keys(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, WINDOWS, 400, 1))
