"""Answers from a sample: against a slow oracle over leaves and absent classes, and how often limits hold the truth."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import duckdb
import pytest
from support.sampled import COLUMNS, people, plan_of, sampled_policy, write_people

from sqlpriv.core.engine import fetch
from sqlpriv.methods.generalized.write import write_node_labels
from sqlpriv.methods.sdgs.classes import write_classes, write_rows, write_sample
from sqlpriv.publishing import open_release, publish, read_policy, show
from sqlpriv.release.open import OpenRelease

K, BETA = 5, 0.2
ZZ = NormalDist().inv_cdf(0.975) ** 2
Leaf = tuple[int, str, str]
Row = tuple[int, str, str, int]
SEXES, ILLS = ("F", "M"), ("flu", "cold", "mumps")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("asked")
    write_people(made, people(1500))
    publish(read_policy(sampled_policy(made)), ledger_file=made / "ledger")
    return made


@pytest.fixture(scope="module")
def release(folder: Path) -> Iterator[OpenRelease]:
    with open_release(folder / "out.duckdb") as opened:
        yield opened


def low(seen: float, beta: float = BETA, zz: float = ZZ) -> float:
    """The smallest n of which so many are sampled within z deviations, and some room."""
    room, a = max(1, (zz + 2) / 6), zz * (1 - beta)
    s = max(seen - room, 0)
    return max(seen, (s + a / 2 - math.sqrt(a * s + a * a / 4)) / beta)


def high(seen: float, beta: float = BETA, zz: float = ZZ) -> float:
    room, a = max(1, (zz + 2) / 6), zz * (1 - beta)
    s = seen + room
    return (s + a / 2 + math.sqrt(a * s + a * a / 4)) / beta


def classes(folder: Path) -> list[tuple[int, list[Leaf], bool]]:
    """All classes that could be there: sampled rows, leaves, and whether they are hidden."""
    with duckdb.connect(str(folder / "out.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT age_low, sex, ill, count(*) FROM people GROUP BY ALL").fetchall()
    seen = {(age // 20, sex, ill): n for age, sex, ill, n in rows}
    found = []
    for fifth, sex, ill in itertools.product(range(5), SEXES, ILLS):
        leaves = [(age, sex, ill) for age in range(20 * fifth, 20 * fifth + 20)]
        n = seen.get((fifth, sex, ill))
        found.append((K - 1 if n is None else n, leaves, n is None))
    return found


def expected(folder: Path, f: Callable[[Leaf], float], most: float = 1.0) -> tuple[float, float, float]:
    """Estimate, low and high of the sum of f, which is at least 0 and at most `most`."""
    estimate = least = greatest = 0.0
    for n, leaves, hidden in classes(folder):
        values = [f(leaf) for leaf in leaves]
        estimate += 0 if hidden else n * sum(values) / len(values)
        least += 0 if hidden else n * min(values)
        greatest += n * max(values)
    return estimate / BETA, most * low(least / most), most * high(greatest / most)


QUESTIONS: list[tuple[str, Callable[[Leaf], float], float]] = [
    ("count(*) AS x FROM people", lambda leaf: 1, 1),
    ("count(*) AS x FROM people WHERE age < 40", lambda leaf: leaf[0] < 40, 1),
    ("count(*) AS x FROM people WHERE age < 33 AND ill = 'flu'", lambda leaf: leaf[0] < 33 and leaf[2] == "flu", 1),
    ("count(*) AS x FROM people WHERE age = 1 OR age <> 1", lambda leaf: 1, 1),
    ("count(*) AS x FROM people WHERE ill = 'mumps'", lambda leaf: leaf[2] == "mumps", 1),
    ("count(*) FILTER (sex = 'M') AS x FROM people", lambda leaf: leaf[1] == "M", 1),
    ("sum(age) AS x FROM people WHERE sex = 'F'", lambda leaf: leaf[0] * (leaf[1] == "F"), 99),
    ("count(*) AS x FROM people WHERE age > 200", lambda leaf: 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("question", "f", "most"), QUESTIONS)
def test_answers_are_those_of_the_oracle(
    folder: Path, release: OpenRelease, question: str, f: Callable[[Leaf], float], most: float
) -> None:
    (found,) = release.sql(f"SELECT {question}").fetchall()
    assert found == pytest.approx(expected(folder, f, most), rel=1e-9, abs=1e-9)


def test_every_group_is_there_and_groups_are_questions_of_their_own(folder: Path, release: OpenRelease) -> None:
    found = release.sql("SELECT ill, sex, count(*) AS x FROM people GROUP BY ill, sex").fetchall()
    assert {row[:2] for row in found} == set(itertools.product(ILLS, SEXES))
    for ill, sex, *answer in found:
        wanted = expected(folder, lambda leaf, i=ill, s=sex: leaf[1:] == (s, i))  # type: ignore[misc]
        assert answer == pytest.approx(wanted)


def test_running_totals_are_limits_of_the_sum(folder: Path, release: OpenRelease) -> None:
    asked = "SELECT ill, sum(count(*)) OVER (ORDER BY ill) AS x FROM people GROUP BY ill ORDER BY ill"
    last = release.sql(asked).fetchall()[-1]
    assert last[1:] == pytest.approx(expected(folder, lambda leaf: 1))


def test_sums_with_both_signs_and_averages_have_limits_that_hold_together(folder: Path, release: OpenRelease) -> None:
    zz = NormalDist().inv_cdf(1 - 0.05 / 4) ** 2
    (found,) = release.sql("SELECT sum(age - 50) AS x FROM people").fetchall()
    parts = [[0.0, 0.0], [0.0, 0.0]]
    for n, leaves, hidden in classes(folder):
        for i, sign in enumerate((1, -1)):
            values = [max(sign * (leaf[0] - 50), 0) for leaf in leaves]
            parts[i][0] += 0 if hidden else n * min(values)
            parts[i][1] += n * max(values)
    (a, b), (c, d) = parts
    wanted = 49 * low(a / 49, zz=zz) - 50 * high(d / 50, zz=zz), 49 * high(b / 49, zz=zz) - 50 * low(c / 50, zz=zz)
    assert found[1:] == pytest.approx(wanted)
    (mean,) = release.sql("SELECT avg(age) AS x FROM people").fetchall()
    assert 0 <= mean[1] <= mean[0] <= mean[2] <= 99
    (share,) = release.sql("SELECT count(*) FILTER (sex = 'F') / count(*) AS x FROM people").fetchall()
    assert 0 <= share[1] <= share[0] <= share[2] <= 1


@pytest.mark.parametrize("asked", ["median(age)", "stddev(age)", "avg(age) - avg(age) FILTER (sex = 'F')"])
def test_what_has_no_sound_bounds_has_none(release: OpenRelease, asked: str) -> None:
    (found,) = release.sql(f"SELECT {asked} AS x FROM people").fetchall()
    assert found[0] is not None
    assert found[1:] == (None, None)


@pytest.mark.slow
def test_without_public_domains_high_is_infinite_and_show_says_so(tmp_path: Path) -> None:
    write_people(tmp_path, people(900))
    publish(read_policy(sampled_policy(tmp_path, columns=COLUMNS.replace(', domain = ["F", "M"]', ""))))
    with open_release(tmp_path / "out.duckdb") as opened:
        (found,) = opened.sql("SELECT count(*) AS x FROM people WHERE age < 40").fetchall()
        assert found[1] > 0
        assert math.isinf(found[2])
        (total,) = opened.sql("SELECT sum(age) AS x FROM people").fetchall()
        assert total[1:] == (None, None)
    told = " ".join(str(getattr(part, "text", "")) for part in show(tmp_path / "out.duckdb").parts)
    assert "Without a public domain of 'sex' nobody knows these classes: high is infinite" in told


@pytest.mark.slow
def test_limits_hold_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    """Of 200 samples, 95% limits miss at most 5%: more than 25 misses come less often than once in 10,000 runs.

    And the number of sampled rows that meet the question lies between what is taken for its least and greatest, always.
    """
    table = people(1500)
    write_people(tmp_path, table)
    questions: list[Callable[[Leaf], Any]] = [
        lambda leaf: True,
        lambda leaf: leaf[0] < 33,
        lambda leaf: leaf[2] == "mumps",
        lambda leaf: leaf[1] == "M" and 20 <= leaf[0] < 60,
    ]
    truths = [sum(bool(q(row[1:])) for row in table) for q in questions]
    missed = [0] * len(questions)
    with plan_of(sampled_policy(tmp_path)) as plan:
        assert plan.node is not None
        counted, labels = write_rows(plan.scan, plan.policy, ""), write_node_labels(plan.scan, plan.node)
        classes = write_classes(plan.scan, counted, labels, plan.groups[0], plan.source.scratch)
        for number in range(200):
            sample = write_sample(plan.scan, classes, plan.groups[0], K, BETA, f"sample {number}").relation
            rows = fetch(plan.source.con, f"SELECT c0, c1, c2, seen FROM {sample} WHERE seen >= {K}")
            seen = Counter({(int(str(a).partition("-")[0]) // 20, s, i): n for a, s, i, n in rows})
            for place, (question, truth) in enumerate(zip(questions, truths, strict=True)):
                least = greatest = 0
                for fifth, sex, ill in itertools.product(range(5), SEXES, ILLS):
                    met = [question((age, sex, ill)) for age in range(20 * fifth, 20 * fifth + 20)]
                    n = seen[fifth, sex, ill]
                    least += n if all(met) else 0
                    greatest += (n or K - 1) if any(met) else 0
                missed[place] += not low(least) <= truth <= high(greatest)
    assert max(missed) <= 25
