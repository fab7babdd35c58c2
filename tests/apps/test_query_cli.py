"""The command query, as a person or a script runs it: where the SQL comes from, and how the answer is told."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from support.commands import Done, run
from support.releases import Made

from sqlpriv.apps.answers import AnsweredQuery
from sqlpriv.core.facts import Grid, Line

COUNT = "SELECT count(*) AS n FROM people"
GROUPS = "SELECT age, nationality, score, count(*) AS n FROM people GROUP BY ALL ORDER BY ALL"


def ask(release: Made, *arguments: str, stdin: str = "", columns: int = 120) -> Done:
    return run(release.path.parent, "query", release.path.name, *arguments, stdin=stdin, columns=columns)


@pytest.mark.some(1)
def test_the_sql_comes_from_an_argument_a_file_or_stdin(release: Made, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(f"-- how many\n{COUNT};\n")
    told = ask(release, COUNT).stdout
    assert "n_low" in told
    for done in (
        ask(release, "-f", str(tmp_path / "q.sql")),
        ask(release, "--file", "-", stdin=COUNT),
        ask(release, "-", stdin=COUNT),
        ask(release, stdin=COUNT),
    ):
        assert (done.returncode, done.stdout) == (0, told), done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([COUNT, "-f", "q.sql"], "given twice"),
        (["-f", "none.sql"], "cannot read the SQL in 'none.sql'"),
        ([], "there is no SQL to ask"),
        ([COUNT, "--csv", "none/x.csv"], "there is no such folder"),
        ([COUNT, "--csv", "-", "--json"], "leave one out"),
    ],
)
def test_one_sentence_where_it_cannot_be_asked(release: Made, arguments: list[str], message: str) -> None:
    done = ask(release, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.some(1)
def test_of_many_groups_forty_are_printed(release: Made, tmp_path: Path) -> None:
    rows = json.loads(ask(release, GROUPS, "--json").stdout)
    assert len(rows) > 100
    text = ask(release, GROUPS).stdout
    assert f"{len(rows) - 40:,} more rows; --csv FILE writes all {len(rows):,}" in text
    assert len(text.splitlines()) < 60
    assert f"{len(rows) - 3:,} more rows" in ask(release, GROUPS, "--most", "3").stdout
    target = tmp_path / "all.csv"
    assert "more rows" in ask(release, GROUPS, "--csv", str(target)).stdout
    printed = ask(release, GROUPS, "--csv", "-").stdout
    with target.open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert written == list(csv.DictReader(io.StringIO(printed)))
    assert len(written) == len(rows)
    assert [float(w["n"]) for w in written] == [r["n"] for r in rows]


def cells(columns: list[str], *rows: tuple[object, ...]) -> list[tuple[str, ...]]:
    (grid, *_) = AnsweredQuery(columns, rows).facts(40).parts
    assert isinstance(grid, Grid)
    return list(grid.rows)


def test_digits_go_by_magnitude_and_null_is_null() -> None:
    names = ["key", "n", "n_low", "n_high"]
    assert cells(names, (40.7127537, 0.0126708, -0.01, 39999.6), (None, None, None, None)) == [
        ("40.7127537", "0.01267", "-0.01", "40,000"),
        ("NULL", "NULL", "NULL", "NULL"),
    ]
    assert cells(["x"], (1234.5678,)) == [("1,234.57",)]


def test_a_count_below_0_is_marked() -> None:
    names, rows = ["n", "n_low", "n_high"], [(-2.5, -9.0, 4.0), (45.0, 40.0, 50.0)]
    facts = AnsweredQuery(names, rows, never_below_zero=frozenset({"n"})).facts(40)
    grid, line = facts.parts
    assert isinstance(grid, Grid)
    assert [row[:2] for row in grid.rows] == [("* -2.5", "-9"), ("45", "40")]
    assert isinstance(line, Line)
    assert line.text.startswith("* below 0, which the true value cannot be")
    assert len(AnsweredQuery(names, rows).facts(40).parts) == 1


@pytest.mark.some(1)
def test_a_value_that_the_domain_has_not_is_told(release: Made) -> None:
    asked = f"{COUNT} WHERE nationality = 'Austria'"
    said = "the domain of 'nationality' has no value 'Austria'"
    assert f"warning  {said}" in ask(release, asked).stdout
    for option in (["--json"], ["--csv", "-"]):
        done = ask(release, asked, *option)
        assert done.returncode == 0
        assert said in done.stderr
        assert said not in done.stdout
    assert ask(release, COUNT, "--json").stderr == ""
