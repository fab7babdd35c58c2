"""The command risk: what it says, its JSON and pictures, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from support.commands import run

from sqlpriv.demo import examples

pytestmark = pytest.mark.one_version

TREES = ["--hierarchy", "city=cities.csv", "--hierarchy", "born=births.csv"]
WEIGHTS = ["--weights", "city=0.5,born=3"]
POLICY = """[table]
source = "members.csv"
[columns]
id = { role = "identifier" }
city = { role = "quasi-identifier", hierarchy = "cities.csv" }
born = { role = "quasi-identifier", hierarchy = "births.csv" }
[require]
k = 2
[release]
method = "generalize"
output = "r.duckdb"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect() as con:
        examples.create(con)
        for table in ("members", "phone_book", "town_book"):
            con.execute(f"COPY {table} TO '{tmp_path / table}.csv'").fetchall()
        for table in ("cities", "births"):
            con.execute(f"COPY {table} TO '{tmp_path / table}.csv' (HEADER false, DELIM ';')").fetchall()
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def test_the_risk_is_that_of_the_macros(folder: Path) -> None:
    done = run(folder, "risk", "members.csv", "--dictionary", "phone_book.csv", *WEIGHTS, *TREES)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Against phone_book.csv, 3 of 4 records have a consistent entry." in said
    assert "the mean loss, is 1.137; the worst record loses 3.5, with 1 consistent entry." in said
    assert "for you alone" in said
    assert "Ithaca" not in said


@pytest.mark.slow
def test_several_dictionaries_have_a_bayes_and_a_minimax_risk(folder: Path) -> None:
    held = ["--dictionary", "phone_book.csv=0.75", "--dictionary", "town_book.csv=0.25"]
    done = run(folder, "risk", "members.csv", *held, *WEIGHTS, *TREES, "--json", "--chart", "sizes.svg")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    risks = [own["risk"] for own in found["dictionaries"]]
    assert risks == pytest.approx([1.1375, 1.234375])
    assert found["bayes"] == pytest.approx(0.75 * risks[0] + 0.25 * risks[1])
    assert found["minimax"] == max(risks) <= found["bound"]
    assert [row["entries"] for row in found["by_entries"] if row["curve"] == "phone_book.csv"][-1] == 5
    assert "Risk by the size of the dictionary" in (folder / "sizes.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_policy_says_what_is_above_values(folder: Path) -> None:
    """Without weights of its own every value weighs 1, and without a dictionary the table is one."""
    done = run(folder, "risk", "--policy", "policy.toml", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["weights"] == {"city": "1", "born": "1"}
    assert [(own["dictionary"], own["found"]) for own in found["dictionaries"]] == [("the table itself", 4)]


@pytest.mark.slow
def test_a_policy_says_who_may_hold_what_and_what_is_worse_together(folder: Path) -> None:
    """Each dictionary with entries of its own; what has no weight for everybody is refused."""
    text, _, _ = POLICY.partition("[require]")
    held = (
        '[{ source = "phone_book.csv", prior = 0.75 }, '
        '{ source = "town_book.csv", prior = 0.25, entries = { City = "upper(city[1]) || city[2:]" } }]'
    )
    pairs = 'pairs = [{ columns = ["born", "city"], weight = 2 }]\n'
    release = f'[release]\nmethod = "disclose"\ngoal = "risk"\nc = 1\ndictionaries = {held}\n'
    risks = []
    for more in ("", pairs):
        (folder / "policy.toml").write_text(text + release + more, encoding="utf-8")
        done = run(folder, "risk", "--policy", "policy.toml", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert [own["prior"] for own in found["dictionaries"]] == [0.75, 0.25]
        risks.append(found["bayes"])
    assert risks[0] < risks[1]
    (folder / "policy.toml").write_text(text.replace("births.csv", 'births.csv", psi = 1, entry = "born') + release)
    refused = run(folder, "risk", "--policy", "policy.toml")
    assert refused.returncode == 2
    assert "are not supported here" in " ".join(refused.stderr.split())


BAD: dict[str, tuple[list[str], str]] = {
    "no weights": ([], "say what values weigh, as in --weights city=0.3"),
    "a weight that is none": (["--weights", "city"], "is no pair; write it like city=0.3"),
    "two weights": (["--weights", "city=1,city=2"], "'city' has two weights"),
    "a column that is not there": (["--weights", "town=1"], "has no column 'town'; it has id, city, born"),
    "a negative weight": (["--weights", "city=-1"], "a weight must be a number of at least 0, or infinity"),
    "a hierarchy without a weight": (["--weights", "born=1", *TREES], "'city' has no weight"),
    "no shared attribute": (["--weights", "id=1"], "the dictionary has no column of the table; name what it knows"),
    "a hierarchy that misses entries": (
        ["--weights", "city=1", "--hierarchy", "city=cities.csv", "--entry", "city=name"],
        "the hierarchy of link 1 does not cover the dictionary",
    ),
    "an entry that is misspelt": (
        ["--weights", "city=1", "--entry", "city=nmae"],
        "the entry of 'city' is 'nmae', and",
    ),
    "a type that cannot match": (
        ["--weights", "id=1", "--entry", "id=DATE '2020-01-01'"],
        "link 1 compares BIGINT with DATE, which are never equal as texts; cast one of them",
    ),
    "a form": ([*WEIGHTS, "--form", "cubic"], "the form must be linear or multiplicative"),
    "a dictionary that is not there": ([*WEIGHTS, "--dictionary", "none.csv"], "there is no file 'none.csv'"),
    "half a prior": ([*WEIGHTS, "--dictionary", "town_book.csv=0.5"], "some dictionaries have a prior and some have"),
    "a prior that is none": ([*WEIGHTS, "--dictionary", "town_book.csv=x"], "needs a number after ="),
    "a picture without persons": ([*WEIGHTS, "--bound-chart", "b.svg"], "--bound-chart needs --person"),
    "weights and a policy": ([*WEIGHTS, "--policy", "policy.toml"], "both say what a value weighs"),
}


@pytest.mark.some(2)
@pytest.mark.parametrize(("options", "complaint"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_writes_nothing(folder: Path, options: list[str], complaint: str) -> None:
    before = sorted(folder.iterdir())
    done = run(folder, "risk", "members.csv", "--dictionary", "phone_book.csv", *options)
    assert done.returncode == 2
    assert complaint in " ".join(done.stderr.split()), done.stderr
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_an_entry_without_a_dictionary_is_refused(folder: Path) -> None:
    done = run(folder, "risk", "members.csv", *WEIGHTS, "--entry", "born=2026 - age")
    assert (done.returncode, done.stdout) == (2, "")
    assert "name the dictionary with --dictionary" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "entry",
    [
        "(SELECT content FROM read_text('secret.txt'))",
        "name || (FROM 'secret.txt')",
        "EXISTS (FROM members)",
        "max(name)",
    ],
)
def test_an_entry_reads_the_dictionary_alone(folder: Path, entry: str) -> None:
    (folder / "secret.txt").write_text("Ithaca")
    done = run(
        folder,
        "risk",
        "members.csv",
        "--dictionary",
        "phone_book.csv",
        "--weights",
        "city=1",
        "--entry",
        f"city={entry}",
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "must be an expression of one entry, without subqueries and aggregates" in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["0", '"cities.csv"'])
def test_the_weight_of_a_policy_is_taken_as_it_is_or_refused(folder: Path, weight: str) -> None:
    """A weight of 0 is one; what a table says of single values is not a number for all of them."""
    Path(folder / "policy.toml").write_text(
        '[table]\nsource = "members.csv"\n[columns]\nid = { role = "drop" }\n'
        f'city = {{ role = "quasi-identifier", hierarchy = "cities.csv", weight = {weight} }}\n'
        'born = { role = "quasi-identifier", hierarchy = "births.csv", weight = 2 }\nincome = { role = "drop" }\n'
        '[release]\nmethod = "disclose"\ngoal = "utility"\nc = 1\ndictionary = "phone_book.csv"\n'
    )
    done = run(folder, "risk", "--policy", "policy.toml", "--json")
    if weight == "0":
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["weights"] == {"city": "0.0", "born": "2.0"}
    else:
        assert done.returncode == 2
        assert "'city' has a table of weights, which is not supported here" in " ".join(done.stderr.split())
