"""A comparison says what publishing and asking by hand say, leaves nothing behind, and gives every method a row."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest
from support.policies import write_policy

import sqlpriv
from sqlpriv.comparison import run as comparing
from sqlpriv.comparison.truth import ask_private
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.release.ledger.place import ledger_path

pytestmark = pytest.mark.one_version

PEOPLE = """CREATE TABLE people AS SELECT 20 + least(i * 7 % 40, i * 11 % 40) AS age, 'aaabbc'[1 + i % 6] AS zip,
    'd' || (i * i % 11 % 5) AS diagnosis FROM range(600) AS r(i)"""
COLUMNS = """[table]
database = "private.duckdb"
source = "people"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:10,20,40", domain = "range:20..59" }
zip = { role = "quasi-identifier", hierarchy = "suppression", domain = ["a", "b", "c"] }
diagnosis = { role = "sensitive", domain = ["d0", "d1", "d2", "d3", "d4"] }
"""
GENERALIZE = COLUMNS + '[require]\nk = 5\nalpha_k = 0.7\n[release]\nmethod = "generalize"\noutput = "r.duckdb"\n'
NOISE = COLUMNS + '[release]\nmethod = "noisy_counts"\ngamma = 0.7\noutput = "r.duckdb"\n'
WORKLOAD = """SELECT count(*) FROM people WHERE age BETWEEN 25 AND 44;
SELECT count(*) FROM people WHERE zip = 'b' AND diagnosis IN ('d1', 'd4');
DELETE FROM people;
SELECT count(*) FROM people WHERE age < 30 AND diagnosis = 'd0';
SELECT diagnosis, count(*) AS n FROM people GROUP BY diagnosis ORDER BY n LIMIT 1;
SELECT zip, count(*) AS n FROM people GROUP BY zip;
"""
KEY = "a key for tests, which is no secret"


def ready(folder: Path, text: str = GENERALIZE, workload: str = WORKLOAD) -> Path:
    (folder / "queries.sql").write_text(workload, encoding="utf-8")
    (folder / "key").write_text(KEY, encoding="utf-8")
    return write_policy(folder, text, PEOPLE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compared")
    ready(made)
    (made / "noise.toml").write_text(NOISE, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def compared(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is compared, once for all tests; nothing but the files of the owner is there before and after."""
    before, temporary = set(folder.iterdir()), tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        told = sqlpriv.compare(folder / "policy.toml", folder / "queries.sql", key_file=folder / "key", tune=False)
    assert set(folder.iterdir()) == before
    assert list(temporary.iterdir()) == []
    return dict(json.loads(told.to_json()))


def row_of(compared: dict[str, Any], method: str) -> dict[str, Any]:
    (found,) = [row for row in compared["methods"] if row["method"] == method]
    return dict(found)


def asked_by_hand(release: Path, database: Path) -> list[tuple[float, float, float, float]]:
    """Truth, estimate, low and high of what can be compared in the workload."""
    found = []
    counts = [q for q in WORKLOAD.split(";") if "count(*) FROM" in q and "DELETE" not in q]
    with sqlpriv.open_release(release) as opened, duckdb.connect(str(database), read_only=True) as con:
        for query in counts:
            (truth,) = con.execute(query).fetchall()[0]
            found.append((truth, *opened.sql(query).fetchall()[0]))
        grouped = "SELECT zip, count(*) AS n FROM people GROUP BY zip"
        truths = dict(con.execute(grouped).fetchall())
        found += [(truths[zip_code], *rest) for zip_code, *rest in opened.sql(grouped).fetchall()]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("method", "policy"), [("generalize", "policy.toml"), ("noisy_counts", "noise.toml")])
def test_numbers_are_those_of_publishing_and_asking_by_hand(
    folder: Path, compared: dict[str, Any], method: str, policy: str, tmp_path: Path
) -> None:
    output = tmp_path / "by-hand.duckdb"
    key = folder / "key" if METHODS[method].draws else None
    sqlpriv.publish(folder / policy, output, key_file=key, ledger_file=tmp_path / "ledger.db")
    asked = asked_by_hand(output, folder / "private.duckdb")
    assert len(asked) == 6
    found = row_of(compared, method)
    assert found["median_error"] == pytest.approx(median(abs(e - t) for t, e, *_ in asked), rel=1e-12)
    assert found["width"] == pytest.approx(median(high - low for *_, low, high in asked), rel=1e-12)
    assert found["inside"] == sum(low <= t <= high for t, _, low, high in asked) / len(asked)
    assert found["bytes"] == output.stat().st_size
    assert (found["answered"], sum(size["numbers"] for size in found["by_size"])) == (4, 6)


def test_every_method_has_a_row_with_the_names_of_the_contract(compared: dict[str, Any]) -> None:
    assert [row["method"] for row in compared["methods"]] == list(METHODS)
    names = {"method", "median_error", "p90_error", "inside", "width", "seconds", "bytes", "posterior"}
    for row in compared["methods"]:
        assert names <= set(row)
        assert (row["median_error"] is None) == ("refused" in row)
        assert row.get("refused", "a reason").strip()
    assert isinstance(compared["advice"], str)
    assert "for you, its owner, and not for publication" in compared["owner_only"]


def test_statements_that_cannot_be_compared_are_left_out_and_named(compared: dict[str, Any]) -> None:
    assert compared["questions"] == 4
    assert [left["statement"] for left in compared["left_out"]] == [3, 5]
    assert "DELETE" in compared["left_out"][0]["why"]
    assert "LIMIT" in compared["left_out"][1]["why"]


def test_attackers_are_on_one_scale(folder: Path, compared: dict[str, Any]) -> None:
    """A bound on a belief stays below gamma; a share of 0.7 is believed with 14/17 at twice the odds."""
    posteriors = {m: row_of(compared, m)["posterior"] for m in ("generalize", "noisy_counts")}
    assert 0 < posteriors["noisy_counts"] <= 0.7 + 1e-9
    assert 0 < posteriors["generalize"] <= 14 / 17 + 1e-9
    assert "2 times the odds of an even guess" in compared["attacker"]
    learned = {m: row_of(compared, m)["learned"] for m in posteriors}
    assert learned["noisy_counts"] is None
    assert learned["generalize"]["guessed_right"] <= learned["generalize"]["people"]
    holds = {m: row_of(compared, m)["posterior_holds"] for m in posteriors}
    assert "nothing of others in particular" in holds["generalize"]
    assert "and everybody else" in holds["noisy_counts"]
    assert "sensitive values were read" in row_of(compared, "generalize")["posterior_leaves_out"]
    assert row_of(compared, "noisy_counts")["posterior_leaves_out"] is None
    assert row_of(compared, "noisy_counts")["protection"] == "gamma = 0.7, which alpha(diagnosis)<=0.7 promises"
    assert not row_of(compared, "noisy_counts")["assumed"]


def test_the_advice_is_the_least_error_with_lines_to_paste(folder: Path, compared: dict[str, Any]) -> None:
    able = [row for row in compared["methods"] if "refused" not in row and row["answered"] == 4]
    least = min(able, key=lambda row: (row["median_error"], row["p90_error"]))
    assert f"take {least['method']}:" in compared["advice"]
    assert compared["policy"][:2] == ["[release]", f'method = "{least["method"]}"']


def test_the_ledger_knows_nothing_of_it(folder: Path, compared: dict[str, Any]) -> None:
    assert not ledger_path().exists()
    assert not list(folder.glob("*ledger*"))


@pytest.mark.slow
def test_the_same_seed_makes_up_the_same_questions(folder: Path) -> None:
    policy = sqlpriv.read_policy(folder / "policy.toml")
    first, same, other = (ask_private(policy, None, seed) for seed in (1, 1, 2))
    asked = [known.question.sql for known in first.known]
    assert first == same
    assert asked != [known.question.sql for known in other.known]
    assert len(asked) == 500
    assert {sql.count(" AND ") - sql.count(" BETWEEN ") for sql in asked} == {0, 1, 2}
    assert all("BETWEEN" in sql or " = " in sql or " IN (" in sql for sql in asked)
    assert first.unlisted == (), "every column has a public domain"


@pytest.mark.slow
def test_what_is_best_for_the_workload_is_marked_as_read_off_the_table(tmp_path: Path) -> None:
    """The loss wants zip whole; a workload that asks of age alone does not need it."""
    workload = "SELECT count(*) FROM people WHERE age < 30; SELECT count(*) FROM people WHERE age >= 40"
    policy = ready(tmp_path, GENERALIZE.replace("k = 5\nalpha_k = 0.7", "k = 60"), workload)
    facts = sqlpriv.compare(policy, tmp_path / "queries.sql", methods=["generalize"])
    (row,) = facts.content["methods"]
    assert row["tuned"]["read_off_the_table"] is True
    assert row["tuned"]["options"]["node"] == {"age": 2, "zip": 1}
    assert row["tuned"]["median_error"] < row["median_error"]
    assert "read off the private table" in str(facts)
    assert "node" not in "\n".join(facts.content["policy"])


@pytest.mark.slow
def test_a_release_that_counts_equal_rows_once_is_not_compared(tmp_path: Path) -> None:
    text = NOISE.replace("noisy_counts", "alpha_beta").replace(
        "gamma = 0.7", 'gamma = 0.7\nduplicates = "distinct"\nuncovered = "a test"'
    )
    facts = sqlpriv.compare(ready(tmp_path, text), tmp_path / "queries.sql", methods="alpha_beta", tune=False)
    (row,) = facts.content["methods"]
    assert row["refused"] == "its count(*) is the number of distinct tuples, and questions here are about rows"


@pytest.mark.slow
def test_rows_that_a_program_holds_are_compared(folder: Path, compared: dict[str, Any]) -> None:
    with duckdb.connect(str(folder / "private.duckdb"), read_only=True) as con:
        held = con.sql("FROM people").to_arrow_table()
    facts = sqlpriv.compare(folder / "policy.toml", folder / "queries.sql", data=held, methods="generalize", tune=False)
    assert facts.content["methods"][0]["median_error"] == row_of(compared, "generalize")["median_error"]


@pytest.mark.slow
@pytest.mark.parametrize("own", ["anatomy", "slicing", "sdgs"])
def test_a_policy_of_any_method_is_one_to_start_from(tmp_path: Path, own: str) -> None:
    """The same columns, and what other methods need of them."""
    release = f'[release]\nmethod = "{own}"\n'
    if own == "sdgs":
        release = '[release]\nmethod = "sdgs"\nepsilon = 2\ndelta = 1e-3\nbeta = 0.5\nnode = { age = 2, zip = 1 }\n'
    require = "" if own == "sdgs" else "[require]\nalpha_k = 0.5\ndistinct_l = 2\n"
    more = "[compare.generalize.require]\nk = 5\nalpha_k = 0.7\n"
    path = ready(tmp_path, COLUMNS + require + more + release)
    facts = sqlpriv.compare(path, tmp_path / "queries.sql", methods=["generalize", own], tune=False)
    rows = {row["method"]: row for row in facts.content["methods"]}
    assert {name: row.get("refused") for name, row in rows.items()} == {"generalize": None, own: None}
    assert all(row["answered"] == 4 for row in rows.values())
    assert facts.content["left_out"][0]["statement"] == 3


def test_no_method_that_can_publish_fails(tmp_path: Path) -> None:
    policy = ready(tmp_path, GENERALIZE.replace("k = 5", "k = 601"))
    facts = sqlpriv.compare(policy, tmp_path / "queries.sql", methods="generalize,mondrian")
    assert not facts.passed
    assert [row["method"] for row in facts.content["methods"]] == ["generalize", "mondrian"]
    assert "k>=601" in facts.content["methods"][0]["refused"]
    assert facts.content["advice"].startswith("No method can publish")


def test_unknown_methods_and_workloads_are_refused(tmp_path: Path) -> None:
    policy = ready(tmp_path, workload="DELETE FROM people; SELECT * FROM people; SELECT count(*) FROM others")
    with pytest.raises(InputError, match=r"no method 'mondian'; there are generalize, "):
        sqlpriv.compare(policy, methods=["mondian"])
    with pytest.raises(InputError, match=r"no method 'mondian'; there are generalize, "):
        sqlpriv.compare(policy, methods="generalize, mondian")
    with pytest.raises(InputError, match=r"no file of queries '.*none.sql' that can be read"):
        sqlpriv.compare(policy, tmp_path / "none.sql")
    with pytest.raises(InputError, match=r"no statement of the workload can be asked; .*statement 1: .*DELETE"):
        sqlpriv.compare(policy, tmp_path / "queries.sql")


def test_a_fault_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, temporary = ready(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing.publishing, "make_file", stopped)
    with pytest.raises(KeyboardInterrupt):
        sqlpriv.compare(policy, tmp_path / "queries.sql", methods="generalize")
    assert list(temporary.iterdir()) == []


def test_a_section_of_compare_is_read_and_checked(tmp_path: Path) -> None:
    others = ", ".join(name for name in METHODS if name != "generalize")
    wrong = {
        "[compare.mondian]\n": f"unknown method 'mondian'; there are {others}",
        "[compare.generalize]\nsuppression = 0.1": r"the policy is one for generalize: write it in \[release\]",
        "[compare.frapp]\ngama = 0.1": "unknown key 'gama'; there are gamma",
        "[compare.frapp]\ngamma = 2": "gamma must be a number above 0 and at most 1",
        "[compare]\nfrapp = 1": r"it must be a section, as in \[compare.frapp\]",
        "compare = 1\n": r"\[compare\] must be a section",
    }
    for text, message in wrong.items():
        whole = text + GENERALIZE if text.startswith("compare =") else GENERALIZE + text
        path = write_policy(tmp_path, whole)
        with pytest.raises(PolicyError, match=message):
            sqlpriv.read_policy(path)
