"""How far answers are off: groups that one side lacks, bounds without an end, answers that are no counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

from sqlpriv.comparison.measure import Measured, measure
from sqlpriv.comparison.truth import TrueAnswers, Truth, as_number, ask_private, key_of
from sqlpriv.comparison.workload import LeftOut, Question, read_workload
from sqlpriv.core.errors import InputError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.one_version

COUNT = Question(1, "SELECT count(*) AS n FROM t")
GROUPED = Question(
    2, "SELECT g, count(*) AS n, avg(x) AS a FROM t GROUP BY g", (False, True, True), (False, True, False)
)


@dataclass(frozen=True)
class Answer:
    """What a release answers, as DuckDB would."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Answers:
    """A release that has learnt its answers by heart; what it has not learnt it refuses."""

    by_query: dict[str, Answer]

    def fetch(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        if query not in self.by_query:
            raise InputError("it is not answered")
        answer = self.by_query[query]
        return list(answer.columns), list(answer.rows)


def measured(known: list[TrueAnswers], answers: dict[str, Answer], rows: int = 1000) -> Measured:
    return measure(cast("OpenRelease", Answers(answers)), Truth(rows, tuple(known), (), False))


def counted(low: float | None, estimate: float | None, high: float | None) -> dict[str, Answer]:
    return {COUNT.sql: Answer(("n", "n_low", "n_high"), ((estimate, low, high),))}


def test_errors_width_and_truths_inside() -> None:
    found = measured([TrueAnswers(COUNT, {(): (100.0,)})], counted(80, 107.5, 120))
    assert (found.median_error, found.p90_error, found.width, found.inside) == (7.5, 7.5, 40, 1.0)
    assert found.median_relative_error == 0.075
    assert measured([TrueAnswers(COUNT, {(): (100.0,)})], counted(101, 107.5, 120)).inside == 0.0
    assert measured([TrueAnswers(COUNT, {(): (100.0,)})], counted(100 + 1e-8, 107.5, 120)).inside == 1.0, (
        "the last digits"
    )


def test_groups_that_one_side_lacks() -> None:
    """A count of a group that is not there is 0; an average of it is none."""
    known = TrueAnswers(GROUPED, {("a",): (10.0, 2.5), ("b",): (4.0, 1.0), ("c",): (7.0, None)})
    names = ("g", "n", "n_low", "n_high", "a", "a_low", "a_high")
    rows = (("a", 12.0, 5, 20, 3.0, 2, 4), ("d", 6.0, 0, 9, 9.0, 1, 10), ("c", 7.0, 7, 7, 1.5, 1, 2))
    found = measured([known], {GROUPED.sql: Answer(names, rows)})
    # Counts: a off by 2, b by 4, c by 0, d by 6; of averages there is a alone, off by 0.5.
    assert found.numbers == 5
    assert found.median_error == 2
    assert found.inside == 1.0
    assert sum(size.numbers for size in found.by_size) == 4, "sizes are of counts"


@pytest.mark.parametrize(
    ("truth", "low", "estimate", "high", "error", "width", "inside"),
    [
        (math.inf, math.inf, math.inf, math.inf, 0, 0, 1),
        (math.inf, 0, math.inf, math.inf, 0, math.inf, 1),
        (math.inf, 0, 5, 9, math.inf, 9, 0),
        (-math.inf, -math.inf, math.inf, math.inf, math.inf, math.inf, 1),
        (5, 0, math.inf, math.inf, math.inf, math.inf, 1),
    ],
)
def test_infinite_answers_are_measured(
    truth: float, low: float, estimate: float, high: float, error: float, width: float, inside: float
) -> None:
    """inf - inf is no number, and an infinite room would have every truth inside."""
    asked = Question(1, "SELECT sum(x) AS n FROM t", (True,), (False,))
    found = measured([TrueAnswers(asked, {(): (truth,)})], {asked.sql: counted(low, estimate, high)[COUNT.sql]})
    assert (found.median_error, found.p90_error, found.width, found.inside) == (error, error, width, inside)
    assert found.median_relative_error == error


def test_what_is_no_number_is_no_answer() -> None:
    assert [as_number(v) for v in (math.nan, None, "5", True, Decimal("2.5"))] == [None, None, None, None, 2.5]


def test_aggregates_of_one_name_keep_their_bounds() -> None:
    """The engine numbers the second of one name, and so its bounds."""
    asked = Question(1, "SELECT count(*) AS n, count(*) AS n, g FROM t GROUP BY g", (True, True, False), (True,) * 3)
    names = ("n", "n_low", "n_high", "n_1", "n_low_1", "n_high_1", "g")
    found = measured([TrueAnswers(asked, {("a",): (5.0, 7.0)})], {asked.sql: Answer(names, ((5, 4, 6, 7, 7, 9, "a"),))})
    assert (found.answered, found.numbers, found.median_error, found.width) == (1, 2, 0, 2)
    own = Question(1, "SELECT count(*) AS n_1 FROM t")
    answer = Answer(("n_1", "n_1_low", "n_1_high"), ((5, 4, 6),))
    assert measured([TrueAnswers(own, {(): (5.0,)})], {own.sql: answer}).width == 2


def test_bounds_without_an_end_are_infinitely_wide() -> None:
    known = [TrueAnswers(COUNT, {(): (100.0,)})]
    found = measured(known, counted(80, 100, math.inf))
    assert found.width == math.inf
    assert found.inside == 1.0
    without = measured(known, counted(None, 100, None))
    assert (without.width, without.inside, without.median_error) == (None, None, 0)


def test_errors_by_size() -> None:
    questions = [Question(i, f"SELECT count(*) AS n FROM t{i}") for i in range(4)]
    truths = (10.0, 11.0, 100.0, 900.0)
    answers = {q.sql: Answer(("n", "n_low", "n_high"), ((t + 1 + i, 0, 999),)) for i, (q, t) in
               enumerate(zip(questions, truths, strict=True))}  # fmt: skip
    found = measured([TrueAnswers(q, {(): (t,)}) for q, t in zip(questions, truths, strict=True)], answers)
    assert [(size.numbers, size.median_error) for size in found.by_size] == [(1, 1), (2, 2.5), (1, 4)]
    assert found.p90_error == pytest.approx(3.7)


def test_questions_that_are_refused_are_counted() -> None:
    found = measured([TrueAnswers(COUNT, {(): (1.0,)}), TrueAnswers(GROUPED, {})], counted(0, 1, 2))
    assert (found.answered, found.queries) == (1, (COUNT.sql,))
    assert found.refused == (LeftOut(2, "it is not answered"),)
    none = measured([TrueAnswers(GROUPED, {})], {})
    assert (none.answered, none.median_error, none.p90_error, none.median_relative_error) == (0, None, None, None)


def test_statements_of_a_workload(tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text(
        "-- mine\nSELECT count(*) FROM t; SELECT g, sum(x) / count(*) AS y, count(x) FROM t GROUP BY g;\n"
        "SELECT * FROM t; SELECT g FROM t; SELECT count(*) FROM t UNION SELECT 1; INSERT INTO t VALUES (1);\n"
        "SELECT count(DISTINCT g) FROM t; SELECT count(*) FROM t OFFSET 3"
    )
    found = read_workload(file)
    questions = {q.number: q for q in found if isinstance(q, Question)}
    assert {q.number: (q.is_value, q.is_count) for q in questions.values()} == {
        1: ((True,), (True,)),
        2: ((False, True, True), (False, False, True)),
        7: ((True,), (False,)),
    }
    why = {left.number: left.why for left in found if isinstance(left, LeftOut)}
    assert set(why) == {3, 4, 5, 6, 8}
    assert why[4] == "it asks for no count, sum or average"
    assert "INSERT" in why[6]
    assert "OFFSET" in why[8]


def test_a_missing_key_is_not_the_text_of_it() -> None:
    asked = Question(1, "SELECT g, count(*) AS n FROM t GROUP BY g", (False, True), (False, True))
    assert key_of((None, 1), asked) != key_of(("None", 1), asked)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("SELECT count(*) FROM t GROUP BY g", "two of its rows look alike"),
        ("SELECT g, count(*) FROM t GROUP BY ROLLUP (g)", "two of its rows look alike"),
        ("SELECT g, count(*) FROM t GROUP BY g HAVING count(*) > 1", "HAVING and QUALIFY choose rows by their answers"),
    ],
)
def test_rows_that_cannot_be_matched_are_left_out(tmp_path: Path, asked: str, why: str) -> None:
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), (NULL, 2), ('a', 3)) AS v(g, x)").fetchall()
    (tmp_path / "w.sql").write_text(f"SELECT count(*) FROM t; {asked}")
    text = (
        '[table]\ndatabase = "private.duckdb"\nsource = "t"\n[columns]\n'
        'g = { role = "quasi-identifier", hierarchy = "suppression" }\nx = { role = "sensitive" }\n'
        '[require]\nk = 1\n[release]\nmethod = "generalize"\n'
    )
    truth = ask_private(parse_policy(text, tmp_path, METHODS), tmp_path / "w.sql", 0, None)
    assert len(truth.known) == 1
    assert [why in out.why for out in truth.left_out] == [True]
