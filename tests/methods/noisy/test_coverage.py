"""Estimates are right on average, and their 95% intervals hold the truth as often as they say.

Every number is asked of 400 releases in the deep run, of 40 in the quick one: keys, or copies of the table in one
release (see coverage_runs). Of each number:

- In the deep run the mean error is within 4 standard errors of 0. A false alarm has a probability of 6 in 100,000,
  errors being normal, as those of counts of 500 rows in all views are, and sums of 30 in each. The groups of a query
  are judged together as well, also in the quick run (3 in 10,000). Averages are ratios, and right on average only where
  their count is large: they are judged where it is 10 of its standard deviations.
- The number of intervals that hold the truth is one that a true coverage of 92% to 98% can give, or of at least 90%
  where fewer than 30 rows are expected in the view: beyond these limits it falls with a probability below 1 in 1,000 if
  the true coverage is just on them, and below 1 in a million if it is 95% (400 releases). Intervals without bounds hold
  everything, and numbers with any of them have no upper limit.

In the deep run, all numbers of a kind together (counts, sums, averages, ratios; of many rows, of few) are covered by
92% to 98%, or at least 90%; in the quick run the groups of queries are, with binomial limits again: groups have their
own coins. Keys are fixed, so what passes goes on passing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from unittest.mock import patch

import pytest
from support.coverage_numbers import Asked, Found, in_standard_errors
from support.coverage_runs import COLUMNS, people, runs

pytestmark = pytest.mark.one_version

# avg(v + 0) has the interval itself. That of avg(v) is cut to the range of its column: where there was none it becomes
# all of the range, and excludes nothing.
PLAIN = {"c": "count(*)", "t": "sum(v)", "m": "avg(v + 0)", "a": "avg(a + 0)", "r": "sum(v) / sum(b)"}
PERCENT = {"y": "100.0 * count(*) FILTER (WHERE s = 'y') / count(*)"}
SMALL = {"c": "count(*)", "t": "sum(v)", "b": "sum(b)", "m": "avg(b + 0)"}
HELD = people()[0]
ASKED = [
    Asked(PLAIN | PERCENT),
    Asked(PLAIN, "a < 50 AND s <> 'z'"),
    Asked(SMALL, "s = 'z'"),
    Asked(SMALL | PERCENT, "a = 3"),
    Asked(SMALL, "a = 3 AND b = 2"),
    Asked({"c": "count(*)", "t": "sum(v)"}, "a = {} AND b = {} AND s = '{}' AND v = {}".format(*HELD)),
    Asked({"c": "count(*)", "t": "sum(v)"}, "a = 98 AND b = 9 AND s = 'z' AND v = 5"),
    Asked({"c": "count(*)", "t": "sum(v)"}, "a = 97 AND b = 8 AND s = 'z'"),
    Asked({"c": "count(*)", "t": "sum(v)"}, "v < 0"),
    Asked({"c": "count(*)", "t": "sum(v)", "m": "avg(a + 0)"}, groups=("s",)),
    Asked({"c": "count(*)", "t": "sum(v)", "m": "avg(b + 0)"}, groups=("a",)),
    Asked({"c": "count(*)", "t": "sum(v)"}, "s = 'z' AND v IN (1, 2, 3)", groups=("a", "b")),
]
QUICKLY = [ASKED[0], *ASKED[-2:]]
# Sums of all powers of the shares take their time.
SHORTLY = [Asked({"c": "count(*)", "t": "sum(v)", "m": "avg(v + 0)"}), *ASKED[5:8], *ASKED[-2:]]
NOISY_COUNTS = 'method = "noisy_counts"\ngamma = 0.3\n'
ALPHA_BETA = 'method = "alpha_beta"\ngamma = 0.3\n'
DISTINCT = ALPHA_BETA + 'duplicates = "distinct"\n'
SHARES = COLUMNS | {
    "s": COLUMNS["s"].replace(" }", ", share = [0.7, 0.2, 0.1] }"),
    "v": COLUMNS["v"].replace(" }", ", share = [1, 2, 20, 15, 12, 10, 8, 6, 4, 2, 1, 1] }"),
}
# Values far from the others have common noise: where it is rare, sums are so skewed that intervals hold more than 98%.
BY_SHARES = COLUMNS | {
    "v": COLUMNS["v"]
    .replace("published", "sensitive")
    .replace(" }", ", share = [8, 2, 20, 15, 12, 10, 8, 6, 4, 2, 5, 8] }"),
}
POLICIES = {
    "exclusive, slots": (ALPHA_BETA + "k = 1\nslots = 16", COLUMNS),
    "exclusive, distinct": (DISTINCT + "k = 1", COLUMNS),
    "little noise": (DISTINCT + "k = 0.02", COLUMNS),
    "paper": (DISTINCT + 'k = 1\nadversary = "independent"\nparameters = "paper"', COLUMNS),
    "tight": (DISTINCT + 'k = 1\nadversary = "independent"\nparameters = "tight"', COLUMNS),
    "tight, slots": (ALPHA_BETA + 'k = 1\nslots = 16\nadversary = "independent"\nparameters = "tight"', COLUMNS),
    "frapp": ('method = "frapp"\nd = 0.01\ngamma = 0.95', COLUMNS),
    "shares": (DISTINCT + 'k = 0.1\nadversary = "independent"', SHARES),
    "one-sided": (NOISY_COUNTS + "d = 0.05", COLUMNS),
    "signed": (NOISY_COUNTS + "d = 0.05", COLUMNS),
    "one-sided by shares": (NOISY_COUNTS.replace("0.3", "0.5") + "times = 1", BY_SHARES),
    "shares, slots": (ALPHA_BETA + 'k = 0.1\nslots = 16\nadversary = "independent"', SHARES),
}
SEQUENCE = DISTINCT + 'd = 0.01\nviews = 3\nadversary = "independent"'
SLOTTED = ALPHA_BETA + 'd = 0.01\nslots = 16\nviews = 3\nadversary = "independent"'
# People go, people come who were never there, and some of the first come back.
MOVED = "SELECT * REPLACE (a + 30 AS a, 9 - b AS b) FROM {people}"
SECOND = f"SELECT * FROM {{people}} WHERE a % 4 <> 1 UNION ALL {MOVED} WHERE a < 8"
THIRD = SECOND.replace("<> 1", "<> 2").replace("a < 8", "a BETWEEN 4 AND 12")
NEVER = 1e-3
MANY = 30
MOST = 4.0


def lowest(trials: int, rate: float) -> int:
    """The smallest count that a binomial variable takes with a probability above NEVER."""
    reached = 0.0
    for count in range(trials + 1):
        ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
        reached += math.exp(ways + count * math.log(rate) + (trials - count) * math.log1p(-rate))
        if reached > NEVER:
            return count
    return trials


def kind(found: Found) -> str:
    what = found.name.split("(")[0] if "/" not in found.name else "ratio"
    return f"{what}, {'many' if found.expected_rows >= MANY else 'few'} rows"


def wrong_alone(found: Found) -> list[str]:
    """What is wrong with the answers to one question."""
    problems = []
    keys = len(found.answers)
    if found.has_bias and abs(found.bias) > MOST:
        problems.append(f"{found.name}: {found.bias:.1f} standard errors off")
    holding = found.covered + found.unbounded
    many = found.expected_rows >= MANY
    if holding < lowest(keys, 0.92 if many else 0.9):
        problems.append(f"{found.name}: {holding} of {keys} intervals hold the truth")
    if many and not found.unbounded and not found.is_known and keys - holding < lowest(keys, 0.02):
        problems.append(f"{found.name}: {holding} of {keys} intervals hold the truth, too many")
    return problems


def series_biases(all_found: Sequence[Found]) -> dict[str, float]:
    """The mean errors of the groups of a query together; each key is one, or where they are few each group of it."""
    series: dict[str, list[Found]] = {}
    for f in all_found:
        if not f.is_ratio and "GROUP" in f.series:
            series.setdefault(f.series, []).append(f)
    found = {}
    for name, numbers in series.items():
        by_key = [math.fsum(errors) for errors in zip(*(f.errors for f in numbers), strict=True)]
        every = [e for f in numbers for e in f.errors]
        if len(by_key) >= 40 or len(numbers) >= 100:
            found[name] = in_standard_errors(by_key if len(by_key) >= 40 else every)
    return found


def wrong_together(all_found: Sequence[Found]) -> list[str]:
    """What is wrong with all numbers of a kind."""
    problems = [f"{name}: {b:.1f} standard errors off" for name, b in series_biases(all_found).items() if abs(b) > MOST]
    is_long = len(all_found[0].answers) >= 400
    for what in dict.fromkeys(map(kind, all_found)):
        mine = [f for f in all_found if kind(f) == what and (is_long or "GROUP" in f.series)]
        low, high = (0.92, 0.98) if "many" in what else (0.9, 1.0)
        trials, holding = sum(len(f.answers) for f in mine), sum(f.covered + f.unbounded for f in mine)
        if holding < (low * trials if is_long else lowest(trials, low)):
            problems.append(f"{what}: {holding} of {trials} intervals hold the truth")
        bounded = [f for f in mine if not f.unbounded and not f.is_known]
        trials, missing = sum(len(f.answers) for f in bounded), sum(len(f.answers) - f.covered for f in bounded)
        if high < 1 and missing < ((1 - high) * trials if is_long else lowest(trials, 1 - high)):
            problems.append(f"{what}: {missing} of {trials} intervals miss the truth, too few")
    return problems


def totals(all_found: Sequence[Found]) -> dict[str, tuple[int, int, int]]:
    """By kind: intervals that hold the truth, intervals with bounds, and numbers that are asked for."""
    found: dict[str, tuple[int, int, int]] = {}
    for f in all_found:
        covered, bounded, numbers = found.get(kind(f), (0, 0, 0))
        found[kind(f)] = covered + f.covered, bounded + f.bounded, numbers + 1
    return dict(sorted(found.items()))


def judge(name: str, all_found: Sequence[Found]) -> None:
    if where := os.environ.get("SQLPRIV_REPORT_COVERAGE"):
        with Path(where).open("a") as file:
            file.writelines(f"{name} | {line}\n" for line in measured(all_found))
    problems = [p for f in all_found for p in wrong_alone(f)] + wrong_together(all_found)
    assert not problems, "\n".join([name, *problems])


def measured(all_found: Sequence[Found]) -> Iterator[str]:
    """What was measured: numbers, coverage of all and of the worst and best, largest bias in standard errors."""
    for what, (covered, bounded, numbers) in totals(all_found).items():
        mine = [f for f in all_found if kind(f) == what]
        biases = [abs(f.bias) for f in mine if f.has_bias]
        full = [f.covered / f.bounded for f in mine if f.bounded == len(f.answers)]
        span = f"{100 * min(full):.1f}..{100 * max(full):.1f}" if full else ""
        bias = f"{max(biases):.1f} ({len(biases)})" if biases else ""
        yield f"{what} | {numbers} | {100 * covered / max(bounded, 1):.1f} | {span} | {bias}"
    for what, of_all in series_biases(all_found).items():
        yield f"{what} | mean error of all groups {of_all:.1f}"


def asked_of(tmp_path: Path, name: str, asked: Sequence[Asked], keys: int, copies: int) -> list[Found]:
    release, columns = POLICIES[name]
    if name == "frapp":  # a record may become one of any copy
        release = release.replace("d = 0.01", f"d = {0.01 / copies!r}")
    # The table is too sparse for signed noise to be chosen.
    with (
        patch("sqlpriv.methods.noisy.noisy_counts.plan.is_one_sided_better", lambda *_: name != "signed"),
        runs(tmp_path, release, columns, copies=copies) as all_runs,
    ):
        return all_runs.ask(asked, keys)[0]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "name",
    ["frapp", "one-sided"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in POLICIES if name not in {"frapp", "one-sided"}],
)
def test_forty_copies(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, QUICKLY, 1, 40))


@pytest.mark.deep
@pytest.mark.parametrize("name", POLICIES)
def test_four_hundred_copies(tmp_path: Path, name: str) -> None:
    judge(name, asked_of(tmp_path, name, SHORTLY if "share" in name else ASKED, 10, 40))


@pytest.mark.deep
@pytest.mark.parametrize("name", ["exclusive, slots", "frapp"])
def test_four_hundred_keys(tmp_path: Path, name: str) -> None:
    judge(f"{name}, keys alone", asked_of(tmp_path, name, QUICKLY, 400, 1))


@pytest.mark.slow
def test_forty_copies_of_a_sequence(tmp_path: Path) -> None:
    with runs(tmp_path, SEQUENCE, versions=(SECOND,), copies=40) as all_runs:
        later, both = all_runs.ask(QUICKLY, 1, [(2,), (1, 2)])
    judge("view 2", later)
    judge("views 1 and 2", both)


@pytest.mark.deep
@pytest.mark.parametrize("release", [SEQUENCE, SLOTTED], ids=["distinct", "slots"])
def test_four_hundred_copies_of_a_sequence(tmp_path: Path, release: str) -> None:
    views = [(1,), (2,), (3,), (1, 2, 3)]
    with runs(tmp_path, release, versions=(SECOND, THIRD), copies=40) as all_runs:
        for which, found in zip(views, all_runs.ask(ASKED, 10, views), strict=True):
            judge(f"views {which}{', slots' * ('slots' in release)}", found)


def test_a_wrong_interval_is_noticed() -> None:
    """The limits can fail: intervals for 80%, for 99.9%, and estimates that are a third of their error off."""

    def answers(z: float, shift: float = 0.0) -> Found:
        errors = [NormalDist().inv_cdf((i + 0.5) / 400) + shift for i in range(400)]
        return Found("count(*)", "count(*)", 0.0, 100.0, answers=[(e, e - z, e + z) for e in errors])

    assert not wrong_alone(answers(1.96))
    assert wrong_alone(answers(1.28))
    assert wrong_alone(answers(3.3))
    assert wrong_alone(answers(1.96, 1 / 3))
