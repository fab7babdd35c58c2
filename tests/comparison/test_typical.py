"""Which questions a release answers: said when it is planned, with the column that lacks a domain."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from comparison.test_compare_measures import Answer, measured
from support.policies import policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.comparison.run import MethodResult, _common
from sqlpriv.comparison.truth import TrueAnswers
from sqlpriv.comparison.typical import typical_answers
from sqlpriv.comparison.workload import Question
from sqlpriv.release.open import OpenRelease
from sqlpriv.rewrite.release import Attribute

pytestmark = pytest.mark.one_version

PEOPLE = (
    "CREATE TABLE people AS SELECT 20 + i % 40 AS age, CASE WHEN i < 2 THEN 'X' ELSE ['F', 'M'][1 + i % 2] END AS sex, "
    "'0130' || (i % 10) AS zip, 1.5 * (i % 7) AS dose, 'ill ' || (i % 3) AS ill FROM range(400) AS r(i)"
)
SUPPRESSED = "suppression = 0.05\nnode = { age = 1, sex = 0, zip = 1 }"


def planned(folder: Path, sex: str, zips: str, views: str = "") -> sqlpriv.Facts:
    columns = {"age": qi("ranges:10"), "sex": sex, "zip": zips, "dose": role("drop"), "ill": role("sensitive")}
    path = write_policy(folder, policy_text(columns, "k = 5", SUPPRESSED) + views, PEOPLE)
    return sqlpriv.plan(path)


def test_a_plan_says_which_questions_its_release_answers_and_what_to_add(tmp_path: Path) -> None:
    listed = 'domain = ["F", "M", "X"]'
    sex, zips = '{ role = "quasi-identifier", hierarchy = "suppression" }', qi("mask:5")
    found = planned(tmp_path, sex, zips).content["questions"]
    assert found["answered"] < found["asked"]
    assert {c for one in found["refused"] for c in one["columns"]} >= {"zip"}
    assert all("publish it with a domain" in one["why"] for one in found["refused"])
    average = next(one for one in found["unbounded"] if one["question"] == "average of age")
    assert "suppressed rows may have any value of 'age': declare a domain" in average["why"]
    # With domains all of them are answered, within bounds.
    (tmp_path / "with").mkdir()
    columns = {
        "age": '{ role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:20..59" }',
        "sex": sex.replace(" }", f", {listed} }}"),
        "zip": '{ role = "quasi-identifier", hierarchy = "mask:5", domain = ["01300", "01301", "01302", "01303", '
        '"01304", "01305", "01306", "01307", "01308", "01309"] }',
        "dose": role("drop"),
        "ill": '{ role = "sensitive", domain = ["ill 0", "ill 1", "ill 2"] }',
    }
    path = write_policy(tmp_path / "with", policy_text(columns, "k = 5", SUPPRESSED), PEOPLE)
    whole = sqlpriv.plan(path)
    assert whole.content["questions"]["refused"] == whole.content["questions"]["unbounded"] == []
    assert "typical questions will be answered" in str(whole)


def test_questions_of_the_policy_are_asked_too(tmp_path: Path) -> None:
    views = '[views]\nby_zip = "SELECT zip, count(*) AS n FROM people GROUP BY zip"\n'
    sex = '{ role = "quasi-identifier", hierarchy = "suppression" }'
    found = planned(tmp_path, sex, qi("mask:5"), views).content["questions"]
    view = next(one for one in found["refused"] if not one["columns"])
    assert view["question"] == "SELECT zip, count(*) AS n FROM people GROUP BY zip"
    assert "publish it with a domain" in view["why"]


def test_counts_with_groups_that_nobody_reads_are_no_typical_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns of thousands of values in ranges have millions of groups, which a plan would wait for."""
    columns = {
        "case_no": qi("ranges:1000"),
        "hours": qi("ranges:1000"),
        "kids": qi("ranges:5"),
        "ill": role("sensitive"),
    }
    rows = "i % 4000 AS case_no, i % 3000 AS hours, i % 10 AS kids, 'ill ' || (i % 3) AS ill FROM range(12000) AS r(i)"
    path = write_policy(tmp_path, policy_text(columns, "k = 5"), f"CREATE TABLE people AS SELECT {rows}")
    asked: dict[str, int] = {}
    fetch = OpenRelease.fetch

    def counted(self: OpenRelease, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        names, found = fetch(self, query)
        asked[query] = len(found)
        return names, found

    monkeypatch.setattr(OpenRelease, "fetch", counted)
    found = sqlpriv.plan(path).content["questions"]
    # 4 counts by a column, 3 averages, and all pairs but that of the two wide columns.
    assert found["asked"] == found["answered"] == len(asked) == 4 + 3 + 5
    assert max(asked.values()) == 4000 * 10


class _About:
    """What is known of its one column."""

    def column(self, name: str) -> Attribute:
        return Attribute(name, "BIGINT", 3, "")


class _Release:
    """One that answers as it is told."""

    table = "t"
    tables = {"t": {"a": "BIGINT"}}  # noqa: RUF012
    about = _About()

    def fetch(self, sql: str) -> tuple[list[str], list[tuple[float, ...]]]:
        if "avg" in sql:
            return ["avg(a)", "avg(a)_low", "avg(a)_high"], [(10.0, -math.inf, math.inf)]
        return ["a", "n", "n_low", "n_high"], [(1, 100.0, 90.0, 110.0), (2, 100.0, 100.0, 100.0), (3, 1.0, 0.0, 90.0)]

    def warnings(self, sql: str) -> tuple[str, ...]:
        return ("declare a domain of a",)


def test_bounds_of_typical_answers_leave_small_counts_out() -> None:
    found = typical_answers(_Release())  # type: ignore[arg-type]
    assert (found.asked, found.answered, found.is_true) == (2, 2, False)
    # 10% and 0% of the two large counts, and an average without bounds: half of them are off by at most 10%.
    assert found.off == pytest.approx(0.1)
    assert found.said() == ("Answered without bounds: average of a (declare a domain of a)",)


def test_methods_are_measured_by_the_questions_that_all_of_them_answer() -> None:
    questions = [Question(i, f"SELECT count(*) AS n FROM t{i}") for i in (1, 2)]
    known = [TrueAnswers(q, {(): (100.0,)}) for q in questions]
    names = ("n", "n_low", "n_high")
    both = measured(known, {questions[0].sql: Answer(names, ((101, 0, 999),)),
                            questions[1].sql: Answer(names, ((150, 0, 999),))})  # fmt: skip
    easy = measured(known, {questions[0].sql: Answer(names, ((102, 0, 999),))})
    common = _common([MethodResult("one", measured=both), MethodResult("other", measured=easy)])
    assert common == {1}
    assert (both.median_error, both.only(common).median_error, easy.only(common).median_error) == (25.5, 1, 2)
    assert both.only(common).answered == 2
    assert _common([MethodResult("none", refused="why")]) == set()
