"""The command attack: what it prints, what it never prints, its JSON and its picture, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len
from support.commands import run
from support.policies import generalize, policy_text, qi, role, write_policy

import sqlpriv

pytestmark = [pytest.mark.slow, pytest.mark.one_version]
# Cells that stand nowhere else: no name of a column, no number of people.
ROWS = [(f"person{i}", f"7{i % 3}00{i % 2}", 9101 + i % 4, f"disease{'xyyz'[i % 4]}") for i in range(12)]
CELLS = {str(cell) for row in ROWS for cell in row}
COLUMNS = {
    "who": role("identifier"), "zip": qi("mask:5"), "born": qi("ranges:2,4"), "ill": role("sensitive"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attack")
    listed = ", ".join(map(repr, ROWS))
    sql = f"CREATE TABLE people AS FROM (VALUES {listed}) AS v(who, zip, born, ill)"
    policy = write_policy(path, policy_text(COLUMNS, "k = 2\ndistinct_l = 1", "suppression = 0.3"), sql)
    generalize(policy, ledger=path / "ledger")
    other = path / "other.toml"
    other.write_text(policy_text(COLUMNS, "k = 1", "node = { zip = 1, born = 2 }").replace("people-release", "second"))
    generalize(other, ledger=path / "ledger2")
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM (VALUES {listed}) AS v(who, zip, born, ill)) TO '{path}/book.csv'").fetchall()
        con.execute(f"COPY (SELECT 1 AS shoe) TO '{path}/shoes.csv'").fetchall()
        con.execute(f"COPY (SELECT 1 AS zip WHERE false) TO '{path}/nobody.csv'").fetchall()
    return path


ALL = (
    "people-release.duckdb",
    "second.duckdb",
    "--policy",
    "policy.toml",
    "--dictionary",
    "book.csv",
    "--truth",
    "who",
)


def holds_cells(shown: str) -> bool:
    """Whether a cell stands in a text: by itself, in a word, or under a mask."""
    words = set(re.findall(r"[\w.]+", shown))
    return bool(words & CELLS or re.search(r"disease[xyz]|person[0-9]|7[012][0-9*]{3}", shown))


def test_no_value_of_anybody_is_printed(folder: Path) -> None:
    done = run(folder, "attack", *ALL, "--worlds", "2", "--implications", "1", "--negations", "1")
    assert done.returncode == 0, done.stderr
    for name in ("homogeneity", "background", "skewness", "linking with a dictionary", "intersection", "minimality"):
        assert f"\n{name}" in done.stdout
    assert not holds_cells(done.stdout + done.stderr)


def test_no_value_is_in_what_programs_get(folder: Path) -> None:
    """Also where the parts hold some, to be shown to who asks for them at a terminal."""
    done = run(folder, "attack", *ALL, "--worlds", "2", "--json")
    assert done.returncode == 0, done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        facts = sqlpriv.attack(
            *ALL[:2], policy="policy.toml", dictionary="book.csv", truth="who", worlds=2, show_values=True
        )
    found = json.loads(done.stdout)
    assert found == json.loads(facts.to_json())
    assert (found["beside_private_table"], found["counts"], found["method"]) == (True, "rows", "generalize")
    # Of a picture what is read of it, by eye or ear: its coordinates are numbers as zip codes are.
    read = re.findall(r'>([^<]+)<|aria-label="([^"]*)"', facts._repr_html_())
    for shown in (done.stdout, str(facts), " ".join(text for both in read for text in both)):
        assert not holds_cells(shown)


def test_values_are_printed_to_who_asks(folder: Path) -> None:
    done = run(folder, "attack", "people", "--database", "private.duckdb", "--qi", "zip,born", "--sensitive", "ill",
               "--show-values", "--implications", "0")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"zip 7[012]00[01], born 910[1-4]", done.stdout)


def test_the_file_alone_says_what_was_not_run(folder: Path) -> None:
    done = run(folder, "attack", "people-release.duckdb", "--dictionary", "book.csv", columns=80)
    assert done.returncode == 0, done.stderr
    assert max(cell_len(line) for line in done.stdout.splitlines() if line.startswith(" ")) <= 80
    assert "private table" not in done.stdout.replace("--policy names the private table", "")
    assert "it needs a second release" in done.stdout
    assert "compares zip, born names" in done.stdout


def test_a_picture(folder: Path) -> None:
    pytest.importorskip("altair")
    done = run(
        folder, "attack", "people-release.duckdb", "-p", "policy.toml", "--chart", "a.svg", "--implications", "0"
    )
    assert done.returncode == 0, done.stderr
    drawn = (folder / "a.svg").read_text()
    assert "private table" in drawn
    assert not re.search(r"disease[xyz]|person[0-9]", drawn)


REFUSED = {
    ("nothing.csv",): "which columns may an attacker know|there is no file 'nothing.csv'",
    ("private.duckdb",): "private.duckdb is no release",
    ("people-release.duckdb", "book.csv"): "book.csv is no DuckDB file",
    ("book.csv", "--qi", "zip", "--second-policy", "other.toml"): "name both releases and both",
    ("book.csv",): "Name them with --qi and --sensitive, or give --policy",
    ("book.csv", "--qi", "zap"): "has no column 'zap'",
    ("people-release.duckdb", "--qi", "zip"): "a release says itself",
    ("people-release.duckdb", "-p", "policy.toml", "--qi", "zip"): "the policy says which columns",
    ("people-release.duckdb", "--dictionary", "none.csv"): "there is no dictionary 'none.csv'",
    ("people-release.duckdb", "--dictionary", "shoes.csv"): "shares no column with people-release.duckdb",
    ("people-release.duckdb", "--dictionary", "nobody.csv"): "has no rows: there is nobody to find",
    ("people-release.duckdb", "--dictionary", "book.csv", "--truth", "who"): "judged by the private table",
    ("people-release.duckdb", "-p", "policy.toml", "--dictionary", "book.csv", "--truth", "x"): "has no column 'x'",
    ("people-release.duckdb", "--truth", "who"): "--truth is a column of a dictionary",
    ("people-release.duckdb", "--json", "--show-values"): "--json never holds values",
    ("people-release.duckdb", "--chart", "a.gif"): "pictures are written as .svg, .png",
}


@pytest.mark.some(3)
@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_cannot_be_attacked_is_refused(folder: Path, given: tuple[str, ...]) -> None:
    done = run(folder, "attack", *given)
    assert done.returncode == 2
    assert re.search(REFUSED[given], done.stderr), done.stderr
    assert not done.stdout
    assert "Traceback" not in done.stderr
    assert not set(re.findall(r"[\w.]+", done.stderr)) & CELLS
