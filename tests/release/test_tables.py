"""The tables of a release as files: they hold what the release shows, and are whole or not there."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import policy_text, qi, role, write_policy
from support.randomized_policies import noise_policy_text, published

from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.publishing import dry_run, plan, publish, read_policy, tables

pytestmark = pytest.mark.one_version

PEOPLE = """
    CREATE TABLE people AS SELECT 20 + i % 40 AS age, ['=1+1', '@x', 'http://a.b', 'flu'][1 + i % 4] AS ill,
      CAST(9007199254740993 + i % 2 AS BIGINT) AS code, DATE '1850-01-01' + CAST(i % 3 AS INTEGER) AS born
    FROM range(400) AS r(i)
"""
COLUMNS = {"age": qi("ranges:10"), "ill": role("sensitive"), "code": role("other"), "born": role("other")}


def written(folder: Path, output: str, release: str = "", columns: dict[str, str] | None = None) -> Path:
    text = policy_text(columns or COLUMNS, "k = 5\ndistinct_l = { ill = 2 }", 'coexists_because = "a test"\n' + release)
    text = text.replace("people-release.duckdb", output)
    return write_policy(folder, text, "" if (folder / "private.duckdb").exists() else PEOPLE)


def rows_of(folder: Path, release: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / release), read_only=True) as con:
        return con.execute("FROM people").fetchall()


@pytest.mark.some(2)
@pytest.mark.parametrize("output", ["people.csv", "people.parquet", "people.xlsx", "shared/"])
def test_a_table_holds_what_the_release_shows(tmp_path: Path, output: str) -> None:
    facts = publish(written(tmp_path, output)).facts
    folder, name = (tmp_path / "shared", "shared") if output == "shared/" else (tmp_path, "people")
    shown = rows_of(folder, f"{name}.duckdb")
    assert len(shown) == 400
    path = folder / ("people.parquet" if output == "shared/" else output)
    if path.suffix == ".xlsx":
        sheets = pytest.importorskip("python_calamine").CalamineWorkbook.from_path(str(path))
        names, *found = sheets.get_sheet_by_name("people").to_python()
        assert names[-3:] == ["ill", "code", "born"]
        # Nothing becomes a formula or a link; what Excel would change is text.
        assert [row[-3:] for row in found] == [[ill, str(code), day.isoformat()] for *_, ill, code, day in shown]
    else:
        assert duckdb.execute(f"FROM '{path}'").fetchall() == shown
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert record["files"][path.name]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record["files"][path.name]["tables"] == {"people": 400}
    assert record["verdict"]["word"] == facts.content["verdict"]["word"]
    assert str(tmp_path) not in json.dumps(record)
    assert {p.name for p in folder.iterdir()} >= {path.name, f"{name}.json", f"{name}.duckdb"}


def test_answers_to_questions_are_tables_of_their_own(tmp_path: Path) -> None:
    text = (
        written(tmp_path, "people.csv").read_text()
        + '\n[views]\nby_age = "SELECT age, count(*) AS n FROM people GROUP BY age"\n'
    )
    (tmp_path / "policy.toml").write_text(text)
    publish(tmp_path / "policy.toml")
    with (tmp_path / "people-by_age.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file))[:2] == ["age", "n"]


def test_rows_among_noise_are_no_table(tmp_path: Path) -> None:
    columns = {"a": published('"range:0..99"'), "b": published('"range:0..99"')}
    text = noise_policy_text(columns, 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2\nn_public = 300')
    sql = "CREATE TABLE people AS SELECT i % 100 AS a, i % 7 AS b FROM range(300) AS r(i)"
    policy = write_policy(tmp_path, text.replace("people-release.duckdb", "people.csv"), sql)
    with pytest.raises(ReleaseError, match="contain random noise"):
        publish(policy)
    assert not list(tmp_path.glob("people.*"))
    policy.write_text(policy.read_text() + '\n[views]\nhow_many = "SELECT count(*) AS n FROM people"\n')
    publish(policy)
    assert (tmp_path / "people.csv").read_text().startswith("n,")


def test_nothing_of_others_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("mine")
    with pytest.raises(ReleaseError, match=r"'people.csv' is there already"):
        publish(written(tmp_path, "people.csv"))
    assert (tmp_path / "people.csv").read_text() == "mine"
    assert not (tmp_path / "people.duckdb").exists()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ReleaseError, match=r"'other.json' is there already"):
        publish(written(tmp_path, "other.csv"))


def test_the_private_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,ill\n" + "20,flu\n20,gout\n" * 20)
    text = policy_text({"age": qi("ranges:10"), "ill": role("sensitive")}, "k = 2", table='source = "people.csv"')
    policy = write_policy(tmp_path, text.replace("people-release.duckdb", "people.csv"), "")
    with pytest.raises(ReleaseError, match="is the private table itself"):
        publish(policy)
    assert (tmp_path / "people.csv").read_text().startswith("age,ill\n20,flu")


@pytest.mark.parametrize("output", ["people.csv", "shared/"])
def test_a_plan_of_tables_is_possible_and_writes_nothing(tmp_path: Path, output: str) -> None:
    policy = written(tmp_path, output)
    assert plan(policy).passed
    assert dry_run(read_policy(policy), ledger_file=tmp_path / "ledger.db").passed
    assert {p.name for p in tmp_path.iterdir()} == {"policy.toml", "private.duckdb"}
    policy.write_text(policy.read_text().replace("k = 5", "k = 500"))
    with pytest.raises(PolicyError):
        publish(policy)
    assert not (tmp_path / "shared").exists()


def test_a_folder_that_would_be_among_the_files_of_the_table_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "one.csv").write_text("age,ill\n" + "20,flu\n20,gout\n" * 20)
    text = policy_text({"age": qi("ranges:10"), "ill": role("sensitive")}, "k = 2", table='source = "rows"')
    policy = write_policy(tmp_path, text.replace("people-release.duckdb", "rows/out/"), "")
    with pytest.raises(ReleaseError, match="among the files of the table"):
        publish(policy)
    assert not (tmp_path / "rows" / "out").exists()


def test_what_was_interrupted_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = written(tmp_path, "people.csv")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tables, "put_in_place", die)
        with pytest.raises(KeyboardInterrupt):
            publish(policy)
    assert (tmp_path / "people.duckdb").exists()
    assert not [p.name for p in tmp_path.iterdir() if "people.csv" in p.name]
    publish(policy)
    publish(policy)
    assert len((tmp_path / "people.csv").read_text().splitlines()) == 401


def test_output_on_the_command_line_and_in_a_policy_mean_the_same(tmp_path: Path) -> None:
    done = publish(written(tmp_path, "people.duckdb"), tmp_path / "out.parquet")
    assert done.written.output == tmp_path / "out.duckdb"
    assert (tmp_path / "out.parquet").exists()
    assert read_policy(written(tmp_path, "out.parquet")).output == "out.duckdb"
    with pytest.raises((PolicyError, ReleaseError)):
        publish(written(tmp_path, "nowhere/people.csv"))
