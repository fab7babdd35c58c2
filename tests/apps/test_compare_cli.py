"""The command compare: its JSON, its pictures, what it prints at 80 columns, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.commands import run
from support.policies import write_policy

from sqlpriv.comparison import facts as telling
from sqlpriv.comparison.conversion import Converted, Protection
from sqlpriv.comparison.measure import BySize, Measured
from sqlpriv.comparison.run import CompareOptions, Comparison, MethodResult
from sqlpriv.comparison.truth import TrueAnswers, Truth
from sqlpriv.comparison.workload import LeftOut, Question
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Line
from sqlpriv.display import charts
from sqlpriv.publishing import read_policy

pytestmark = pytest.mark.one_version

PEOPLE = "CREATE TABLE people AS SELECT 20 + i * 7 % 40 AS age, i % 5 AS ward FROM range(300) AS r(i)"
POLICY = """[table]
database = "private.duckdb"
source = "people"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:10,20", domain = "range:20..59" }
ward = { role = "sensitive", domain = [0, 1, 2, 3, 4] }
[require]
k = 5
[release]
method = "generalize"
output = "r.duckdb"
"""
SIZES = tuple(BySize(size, 3, error) for size, error in (("up to 1% of rows", 0.0), ("1% to 10%", 12.5)))
MEASURED = Measured(2, 6, 17.25, 1234.5, 0.21, 0.2, 0.95, 88.0, SIZES, (), ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_policy(tmp_path, POLICY, PEOPLE)
    (tmp_path / "q.sql").write_text(
        "SELECT count(*) FROM people WHERE age < 30; SELECT avg(age) AS a FROM people WHERE ward = 2; DROP TABLE people"
    )
    return tmp_path


def test_json_and_picture_of_a_run(folder: Path) -> None:
    pytest.importorskip("altair")
    given = ("--workload", "q.sql", "--methods", "generalize, noisy_counts", "--no-tune", "--chart", "errors.svg")
    done = run(folder, "compare", "policy.toml", *given, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["method"] for row in found["methods"]] == ["generalize", "noisy_counts"]
    assert [left["statement"] for left in found["left_out"]] == [3]
    generalized, noisy = found["methods"]
    assert (generalized["answered"], generalized["inside"]) == (2, 1.0)
    assert noisy["assumed"] is True
    assert noisy["protection"] == "gamma = 0.5: assumed, the policy bounds no belief"
    assert "of the truth" in found["advice"], "an average is not off in rows"
    drawn = (folder / "errors.svg").read_text(encoding="utf-8")
    assert all(text in drawn for text in ("generalize", "noisy_counts", "posterior", "For the owner alone"))


def comparison(folder: Path) -> Comparison:
    """One with everything in it."""
    policy = read_policy(folder / "policy.toml")
    turned = Converted(policy, "gamma = 0.5: assumed, the policy bounds no belief", assumed=True)
    question = Question(1, "SELECT count(*) FROM people")
    truth = Truth(
        300, (TrueAnswers(question, {(): (300.0,)}),), (LeftOut(2, "it is no question"),) * 5, True, ("ward",)
    )
    full = MethodResult("generalize", "linking", turned, None, MEASURED, 1.0, 2.0, 12_857_344, 0.5)
    refusing = replace(full, method="a_method_of_long_name", posterior=None, measured=replace(
        MEASURED, median_error=170_012.25, width=float("inf"), answered=1, refused=(LeftOut(1, "min cannot be told"),)
    ))  # fmt: skip
    tuned = replace(full, chosen={"node": {"age": 1}}, measured=replace(MEASURED, median_error=3.0))
    none = MethodResult("frapp", "belief", refused="the view would say nothing: " + "so much noise, " * 12)
    return Comparison(policy, Protection(0.5, "assumed", True), truth, (full, tuned, refusing, none), CompareOptions())


def test_nothing_is_cut_at_80_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = comparison(folder)
    monkeypatch.setattr("sqlpriv.apps.cli.assess.compare_methods", lambda *_: made)
    done = run(folder, "compare", "policy.toml", columns=80)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "…" not in text
    sentences = [part.text for part in telling.comparison_facts(made).parts if hasattr(part, "text")]
    wide = [line for line in text.splitlines() if cell_len(line) > 80]
    assert [line for line in wide if not any(line.endswith(s) for s in sentences)] == []
    rows = [line.split() for line in text.splitlines()]
    assert ["generalize", "2", "17.2", "1,234", "88", "95.0%", "0.5"] in rows
    assert ["a_method_of_long_name", "1", "170,012", "1,234", "inf", "95.0%", "n/a"] in rows
    assert "generalize * has node" in text
    assert "of generalize *: it leaves out what the choice of the classes itself reveals" in " ".join(text.split())
    assert "statement 2 is left out: it is no question" in text
    assert "and 2 more statements, which --json lists" in text
    assert "Values of ward are those of the table" in text
    assert "statement 1 is not answered by a_method_of_long_name: min cannot be told" in " ".join(text.split())
    assert "REFUSED: the view would say nothing" in " ".join(text.split())


def test_statements_that_methods_refuse_are_listed_once_with_their_reasons(folder: Path) -> None:
    made = comparison(folder)
    full = replace(made.rows[0], measured=replace(MEASURED, refused=(LeftOut(2, "no median"), LeftOut(4, "a join"))))
    other = replace(full, method="frapp", measured=replace(MEASURED, refused=(LeftOut(2, "no median"),)))
    third = replace(full, method="sdgs", measured=replace(MEASURED, refused=(LeftOut(2, "too wide"),)))

    def listed(*rows: MethodResult) -> list[str]:
        parts = telling.comparison_facts(replace(made, rows=rows)).parts
        return [part.text for part in parts if isinstance(part, Line) and "answered by" in part.text]

    assert listed(full, other) == [
        "statement 2 is not answered by any method: no median",
        "statement 4 is not answered by generalize: a join",
    ]
    assert listed(full, third)[:2] == [
        "statement 2 is not answered by generalize: no median",
        "statement 2 is not answered by sdgs: too wide",
    ]
    many = tuple(LeftOut(i, "a join") for i in range(30))
    shown = telling.comparison_facts(
        replace(made, rows=(replace(full, measured=replace(MEASURED, refused=many)), other))
    )
    assert "and 23 more reasons, which --json lists as refused_questions of each method" in str(shown)
    assert len(shown.content["methods"][0]["refused_questions"]) == 30


def test_a_method_that_answers_less_is_not_advised(folder: Path) -> None:
    made = comparison(folder)
    full, _, refusing, _ = made.rows
    assert refusing.measured is not None
    exact = replace(refusing, measured=replace(refusing.measured, median_error=0.0))
    best = telling.best_row(replace(made, rows=(full, exact)))
    assert best is full
    assert telling.best_row(replace(made, rows=(exact,))) is exact
    assert telling.best_row(replace(made, rows=())) is None


def test_a_safer_method_is_named_beside_the_advice(folder: Path) -> None:
    made = comparison(folder)
    full = made.rows[0]
    safer = replace(full, method="frapp", posterior=0.2, measured=replace(MEASURED, median_error=40.0))
    advice = telling.comparison_facts(replace(made, rows=(full, safer))).content["advice"]
    assert advice == (
        "For these questions take generalize: half of its answers are off by at most 17.25 rows, and a linking "
        "attacker comes to believe no value with more than 0.5 (frapp: 0.2)."
    )


def test_nothing_to_draw_is_told(folder: Path) -> None:
    with pytest.raises(InputError, match="every method refuses, so there are no errors to draw"):
        charts.comparison_picture(comparison(folder).rows[-1:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toml"], "there is no policy file 'none.toml'"),
        (["policy.toml", "--methods", "mondian"], "there is no method 'mondian'; there are generalize, "),
        (["policy.toml", "--methods", ""], "there is no method ''; there are generalize, "),
        (["policy.toml", "--workload", "none.sql"], "no file of queries 'none.sql'"),
        (["policy.toml", "--workload", "open.sql"], "open.sql: this is no SQL that can be read"),
        (["policy.toml", "--workload", "empty.sql"], "empty.sql holds no query"),
        (["policy.toml", "--chart", "x.pdf"], "pictures are written as .svg, .png"),
        (["policy.toml", "--seed", "x"], "--seed"),
        (["policy.toml", "--key-file", "nokey", "--methods", "frapp", "--workload", "q.sql"], "no key file 'nokey'"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "open.sql").write_text("SELECT 'x")
    (folder / "empty.sql").write_text("-- nothing\n")
    before = sorted(folder.iterdir())
    done = run(folder, "compare", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert (done.stdout, sorted(folder.iterdir())) == ("", before)


def test_it_exits_1_where_no_method_can_publish(folder: Path) -> None:
    (folder / "policy.toml").write_text(POLICY.replace("k = 5", "k = 301"))
    done = run(folder, "compare", "policy.toml", "--workload", "q.sql", "--methods", "generalize")
    assert done.returncode == 1
    assert "No method can publish under this policy" in done.stdout
